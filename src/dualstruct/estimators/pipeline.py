"""ParsingPipeline: from words alone to parts of speech, heads and relations."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.conllu import ConlluSentence, Treebank
from dualstruct.data.schema import fit_type, inner_arrays
from dualstruct.data.surface import running_texts, treebank_of
from dualstruct.errors import InputError
from dualstruct.estimators.keeping import KeepsTokenizer
from dualstruct.estimators.lemmas import Lemmatizer
from dualstruct.estimators.parser import DependencyParser
from dualstruct.estimators.storage import Stored
from dualstruct.estimators.tagger import SequenceTagger
from dualstruct.estimators.tokenizer import LearnedTokenizer
from dualstruct.explaining import Explanation
from dualstruct.metrics import RawTextScores, TreeScores, evaluate_raw_text, evaluate_trees
from dualstruct.mistakes import Mistakes, tree_mistakes
from dualstruct.printable import plural
from dualstruct.suspecting import FOLDS, Suspect
from dualstruct.tasks.base import State
from dualstruct.tasks.parsing.model import filled_cells, is_filled
from dualstruct.tasks.parsing.sentences import Sentences, as_treebank, one_sentence
from dualstruct.training.loop import Callback
from dualstruct.training.results import FitResult

if TYPE_CHECKING:
    from typing_extensions import Self

#: The columns that taggers can fill, in the order in which they do; and that a lemmatizer fills.
TAGS = ("upos", "xpos", "feats")
LEMMAS = "lemmas"
_USUAL = ("upos", "xpos")


@dataclass(frozen=True)
class PipelineScores:
    """How good a pipeline's trees and tags are."""

    trees: TreeScores
    tags: dict[str, float]  #: the share of words with the right tag, by column

    @property
    def score(self) -> float:
        """The one number that judges: LAS."""
        return self.trees.las

    def table(self) -> str:
        """The scores as text, in per cent."""
        lines = [f"{name.upper():24}{100 * share:8.2f}" for name, share in self.tags.items()]
        return "\n".join([*lines, "", self.trees.table()])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**self.trees.to_dict(), "tags": self.tags}

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True)
class _Metadata:
    """What a file says of a pipeline, besides arrays."""

    folds: int
    parts: dict[str, dict[str, Any]]


