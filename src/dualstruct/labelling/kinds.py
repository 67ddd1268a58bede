"""Kinds of answers: spans, a label for each token, trees.

An answer is one text for each token, whatever its kind: ``B-PER``, ``NOUN``, or the head of a word
and its relation, ``3:nsubj``. A kind says what the texts mean: which are possible, which parts an
answer is made of (by them answers are compared), and which models learn from them. The store, the
server and the order know no more of it; a new kind is a class here and one in ``static/kinds.js``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from dualstruct.errors import InputError
from dualstruct.labels.arcs import Arc, is_tree
from dualstruct.labels.schemes import spans, split_label
from dualstruct.texts.alignment import Alignment
from dualstruct.texts.documents import Document

if TYPE_CHECKING:
    from dualstruct.labelling.models import Maker

__all__ = ["KINDS", "Kind", "Part", "find_kind", "kind_of"]

#: What an answer is made of: a type, and where it is.
Part = tuple[str, tuple[int, ...]]


class Kind(ABC):
    """What an answer means."""

    name: ClassVar[str]
    #: What the score is called, F1 of parts as it always is.
    score_name: ClassVar[str]
    #: Whether models learn from answers of which only some tokens were asked about.
    takes_parts: ClassVar[bool] = True
    #: The column of CoNLL-U that texts are read with, if not the usual one.
    column: ClassVar[str | None] = None

    @abstractmethod
    def parts(self, labels: Sequence[str]) -> list[Part]:
        """What an answer is made of."""

    @abstractmethod
    def check(self, labels: Sequence[str], where: str) -> None:
        """Refuse what no answer can be; as many as tokens they are."""

    def types_of(self, labels: Iterable[str]) -> list[str]:
        """The types that it has, each once."""
        return list(dict.fromkeys(part[0] for part in self.parts(list(labels))))

    def check_type(self, name: str) -> None:  # noqa: B027  # most take any
        """Refuse names that no type can have."""

    def labels_of(self, document: Document, alignment: Alignment) -> list[str] | None:
        """What a document says of its tokens, as answers; None if it says nothing of the kind."""
        return document.labels

    @abstractmethod
    def maker(self, start: Path | None) -> Maker:
        """What makes models; ``start`` is the file of one to begin with."""


class Spans(Kind):
    """Parts of a text: B- begins one, I- continues it, O is outside."""

    name = "spans"
    score_name = "F1"

    def parts(self, labels: Sequence[str]) -> list[Part]:
        return [(type_, (begin, end)) for type_, begin, end in spans(labels)]

    def types_of(self, labels: Iterable[str]) -> list[str]:
        return list(dict.fromkeys(split_label(label)[1] for label in labels if label != "O"))

    def check(self, labels: Sequence[str], where: str) -> None:
        before = "O"
        for t, label in enumerate(labels, 1):
            prefix, type_ = split_label(label)
            inside = prefix == "I" and before != "O" and split_label(before)[1] == type_
            if label != "O" and not (type_ and (prefix == "B" or inside)):
                raise InputError(
                    f"{where}, token {t}: {label[:100]!a} cannot stand here; B- begins a span, I- "
                    "continues it, and O is outside"
                )
            before = label

    def check_type(self, name: str) -> None:
        if name[0] == "<" and name[-1] == ">":
            raise InputError(f"{name!a}: the label of a span has no angle brackets")

    def labels_of(self, document: Document, alignment: Alignment) -> list[str] | None:
        return None if document.spans is None else alignment.labels(document)

    def maker(self, start: Path | None) -> Maker:
        from dualstruct.labelling.tagging import TaggerMaker

        return TaggerMaker(self, "ner", start)


class Labels(Kind):
    """One label for each token: parts of speech."""

    name = "labels"
    score_name = "accuracy"

    def parts(self, labels: Sequence[str]) -> list[Part]:
        return [(label, (t,)) for t, label in enumerate(labels)]

    def check(self, labels: Sequence[str], where: str) -> None:
        """Any labels will do."""

    def maker(self, start: Path | None) -> Maker:
        from dualstruct.labelling.tagging import TaggerMaker

        return TaggerMaker(self, "pos", start)


class Trees(Kind):
    """The head of each word (0: none) and its relation: ``3:nsubj``."""

    name = "trees"
    score_name = "LAS"
    takes_parts = False
    column = "tree"

    def parts(self, labels: Sequence[str]) -> list[Part]:
        arcs = [Arc.parse(label) for label in labels]
        return [(arc.relation, (t, arc.head)) for t, arc in enumerate(arcs) if arc is not None]

    def check(self, labels: Sequence[str], where: str) -> None:
        arcs = []
        for t, label in enumerate(labels, 1):
            arc = Arc.parse(label)
            if arc is None or arc.head > len(labels) or arc.head == t:
                raise InputError(
                    f"{where}, token {t}: {label[:100]!a} is not an arc: the number of another "
                    "word (or 0), a colon and a relation are expected"
                )
            arcs.append(arc.head)
        if not is_tree(arcs):
            raise InputError(f"{where}: its arcs are no tree: every word has to lead to the root")

    def labels_of(self, document: Document, alignment: Alignment) -> list[str] | None:
        return document.arcs

    def maker(self, start: Path | None) -> Maker:
        from dualstruct.labelling.parsing import ParserMaker

        return ParserMaker(self, start)


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Spans(), Labels(), Trees())}


def find_kind(name: str) -> Kind:
    """The kind of a name.

    >>> find_kind("spans").types_of(["B-PER", "I-PER", "O"])
    ['PER']
    >>> find_kind("trees").parts(["2:det", "0:root"])
    [('det', (0, 2)), ('root', (1, 0))]
    """
    if name not in KINDS:
        raise InputError(f"the kind is {name!r}; there are {', '.join(KINDS)}")
    return KINDS[name]


def kind_of(document: Document) -> str | None:
    """What a document with labels is about."""
    if document.arcs is not None:
        return "trees"
    if document.spans is not None:
        return "spans"
    return None if document.labels is None else "labels"
