"""What the commands read and write."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dualstruct.cli.options import TextOptions
from dualstruct.cli.output import tell, warnings_printed
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.data.columns import ColumnFile
    from dualstruct.data.tokenizing import Splitter
    from dualstruct.texts import TextCorpus
    from dualstruct.texts.corpora import TextBlocks

    LabelledFile = ColumnFile | TextCorpus


#: The columns of CoNLL-U that hold tags, and the one of the words.
_CONLLU = {"upos": 3, "xpos": 4, "feats": 5}
_FORMS = "1"


def read(
    path: str, label_column: str | None, columns: str | None, texts: TextOptions | None = None
) -> LabelledFile:
    """A file to train on: columns, or texts with marked spans."""
    from dualstruct.data.columns import read_columns

    texts = texts or TextOptions()
    if (found := text_format(path, texts.format, label_column)) is not None:
        return read_corpus([path], found, label_column, texts)
    place, columns = places(label_column, columns)
    file = read_columns(path, label_column=place, columns=column_numbers(columns))
    if texts.tokenizer is not None and file.tokens.layout is not None:
        file.tokens.layout = replace(file.tokens.layout, tokenizer=texts.tokenizer.rules)
    return file


def read_corpus(
    files: Sequence[str],
    format: str,
    label_column: str | None,
    texts: TextOptions,
    own: Splitter | None = None,
) -> TextCorpus:
    """Texts with marked spans; what was done with spans that do not fit is reported."""
    from dualstruct.texts import read_texts

    corpus = read_texts(
        list(files),
        format,
        label=label_column,
        tokenizer=texts.tokenizer or own,
        misaligned=cast(Any, texts.misaligned or "move"),
        overlapping=cast(Any, texts.overlapping or "refuse"),
    )
    for note in corpus.notes:
        tell(note)
    if not corpus.annotated:
        raise InputError(f"{corpus.name}: no span is marked in its texts")
    return corpus


def text_blocks_of(
    files: Sequence[str], format: str, label_column: str | None, texts: TextOptions
) -> TextBlocks:
    """The same, for files larger than memory."""
    from dualstruct.texts.alignment import Alignment
    from dualstruct.texts.corpora import TextBlocks

    return TextBlocks(
        files,
        format,
        label=label_column,
        tokenizer=texts.tokenizer,
        alignment=Alignment(
            cast(Any, texts.misaligned or "move"), cast(Any, texts.overlapping or "refuse")
        ),
    )


def shard_names(files: Sequence[str]) -> list[str]:
    """The files that names, folders, patterns and addresses stand for; BRAT's folders stay."""
    from dualstruct.data.shards import find_shards

    names: list[str] = []
    for file in files:
        if file == "-" or any(Path(file).glob("*.ann")):
            names.append(file)
        else:
            names += [shard.name for shard in find_shards([file])]
    return names


def text_format(path: str, format: str | None, label_column: str | None) -> str | None:
    """The name of the format if a file is one of texts; None if it has columns of tokens."""
    from dualstruct.texts.formats import find_format, format_named

    name = (find_format(path) if format is None else format_named(format)).name
    if name == "conllu":
        return name if (label_column or "").startswith("misc:") else None
    return None if name == "conll" else name


def places(label_column: str | None, columns: str | None) -> tuple[int, str | None]:
    """The number of the column of labels, and the columns of tokens, which a name implies."""
    if label_column is None:
        return -1, columns
    if label_column in _CONLLU:
        return _CONLLU[label_column], columns or _FORMS
    return column_number(label_column), columns


def column_number(label_column: str) -> int:
    """What --label-column says of a file of columns."""
    if label_column in _CONLLU:
        return _CONLLU[label_column]
    try:
        return int(label_column)
    except ValueError:
        raise InputError(
            f"--label-column is {label_column!r}; it must be a number, or for CoNLL-U "
            f"{', '.join(_CONLLU)} or misc:KEY"
        ) from None


def column_numbers(columns: str | None) -> list[int] | None:
    """0,2 as numbers."""
    if columns is None:
        return None
    try:
        return [int(part) for part in columns.split(",")]
    except ValueError:
        raise InputError(f"--columns is {columns!r}; it must be numbers such as 0,2") from None


@contextlib.contextmanager
def located(data: LabelledFile) -> Iterator[None]:
    """Says where in the file an unseen label stands."""
    from dualstruct.labels.names import UnseenLabelError, UnseenLabelWarning

    def described(warning: Warning) -> str:
        if not isinstance(warning, UnseenLabelWarning):
            return str(warning)
        found = warning.found
        where = data.where(found.sentence, found.token)
        return (
            f"{where}: the label {found.label!r} was never seen in training; "
            "such tokens count as mistakes"
        )

    try:
        with warnings_printed(described):
            yield
    except UnseenLabelError as error:
        found = error.found
        where = data.where(found.sentence, found.token)
        raise InputError(f"{where}: the label {found.label!r} was never seen in training") from None


def check_not_read(written: Path, read: list[Any]) -> None:
    """Refuse to write a file that is read meanwhile."""
    if written.resolve() in {Path(source).resolve() for source in read}:
        raise InputError(f"{written} is read by this command and cannot be written by it as well")


def check_outputs(written: list[Path | None], read: list[Any]) -> None:
    """A model that cannot be written, or would destroy data, must not cost a training run."""
    from dualstruct.data.arrays import check_target

    for path in written:
        if path is not None:
            check_target(path)
            if path.suffix != ".dstruct":
                _check_not_read(path, read)


def check_page(path: Path | None, read: list[Any]) -> None:
    """Refuse a name that no page can be written to, before any work is done."""
    from dualstruct.data.arrays import check_writable

    if path is None:
        return
    if path.suffix not in (".html", ".htm"):
        raise InputError(f"--html writes a page: {path} should end in .html")
    check_writable(path)
    _check_not_read(path, read)


def write_page(path: Path, page: str) -> None:
    """Write a page, and say so."""
    from dualstruct.data.writing import replace_file

    replace_file(path, page.encode("utf-8", "backslashreplace"))
    tell(f"page written to {path}")


def _check_not_read(path: Path, read: list[Any]) -> None:
    inputs = {Path(source).resolve() for source in read if source is not None}
    if path.resolve() in inputs:
        raise InputError(f"{path} is read by this command and cannot be written by it as well")
