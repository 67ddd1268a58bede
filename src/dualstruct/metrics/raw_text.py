"""Scores of what was predicted from raw text, by the definitions of the shared task CoNLL-2018.

The two files may split the text in different ways. Their characters without spaces must be the
same, and tokens, sentences and words are the same if they are the same characters. Words of
multiword tokens have no characters of their own: in each stretch of text that multiword tokens of
either file cover (those that overlap make one stretch), the words are aligned by the longest common
subsequence of their forms, without regard to case. Where a stretch begins and ends is what the
task's own script makes of it: it goes through both files at once, and of words that lie before a
multiword token of the other file it leaves out the first.

All scores are F1, between 0 and 1; over aligned words alone, the share of the right ones is given
as well.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.surface import surface_of
from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.metrics.counts import TypeScores, share
from dualstruct.metrics.universal import Universal, content_scores, strings

__all__ = ["RawTextScores", "evaluate_raw_text", "same_text"]

_NAMES = {"clas": "CLAS", "mlas": "MLAS", "blex": "BLEX"}


@dataclass(frozen=True)
class RawTextScores:
    """What `evaluate_raw_text` found; ``print`` shows it as a table.

    Attributes
    ----------
    scores : dict
        Precision, recall and F1 by name: Tokens, Sentences, Words, UPOS, XPOS, UFeats, AllTags,
        Lemmas, UAS, LAS, CLAS, MLAS, BLEX. Those of trees are missing where a file has no heads.
    aligned : int
        How many words of both files are the same.
    """

    scores: dict[str, TypeScores]
    aligned: int

    def __getitem__(self, name: str) -> float:
        """F1 of one score."""
        return self.scores[name].f1

    @property
    def score(self) -> float:
        """The one number that judges: LAS, or how well words are found where there are no trees."""
        return self["LAS" if "LAS" in self.scores else "Words"]

    def aligned_accuracy(self, name: str) -> float | None:
        """The share of the aligned words that are right; None for scores of other things."""
        if name in ("Tokens", "Sentences", "Words", *_NAMES.values()):
            return None
        return share(self.scores[name].correct, self.aligned)

    def table(self) -> str:
        """The scores as text, in per cent."""
        lines = [f"{'raw text':12}{'precision':>11}{'recall':>8}{'F1':>8}{'aligned':>9}"]
        for name, each in self.scores.items():
            sure = self.aligned_accuracy(name)
            lines.append(
                f"{name:12}{100 * each.precision:11.2f}{100 * each.recall:8.2f}{100 * each.f1:8.2f}"
                + ("" if sure is None else f"{100 * sure:9.2f}")
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            name: {
                "precision": each.precision,
                "recall": each.recall,
                "f1": each.f1,
                "aligned_accuracy": self.aligned_accuracy(name),
                "true": each.support,
                "predicted": each.predicted,
                "correct": each.correct,
            }
            for name, each in self.scores.items()
        }

    def __str__(self) -> str:
        return self.table()


def evaluate_raw_text(truth: Treebank, predicted: Treebank) -> RawTextScores:
    """Score a file that was made from raw text against the true one.

    Examples
    --------
    >>> truth = Treebank.from_columns([["can", "not", "go"], ["Why", "?"]])
    >>> scores = evaluate_raw_text(truth, Treebank.from_columns([["cannot", "go", "Why", "?"]]))
    >>> scores["Tokens"], scores["Sentences"]  # 3 of 5 and 4; 0 of 2 and 1
    (0.6666666666666666, 0.0)
    """
    ours, theirs = _Spans(truth), _Spans(predicted)
    _check_same_text(truth, ours, predicted, theirs)
    pairs = _align(ours, theirs)
    scores = {
        "Tokens": _of_spans(ours.tokens, theirs.tokens),
        "Sentences": _of_spans(ours.sentences, theirs.sentences),
    }
    support, found = len(ours.words), len(theirs.words)

    def of_words(right: Callable[[int, int], bool]) -> TypeScores:
        return TypeScores.of(support, found, sum(right(here, there) for here, there in pairs))

    trees = all((each.heads >= 0).all() for each in (truth, predicted))
    a, b = Universal(truth), Universal(predicted)
    xpos, their_xpos = strings(truth.xpos), strings(predicted.xpos)
    scores["Words"] = of_words(lambda here, there: True)
    scores["UPOS"] = of_words(lambda here, there: a.upos[here] == b.upos[there])
    scores["XPOS"] = of_words(lambda here, there: xpos[here] == their_xpos[there])
    scores["UFeats"] = of_words(lambda here, there: a.feats[here] == b.feats[there])
    scores["AllTags"] = of_words(
        lambda here, there: (
            (a.upos[here], xpos[here], a.feats[here])
            == (b.upos[there], their_xpos[there], b.feats[there])
        )
    )
    scores["Lemmas"] = of_words(lambda here, there: a.lemmas[here] in ("_", b.lemmas[there]))
    if trees:
        same = {there: here for here, there in pairs}
        scores["UAS"] = of_words(lambda here, there: a.arc(here)[0] == b.arc(there, same)[0])
        scores["LAS"] = of_words(lambda here, there: a.arc(here) == b.arc(there, same))
        content = content_scores(a, b, pairs)
        scores |= {_NAMES[name]: each for name, each in content.items()}
    return RawTextScores(scores, len(pairs))


def same_text(truth: Treebank, predicted: Treebank) -> bool:
    """Whether two files have the same characters, except for spaces."""
    return _Spans(truth).text == _Spans(predicted).text


Span = tuple[int, int]


class _Spans:
    """The characters of a file without spaces, and which of them its parts are."""

    def __init__(self, treebank: Treebank) -> None:
        surface = surface_of(treebank)
        bare: dict[str, str] = {form: _without_blanks(form) for form in set(surface.forms)}
        forms = [bare[form] for form in surface.forms]
        self.text = "".join(forms)
        ends = np.cumsum([0, *map(len, forms)])
        self.tokens: list[Span] = list(pairwise(ends.tolist()))
        firsts = ends[surface.sentences].tolist()
        self.sentences: list[Span] = list(pairwise(firsts))
        counts = np.diff(surface.words)
        token_of = np.repeat(np.arange(len(forms)), counts).tolist()  # [words]
        self.words: list[Span] = [self.tokens[k] for k in token_of]
        self.is_multiword: list[bool] = np.repeat(counts > 1, counts).tolist()
        self.forms = strings(treebank.forms, str.lower)
        self.ends: NDArray[np.int64] = ends
        self.first_word = surface.words

    def word_at(self, character: int) -> int:
        """The (first) word of the token that has a character."""
        token = int(np.searchsorted(self.ends, character, side="right")) - 1
        return int(self.first_word[min(token, len(self.tokens) - 1)])


def _without_blanks(form: str) -> str:
    return "".join(c for c in form if unicodedata.category(c) != "Zs")


def _check_same_text(truth: Treebank, ours: _Spans, predicted: Treebank, theirs: _Spans) -> None:
    if ours.text == theirs.text:
        return
    at = next(
        (k for k, (a, b) in enumerate(zip(ours.text, theirs.text, strict=False)) if a != b),
        min(len(ours.text), len(theirs.text)),
    )
    places = []
    for treebank, spans in ((truth, ours), (predicted, theirs)):
        if not spans.tokens:
            raise InputError(f"{treebank.name}: it has no words")
        word = spans.word_at(at)
        i = int(np.searchsorted(treebank.sentences, word, side="right")) - 1
        places.append(treebank.where(i, word - int(treebank.sentences[i])))
    raise InputError(
        f"{places[0]}: the text continues with {ours.text[at : at + 20]!r}, but with "
        f"{theirs.text[at : at + 20]!r} in {places[1]}; both files must have the same text"
    )


def _of_spans(ours: Sequence[Span], theirs: Sequence[Span]) -> TypeScores:
    return TypeScores.of(len(ours), len(theirs), len(set(ours) & set(theirs)))


def _align(ours: _Spans, theirs: _Spans) -> list[tuple[int, int]]:
    """The pairs of words that are the same, in order."""
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(ours.words) and j < len(theirs.words):
        if ours.is_multiword[i] or theirs.is_multiword[j]:
            end = (ours.words[i] if ours.is_multiword[i] else theirs.words[j])[1]
            first_here, first_there = _behind_first(ours, i, theirs, j)
            i, j = _behind_stretch(ours, first_here, theirs, first_there, end)
            pairs += _common(ours.forms, range(first_here, i), theirs.forms, range(first_there, j))
        elif ours.words[i] == theirs.words[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif ours.words[i][0] <= theirs.words[j][0]:
            i += 1
        else:
            j += 1
    return pairs


def _behind_first(ours: _Spans, i: int, theirs: _Spans, j: int) -> tuple[int, int]:
    """Where a stretch begins: behind a word that begins before the other file's multiword token."""
    if ours.is_multiword[i]:
        return i, j + (not theirs.is_multiword[j] and theirs.words[j][0] < ours.words[i][0])
    return i + (ours.words[i][0] < theirs.words[j][0]), j


