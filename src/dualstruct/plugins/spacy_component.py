"""A component of spaCy's pipelines: entities, tags, heads and relations by a model of ours.

    nlp.add_pipe("dualstruct", config={"model": "ner.dstruct"})

It takes spaCy's tokens and sentences as they are. Without a model, ``nlp.initialize(examples)``
trains a tagger on the entities of the examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Doc, Span

from dualstruct.data.treebank import UPOS, Treebank
from dualstruct.errors import InputError, not_fitted
from dualstruct.estimators import DependencyParser, ParsingPipeline, SequenceTagger, load_model
from dualstruct.labels.schemes import are_span_labels, spans

__all__ = ["DualstructComponent", "make_component"]

_FILE = "model.dstruct"


@Language.factory("dualstruct", default_config={"model": None, "settings": {}})  # type: ignore[untyped-decorator]
def make_component(
    nlp: Language, name: str, model: str | None, settings: dict[str, Any]
) -> DualstructComponent:
    """What ``nlp.add_pipe("dualstruct", config={"model": path})`` makes."""
    return DualstructComponent(name, None if model is None else load_model(model), settings)


class DualstructComponent:
    """A model as a component.

    Parameters
    ----------
    name : str
    model : SequenceTagger, DependencyParser or ParsingPipeline; optional
    settings : dict
        Those of the tagger that ``initialize`` trains.
    """

    def __init__(
        self, name: str, model: Any = None, settings: dict[str, Any] | None = None
    ) -> None:
        self.name = name
        self.model = model
        self.settings = dict(settings or {})

    def __call__(self, doc: Doc) -> Doc:
        return next(iter(self.pipe([doc])))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Documents one by one, labelled some at a time."""
        if self.model is None:
            raise not_fitted(f"the component {self.name} has no model")
        waiting = iter(stream)
        while docs := list(islice(waiting, batch_size)):
            parts = [_sentences(doc) for doc in docs]
            if self.model.model_format not in _MARKERS:
                raise InputError(f"the component {self.name}: a tokenizer marks nothing")
            if any(parts):
                _MARKERS[self.model.model_format](self.model, docs, parts)
            yield from docs

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Any]],
        *,
        nlp: Language | None = None,
    ) -> None:
        """Train a tagger on the entities of examples, unless there is a model."""
        if self.model is not None:
            return
        X, y = [], []
        for example in get_examples():
            for sentence in _sentences(example.reference):
                X.append(_words(sentence))
                y.append([_label(token) for token in sentence])
        if not X:
            raise InputError("there are no examples to learn from")
        self.model = SequenceTagger(**self.settings).fit(X, y)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """A folder with the model file."""
        if self.model is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
            self.model.save(Path(path) / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> DualstructComponent:
        if (Path(path) / _FILE).exists():
            self.model = load_model(Path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        if self.model is None:
            return b""
        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> DualstructComponent:
        if data:
            with TemporaryDirectory() as folder:
                (Path(folder) / _FILE).write_bytes(data)
                self.from_disk(folder)
        return self


#: The sentences of a document, each a list of spaCy's tokens.
Sentences = list[list[Any]]


def _mark_labels(model: SequenceTagger, docs: list[Doc], parts: list[Sentences]) -> None:
    """Entities where labels mark spans, tags elsewhere."""
    found = iter(model.predict([_words(sentence) for part in parts for sentence in part]))
    of_spans = are_span_labels(model.classes_.tolist())
    for doc, part in zip(docs, parts, strict=True):
        labels = [next(found) for _ in part]
        if not of_spans:
            for token, label in zip(chain(*part), chain(*labels), strict=True):
                token.tag_ = label
            continue
        doc.set_ents(
            [
                Span(doc, sentence[first].i, sentence[last - 1].i + 1, label=type_)
                for sentence, row in zip(part, labels, strict=True)
                for type_, first, last in spans(row)
            ]
        )


def _mark_trees(
    model: DependencyParser | ParsingPipeline, docs: list[Doc], parts: list[Sentences]
) -> None:
    """Heads and relations; tags if the model finds them itself."""
    sentences = [sentence for part in parts for sentence in part]
    given = Treebank.from_columns(
        [_words(sentence) for sentence in sentences],
        upos=[[token.pos_ or "_" for token in sentence] for sentence in sentences],
        xpos=[[token.tag_ or "_" for token in sentence] for sentence in sentences],
        lemmas=[[token.lemma_ or "_" for token in sentence] for sentence in sentences],
    )
    trees = iter(model.predict(given))
    for doc, part in zip(docs, parts, strict=True):
        heads, relations = list(range(len(doc))), ["dep"] * len(doc)
        for sentence in part:
            tree = next(trees)
            for token, head, relation in zip(sentence, tree.heads, tree.relations, strict=True):
                heads[token.i] = token.i if head == 0 else sentence[head - 1].i
                relations[token.i] = "ROOT" if head == 0 else relation
            if model.takes_words:
                for token, tag, other in zip(sentence, tree.upos, tree.xpos, strict=True):
                    token.pos_ = tag if tag in UPOS else ""
                    token.tag_ = "" if other == "_" else other
        _set_heads(doc, heads, relations)


#: By what a model file says of itself.
_MARKERS: dict[str, Callable[[Any, list[Doc], list[Sentences]], None]] = {
    SequenceTagger.model_format: _mark_labels,
    DependencyParser.model_format: _mark_trees,
    ParsingPipeline.model_format: _mark_trees,
}


def _words(sentence: list[Any]) -> list[str]:
    return [token.text for token in sentence]


def _sentences(doc: Doc) -> Sentences:
    """The tokens of each sentence, without those that are spaces."""
    parts = doc.sents if doc.has_annotation("SENT_START") else [doc]
    found = [[token for token in part if not token.is_space] for part in parts]
    return [tokens for tokens in found if tokens]


def _label(token: Any) -> str:
    return f"{token.ent_iob_}-{token.ent_type_}" if token.ent_type_ else "O"


def _set_heads(doc: Doc, heads: list[int], relations: list[str]) -> None:
    """Heads of all tokens; spaces are attached to the token before them, and sentences follow."""
    for token in doc:
        if token.is_space and token.i:
            heads[token.i] = token.i - 1
    cells = np.zeros((len(doc), 2), dtype=np.uint64)
    cells[:, 0] = (np.array(heads, dtype=np.int64) - np.arange(len(doc))).astype(np.uint64)
    cells[:, 1] = [doc.vocab.strings.add(relation) for relation in relations]
    doc.from_array([HEAD, DEP], cells)
