"""Column files at the command line: read as training read its own, printed with labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dualstruct.cli.files import (
    column_number,
    column_numbers,
    places,
    read_corpus,
    text_format,
)

if TYPE_CHECKING:
    from dualstruct.cli.files import LabelledFile
    from dualstruct.cli.judging import Judged
    from dualstruct.cli.options import Reading, Splitting
    from dualstruct.data.columns import ColumnFile
    from dualstruct.data.layout import ColumnLayout
    from dualstruct.estimators import SequenceTagger
    from dualstruct.metrics import Scores

#: Bytes of text that are labelled before the rest is read.
_BLOCK_BYTES = 1 << 20


def read_labelled(
    path: str, tagger: SequenceTagger, reading: Reading
) -> tuple[LabelledFile, Sequence[Sequence[str]]]:
    """A file with labels, read as asked for, or else as in training; its labels as the model's."""
    from dualstruct.data.columns import read_like
    from dualstruct.labels.schemes import detect_scheme

    label, columns = reading.label_column, reading.columns
    if (found := text_format(path, reading.texts.format, label)) is not None:
        corpus = read_corpus([path], found, label, reading.texts, tagger.tokenizer_)
        return corpus, corpus.in_scheme(detect_scheme([], list(tagger.classes_), (False, False)))
    if label is not None:
        place, columns = places(label, columns)
        file = read_like(path, _layout(tagger), column_numbers(columns), place)
    else:
        file = read_like(path, _layout(tagger), column_numbers(columns), None)
    return file, file.labels


def judge_labels(
    gold: str, predicted: str, label_column: str | None, columns: str | None
) -> Judged:
    """The labels in one file against those in another one."""
    from dualstruct.cli.files import read
    from dualstruct.cli.judging import Judged
    from dualstruct.metrics import evaluate
    from dualstruct.metrics.words import check_same_words
    from dualstruct.mistakes import label_mistakes

    truth, found = (read(path, label_column, columns) for path in (gold, predicted))
    check_same_words(truth, found)
    scores = evaluate(truth.labels, found.labels)
    return Judged(
        scores_as_json(scores),
        scores.table(),
        lambda: label_mistakes(
            truth.tokens,
            truth.labels,
            found.labels,
            where=truth.where,
            documents=truth.documents(),
        ),
        lambda path: words_of(read(path, label_column, columns)),
    )


def words_of(file: LabelledFile) -> set[str]:
    """The words of a file."""
    return set(file.forms.encoded()[1])


def scores_as_json(scores: Scores) -> dict[str, Any]:
    """The scores of labels, for JSON."""
    return {
        "accuracy": scores.accuracy,
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "tokens": scores.tokens,
        "sentences": scores.sentences,
        "per_type": {
            name: {
                "precision": each.precision,
                "recall": each.recall,
                "f1": each.f1,
                "support": each.support,
            }
            for name, each in scores.per_type.items()
        },
    }


def read_tokens(
    path: str, tagger: SequenceTagger, columns: str | None = None, label_column: str | None = None
) -> Sentences:
    """The sentences of a file that may have labels."""
    from dualstruct.data.columns import read_columns

    layout = _layout(tagger)
    file = read_columns(path, label_column=None, comments=layout.comments or None)
    return _sentences(file, layout, column_numbers(columns), label_column)


def token_blocks(
    path: str, tagger: SequenceTagger, columns: str | None, label_column: str | None
) -> Iterator[Sentences]:
    """The same by blocks of sentences: what was read is labelled before the rest is read."""
    from dualstruct.data.blocks import read_blocks

    if tagger.model_.extractor.uses_documents:  # which a block might divide
        yield read_tokens(path, tagger, columns, label_column)
        return
    layout, asked = _layout(tagger), column_numbers(columns)
    blocks = read_blocks(
        path, label_column=None, comments=layout.comments or None, block_bytes=_BLOCK_BYTES
    )
    for block in blocks:
        yield _sentences(block, layout, asked, label_column)


def text_blocks(path: str, tagger: SequenceTagger, split: Splitting) -> Iterator[Sentences]:
    """The sentences of plain text, as the model's training data were split."""
    from dualstruct.data.lines import sentence_blocks

    for block in sentence_blocks(path, split.tokenizer(tagger.tokenizer_)):
        yield Sentences(block)


class Sentences(Sequence[Any]):
    """Sentences to be labelled, and the file that they are from, which is printed with labels.

    Parameters
    ----------
    tokens : sentences
    file : ColumnFile, optional
        With all its columns.
    label : int, optional
        The column of the file that a predicted label takes the place of; it comes last without.
    """

    def __init__(
        self, tokens: Sequence[Any], file: ColumnFile | None = None, label: int | None = None
    ) -> None:
        self.tokens = tokens
        self._file = file
        self._label = label

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: Any) -> Any:
        return self.tokens[index]

    def metadata(self, i: int) -> list[str]:
        """The comments and other lines that stand before a sentence, without blank lines."""
        return [line for line in self._others(i, 0) if line.strip()]

    def lines(
        self,
        i: int,
        labels: Sequence[str],
        above: Sequence[str] = (),
        behind: Sequence[str] | None = None,
        first: bool = True,
    ) -> list[str]:
        """A sentence with labels as it is printed, with the blank line after it.

        Parameters
        ----------
        i : int
            Which one, counted from 0.
        labels : one for each token
        above : lines to come before the first token
        behind : for each token a cell behind all others, optional
        first : bool
            Whether this is the first time that the sentence is printed, with what stands before
            it; other lines that stand in the sentence come each time.
        """
        shown = self._file.choose(None, None).tokens if self._file else self.tokens
        before = self._others(i, 0)
        # Comments come before what is said of the sentence; a range of CoNLL-U is part of it.
        inner = next((k for k, line in enumerate(before) if line[:1].isdigit()), len(before))
        lines = [*(before[:inner] if first else []), *above, *before[inner:]]
        for t, (token, label) in enumerate(zip(shown[i], labels, strict=True)):
            cells = [token] if isinstance(token, str) else list(token)
            if self._label is None:
                cells.append(label)
            else:
                cells[self._label] = label
            if behind is not None:
                cells.append(behind[t])
            lines += self._others(i, t) if t else []
            lines.append("\t".join(cells))
        return [*lines, *self._others(i, len(labels)), ""]

    def rest(self) -> list[str]:
        """Lines behind the last sentence."""
        return self._others(len(self), 0)

    def _others(self, i: int, t: int) -> list[str]:
        return [] if self._file is None else self._file.other_lines.get((i, t), [])


def _sentences(
    file: ColumnFile, layout: ColumnLayout, asked: list[int] | None, label_column: str | None
) -> Sentences:
    found = layout.unlabelled(file.n_columns) if asked is None else (tuple(asked), None)
    if found is None:
        raise file.unlike(layout)
    columns, label = found
    if asked is not None and file.n_columns == layout.width:
        label = layout.label
    if label_column is not None:
        chosen = file.choose(None, column_number(label_column)).tokens.layout
        label = None if chosen is None else chosen.label
    return Sentences(file.choose(columns, None).tokens, file, label)


def _layout(tagger: SequenceTagger) -> ColumnLayout:
    from dualstruct.data.layout import ColumnLayout

    return tagger.layout_ or ColumnLayout.plain(1)
