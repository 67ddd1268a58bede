"""What CoNLL-2018 compares of words: relations and features that all languages share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from dualstruct.data.columns import ColumnSentences
from dualstruct.data.treebank import Treebank, attributes
from dualstruct.metrics.counts import TypeScores

__all__ = ["CONTENT_SCORES", "Universal", "content_scores", "strings", "universal"]

CONTENT_RELATIONS = frozenset(
    [
        "nsubj",
        "obj",
        "iobj",
        "csubj",
        "ccomp",
        "xcomp",
        "obl",
        "vocative",
        "expl",
        "dislocated",
        "advcl",
        "advmod",
        "discourse",
        "nmod",
        "appos",
        "nummod",
        "acl",
        "amod",
        "conj",
        "fixed",
        "flat",
        "compound",
        "list",
        "parataxis",
        "orphan",
        "goeswith",
        "reparandum",
        "root",
        "dep",
    ]
)
FUNCTION_RELATIONS = frozenset(["aux", "cop", "mark", "det", "clf", "case", "cc"])
UNIVERSAL_FEATURES = frozenset(
    [
        "PronType",
        "NumType",
        "Poss",
        "Reflex",
        "Foreign",
        "Abbr",
        "Gender",
        "Animacy",
        "Number",
        "Case",
        "Definite",
        "Degree",
        "VerbForm",
        "Mood",
        "Tense",
        "Aspect",
        "Voice",
        "Evident",
        "Polarity",
        "Person",
        "Polite",
    ]
)
#: The scores of content words: relations, with tags and function words, with lemmas.
CONTENT_SCORES = ("clas", "mlas", "blex")


def universal(relation: str) -> str:
    """A relation up to the colon.

    >>> universal("nmod:poss")
    'nmod'
    """
    return relation.partition(":")[0]


def content_scores(
    ours: Universal, theirs: Universal, pairs: Sequence[tuple[int, int]]
) -> dict[str, TypeScores]:
    """CLAS, MLAS and BLEX over true and predicted words, those in pairs being the same word."""
    support, found = sum(ours.is_content), sum(theirs.is_content)
    same = {there: here for here, there in pairs}
    correct: Counter[str] = Counter()
    for here, there in pairs:
        if not (ours.is_content[here] and theirs.is_content[there]):
            continue
        if ours.arc(here) != theirs.arc(there, same):
            continue
        correct["clas"] += 1
        correct["mlas"] += ours.grammar(here) == theirs.grammar(there, same)
        correct["blex"] += ours.lemmas[here] in ("_", theirs.lemmas[there])
    return {name: TypeScores.of(support, found, correct[name]) for name in CONTENT_SCORES}


class Universal:
    """What CoNLL-2018 compares of each word of a treebank."""

    def __init__(self, treebank: Treebank) -> None:
        first = np.repeat(treebank.sentences[:-1], treebank.lengths)
        heads = np.where(treebank.heads == 0, -1, first + treebank.heads - 1)
        self.heads: list[int] = heads.tolist()
        self.relations = strings(treebank.relations, universal)
        self.lemmas = strings(treebank.lemmas)
        self.upos = strings(treebank.upos)
        self.feats = strings(treebank.feats, universal_features)
        self.is_content = [relation in CONTENT_RELATIONS for relation in self.relations]
        self._function_words: dict[int, list[int]] = {}
        for word, (head, relation) in enumerate(zip(self.heads, self.relations, strict=True)):
            if relation in FUNCTION_RELATIONS:
                self._function_words.setdefault(head, []).append(word)

    def arc(self, word: int, same: dict[int, int] | None = None) -> tuple[int | None, str]:
        """Head and relation; ``same`` says which true word a word is, if it is one."""
        return _place(self.heads[word], same), self.relations[word]

    def grammar(self, word: int, same: dict[int, int] | None = None) -> object:
        """Tag, features and function words."""
        function = [
            (_place(child, same), self.relations[child], self.upos[child], self.feats[child])
            for child in self._function_words.get(word, ())
        ]
        return self.upos[word], self.feats[word], function


def _place(word: int, same: dict[int, int] | None) -> int | None:
    """The true word, -1 for the root, None for a word that is none."""
    return word if same is None or word < 0 else same.get(word)


def universal_features(cell: str) -> str:
    kept = (f"{k}={v}" for k, v in attributes(cell).items() if k in UNIVERSAL_FEATURES)
    return "|".join(sorted(kept))


def strings(column: ColumnSentences, change: Callable[[str], str] = str) -> list[str]:
    """The cells of all words, each distinct one changed once."""
    ids, strings = column.encoded()
    changed = list(map(change, strings))
    return [changed[k] for k in ids.tolist()]
