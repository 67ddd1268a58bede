"""LearnedTokenizer: where tokens and sentences end, learned from text that was split."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.schema import fit_type, inner_arrays
from dualstruct.data.surface import running_texts, treebank_of
from dualstruct.data.tokenizing import RunningText, Splitter, Tokenizer, TokenPlaces
from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.estimators.multiword import Expansions
from dualstruct.estimators.storage import Stored
from dualstruct.estimators.tagger import SequenceTagger
from dualstruct.features.presets import CHARACTERS
from dualstruct.metrics import RawTextScores, evaluate_raw_text
from dualstruct.tasks.base import State
from dualstruct.texts.documents import Document
from dualstruct.training.loop import Callback
from dualstruct.training.results import FitResult

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LearnedTokenizer"]

#: What a character is: within a token, the last one of a token, of a multiword token, and the same
#: at the end of a sentence.
INSIDE, TOKEN, MULTIWORD, SENTENCE, MULTIWORD_SENTENCE = "I", "E", "M", "S", "T"
_ENDS_SENTENCE = {SENTENCE, MULTIWORD_SENTENCE}
_IS_MULTIWORD = {MULTIWORD, MULTIWORD_SENTENCE}


@dataclass(frozen=True)
class _Metadata:
    """What a file says of a tokenizer, besides arrays."""

    characters: dict[str, Any]
    expansions: dict[str, list[str]]
    blanks_inside: bool


class LearnedTokenizer(Stored, Splitter):
    """Splits texts as its training data were split: characters are labelled by a chain.

    It learns from windows of running text, so that it sees sentences end without the end of a line.
    A model can keep it (``tagger.tokenizer_ = tokenizer``).

    Parameters
    ----------
    tagger : SequenceTagger, optional
        How to train; its parameters are copied. Unless it has ``features`` of its own, characters
        and their neighbours are looked at.
    window : int
        Characters of an example; it ends at the next blank.
    verbose : bool
        Show a progress line on standard error.

    Examples
    --------
    >>> from dualstruct.datasets import load_english
    >>> tokenizer = LearnedTokenizer().fit(load_english("train"))
    >>> tokenizer.words_of("She sold two boats. He left!")
    [['She', 'sold', 'two', 'boats', '.'], ['He', 'left', '!']]
    """

    model_format = "dualstruct tokenizer"

    def __init__(
        self, tagger: SequenceTagger | None = None, window: int = 300, verbose: bool = False
    ) -> None:
        self.tagger = tagger
        self.window = window
        self.verbose = verbose

    def fit(
        self,
        X: Treebank | Sequence[Document],
        y: None = None,
        dev: Treebank | Sequence[Document] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Learn from a treebank, or from documents with tokens and sentences.

        Parameters
        ----------
        X : Treebank, or list of Document
            In a treebank ``SpaceAfter=No`` or ``# text`` say where spaces are, ``# newpar`` and
            ``# newdoc`` where paragraphs begin.
        y : ignored
        dev : the same, optional
            Development data: training stops when its score no longer improves.
        callbacks : iterable
            Called after each pass.
        """
        if self.window < 1:
            raise InputError(f"window is {self.window}; it must be at least 1")
        texts = _texts_of(X)
        given = self._component("tagger").get_params()
        tagger = SequenceTagger(**given)
        if tagger.features == "auto":
            tagger.set_params(features=CHARACTERS)
        tagger.set_params(verbose=self.verbose or tagger.verbose, unseen_labels="count")
        judged = None if dev is None else self._examples(_texts_of(dev))
        tagger.fit(*self._examples(texts), dev=judged, callbacks=callbacks)
        inside = any(" " in each.text[a:b] for each in texts for a, b in each.tokens)
        expansions = Expansions.learned(
            (each.text[slice(*each.tokens[k])], words)
            for each in texts
            for k, words in each.words.items()
        )
        self._parts = tagger, expansions, inside
        self.is_compressed_ = False
        return self

    def _component(self, name: str) -> Any:
        given = super()._component(name)
        return SequenceTagger() if given is None and name == "tagger" else given

    def _examples(self, texts: Sequence[RunningText]) -> tuple[ColumnSentences, list[list[str]]]:
        """The characters of texts in windows, and their labels."""
        table, places, firsts = _core.character_table([each.text for each in texts], self.window)
        labels: list[str] = [INSIDE] * len(places)
        for each, begin, end in zip(texts, firsts[:-1], firsts[1:], strict=True):
            ends = np.array([b for _, b in each.tokens], dtype=np.int64)
            # The last character of a token that is no gap.
            at = (begin + np.searchsorted(places[begin:end], ends) - 1).tolist()
            for k, place in enumerate(at):
                labels[place] = MULTIWORD if k in each.words else TOKEN
            for behind in each.sentences[1:]:
                multiword = behind - 1 in each.words
                labels[at[behind - 1]] = MULTIWORD_SENTENCE if multiword else SENTENCE
        ends = table.sentences.tolist()
        return _characters(table), [labels[a:b] for a, b in pairwise(ends)]

    def _trained(self) -> tuple[SequenceTagger, Expansions, bool]:
        self._check_trained()
        return self._parts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parts")

    @property
    def tagger_(self) -> SequenceTagger:
        """The tagger of characters."""
        return self._trained()[0]

    @property
    def expansions_(self) -> Expansions:
        """The words of multiword tokens."""
        return self._trained()[1]

    @property
    def result_(self) -> FitResult:
        """How training ended."""
        return self.tagger_.result_

    def analyse(self, texts: Sequence[str]) -> list[RunningText]:
        """The texts in tokens and sentences, with the words of multiword tokens.

        Examples
        --------
        >>> from dualstruct.datasets import load_english
        >>> [found] = LearnedTokenizer().fit(load_english("train")).analyse(["He left."])
        >>> found.tokens, found.sentences, found.words
        ([(0, 2), (3, 7), (7, 8)], [0, 3], {})
        """
        tagger, expansions, blanks_inside = self._trained()
        table, places, firsts = _core.character_table(list(texts), 0)
        model = tagger.model_
        labels = model.chain(_characters(table)).decode_all(model.w, threads=tagger.threads)
        names = model.labels.names
        ends_token = np.array([name != INSIDE for name in names])[labels]
        ends_sentence = np.array([name in _ENDS_SENTENCE for name in names])[labels]
        several = np.array([name in _IS_MULTIWORD for name in names])[labels]
        gaps = np.array([gap != "n" for gap in table.strings(2)], dtype=np.bool_)[table.ids(2)]
        far = np.array([gap == "p" for gap in table.strings(2)], dtype=np.bool_)[table.ids(2)]
        ends_sentence |= far
        ends_token |= ends_sentence if blanks_inside else gaps | ends_sentence
        found = []
        for text, begin, end in zip(texts, firsts[:-1], firsts[1:], strict=True):
            last = np.flatnonzero(ends_token[begin:end])
            here = places[begin:end]
            starts = here[np.concatenate(([0], last[:-1] + 1))] if len(last) else last
            tokens = list(zip(starts.tolist(), (here[last] + 1).tolist(), strict=True))
            full = np.flatnonzero(ends_sentence[begin:end][last]) + 1
            words = {}
            for k in np.flatnonzero(several[begin:end][last]).tolist():
                parts = expansions.words_of(text[slice(*tokens[k])])
                if len(parts) > 1:
                    words[k] = parts
            found.append(RunningText(text, tokens, [0, *full.tolist()], words))
        return found

    def split(self, texts: Sequence[str]) -> TokenPlaces:
        """The tokens of texts, and where they are.

        A multiword token is divided if its words are in the text (``do``, ``n't``).
        """
        rows: list[list[str]] = []
        places: list[tuple[int, int]] = []
        firsts = [0]
        for each in self.analyse(texts):
            for a, b in pairwise(each.sentences):
                row = []
                for k in range(a, b):
                    start, end = each.tokens[k]
                    form = each.text[start:end]
                    parts = each.words.get(k, [form])
                    for part in parts if "".join(parts) == form else [form]:
                        places.append((start, start + len(part)))
                        row.append(part)
                        start += len(part)
                rows.append(row)
            firsts.append(len(rows))
        table = _core.TokenTable.from_sentences(rows) if rows else Tokenizer().split([]).table
        spans = np.array(places, dtype=np.int64).reshape(-1, 2)
        return TokenPlaces(
            table,
            np.ascontiguousarray(spans[:, 0]),
            np.ascontiguousarray(spans[:, 1]),
            np.array(firsts, dtype=np.int64),
        )

    def predict(self, X: Sequence[str], name: str = "text") -> Treebank:
        """The sentences of texts, each text a paragraph, as CoNLL-U with nothing but words."""
        return treebank_of(self.analyse(X), name)

    def evaluate(self, X: Treebank) -> RawTextScores:
        """How well tokens, sentences and words are found in the running text of a treebank."""
        return evaluate_raw_text(X, self.predict([each.text for each in running_texts(X)]))

    def score(self, X: Treebank, y: None = None) -> float:
        """F1 of words."""
        return self.evaluate(X)["Words"]

    def stored(self) -> State:
        return self.state()

    @staticmethod
    def is_stored(metadata: dict[str, Any]) -> bool:
        """Whether a model file has this format."""
        return "characters" in metadata

    def state(self) -> State:
        return self._joined(self.tagger_.state())

    def compact_state(self) -> State:
        return self._joined(self.tagger_.compact_state())

    def _joined(self, state: State) -> State:
        _, expansions, inside = self._trained()
        metadata = {
            "characters": state[0],
            "expansions": expansions.known,
            "blanks_inside": inside,
        }
        return metadata, {f"characters.{name}": array for name, array in state[1].items()}

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        stored = fit_type(_Metadata, metadata)
        tagger = SequenceTagger()
        tagger.restore(stored.characters, inner_arrays(arrays, "characters"))
        columns = tagger.n_columns_
        if columns != len(_COLUMNS):
            raise InputError(f"characters.columns is {columns}, not {len(_COLUMNS)}")
        self._parts = tagger, Expansions(stored.expansions), stored.blanks_inside


_COLUMNS = range(9)  # of the core's table of characters


def _characters(table: _core.TokenTable) -> ColumnSentences:
    return ColumnSentences(table, _COLUMNS)


def _texts_of(X: Treebank | Sequence[Document]) -> list[RunningText]:
    if isinstance(X, Treebank):
        return running_texts(X)
    texts = []
    for each in X:
        if each.sentences is None:
            raise InputError(f"{each.where or 'the document'}: it was not split into tokens")
        if each.places:
            texts.append(RunningText(each.text, each.places, each.sentences, {}))
    return texts
