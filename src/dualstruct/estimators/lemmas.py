"""Lemmatizer: lemmas of words by edit scripts, which a tagger learns as labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dualstruct.data.schema import fit_type, inner_arrays
from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.estimators.tagger import SequenceTagger
from dualstruct.features.presets import LEMMAS
from dualstruct.labels.scripts import apply_script, script_of
from dualstruct.tasks.base import State

__all__ = ["Lemmatizer"]

#: Scripts of fewer words are not learned; the words are kept as they are.
_FEWEST = 3


@dataclass(frozen=True)
class _Metadata:
    """What a file says of a lemmatizer, besides arrays."""

    tagger: dict[str, Any]
    exceptions: dict[str, str]  # by form and tag, with a tab between them


class Lemmatizer:
    """The lemma of a word, by its form and part of speech.

    A tagger chooses the script; training words for which it chooses a wrong one are kept.

    Examples
    --------
    >>> from dualstruct.datasets import load_english
    >>> lemmatizer = Lemmatizer().fit(load_english("train"))
    >>> lemmatizer.predict([["walked", "was"]], [["VERB", "AUX"]])
    [['walk', 'be']]
    """

    def __init__(self) -> None:
        self._tagger: SequenceTagger | None = None
        self._exceptions: dict[str, str] = {}

    def fit(self, treebank: Treebank, **settings: Any) -> Lemmatizer:
        """Learn from the lemmas of a treebank; ``settings`` are those of the tagger."""
        seen: dict[tuple[str, str], Counter[str]] = {}
        columns = treebank.columns("forms", "upos", "lemmas")
        for sentence in columns:
            for form, tag, lemma in sentence:
                if lemma != "_" or form == "_":
                    seen.setdefault((form, tag), Counter())[lemma] += 1
        if not seen:
            raise InputError(f"{treebank.name}: the column LEMMA is empty")
        lemmas = {word: each.most_common(1)[0][0] for word, each in seen.items()}
        scripts = {word: script_of(word[0], lemma) for word, lemma in lemmas.items()}
        counts = Counter(scripts.values())
        usual = {word for word, script in scripts.items() if counts[script] >= _FEWEST}
        learned = [word for word in scripts if word in usual] or list(scripts)
        tagger = SequenceTagger(**{"features": LEMMAS, "passes": 8, **settings})
        # A sentence is one word: scripts do not depend on neighbours.
        tagger.fit([[word] for word in learned], [[scripts[word]] for word in learned])
        self._tagger = tagger
        words = list(lemmas)
        found = self._by_scripts(words)
        self._exceptions = {
            "\t".join(word): lemmas[word]
            for word, lemma in zip(words, found, strict=True)
            if lemma != lemmas[word]
        }
        return self

    def _by_scripts(self, words: Sequence[tuple[str, str]]) -> list[str]:
        assert self._tagger is not None
        labels = self._tagger.predict([[word] for word in words])
        return [apply_script(form, row[0]) for (form, _), row in zip(words, labels, strict=True)]

    def predict(
        self, forms: Sequence[Sequence[str]], tags: Sequence[Sequence[str]]
    ) -> list[list[str]]:
        """The lemmas of the words of sentences."""
        rows = [
            [(form, tag) for form, tag in zip(*both, strict=True)]
            for both in zip(forms, tags, strict=True)
        ]
        words = list({word for row in rows for word in row})
        new = [word for word in words if "\t".join(word) not in self._exceptions]
        known = dict(zip(new, self._by_scripts(new), strict=True))
        known |= {word: self._exceptions["\t".join(word)] for word in words if word not in known}
        return [[known[word] for word in row] for row in rows]

    def state(self) -> State:
        """JSON and arrays."""
        assert self._tagger is not None
        return self._joined(self._tagger.state())

    def compact_state(self) -> State:
        """The same for a compressed file."""
        assert self._tagger is not None
        return self._joined(self._tagger.compact_state())

    def _joined(self, state: State) -> State:
        metadata = {"tagger": state[0], "exceptions": self._exceptions}
        return metadata, {f"tagger.{name}": array for name, array in state[1].items()}

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become what :meth:`state` described."""
        stored = fit_type(_Metadata, metadata)
        tagger = SequenceTagger()
        tagger.restore(stored.tagger, inner_arrays(arrays, "tagger"))
        if tagger.n_columns_ != 2:
            raise InputError(f"lemmas.columns is {tagger.n_columns_}, not 2")
        self._tagger, self._exceptions = tagger, stored.exceptions
