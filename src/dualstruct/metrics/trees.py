"""Scores of predicted dependency trees over the same words as the true ones.

UAS is the share of words with the right head, LAS that of words with the right head and relation.
They are counted in three ways:

- over all words, relations compared as they are written;
- without punctuation, as CoNLL-X counts: a word whose characters all have the Unicode property
  of punctuation (P) is not scored;
- as CoNLL-2018 counts: all words, relations up to the colon (``nmod`` for ``nmod:poss``). CLAS
  scores content words only, MLAS requires their tags, features and function words right as well,
  BLEX their lemmas; these three are F1 scores, because which words are content words is predicted.

All scores lie between 0 and 1; only the printed table shows percentages.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.columns import ColumnSentences
from dualstruct.data.treebank import Treebank
from dualstruct.metrics.counts import TypeScores, share
from dualstruct.metrics.universal import Universal, content_scores
from dualstruct.metrics.universal import universal as universal_relation
from dualstruct.metrics.words import check_same_words
from dualstruct.printable import plural

__all__ = ["Attachment", "TreeScores", "attachment", "evaluate_trees"]

Ids = NDArray[np.integer]

#: Distances to the head, as CoNLL-X's evaluation groups them; the root has none.
DISTANCES = ("to root", "1", "2", "3-6", "7-")


class Attachment(NamedTuple):
    """The shares of words with the right head, and with the right head and relation."""

    uas: float
    las: float
    words: int


def attachment(
    heads: Ids, relations: Ids, predicted_heads: Ids, predicted_relations: Ids
) -> Attachment:
    """Score heads and relations given as numbers; cheap enough for every training pass.

    Examples
    --------
    >>> attachment(np.array([2, 0]), np.array([1, 0]), np.array([2, 0]), np.array([2, 0]))
    Attachment(uas=1.0, las=0.5, words=2)
    """
    right = heads == predicted_heads
    both = right & (relations == predicted_relations)
    words = len(right)
    return Attachment(
        share(int(np.count_nonzero(right)), words), share(int(np.count_nonzero(both)), words), words
    )


@dataclass(frozen=True)
class TreeScores:
    """What `evaluate_trees` found; ``print`` shows it as a table.

    Attributes
    ----------
    uas, las
        Over all words.
    without_punctuation
        UAS and LAS as CoNLL-X counts them.
    conll18_las, clas, mlas, blex
        As CoNLL-2018 defines them; its UAS is ``uas``.
    exact, exact_labelled
        The share of sentences with all heads, and all heads and relations, right.
    per_relation
        Precision and recall of each relation, its head included.
    per_distance
        Precision and recall of heads by their distance.
    """

    uas: float
    las: float
    without_punctuation: Attachment
    conll18_las: float
    clas: float
    mlas: float
    blex: float
    exact: float
    exact_labelled: float
    words: int
    sentences: int
    per_relation: dict[str, TypeScores]
    per_distance: dict[str, TypeScores]

    @property
    def score(self) -> float:
        """The one number that judges: LAS."""
        return self.las

    def table(self) -> str:
        """The scores as text, in per cent."""
        bare = self.without_punctuation
        lines = [
            f"{plural(self.words, 'word')}, {plural(self.sentences, 'sentence')}",
            "",
            f"{'':24}{'UAS':>8}{'LAS':>8}",
            f"{'all words':24}{_percent(self.uas)}{_percent(self.las)}",
            f"{'without punctuation':24}{_percent(bare.uas)}{_percent(bare.las)}"
            f"   ({plural(bare.words, 'word')}, CoNLL-X)",
            f"{'universal relations':24}{_percent(self.uas)}{_percent(self.conll18_las)}"
            f"   (CoNLL-2018; CLAS {100 * self.clas:.2f}, MLAS {100 * self.mlas:.2f}, "
            f"BLEX {100 * self.blex:.2f})",
            f"{'whole sentences':24}{_percent(self.exact)}{_percent(self.exact_labelled)}",
        ]
        for title, rows in (("relation", self.per_relation), ("distance", self.per_distance)):
            width = max([24, *(len(name) + 2 for name in rows)])
            lines += ["", f"{title:{width}}{'words':>8}{'precision':>11}{'recall':>8}{'F1':>8}"]
            lines += [
                f"{name:{width}}{each.support:8,}   {_percent(each.precision)}"
                f"{_percent(each.recall)}{_percent(each.f1)}"
                for name, each in rows.items()
            ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "without_punctuation": self.without_punctuation._asdict()}

    def __str__(self) -> str:
        return self.table()


def _percent(part: float) -> str:
    return f"{100 * part:8.2f}"


def evaluate_trees(truth: Treebank, predicted: Treebank) -> TreeScores:
    """Score the trees of one treebank against those of another one over the same words.

    Examples
    --------
    >>> words = [["Ada", "sings", "."]]
    >>> tree = dict(heads=[[2, 0, 2]], relations=[["nsubj", "root", "punct"]])
    >>> truth = Treebank.from_columns(words, **tree)
    >>> scores = evaluate_trees(truth, truth.replace(heads=[[2, 0, 1]]))
    >>> round(scores.uas, 3), scores.without_punctuation
    (0.667, Attachment(uas=1.0, las=1.0, words=2))
    """
    check_same_words(truth, predicted)
    for treebank in (truth, predicted):
        treebank.check_trees()
    relations, names = truth.relations.encoded()
    theirs, their_names = predicted.relations.encoded()
    number = {name: k for k, name in enumerate(names)}
    renamed = [number.setdefault(name, len(number)) for name in their_names]
    predicted_relations = np.array(renamed, dtype=np.int32)[theirs]
    names = list(number)

    right = truth.heads == predicted.heads
    both = right & (relations == predicted_relations)
    scored = _scored(truth.forms)
    everything = attachment(truth.heads, relations, predicted.heads, predicted_relations)
    without_punctuation = attachment(
        truth.heads[scored],
        relations[scored],
        predicted.heads[scored],
        predicted_relations[scored],
    )
    universal_number: dict[str, int] = {}
    universal = np.array(
        [
            universal_number.setdefault(universal_relation(name), len(universal_number))
            for name in names
        ]
    )
    conll18 = right & (universal[relations] == universal[predicted_relations])
    same = [(word, word) for word in range(len(right))]
    content = content_scores(Universal(truth), Universal(predicted), same)
    return TreeScores(
        uas=everything.uas,
        las=everything.las,
        without_punctuation=without_punctuation,
        conll18_las=share(int(np.count_nonzero(conll18)), len(conll18)),
        **{name: each.f1 for name, each in content.items()},
        exact=_whole(right, truth.sentences),
        exact_labelled=_whole(both, truth.sentences),
        words=len(right),
        sentences=len(truth),
        per_relation=_per_type(relations, predicted_relations, both, names),
        per_distance=_per_type(
            _distances(truth), _distances(predicted), right, DISTANCES, in_order=True
        ),
    )


def is_punctuation(form: str) -> bool:
    """Whether all characters have the Unicode property P.

    >>> is_punctuation("..."), is_punctuation("$"), is_punctuation("o'clock")
    (True, False, False)
    """
    return all(unicodedata.category(c).startswith("P") for c in form)


def _scored(forms: ColumnSentences) -> NDArray[np.bool_]:
    ids, strings = forms.encoded()
    return np.array([not is_punctuation(form) for form in strings], dtype=np.bool_)[ids]


def _whole(right: NDArray[np.bool_], sentences: NDArray[np.int64]) -> float:
    """The share of sentences in which every word is right."""
    before = np.concatenate(([0], np.cumsum(~right)))
    wrong = np.diff(before[sentences])
    return share(int(np.count_nonzero(wrong == 0)), len(wrong))


def _per_type(
    truth: Ids,
    predicted: Ids,
    correct: NDArray[np.bool_],
    names: Sequence[str],
    in_order: bool = False,
) -> dict[str, TypeScores]:
    n = len(names)
    counts = zip(
        names,
        np.bincount(truth, minlength=n).tolist(),
        np.bincount(predicted, minlength=n).tolist(),
        np.bincount(truth[correct], minlength=n).tolist(),
        strict=True,
    )
    rows = counts if in_order else sorted(counts)
    return {name: TypeScores.of(*each) for name, *each in rows if each[0] or each[1]}


def _distances(treebank: Treebank) -> NDArray[np.int64]:
    """Which of DISTANCES the head of each word is at."""
    first = np.repeat(treebank.sentences[:-1], treebank.lengths)
    places = np.arange(len(treebank.heads)) - first + 1
    distance = np.abs(places - treebank.heads)
    group: NDArray[np.int64] = np.digitize(distance, [2, 3, 7]) + 1
    group[treebank.heads == 0] = 0
    return group
