"""All mistakes of some predictions: by kind, as a table of confusions, and by part of the data."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from itertools import count
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.mistakes.pairs import LabelPairs, Pairs, TreePairs
from dualstruct.mistakes.results import Confusion, Mistake, Slice

#: The longest sentence of each part but the last.
LENGTHS = (10, 20, 30, 50)
#: What `Mistakes.by` divides sentences, or words, by.
PARTS = ("length", "document", "seen")


class Mistakes(Sequence[Mistake]):
    """The mistakes in predictions, in the order of the sentences.

    ``str()`` shows them as text, :meth:`html` as a page, :meth:`to_dict` as data for JSON.

    Parameters
    ----------
    pairs : Pairs
        Sentences with what is true and what was predicted.
    where : callable, optional
        Returns the place of a token (sentence and token, from 0) in its file.
    documents : sequence of str, optional
        The document of each sentence; empty without.

    Examples
    --------
    >>> found = label_mistakes(
    ...     [["Ada", "left", "Turin"], ["Bo", "sings"]],
    ...     [["B-PER", "O", "B-LOC"], ["B-PER", "O"]],
    ...     [["B-PER", "O", "B-ORG"], ["O", "O"]],
    ... )
    >>> [(each.sentence, each.kind, each.pattern) for each in found]
    [(1, 'type', 'LOC → ORG'), (2, 'missed', 'PER')]
    >>> found.confusion().most_frequent(1)
    [('PER', 'O', 1)]
    """

    def __init__(
        self,
        pairs: Pairs,
        where: Callable[[int, int], str] | None = None,
        documents: Sequence[str] = (),
    ) -> None:
        self.pairs = pairs
        self._where = where
        self._documents = documents

    def located(self, where: Callable[[int, int], str], documents: Sequence[str] = ()) -> Mistakes:
        """The same with the places of tokens, and the documents of sentences."""
        return Mistakes(self.pairs, where, documents)

    @cached_property
    def _found(self) -> list[Mistake]:
        return [each for i in range(len(self.pairs)) for each in self.pairs.mistakes(i)]

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, at: int) -> Mistake: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Mistake]: ...
    def __getitem__(self, at: int | slice) -> Mistake | Sequence[Mistake]:
        return self._found[at]

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.pairs)

    @property
    def wrong_sentences(self) -> int:
        """The number of sentences with a mistake."""
        return len({each.sentence for each in self})

    @cached_property
    def counts(self) -> NDArray[np.float64]:
        """[sentences, numbers]: what scores are computed from."""
        rows = [self.pairs.counts(i) for i in range(self.sentences)]
        return np.array(rows, dtype=float).reshape(len(rows), len(self.pairs.measures[0].over))

    @property
    def scores(self) -> dict[str, float]:
        """Of all sentences; the last one judges."""
        return self._scores(self.counts)

    def _scores(self, counts: NDArray[np.float64]) -> dict[str, float]:
        total = counts.sum(axis=0).tolist()
        return {measure.name: measure(total) for measure in self.pairs.measures}

    @cached_property
    def kinds(self) -> dict[str, int]:
        """How many there are of each kind, the most frequent first."""
        return dict(Counter(each.kind for each in self).most_common())

    def patterns(self, kind: str) -> dict[str, int]:
        """Counts of what was confused with what, for one kind; the most frequent first."""
        return dict(Counter(each.pattern for each in self if each.kind == kind).most_common())

    def examples(self, kind: str, most: int | None = None) -> list[Mistake]:
        """Some mistakes of one kind: one of each pattern, the most frequent first, and so on."""
        places = {pattern: (place, count()) for place, pattern in enumerate(self.patterns(kind))}
        mine = [each for each in self if each.kind == kind]
        order = [(next(places[each.pattern][1]), places[each.pattern][0]) for each in mine]
        return [mine[k] for k in sorted(range(len(mine)), key=order.__getitem__)[:most]]

    def forms(self, sentence: int) -> list[str]:
        """The words of a sentence, counted from 1."""
        return self.pairs.forms(sentence - 1)

    def where(self, mistake: Mistake) -> str:
        """The file and line; empty if they are not known."""
        return self.place(mistake.sentence, min(span.start for span in mistake.spans))

    def place(self, sentence: int, token: int = 0) -> str:
        """The file and line of a sentence (from 1), or of one of its tokens (from 0)."""
        return "" if self._where is None else self._where(sentence - 1, token)

    def confusion(self) -> Confusion:
        """Confusions of types of spans, labels, or relations (regardless of their heads).

        Overlapping spans are compared, regardless of their boundaries; ``O`` means none.
        """
        found = Counter(pair for i in range(self.sentences) for pair in self.pairs.confusions(i))
        names: Counter[str] = Counter()
        for (gold, predicted), times in found.items():
            names[gold] += times
            names[predicted] += times
        nothing = self.pairs.nothing
        labels = sorted(names, key=lambda name: (name == nothing, -names[name], name))
        return Confusion(labels, [[found[a, b] for b in labels] for a in labels])

    def by(self, what: str, seen: Collection[str] | None = None) -> list[Slice]:
        """The scores of parts of the data.

        Parameters
        ----------
        what : {"length", "document", "seen"}
            Sentences by their number of tokens; by document, those with the most mistakes first;
            or words by whether they are in the training data. A span is unseen if one of its
            words is.
        seen : set of str
            The words of the training data, for "seen".

        Examples
        --------
        >>> found = label_mistakes([["a", "cat"]], [["DET", "NOUN"]], [["DET", "VERB"]])
        >>> [(part.name, part.support, part.scores) for part in found.by("seen", {"a", "dog"})]
        [('seen', 1, {'accuracy': 1.0}), ('unseen', 1, {'accuracy': 0.0})]
        """
        if what == "length":
            return self._by_length()
        if what == "document":
            return self._by_document()
        if what != "seen":
            raise InputError(f"mistakes are shown by {', '.join(PARTS)}, not by {what!r}")
        if seen is None:
            raise InputError("which words are seen: the words of the training data are expected")
        return self._by_word(seen)

    def _by_length(self) -> list[Slice]:
        names = [
            *(f"{a + 1}–{b}" for a, b in zip((0, *LENGTHS), LENGTHS, strict=False)),
            f"over {LENGTHS[-1]}",
        ]
        of_sentence = [bisect_left(LENGTHS, self.pairs.size(i)) for i in range(self.sentences)]
        return self._sliced([names[k] for k in of_sentence], names)

    def _by_document(self) -> list[Slice]:
        if not len(self._documents):
            raise InputError(
                "it is not known which documents the sentences are from: in files they begin with "
                "-DOCSTART- or # newdoc"
            )
        wrong = Counter(self._documents[each.sentence - 1] for each in self)
        names = dict.fromkeys(self._documents)
        return self._sliced(self._documents, sorted(names, key=lambda name: -wrong[name]))

    def _sliced(self, of_sentence: Sequence[str], names: Iterable[str]) -> list[Slice]:
        members: dict[str, list[int]] = {}
        for i, name in enumerate(of_sentence):
            members.setdefault(name, []).append(i)
        found = []
        for name in names:
            if name in members:
                counts = self.counts[members[name]]
                support = int(counts[:, 0].sum())
                found.append(Slice(name, len(members[name]), support, self._scores(counts)))
        return found

    def _by_word(self, seen: Collection[str]) -> list[Slice]:
        rows: dict[str, list[list[int]]] = {"seen": [], "unseen": []}
        for i in range(self.sentences):
            new = [form not in seen for form in self.pairs.forms(i)]

            def is_new(start: int, end: int, new: list[bool] = new) -> bool:
                return any(new[start:end])

            def is_known(start: int, end: int, new: list[bool] = new) -> bool:
                return not any(new[start:end])

            rows["seen"].append(self.pairs.counts(i, is_known))
            rows["unseen"].append(self.pairs.counts(i, is_new))
        found = []
        for name, each in rows.items():
            counts = np.array(each, dtype=float).reshape(self.counts.shape)
            found.append(Slice(name, None, int(counts[:, 0].sum()), self._scores(counts)))
        return found

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """For JSON: all mistakes, or some of each kind."""
        kinds = [
            {
                "kind": kind,
                "count": times,
                "patterns": [{"pattern": p, "count": n} for p, n in self.patterns(kind).items()],
                "examples": [self._told(each) for each in self.examples(kind, most)],
            }
            for kind, times in self.kinds.items()
        ]
        return {
            "total": len(self),
            "sentences": self.sentences,
            "wrong_sentences": self.wrong_sentences,
            "kinds": kinds,
        }

    def _told(self, mistake: Mistake) -> dict[str, Any]:
        forms, where = self.forms(mistake.sentence), self.where(mistake)
        return {**mistake.to_dict(), "forms": forms, "where": where}

    def html(
        self, title: str = "Mistakes", most: int = 50, seen: Collection[str] | None = None
    ) -> str:
        """A page without external files: mistakes by kind, confusions, and scores by part."""
        from dualstruct.mistakes.html import page

        return page(self, title, most, seen)

    @property
    def has_documents(self) -> bool:
        """Whether the documents of the sentences are known."""
        return len(self._documents) > 0

    def __str__(self) -> str:
        from dualstruct.mistakes.terminal import as_text, mistake_lines

        return as_text(mistake_lines(self))


def label_mistakes(
    tokens: Sequence[Any],
    truth: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    *,
    labels: Iterable[str] = (),
    unknown_label: str | None = None,
    where: Callable[[int, int], str] | None = None,
    documents: Sequence[str] = (),
) -> Mistakes:
    """The mistakes in predicted labels.

    Parameters
    ----------
    tokens : sentences
    truth, predicted : the labels of each sentence
    labels : iterable of str, optional
        All labels, if the data may have too few to show whether they mark spans.
    unknown_label : str, optional
        Tokens with this label are left out.
    where, documents
        As for :class:`Mistakes`.

    Examples
    --------
    >>> found = label_mistakes([["a", "cat"]], [["DET", "NOUN"]], [["DET", "VERB"]])
    >>> found.kinds, found[0].pattern
    ({'label': 1}, 'NOUN → VERB')
    """
    pairs = LabelPairs(tokens, truth, predicted, labels, unknown_label)
    return Mistakes(pairs, where, documents)


def tree_mistakes(
    truth: Treebank, predicted: Treebank, *, documents: Sequence[str] | None = None
) -> Mistakes:
    """The mistakes in predicted trees, and in the tags and lemmas that both files have.

    Examples
    --------
    >>> words = [["Ada", "sings", "."]]
    >>> tree = dict(heads=[[2, 0, 2]], relations=[["nsubj", "root", "punct"]])
    >>> truth = Treebank.from_columns(words, **tree)
    >>> found = tree_mistakes(truth, truth.replace(heads=[[2, 0, 1]]))
    >>> [(each.kind, each.pattern, each.predicted_spans[1].start) for each in found]
    [('head', 'punct', 0)]
    """
    return Mistakes(
        TreePairs(truth, predicted),
        truth.where,
        truth.documents() if documents is None else documents,
    )
