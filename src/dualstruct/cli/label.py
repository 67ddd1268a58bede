"""What the command ``dualstruct label`` does: a project of texts that are labelled on a page."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.files import check_not_read
from dualstruct.cli.listening import Browser, Host, Listening, Port, is_loopback, need_server
from dualstruct.cli.options import FileFormat, Json, TokenizerOption, asked_tokenizer
from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import plural

if TYPE_CHECKING:
    from dualstruct.labelling.store import Project

#: Seconds after which one thread of the server makes way for another.
SWITCHES = 0.0005


def label(
    project: Annotated[
        Path, Argument(help="The project, a SQLite file; it is created if it does not exist.")
    ],
    text: Annotated[
        list[Path] | None,
        Option(
            help="A file or folder of texts to add: plain text, or any format that "
            "train reads; labels in it count as answers. May be repeated."
        ),
    ] = None,
    labels: Annotated[str | None, Option(help="The labels, separated by commas: PER,LOC.")] = None,
    kind: Annotated[
        str | None,
        Option(
            metavar="spans|labels|trees",
            help="What to label: spans, one label per token (such as parts of speech), or "
            "trees (heads and relations). Default: the kind of the texts or of the model, "
            "otherwise spans.",
        ),
    ] = None,
    seed_labels: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Texts with labels from rules or another system as first "
            "suggestions; spans may have a probability.",
        ),
    ] = None,
    gazetteer: Annotated[
        list[str] | None,
        Option(
            metavar="LABEL=FILE",
            help="A list of phrases, one per line, as first suggestions.",
        ),
    ] = None,
    pattern: Annotated[
        list[str] | None,
        Option(
            metavar="LABEL=REGEX", help="A regular expression whose matches are first suggestions."
        ),
    ] = None,
    export: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Write the answers and exit. The file name determines the format: "
            ".jsonl, .conll, .conllu, .csv, .labelstudio.json, .spacy, "
            ".parquet, or a folder .brat.",
        ),
    ] = None,
    model: Annotated[
        Path | None,
        Option(help="A tagger or parser written by train; it makes the first suggestions."),
    ] = None,
    ask: Annotated[
        str,
        Option(
            metavar="all|unsure",
            help="all: ask about whole sentences. unsure: ask only about words of "
            "which the model is not sure, and accept its suggestions for the "
            "others.",
        ),
    ] = "all",
    serve: Annotated[bool, Option(help="Open the page after adding texts.")] = True,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token: Annotated[
        str | None,
        Option(
            help="A secret that the address of the page must contain; required if "
            "other machines can reach the page."
        ),
    ] = None,
    browser: Browser = True,
    format: FileFormat = None,
    tokenizer: TokenizerOption = None,
    as_json: Json = False,
) -> None:
    """Label texts on a page while a model learns from every answer.

    The model suggests labels for every sentence and learns from each answer; sentences of which it
    is least sure come first. The project file stores all answers with their history; train,
    evaluate and convert read it. Other machines can reach the page only if --host and --token are
    given. Ctrl-C ends it.
    """
    from dualstruct.labelling.store import Project

    given = [*(text or ()), *([] if seed_labels is None else [seed_labels])]
    _check(project, given, kind, export)
    if export is not None and not (given or labels or kind or gazetteer or pattern):
        counts = _export(project, export)
        _report(counts, f"{plural(counts['sentences'], 'sentence')} written to {export}", as_json)
        return
    split_as = None if tokenizer is None else asked_tokenizer(tokenizer)
    with Project(project, kind, split_as) as opened:  # type: ignore[arg-type]
        if model is not None:
            _take_kind(opened, model)
        _add(opened, text or [], seed_labels, labels, format)
        _draft(opened, gazetteer or [], pattern or [])
        counts = _counts(opened)
        if serve and export is None:
            _serve(opened, model, ask, Address(host, port, token, browser), as_json)
            return
    if export is not None:
        _export(project, export)
    _report(
        counts,
        f"{project}: {plural(counts['sentences'], 'sentence')}, {counts['labelled']:,} labelled, "
        f"{counts['conflicts']:,} in conflict",
        as_json,
    )


@dataclass(frozen=True)
class Address:
    """Where the page is, and who may see it."""

    host: str
    port: int
    token: str | None
    browser: bool


def _serve(project: Project, model: Path | None, ask: str, asked: Address, as_json: bool) -> None:
    need_server("label")
    from urllib.parse import quote

    from dualstruct.labelling.app import create_label_app
    from dualstruct.labelling.session import Session

    if not asked.token and not is_loopback(asked.host):
        raise InputError(
            f"other machines can reach {asked.host}: add --token SECRET, which they then need"
        )
    listening = Listening(asked.host, asked.port)
    where = listening.address
    if asked.token:
        where += f"?token={quote(asked.token)}"
    # Threads that train hold the interpreter's lock for so long when an answer is waiting for it,
    # and an answer asks for it several times.
    sys.setswitchinterval(SWITCHES)
    with Session(project, model, ask=ask) as session:
        app = create_label_app(session, hosts=listening.hosts, token=asked.token)
        facts = {"project": str(project.path)}
        begin = partial(listening.announce, str(project.path), facts, as_json, where)
        listening.run(app, asked.browser, begin, where)


def _take_kind(project: Project, model: Path) -> None:
    """What a model predicts is what the project is about."""
    from dualstruct.estimators.loading import load_model
    from dualstruct.texts.alignment import marks_spans

    found: Any = load_model(model)
    if getattr(found, "parser_", None) is not None:
        project.set_kind("trees")
    else:
        project.set_kind("spans" if marks_spans(found.classes_.tolist()) else "labels")
    project.add_types(project.kind.maker(model).types)


def _check(project: Path, given: Sequence[Path], kind: str | None, export: Path | None) -> None:
    from dualstruct.data.opening import begins_with
    from dualstruct.labelling.kinds import KINDS
    from dualstruct.texts.formats.project import MAGIC

    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind is {kind!r}; it must be one of {', '.join(KINDS)}")
    if project.exists() and not begins_with(project, MAGIC) and project.stat().st_size:
        raise InputError(
            f"{project} exists and is not a labelling project; choose a new file name, and give "
            "texts with --text"
        )
    for path in given:
        if not path.exists():
            raise InputError(f"{path} does not exist")
        check_not_read(project, [path])
    if export is not None:
        check_not_read(export, [project, *given])


def _add(
    project: Project,
    texts: Sequence[Path],
    seed_labels: Path | None,
    labels: str | None,
    format: str | None,
) -> None:
    from dualstruct.labelling.importing import documents_in

    if labels is not None:
        project.add_types(name.strip() for name in labels.split(","))
    for path in texts:
        labelled, total = project.add(documents_in(path, format, project.kind.column))
        tell(f"{path}: {plural(total, 'sentence')} added, {labelled:,} with labels")
    if seed_labels is not None:
        documents = documents_in(seed_labels, format, project.kind.column)
        labelled, _ = project.add(documents, drafts=True)
        tell(f"{seed_labels}: {plural(labelled, 'sentence')} with suggestions")


def _draft(project: Project, gazetteers: list[str], patterns: list[str]) -> None:
    from dualstruct.labelling.rules import Rules

    if gazetteers or patterns:
        count = project.draft(Rules.parse(gazetteers, patterns, project.types))
        tell(f"lists and patterns: {plural(count, 'sentence')} with suggestions")


def _counts(project: Project) -> dict[str, Any]:
    all_of_them = project.sentences.values()
    return {
        "project": str(project.path),
        "sentences": len(all_of_them),
        "labelled": sum(each.labels is not None for each in all_of_them),
        "conflicts": sum(each.in_conflict for each in all_of_them),
        "labels": project.types,
    }


def _export(project: Path, target: Path) -> dict[str, Any]:
    from dualstruct.cli.texts import convert_documents
    from dualstruct.data.tokenizing import Tokenizer
    from dualstruct.texts.alignment import Alignment

    how = "project", None, None, Tokenizer(), Alignment()
    made = convert_documents(str(project), target, *how)
    return {"target": made["target"], "format": made["format"], "sentences": made["documents"]}


def _report(counts: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print_json(counts)
    else:
        say(sentence)
