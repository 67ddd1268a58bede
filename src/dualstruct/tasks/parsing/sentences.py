"""Sentences to parse, as users have them."""

from __future__ import annotations

from collections.abc import Sequence

from dualstruct.data.conllu import ConlluSentence, Treebank
from dualstruct.errors import InputError
from dualstruct.structures.tree import MAX_WORDS

Sentences = Treebank | Sequence[ConlluSentence] | Sequence[Sequence[str]]


def as_treebank(X: Sentences) -> Treebank:
    """Sentences of any kind as a treebank."""
    if isinstance(X, Treebank):
        return X
    sentences = list(X)
    if all(isinstance(sentence, ConlluSentence) for sentence in sentences):
        return Treebank.from_sentences(sentences)  # type: ignore[arg-type]
    if any(isinstance(sentence, ConlluSentence | str) for sentence in sentences):
        raise InputError("a Treebank, a list of its sentences, or lists of words are expected")
    return Treebank.from_columns(sentences)  # type: ignore[arg-type]


def one_sentence(sentence: Treebank | ConlluSentence | Sequence[str]) -> Treebank:
    """A sentence of any kind as a treebank."""
    if isinstance(sentence, Treebank):
        return sentence
    return as_treebank([sentence] if isinstance(sentence, ConlluSentence) else [list(sentence)])


def short_enough(treebank: Treebank) -> Treebank:
    """The same, if no sentence has more words than can be parsed."""
    lengths = treebank.lengths
    if lengths.size and lengths.max() > MAX_WORDS:
        i = int(lengths.argmax())
        raise InputError(
            f"{treebank.where(i, 0)}: a sentence of {lengths[i]:,} words; at most {MAX_WORDS:,} "
            "can be parsed, because memory grows with the square"
        )
    return treebank
