"""A tagger from its packed form, and what can be asked of it."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from dualstruct.exporting.runtime.chain import Beliefs, Chain, Matrix
from dualstruct.exporting.runtime.features import Attributes, Row, Templates, Weights
from dualstruct.exporting.runtime.spans import (
    Span,
    are_span_labels,
    convert,
    find_spans,
    parts,
    split_labels,
)
from dualstruct.exporting.runtime.splitting import Splitter, Token

#: What packed models begin with.
MAGIC = b"DSX1"


class TextSpan(NamedTuple):
    """A span of a text, in characters."""

    start: int
    end: int
    label: str
    text: str
    probability: float | None = None


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, array[Any]]]:
    """The header and the arrays of a packed model."""
    if data[:4] != MAGIC:
        raise ValueError("these are not the weights of an exported model")
    size = int.from_bytes(data[4:8], "little")
    header = json.loads(data[8 : 8 + size])
    begin = 8 + size + -size % 8
    arrays = {}
    for name, (code, offset, length) in header["arrays"].items():
        values = array(code)
        values.frombytes(data[begin + offset : begin + offset + length * values.itemsize])
        if sys.byteorder == "big":
            values.byteswap()
        arrays[name] = values
    return header, arrays


def _is_empty(tokens: Sequence[Any]) -> bool:
    """Whether a sentence has no tokens; a text would be taken for its letters."""
    if isinstance(tokens, str):
        raise ValueError("a sentence is a list of tokens, not a str; find() takes a text")
    return not tokens


class Tagger:
    """A trained tagger."""

    def __init__(self, data: bytes) -> None:
        header, arrays = unpack(data)
        self.labels: list[str] = header["labels"]  #: in the scheme that the model learned in
        self.columns: int | None = header["columns"]  #: of a token; None for attributes
        self._inner, self._outer = header["schemes"]
        self._beta: float | None = header["beta"]
        allowed = arrays.get("allowed")
        self._chain = Chain(len(self.labels), arrays["transition"], allowed)
        weights = Weights(arrays, "emission", header["shift"])
        self._pairs: Templates | None = None
        self._features: Templates | Attributes = Attributes(weights)
        if header["templates"] is not None:
            self._features = Templates(header["templates"], arrays, weights, "emission")
        if header["pairs"] is not None:
            weights = Weights(arrays, "pair", header["pair_shift"])
            self._pairs = Templates(header["pairs"], arrays, weights, "pair")
        splitter = header["tokenizer"]
        self._splitter = None if splitter is None else Splitter(splitter, arrays["marks"])
        self._marks_spans = are_span_labels(self.labels)
        pairs = split_labels(self.labels)
        self._parts = [[parts(a, b) for b in pairs] for a in pairs]
        self._of_type: dict[str, list[int]] = {}
        for k, (prefix, kind) in enumerate(pairs):
            if prefix != "O":
                self._of_type.setdefault(kind, []).append(k)

    def _scores(self, tokens: Sequence[Any]) -> tuple[list[array[float]], list[Matrix]]:
        pairs: list[list[Row]] | None = None if self._pairs is None else self._pairs.rows(tokens)
        emissions = self._chain.emissions(self._features.rows(tokens))
        return emissions, self._chain.steps(pairs, len(tokens))

    def tag(self, tokens: Sequence[Any]) -> list[str]:
        """The labels of a sentence's tokens: words, tuples of columns, or attributes."""
        if _is_empty(tokens):
            return []
        return self._shown(self._best(tokens))

    def _best(self, tokens: Sequence[Any]) -> list[int]:
        if self._pairs is not None:
            return self._chain.best(*self._scores(tokens))
        rows = self._features.rows(tokens)
        quick = self._chain.quick_best(rows)
        if quick is not None:
            return quick
        steps = self._chain.steps(None, len(tokens))
        return self._chain.best(self._chain.emissions(rows), steps)

    def _shown(self, best: list[int]) -> list[str]:
        labels = [self.labels[k] for k in best]
        if self._inner is None or self._outer is None:
            return labels
        return convert(labels, self._inner, self._outer)

    def probabilities(self, tokens: Sequence[Any]) -> list[dict[str, float]]:
        """The probability of each label at each token."""
        if _is_empty(tokens):
            return []
        beliefs = self._beliefs(*self._scores(tokens))
        return [dict(zip(self.labels, row, strict=True)) for row in beliefs.labels()]

    def _beliefs(self, emissions: list[array[float]], steps: list[Matrix]) -> Beliefs:
        if self._beta is None:
            raise ValueError(
                "this model's scores are not probabilities: calibrate it (dualstruct calibrate) "
                "and export it again"
            )
        return self._chain.beliefs(emissions, steps, self._beta)

    def spans(self, tokens: Sequence[Any]) -> list[Span]:
        """The spans that the labels of a sentence mark, with probabilities if there are any."""
        if not self._marks_spans:
            raise ValueError("the labels of this model mark no spans")
        if _is_empty(tokens):
            return []
        emissions, steps = self._scores(tokens)
        best = self._chain.best(emissions, steps)
        found = find_spans([self.labels[k] for k in best])
        if self._beta is None or not found:
            return found
        beliefs = self._beliefs(emissions, steps)
        return [
            span._replace(
                probability=beliefs.span(
                    self._of_type[span.label], self._parts, span.start, span.end
                )
            )
            for span in found
        ]

    def split(self, text: str) -> list[list[Token]]:
        """The sentences of a text, as the training data were split."""
        if self._splitter is None:
            raise ValueError("this model does not label plain words, and so no texts")
        return self._splitter.split(text)

    def find(self, text: str) -> list[TextSpan]:
        """The spans of a text, or each token with its label if labels mark no spans."""
        found = []
        for sentence in self.split(text):
            words = [token.word for token in sentence]
            if self._marks_spans:
                spans = self.spans(words)
            else:
                spans = [Span(label, t, t + 1) for t, label in enumerate(self.tag(words))]
            for label, first, end, probability in spans:
                a, b = sentence[first].start, sentence[end - 1].end
                found.append(TextSpan(a, b, label, text[a:b], probability))
        return found


def main(tagger: Tagger) -> None:
    """Label lines of words from standard input, or find spans in texts with --text."""
    if sys.argv[1:] not in ([], ["--text"]):
        print(f"usage: {sys.argv[0]} [--text] < sentences", file=sys.stderr)
        raise SystemExit(2)
    for line in sys.stdin:
        if sys.argv[1:]:
            print(json.dumps([each._asdict() for each in tagger.find(line)], ensure_ascii=False))
        else:
            print(*tagger.tag(line.split()))