class ParsingPipeline(KeepsTokenizer, Stored):
    """Taggers and a parser in one model: it takes words, or text, and fills in tags and trees.

    The parser is trained on predicted tags: the training sentences are divided into
    folds, and each fold is tagged by taggers that were trained on the others (jackknifing). So
    it learns how reliable tags are.

    Parameters
    ----------
    tags : "auto" or sequence of str
        The columns to predict, of ``upos``, ``xpos``, ``feats`` and ``lemmas``. "auto" takes UPOS
        and XPOS, those that the treebank has; "all" takes what it has of all four, of which the
        parser looks at UPOS and XPOS.
    folds : int
        The number of parts of the training sentences.
    tagger : SequenceTagger, optional
        How to train taggers; its parameters are copied.
    parser : DependencyParser, optional
        How to train the parser; its parameters are copied, but lemmas are not looked at, and
        morphology only if it is among the tags.
    verbose : bool
        Show a progress line on standard error.
    tokenizer : LearnedTokenizer, optional
        How to train a tokenizer on the treebank; its parameters are copied. Without one, text is
        split by rules.

    Examples
    --------
    >>> from dualstruct.datasets import load_english
    >>> quick = DependencyParser(hash_bits=16, passes=3)
    >>> pipeline = ParsingPipeline(parser=quick, folds=2).fit(load_english("train"))
    >>> [sentence] = pipeline.predict([["She", "sold", "two", "boats", "."]])
    >>> sentence.upos, sentence.heads
    (['PRON', 'VERB', 'NUM', 'NOUN', 'PUNCT'], [2, 0, 4, 2, 2])
    """

    model_format = "dualstruct pipeline"
    takes_words: ClassVar[bool] = True
    _lemmatizer: Lemmatizer | None = None

    def __init__(
        self,
        tags: str | Sequence[str] = "auto",
        folds: int = 5,
        tagger: SequenceTagger | None = None,
        parser: DependencyParser | None = None,
        verbose: bool = False,
        tokenizer: LearnedTokenizer | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.tags = tags
        self.folds = folds
        self.tagger = tagger
        self.parser = parser
        self.verbose = verbose

    def fit(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        dev: Treebank | Sequence[ConlluSentence] | None = None,
        callbacks: Iterable[Callback] = (),
    ) -> Self:
        """Train the taggers, tag the training sentences fold by fold, train the parser.

        Parameters
        ----------
        X : Treebank or list of sentences
            Sentences with tags, heads and relations.
        y : ignored
        dev : the same, optional
            Development data: every part is trained until its score no longer improves.
        callbacks : iterable
            Called after each pass of the parser's training.
        """
        if self.folds < 2:
            raise InputError(f"folds is {self.folds}; at least 2 are needed")
        treebank = as_treebank(X)
        held_out = None if dev is None else as_treebank(dev)
        columns = self._columns(treebank)
        if len(treebank) < self.folds:
            raise InputError(
                f"{plural(len(treebank), 'sentence')} cannot be divided into "
                f"{plural(self.folds, 'fold')}"
            )
        parser = DependencyParser(**self._component("parser").get_params())
        seen = [name for name in columns if self.tags != "all" or name in _USUAL]
        parser.set_params(lemma=False, morphology="feats" in seen)
        parser.check_settings()  # bad ones fail before the taggers are trained
        treebank = parser.valid_trees(treebank)

        self._learn_tokenizer(treebank, held_out)
        taggers = {name: self._tagger() for name in columns}
        for name, tagger in taggers.items():
            judged = None if held_out is None else (held_out.forms, getattr(held_out, name))
            self._learn(tagger, treebank, name, judged, f"a tagger for {name.upper()}")
        jackknifed = treebank.replace(**{name: self._jackknife(treebank, name) for name in seen})
        lemmatizer = None
        if LEMMAS in self._wanted() and _has_tags(treebank, LEMMAS):
            self._say("the lemmatizer")
            lemmatizer = Lemmatizer().fit(jackknifed, seed=parser.seed)
        self._say("the parser")
        parser.set_params(verbose=self.verbose)
        tagged_dev = None if held_out is None else _tag(taggers, held_out)
        parser.fit(jackknifed, dev=tagged_dev, callbacks=callbacks)
        self._parts = taggers, parser
        self._lemmatizer = lemmatizer
        self.is_compressed_ = False
        return self

    def _learn_tokenizer(self, treebank: Treebank, dev: Treebank | None) -> None:
        if self.tokenizer is None:
            return
        self._say("the tokenizer")
        tokenizer = LearnedTokenizer(**self.tokenizer.get_params(deep=False))
        self.tokenizer_ = tokenizer.set_params(verbose=self.verbose).fit(treebank, dev=dev)

    def _wanted(self) -> tuple[str, ...]:
        known = {"auto": _USUAL, "all": (*TAGS, LEMMAS)}
        return known[self.tags] if isinstance(self.tags, str) else tuple(self.tags)

    def _columns(self, treebank: Treebank) -> tuple[str, ...]:
        if isinstance(self.tags, str) and self.tags not in ("auto", "all"):
            raise InputError(f"tags is {self.tags!r}; it must be auto, all or a list of columns")
        wanted = self._wanted()
        for name in wanted:
            if name not in (*TAGS, LEMMAS):
                columns = ", ".join((*TAGS, LEMMAS))
                raise InputError(f"tags has {name!r}; the columns are {columns}")
        if self.tags == "auto" and not self._component("parser").xpos:
            wanted = ("upos",)
        filled = tuple(name for name in TAGS if name in wanted and _has_tags(treebank, name))
        missing = set(wanted) - {*filled, LEMMAS}
        if missing and not isinstance(self.tags, str):
            raise InputError(f"{treebank.name}: the column {missing.pop().upper()} is empty")
        if not filled:
            raise InputError(f"{treebank.name}: the columns UPOS and XPOS have no tags to learn")
        return filled

    def _tagger(self) -> SequenceTagger:
        given = self._component("tagger").get_params()
        return SequenceTagger(**given).set_params(verbose=self.verbose)

    def _component(self, name: str) -> Any:
        given = super()._component(name)
        if given is None and name == "tagger":
            return SequenceTagger(unseen_labels="count")
        return DependencyParser() if given is None and name == "parser" else given

    def _learn(
        self, tagger: SequenceTagger, treebank: Treebank, name: str, dev: Any, what: str
    ) -> SequenceTagger:
        self._say(what)
        tagger.fit(treebank.forms, getattr(treebank, name), dev=dev)
        if tagger.result_.stopped_by == "interrupt":  # there is no parser yet that could be kept
            raise KeyboardInterrupt
        return tagger

    def _say(self, what: str) -> None:
        if self.verbose:
            print(f"training {what} …", file=sys.stderr)

    def _jackknife(self, treebank: Treebank, name: str) -> list[list[str]]:
        """The tags that taggers trained on the other folds give each sentence."""
        tags: list[list[str]] = [[] for _ in range(len(treebank))]
        everything = np.arange(len(treebank))
        for fold in range(self.folds):
            mine = everything[everything % self.folds == fold]
            others = treebank.select(everything[everything % self.folds != fold])
            what = f"a tagger for {name.upper()} on fold {fold + 1} of {self.folds}"
            tagger = self._learn(self._tagger(), others, name, None, what)
            for i, found in zip(mine, tagger.predict(treebank.select(mine).forms), strict=True):
                tags[i] = found
        return tags

    def _trained(self) -> tuple[dict[str, SequenceTagger], DependencyParser]:
        self._check_trained()
        return self._parts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_parts")

    @property
    def taggers_(self) -> dict[str, SequenceTagger]:
        """The tagger of each column."""
        return self._trained()[0]

    @property
    def parser_(self) -> DependencyParser:
        """The parser, which needs the columns of ``taggers_`` filled."""
        return self._trained()[1]

    @property
    def result_(self) -> FitResult:
        """How the parser's training ended."""
        return self.parser_.result_

    def tag(self, X: Sentences) -> Treebank:
        """The sentences with predicted tags (and lemmas), and nothing else changed."""
        tagged = _tag(self.taggers_, as_treebank(X))
        if self._lemmatizer is None:
            return tagged
        return tagged.replace(lemmas=self._lemmatizer.predict(tagged.forms, tagged.upos))

    def predict_text(self, texts: Sequence[str], name: str = "text") -> Treebank:
        """Texts as CoNLL-U: split by :attr:`tokenizer_`, tagged and parsed; each is a paragraph."""
        return self.predict(treebank_of(self.tokenizer_.analyse(texts), name))

    def evaluate_text(self, X: Treebank) -> RawTextScores:
        """The scores of what is predicted from the running text of a treebank, by CoNLL-2018."""
        texts = [each.text for each in running_texts(X)]
        return evaluate_raw_text(X, self.predict_text(texts, "predicted"))

    def predict(self, X: Sentences) -> Treebank:
        """The sentences with predicted tags, heads and relations; everything else is unchanged."""
        return self.parser_.predict(self.tag(X))

    def calibrate(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> Self:
        """Fit the temperatures of the taggers and of the parser, on trees not trained on."""
        treebank = as_treebank(X)
        for name, tagger in self.taggers_.items():
            tagger.calibrate(treebank.forms, getattr(treebank, name))
        self.parser_.calibrate(self.tag(treebank))
        return self

    def suspects(
        self,
        X: Treebank | Sequence[ConlluSentence],
        y: None = None,
        top: int | None = None,
        folds: int = FOLDS,
    ) -> list[Suspect]:
        """The trees with which the parser disagrees: :meth:`DependencyParser.suspects`."""
        return self.parser_.suspects(self.tag(X), top=top, folds=folds)

    def explain(
        self,
        sentence: Treebank | ConlluSentence | Sequence[str],
        token: int | None = None,
        gold: bool = False,
    ) -> Explanation:
        """Why each word, with the tags that it gets, gets its head and relation.

        ``taggers_["upos"].explain(words)`` explains the tags.
        """
        return self.parser_.explain(self.tag(one_sentence(sentence)), token, gold)

    def evaluate(
        self, X: Treebank | Sequence[ConlluSentence], predicted: Treebank | None = None
    ) -> PipelineScores:
        """The scores of the predicted trees and tags, against those that X has.

        ``predicted`` are the predictions, if you have them already.
        """
        truth = as_treebank(X)
        predicted = self.predict(truth) if predicted is None else predicted
        shares = {}
        for name in (*self.taggers_, *([] if self._lemmatizer is None else [LEMMAS])):
            pairs = zip(getattr(truth, name), getattr(predicted, name), strict=True)
            right = sum(a == b for true, found in pairs for a, b in zip(true, found, strict=True))
            shares[name] = right / max(len(truth.heads), 1)
        return PipelineScores(evaluate_trees(truth, predicted), shares)

    def mistakes(self, X: Treebank | Sequence[ConlluSentence]) -> Mistakes:
        """What is wrong in the predicted trees: :meth:`DependencyParser.mistakes`."""
        treebank = as_treebank(X)
        return tree_mistakes(treebank, self.predict(treebank))

    def score(self, X: Treebank | Sequence[ConlluSentence], y: None = None) -> float:
        """LAS over all words."""
        return self.evaluate(X).score

    def _all_parts(self) -> dict[str, SequenceTagger | DependencyParser | Lemmatizer]:
        taggers, parser = self._trained()
        lemmas = {} if self._lemmatizer is None else {LEMMAS: self._lemmatizer}
        return {**taggers, **lemmas, "parser": parser}

    def state(self) -> State:
        return self._joined({name: part.state() for name, part in self._all_parts().items()})

    def compact_state(self) -> State:
        parts = self._all_parts().items()
        return self._joined({name: part.compact_state() for name, part in parts})

    def _joined(self, states: dict[str, State]) -> State:
        metadata = {"folds": self.folds, "parts": {name: part[0] for name, part in states.items()}}
        tensors = {
            f"{name}.{key}": array
            for name, (_, arrays) in states.items()
            for key, array in arrays.items()
        }
        return self._with_tokenizer((metadata, tensors))

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        stored = fit_type(_Metadata, metadata)

        def restored(part: Any, name: str) -> Any:
            if name not in stored.parts:
                raise InputError(f"parts.{name} is missing")
            part.restore(stored.parts[name], inner_arrays(arrays, name))
            return part

        names = [name for name in TAGS if name in stored.parts]
        taggers = {name: restored(SequenceTagger(), name) for name in names}
        self._parts = taggers, restored(DependencyParser(), "parser")
        self._lemmatizer = restored(Lemmatizer(), LEMMAS) if LEMMAS in stored.parts else None
        self._restore_tokenizer(metadata, arrays)
        lemmas = [LEMMAS] if self._lemmatizer is not None else []
        self.set_params(folds=stored.folds, tags=[*names, *lemmas])


def _has_tags(treebank: Treebank, name: str) -> bool:
    """Whether there is something to learn in a column."""
    different = len(getattr(treebank, name).encoded()[1]) > 1
    return different and is_filled(filled_cells(treebank, name), len(treebank.heads))


def _tag(taggers: dict[str, SequenceTagger], treebank: Treebank) -> Treebank:
    return treebank.replace(
        **{name: tagger.predict(treebank.forms) for name, tagger in taggers.items()}
    )
