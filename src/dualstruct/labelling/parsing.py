"""Parsers as the page uses them: heads and relations of words."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstruct.data.treebank import Treebank
from dualstruct.errors import InputError
from dualstruct.estimators import DependencyParser
from dualstruct.estimators.loading import load_model
from dualstruct.labelling.models import UNCALIBRATED, Example, Maker, Model, Suggestion
from dualstruct.labels.arcs import Arc
from dualstruct.tasks.parsing.model import NAMES
from dualstruct.tasks.parsing.online import OnlineTrees

if TYPE_CHECKING:
    from dualstruct.estimators import ParsingPipeline
    from dualstruct.labelling.kinds import Kind
    from dualstruct.labelling.sentences import Sentence

__all__ = ["ParserMaker", "ParserModel"]

#: Passes of a training from scratch, and of learning on.
ALL_PASSES, PASSES = 5, 2


class ParserModel(Model):
    """A parser of order 1 whose weights change in place."""

    def __init__(self, parser: DependencyParser, tagger: ParsingPipeline | None = None) -> None:
        self._parser, self._tagger = parser, tagger
        self._online = OnlineTrees(parser.model_)
        self._temperature = parser.temperature_ or UNCALIBRATED

    def suggest(self, sentences: Sequence[Sentence]) -> list[Suggestion]:
        if not sentences:
            return []
        treebank = _treebank(sentences, self._tagger)
        return [
            Suggestion(
                tuple(str(Arc(*arc)) for arc in zip(heads.tolist(), relations, strict=True)),
                tuple(np.round(sure.astype(np.float64), 4).tolist()),
            )
            for heads, relations, sure in self._online.best(treebank, 1 / self._temperature)
        ]

    def doubts(self, sentences: Sequence[Sentence]) -> list[list[float]]:
        if not sentences:
            return []
        found = self._online.best(_treebank(sentences, self._tagger), 1 / self._temperature)
        return [(1 - sure).tolist() for _, _, sure in found]

    def learn(self, examples: Sequence[Example]) -> Model:
        if self._parser.single_root_:  # others are learned from when it is trained anew
            examples = [each for each in examples if _roots(each) == 1]
        if not examples:
            return self
        treebank = _trees(examples, self._tagger)
        if self._online.knows(treebank):
            C = self._parser.result_.C or self._parser.weight_of_loss()
            self._online.learn(treebank, C)
            return self
        made = copy.copy(self._parser)
        made.passes = PASSES
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.partial_fit(treebank)
        return ParserModel(made, self._tagger)

    def calibrate(self, examples: Sequence[Example]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._parser.calibrate(_trees(examples, self._tagger))
        self._temperature = self._parser.temperature_ or UNCALIBRATED

    def suspects(self, examples: Sequence[Example]) -> list[tuple[int, float]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = self._parser.suspects(_trees(examples, self._tagger), top=20)
        return [(each.sentence - 1, each.score) for each in found]

    def save(self, path: Path) -> None:
        self._parser.save(path)


class ParserMaker(Maker):
    """Makes parsers: new ones, or from one that there is, which may tag words first."""

    def __init__(self, kind: Kind, start: Path | None = None) -> None:
        self._kind = kind
        self._start: DependencyParser | None = None
        self._tagger: ParsingPipeline | None = None
        if start is not None:
            self._load(start)
        self._first = None if self._start is None else ParserModel(self._start, self._tagger)

    def _load(self, path: Path) -> None:
        found: Any = load_model(path)
        self._start = getattr(found, "parser_", None)
        if self._start is None:
            raise InputError(f"{path} is not a parser, and this is a project of {self._kind.name}")
        if found.takes_words:
            self._tagger = found
        unknown = [NAMES[each] for each in self._start.sources_ if each not in ("form", "coarse")]
        if unknown and self._tagger is None:
            raise InputError(
                f"{path} looks at {', '.join(unknown)}, which a project does not have: train it "
                "with --no-lemma --no-xpos --no-morphology"
            )
        if not OnlineTrees.takes(self._start.model_):
            raise InputError(f"{path} has order 2; the page learns with parsers of order 1")

    @property
    def first(self) -> Model | None:
        return self._first

    @property
    def types(self) -> list[str]:
        return [] if self._start is None else self._start.classes_.tolist()

    def make(
        self,
        examples: Sequence[Example],
        others: Sequence[Sentence],
        is_over: Callable[[], bool],
    ) -> Model:
        treebank = _trees(examples, self._tagger)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._start is None:
                made = DependencyParser(order=1, passes=ALL_PASSES, seed=1)
                made.fit(treebank, callbacks=[lambda *_: is_over()])
            else:
                made = copy.copy(self._start)
                made.passes = ALL_PASSES
                made.partial_fit(treebank, callbacks=[lambda *_: is_over()])
        return ParserModel(made, self._tagger)

    def load(self, path: Path, others: Sequence[Sentence]) -> Model:
        return ParserModel(DependencyParser.load(path), self._tagger)


def _treebank(sentences: Sequence[Sentence], tagger: ParsingPipeline | None) -> Treebank:
    """Words with the tags that they have, or that a tagger gives them."""
    words = [each.words for each in sentences]
    if tagger is not None:
        return tagger.tag(words)
    tags = [each.tags or ["_"] * len(each.tokens) for each in sentences]
    return Treebank.from_columns(words, upos=tags, name="the project")


def _roots(example: Example) -> int:
    return sum(label.startswith("0:") for label in example.labels)


def _trees(examples: Sequence[Example], tagger: ParsingPipeline | None) -> Treebank:
    plain = _treebank([each.sentence for each in examples], tagger)
    arcs = [[Arc.parse(label) or Arc(0, "root") for label in each.labels] for each in examples]
    return plain.replace(
        heads=[[arc.head for arc in row] for row in arcs],
        relations=[[arc.relation for arc in row] for row in arcs],
    )