def _behind_stretch(ours: _Spans, i: int, theirs: _Spans, j: int, end: int) -> tuple[int, int]:
    """The first words behind a multiword token that ends there, and all that overlap with it."""
    while not (_is_behind(ours, i, end) and _is_behind(theirs, j, end)):
        mine = j == len(theirs.words) or (
            i < len(ours.words) and ours.words[i][0] <= theirs.words[j][0]
        )
        spans, k = (ours, i) if mine else (theirs, j)
        if spans.is_multiword[k]:
            end = max(end, spans.words[k][1])
        i, j = i + mine, j + (not mine)
    return i, j


def _is_behind(spans: _Spans, word: int, end: int) -> bool:
    """Whether a word is not in a stretch that ends there."""
    if word == len(spans.words):
        return True
    return spans.words[word][0] >= end if spans.is_multiword[word] else spans.words[word][1] > end


def _common(
    forms: list[str], ours: Sequence[int], their_forms: list[str], theirs: Sequence[int]
) -> list[tuple[int, int]]:
    """The longest common subsequence of the forms of words."""
    rows, columns = len(ours), len(theirs)
    longest = np.zeros((rows + 1, columns + 1), dtype=np.int64)  # from here to the end
    same = [[forms[a] == their_forms[b] for b in theirs] for a in ours]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            longest[i, j] = max(
                longest[i + 1, j], longest[i, j + 1], longest[i + 1, j + 1] + same[i][j]
            )
    found = []
    i = j = 0
    while i < rows and j < columns:
        if same[i][j]:
            found.append((ours[i], theirs[j]))
            i, j = i + 1, j + 1
        elif longest[i, j] == longest[i + 1, j]:
            i += 1
        else:
            j += 1
    return found
