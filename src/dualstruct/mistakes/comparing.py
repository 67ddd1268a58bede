"""Two predictions for the same sentences: which is better, is it more than chance, and where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from dualstruct.errors import InputError
from dualstruct.metrics.comparing import ROUNDS, compared, exchange_test
from dualstruct.mistakes.judging import Mistakes
from dualstruct.mistakes.results import Difference
from dualstruct.printable import plural


@dataclass(frozen=True)
class ScorePair:
    """One score of two predictions."""

    name: str
    one: float
    other: float
    difference: float  #: other − one
    error: float  #: the standard error of the difference, by the jackknife over sentences
    p: float  #: how probable so large a difference is, in either direction, if it were chance


@dataclass(frozen=True)
class DifferentSentence:
    """A sentence in which two predictions differ."""

    sentence: int  #: counted from 1
    forms: tuple[str, ...]
    one_mistakes: int  #: how many mistakes the first one has there
    other_mistakes: int
    differences: tuple[Difference, ...]

    @property
    def gain(self) -> int:
        """How many mistakes the second one avoids."""
        return self.one_mistakes - self.other_mistakes


class Compared:
    """How two predictions compare: scores, a test, and the sentences in which they differ.

    ``str()`` shows it as text, :meth:`html` as a page, :meth:`to_dict` as data for JSON.

    Parameters
    ----------
    one, other : Mistakes
        Of the two predictions, for the same sentences.
    names : pair of str
        Their names.
    rounds, seed : int
        Of the test.
    """

    def __init__(
        self,
        one: Mistakes,
        other: Mistakes,
        names: tuple[str, str] = ("A", "B"),
        rounds: int = ROUNDS,
        seed: int = 0,
    ) -> None:
        if one.pairs.what != other.pairs.what:
            raise InputError(
                f"{names[0]} predicts {one.pairs.what}, but {names[1]} {other.pairs.what}; they "
                "cannot be compared"
            )
        one.pairs.check_same_truth(other.pairs)
        self.one, self.other, self.names = one, other, names
        self._rounds, self._seed = rounds, seed

    @cached_property
    def scores(self) -> list[ScorePair]:
        """Each score, its difference, and whether that is more than chance; the last one judges."""
        a, b = self.one.counts, self.other.counts
        found = []
        for measure in self.one.pairs.measures:
            gain, error = compared(b, a, measure)
            p = exchange_test(a, b, measure, self._rounds, self._seed)
            first, second = self.one.scores[measure.name], self.other.scores[measure.name]
            found.append(ScorePair(measure.name, first, second, gain, error, p))
        return found

    @cached_property
    def sentences(self) -> list[DifferentSentence]:
        """Those in which the two differ, first where one has many fewer mistakes."""
        ours, theirs = self.one.pairs, self.other.pairs
        found = [
            DifferentSentence(
                i + 1,
                tuple(ours.forms(i)),
                len(ours.mistakes(i)),
                len(theirs.mistakes(i)),
                tuple(differences),
            )
            for i in range(len(ours))
            if (differences := ours.differences(i, theirs))
        ]
        return sorted(found, key=lambda each: -abs(each.gain))

    @property
    def better(self) -> tuple[int, int, int]:
        """In how many sentences the first, the second, and neither has fewer mistakes."""
        gains = [each.gain for each in self.sentences]
        return sum(g < 0 for g in gains), sum(g > 0 for g in gains), gains.count(0)

    def in_words(self, one: str, other: str) -> str:
        """In how many sentences they differ, with what the two are called."""
        total = plural(self.one.sentences, "sentence")
        if not self.sentences:
            return f"They do not differ in any of {total}."
        first, second, neither = self.better
        return (
            f"They differ in {len(self.sentences):,} of {total}: {one} has fewer mistakes in "
            f"{first:,}, {other} in {second:,}, and both have as many in {neither:,}."
        )

    def where(self, sentence: int) -> str:
        """File and line of a sentence, counted from 1; empty if they are not known."""
        return self.one.place(sentence)

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """For JSON: all sentences that differ, or some."""
        first, second, neither = self.better
        return {
            "names": list(self.names),
            "sentences": self.one.sentences,
            "scores": [asdict(each) for each in self.scores],
            "one_better": first,
            "other_better": second,
            "neither_better": neither,
            "different": [
                {**asdict(each), "forms": list(each.forms), "where": self.where(each.sentence)}
                for each in self.sentences[:most]
            ],
        }

    def html(self, title: str = "Comparison", most: int = 50) -> str:
        """A page without external files."""
        from dualstruct.mistakes.html import comparison_page

        return comparison_page(self, title, most)

    def __str__(self) -> str:
        from dualstruct.mistakes.terminal import as_text, comparison_lines

        return as_text(comparison_lines(self))


def compare(
    one: Mistakes, other: Mistakes, names: tuple[str, str] = ("A", "B"), *, seed: int = 0
) -> Compared:
    """Compare two predictions for the same sentences.

    Parameters
    ----------
    one, other : Mistakes
        Of the two: ``tagger.mistakes(X, y)``, ``parser.mistakes(treebank)``, or of predictions of
        other programs `label_mistakes` and `tree_mistakes`.
    names : pair of str
        Their names.
    seed : int
        Of the random exchanges of the test.

    Examples
    --------
    >>> from dualstruct.mistakes import label_mistakes
    >>> X, y = [["a", "cat"], ["the", "dog"]], [["DET", "NOUN"]] * 2
    >>> one = label_mistakes(X, y, [["DET", "VERB"], ["DET", "NOUN"]])
    >>> found = compare(one, label_mistakes(X, y, y))
    >>> found.scores[-1].difference, found.scores[-1].p
    (0.25, 1.0)
    >>> [(each.sentence, each.gain) for each in found.sentences]
    [(1, 1)]
    """
    return Compared(one, other, names, seed=seed)
