"""What the page and the JSON interface say about a model: one class for labels, one for trees."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

from dualstruct.data.columns import ColumnFile, read_columns, read_like
from dualstruct.data.conllu import ConlluSentence, Treebank, read_conllu
from dualstruct.data.tokenizing import Splitter
from dualstruct.drawing.svg import LEVEL, place_tree
from dualstruct.errors import InputError
from dualstruct.estimators import DependencyParser, ParsingPipeline, SequenceTagger
from dualstruct.estimators.loading import AnyModel
from dualstruct.explaining.results import Explanation
from dualstruct.serving.requests import Columns, Token
from dualstruct.serving.shapes import (
    About,
    DrawnTree,
    Labels,
    LocatedSuspect,
    Parse,
    ScoredTree,
    TrainedPart,
    TrainingAnswer,
    TreePicture,
)
from dualstruct.suspecting import Suspect
from dualstruct.training.results import FitResult, TracePoint

#: Of one sentence.
Prediction = Labels | Parse

#: The columns of CoNLL-U that parsers look at, by what the model calls them.
TREE_COLUMNS = {
    "form": "form",
    "lemma": "lemma",
    "coarse": "upos",
    "fine": "xpos",
    "morphology": "feats",
}
#: And what treebanks call them.
TREEBANK_COLUMNS = {"lemma": "lemmas", "upos": "upos", "xpos": "xpos", "feats": "feats"}

#: How many suspects the page shows.
MOST_SUSPECTS = 20


class Served(ABC):
    """A model as the page sees it. Threads may ask it at the same time."""

    kind: Literal["labels", "tree"]
    prediction: type  #: what predict answers
    most_tokens: int  #: of a sentence
    columns: Columns
    explains: tuple[str, ...]  #: what can be asked about: labels, or tree and tags

    splitter: Splitter  #: splits text that was typed

    def __init__(self, name: str, model: SequenceTagger | DependencyParser) -> None:
        self.name = name
        self.calibrated = model.temperature_ is not None
        #: None asks for the model's own; without one, shares of exp score at least rank.
        self.beta = None if self.calibrated else 1.0

    @abstractmethod
    def labels(self) -> list[str]:
        """The labels or relations."""

    @abstractmethod
    def results(self) -> dict[str, FitResult]:
        """How the training of each part ended."""

    @abstractmethod
    def predict(self, sentence: list[Token], k: int) -> Prediction:
        """The best output, how sure the model is of it, and the k best."""

    @abstractmethod
    def explain(self, sentence: list[Token], token: int, of: str) -> Explanation:
        """Why one token, counted from 1, has what it has."""

    @abstractmethod
    def _suspects(self, train: Path) -> tuple[ColumnFile | Treebank, list[Suspect]]:
        """A training file, and the most suspect of its sentences."""

    def suspects(self, train: Path) -> list[LocatedSuspect]:
        """The most suspect sentences of a training file, with the lines where they begin."""
        data, found = self._suspects(train)
        return [
            LocatedSuspect(**vars(each), where=data.where(each.sentence - 1, 0)) for each in found
        ]

    def about(self, beside: Served | None = None) -> About:
        """What somebody who writes a sentence has to know."""
        return {
            "name": self.name,
            "kind": self.kind,
            "columns": list(self.columns.names),
            "labels": self.labels(),
            "explains": list(self.explains),
            "calibrated": self.calibrated,
            "most_tokens": self.most_tokens,
            "beside": None if beside is None else beside.name,
        }

    def training(self) -> TrainingAnswer:
        """How training went, pass by pass."""
        return {"parts": [_training(name, result) for name, result in self.results().items()]}


def check_comparable(one: Served, other: Served) -> None:
    """Refuse two models that cannot be asked the same, or do not answer in the same way."""
    if one.kind != other.kind:
        answers = {"labels": "labels words", "tree": "gives trees"}
        raise InputError(
            f"{one.name} {answers[one.kind]} and {other.name} {answers[other.kind]}: side by side "
            "are models of one kind"
        )
    if list(one.columns.names) != list(other.columns.names):
        wanted = [", ".join(each.columns.names) or "attributes" for each in (one, other)]
        raise InputError(
            f"{one.name} looks at {wanted[0]} and {other.name} at {wanted[1]}: side by side are "
            "models that look at the same columns"
        )


def serve_model(model: AnyModel, name: str) -> Served:
    """The model as the page sees it."""
    if model.model_format not in _SERVED:
        raise InputError(f"{name} is a tokenizer, which has no page; models that keep it have one")
    return _SERVED[model.model_format](model, name)


class ServedTagger(Served):
    """Labels of tokens."""

    kind = "labels"
    prediction = Labels
    most_tokens = 1000
    explains = ("labels",)

    def __init__(self, model: SequenceTagger, name: str) -> None:
        super().__init__(name, model)
        self.model = model
        self.columns = _tagger_columns(model, name)
        self.splitter = model.tokenizer_

    def labels(self) -> list[str]:
        return [str(label) for label in self.model.classes_]

    def results(self) -> dict[str, FitResult]:
        return {"tagger": self.model.result_}

    def predict(self, sentence: list[Token], k: int) -> Labels:
        [found] = self.model.predict_confidence([sentence], k, self.beta)
        return {
            "tokens": _shown(sentence),
            "labels": found.labels,
            "confidence": _shares(found.marginals),
            "alternatives": [
                {
                    "score": one.score,
                    "probability": _share(one.probability),
                    "labels": one.labels,
                }
                for one in found.k_best
            ],
        }

    def explain(self, sentence: list[Token], token: int, of: str) -> Explanation:
        return self.model.explain(sentence, token)

    def _suspects(self, train: Path) -> tuple[ColumnFile, list[Suspect]]:
        layout = self.model.layout_
        data = read_columns(train) if layout is None else read_like(train, layout)
        return data, self.model.suspects(data.tokens, data.labels, MOST_SUSPECTS)


class ServedParser(Served):
    """Trees, from tagged words or from words alone."""

    kind = "tree"
    prediction = Parse
    most_tokens = 200  # memory grows with the square

    def __init__(self, model: DependencyParser | ParsingPipeline, name: str) -> None:
        self.model, self.parser, self.taggers = model, model.parser_, model.taggers_
        looked_at = tuple(TREE_COLUMNS[name] for name in self.parser.sources_)
        self.columns = Columns(("word",) if model.takes_words else looked_at)
        super().__init__(name, self.parser)
        self.splitter = model.tokenizer_
        self.explains = ("tree", *self.taggers)

    def labels(self) -> list[str]:
        return [str(label) for label in self.parser.classes_]

    def results(self) -> dict[str, FitResult]:
        parts = {f"{name.upper()} tagger": each.result_ for name, each in self.taggers.items()}
        return {"parser": self.parser.result_, **parts}

    def _treebank(self, sentence: list[Token]) -> Treebank:
        if self.taggers:
            words = Treebank.from_columns([sentence])  # type: ignore[list-item]
            return words.replace(
                **{name: tagger.predict(words.forms) for name, tagger in self.taggers.items()}
            )
        if self.columns.only_words:
            return Treebank.from_columns([sentence])  # type: ignore[list-item]
        cells = dict(zip(self.columns.names, zip(*sentence, strict=True), strict=True))
        forms = list(cells.pop("form"))
        others: dict[str, Any] = {
            TREEBANK_COLUMNS[name]: [list(cell)] for name, cell in cells.items()
        }
        return Treebank.from_columns([forms], **others)

    def predict(self, sentence: list[Token], k: int) -> Parse:
        treebank = self._treebank(sentence)
        [best] = self.parser.predict(treebank)
        [confidence] = self.parser.predict_confidence(treebank, self.beta)
        tags = best.upos if any(tag != "_" for tag in best.upos) else best.xpos
        shown = None if all(tag == "_" for tag in tags) else tags

        def drawn(tree: ConlluSentence) -> DrawnTree:
            picture = _picture(best.forms, tree.heads, tree.relations, shown)
            return {"heads": tree.heads, "relations": tree.relations, "picture": picture}

        alternatives: list[ScoredTree] = []
        if self.parser.order == 1:
            [trees] = self.parser.predict_k_best(treebank, k)
            alternatives = [{"score": score, **drawn(tree)} for score, tree in trees]
        return {
            "tokens": best.forms,
            "tags": shown,
            "confidence": _shares(confidence.arcs or confidence.heads),
            "alternatives": alternatives,
            **drawn(best),
        }

    def explain(self, sentence: list[Token], token: int, of: str) -> Explanation:
        if of in self.taggers:
            return self.taggers[of].explain(sentence, token)
        return self.parser.explain(self._treebank(sentence), token)

    def _suspects(self, train: Path) -> tuple[Treebank, list[Suspect]]:
        data = read_conllu(train)
        return data, self.model.suspects(data, top=MOST_SUSPECTS)


def _tagger_columns(tagger: SequenceTagger, name: str) -> Columns:
    """The columns of a tagger by their names, as far as the templates name them."""
    count = tagger.n_columns_
    extractor = tagger.model_.extractor
    if count is None:
        if extractor.state()[0].get("source") == "matrices":
            raise InputError(f"{name} looks at rows of a matrix, and nobody can type these")
        return Columns(())
    named = extractor.column_names
    return Columns(tuple(named[c] if c < len(named) else f"column {c + 1}" for c in range(count)))


def _shown(sentence: list[Token]) -> list[str]:
    """What stands for each token on the page: its first cell."""
    return [token if isinstance(token, str) else token[0] if token else "" for token in sentence]


def _share(p: float) -> float:
    """A probability, whatever rounding says."""
    return min(max(round(p, 6), 0.0), 1.0)


def _shares(numbers: Sequence[float]) -> list[float]:
    return [_share(p) for p in numbers]


def _picture(
    words: Sequence[str], heads: Sequence[int], relations: Sequence[str], tags: list[str] | None
) -> TreePicture:
    """Where words and arcs go, in pixels."""
    placed = place_tree(words, heads, relations, tags)
    layout, side, base = placed.layout, placed.side, placed.base
    return {
        "width": placed.width,
        "height": placed.height,
        "base": base,
        "words": [
            {"text": text, "tag": tag, "x": placed.middle(t)}
            for t, (text, tag) in enumerate(zip(layout.words, placed.tags, strict=True))
        ],
        "arcs": [
            {
                "token": arc.dependent + 1,
                "label": arc.label,
                "left": side + arc.left,
                "right": side + arc.right,
                "top": base - LEVEL * arc.level,
                "arrow": side + arc.arrow,
                "root": arc.is_root,
            }
            for arc in sorted(layout.arcs, key=lambda arc: arc.dependent)
        ],
    }


def _training(name: str, result: FitResult) -> TrainedPart:
    shown = {"name": name, "summary": str(result), **vars(result)}
    shown = {key: _finite(shown[key]) for key in TrainedPart.__annotations__}
    points = [replace(each, **_finite_fields(each)) for each in result.trace]
    return cast(TrainedPart, {**shown, "trace": points})


def _finite_fields(point: TracePoint) -> dict[str, Any]:
    return {key: _finite(value) for key, value in vars(point).items()}


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


#: By what a model file says of itself.
_SERVED: dict[str, Callable[[Any, str], Served]] = {
    SequenceTagger.model_format: ServedTagger,
    DependencyParser.model_format: ServedParser,
    ParsingPipeline.model_format: ServedParser,
}
