"""The command that turns models of other programs into ours, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from dualstruct.cli.files import check_not_read, check_outputs
from dualstruct.cli.options import (
    Json,
    LabelColumn,
    Misaligned,
    Overlapping,
    TokenizerOption,
    asked_tokenizer,
)
from dualstruct.cli.output import print_json, say, tell
from dualstruct.cli.parameters import Argument, Option
from dualstruct.errors import InputError
from dualstruct.printable import plural


@dataclass(frozen=True)
class _Format:
    """Model files of another program."""

    name: str
    endings: tuple[str, ...]
    features: str  #: what it calls them
    begins: Callable[[Path], bool]
    read: Callable[[Path], Any]
    write: Callable[[Path, Any], None]
    to_tagger: Callable[[Any], Any]
    from_tagger: Callable[[Any], Any]


def _formats() -> list[_Format]:
    from dualstruct.crfsuite import conversion, files
    from dualstruct.wapiti import conversion as wapiti_conversion
    from dualstruct.wapiti import files as wapiti_files

    return [
        _Format(
            "CRFsuite",
            (".crfsuite", ".crfmodel", ".crf", ".model"),
            "attributes",
            files.is_crfsuite,
            files.read_crfsuite,
            files.write_crfsuite,
            conversion.tagger_from_crfsuite,
            conversion.crfsuite_from_tagger,
        ),
        _Format(
            "Wapiti",
            (".wapiti",),
            "observations",
            wapiti_files.is_wapiti,
            wapiti_files.read_wapiti,
            wapiti_files.write_wapiti,
            wapiti_conversion.tagger_from_wapiti,
            wapiti_conversion.wapiti_from_tagger,
        ),
    ]


def convert(
    source: Annotated[
        Path,
        Argument(
            help="Data in any format that train reads, a tagger written by train, or "
            "a model file of CRFsuite or Wapiti."
        ),
    ],
    target: Annotated[
        Path,
        Argument(
            help="The file to write; its name determines the format. Data: .jsonl, "
            ".conll, .conllu, .csv, .labelstudio.json, .spacy, .parquet, or a "
            "folder .brat. Models: .dstruct (dualstruct), .crfsuite, .crfmodel, "
            ".crf or .model (CRFsuite), .wapiti (Wapiti)."
        ),
    ],
    read_as: Annotated[
        str | None, Option("--from", help="The format of the source, if it is not recognised.")
    ] = None,
    write_as: Annotated[
        str | None, Option("--to", help="The format to write, if the file name does not show it.")
    ] = None,
    label_column: LabelColumn = None,
    tokenizer: TokenizerOption = None,
    misaligned: Misaligned = None,
    overlapping: Overlapping = None,
    as_json: Json = False,
) -> None:
    """Convert data between formats, or models of CRFsuite and Wapiti.

    Data formats: JSONL, BRAT, Label Studio, CoNLL-U, CSV, columns, spaCy's DocBin and Parquet.
    --misaligned and --overlapping decide about spans that cannot be written as token labels.
    """
    from dualstruct.data.opening import is_text

    formats = _formats()
    theirs = next((each for each in formats if each.begins(source)), None)
    model = theirs is not None or _is_ours(source)
    data = source.is_dir() or (is_text(source) and not model)
    if data or (theirs is None and _is_other_data(source, read_as)):
        from dualstruct.cli.texts import convert_documents
        from dualstruct.data.tokenizing import Tokenizer
        from dualstruct.texts.alignment import Alignment

        check_not_read(target, [source])
        split_as = Tokenizer() if tokenizer is None else asked_tokenizer(tokenizer)
        aligned = Alignment(cast(Any, misaligned or "move"), cast(Any, overlapping or "refuse"))
        made = convert_documents(
            str(source), target, read_as, write_as, label_column, split_as, aligned
        )
        marked = plural(made["spans"], "span")
        if made["labels"] and not made["spans"]:
            marked = plural(made["labels"], "label")
        counts = f"{plural(made['documents'], 'document')} with {marked}"
        if as_json:
            print_json(made)
        else:
            say(f"{counts} written to {target} as {made['format']}")
        return
    _convert_model(source, target, formats, theirs, as_json)


def _convert_model(
    source: Path, target: Path, formats: list[_Format], theirs: _Format | None, as_json: bool
) -> None:
    from dualstruct.crfsuite.conversion import END, START
    from dualstruct.data.arrays import format_of
    from dualstruct.estimators import SequenceTagger

    if theirs is not None:
        _check_ending(target, "dualstruct", (".dstruct",))
        check_outputs([target], [source])
        found = theirs.read(source)
        theirs.to_tagger(found).save(target)
        written, called = "dualstruct", theirs.features
    else:
        wanted = next((each for each in formats if target.suffix in each.endings), formats[0])
        if format_of(source) != SequenceTagger.model_format:
            raise InputError(f"{source} holds no tagger, and {wanted.name} knows nothing else")
        tagger = SequenceTagger.load(source)
        _check_ending(target, wanted.name, wanted.endings)
        if target.exists() and not wanted.begins(target):
            raise InputError(
                f"{target} exists and is not a {wanted.name} model; choose another name"
            )
        found = wanted.from_tagger(tagger)
        wanted.write(target, found)
        written, called = wanted.name, wanted.features
    features = getattr(found, called)
    if as_json:
        sizes = {"labels": len(found.labels), called: len(features)}
        print_json({"target": str(target), "format": written, **sizes})
    else:
        say(
            f"{plural(len(found.labels), 'label')}, {len(features):,} {called}; "
            f"{written} model written to {target}"
        )
    if written == "CRFsuite" and {START, END} & set(features):
        tell(f"the first item of a sequence needs the attribute {START}, the last one {END}")


def _check_ending(target: Path, kind: str, known: tuple[str, ...]) -> None:
    """A name that promises another format than is written is a mistake."""
    if target.suffix and target.suffix not in known:
        raise InputError(
            f"{target}: a {kind} model would be written there, whose name ends in "
            f"{', '.join(known)}; convert knows dualstruct, CRFsuite and Wapiti, no others"
        )


def _is_other_data(path: Path, format: str | None) -> bool:
    """Whether these are data in a format that is no text: DocBin, Parquet, a project."""
    from dualstruct.texts.formats import find_format, format_named

    if not path.is_file():
        return False
    chosen = find_format(path) if format is None else format_named(format)
    return not chosen.is_text


def _is_ours(path: Path) -> bool:
    from dualstruct.data.opening import read_pieces

    return path.is_file() and b'"dualstruct"' in next(read_pieces(path, 200), b"")
