"""A tagger as NLTK's TaggerI: ``NLTKTagger.load("pos.dstruct").tag(["a", "dog"])``."""

from __future__ import annotations

from pathlib import Path

from nltk.tag.api import TaggerI

from dualstruct.estimators import SequenceTagger

__all__ = ["NLTKTagger"]


class NLTKTagger(TaggerI):  # type: ignore[misc]
    """Labels lists of words as NLTK's own taggers do; ``accuracy`` and the like come from NLTK.

    Parameters
    ----------
    tagger : SequenceTagger
        One that looks at words alone.
    """

    def __init__(self, tagger: SequenceTagger) -> None:
        self._tagger = tagger

    @classmethod
    def train(cls, sentences: list[list[tuple[str, str]]], **settings: object) -> NLTKTagger:
        """Learn from sentences of words with their tags, as NLTK's corpora give them."""
        X = [[word for word, _ in sentence] for sentence in sentences]
        y = [[tag for _, tag in sentence] for sentence in sentences]
        return cls(SequenceTagger(**settings).fit(X, y))  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | Path) -> NLTKTagger:
        """A model file that ``dualstruct train`` wrote."""
        return cls(SequenceTagger.load(path))

    def tag(self, tokens: list[str]) -> list[tuple[str, str]]:
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: list[list[str]]) -> list[list[tuple[str, str]]]:
        given = [list(sentence) for sentence in sentences]
        found = iter(self._tagger.predict([words for words in given if words]))
        return [list(zip(words, next(found), strict=True)) if words else [] for words in given]
