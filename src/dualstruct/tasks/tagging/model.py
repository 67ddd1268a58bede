"""A trained chain: everything that labelling new sentences takes, in one immutable piece.

An estimator swaps its model as a whole, so that a thread that predicts while another one trains
sees either the old model or the new one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence.temperature import checked_temperature
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.in_documents import seen
from dualstruct.data.layout import ColumnLayout
from dualstruct.data.packed import PackedRows
from dualstruct.data.schema import Range, fit_type, inner_arrays, stored_array
from dualstruct.errors import InputError
from dualstruct.features import FeatureExtractor, FeatureRows, from_state
from dualstruct.features.templates import MOST_COLUMNS
from dualstruct.labels.names import Labels
from dualstruct.labels.schemes import Scheme, convert_scheme
from dualstruct.lazy import Deferring
from dualstruct.printable import plural
from dualstruct.structures import Chain
from dualstruct.tasks.tagging.compact import compact_arrays
from dualstruct.tasks.tagging.sentences import as_sentences

#: What stands before the first label and after the last one.
START, END = "<s>", "</s>"


@dataclass(frozen=True, eq=False)
class Codec:
    """Label names and numbers, and the scheme that is learned in and the one that is shown."""

    labels: Labels
    inner_scheme: Scheme | None = None
    outer_scheme: Scheme | None = None

    @property
    def converts(self) -> bool:
        return self.inner_scheme is not None and self.outer_scheme is not None

    def to_inner(self, y: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
        """Labels in the scheme that the model learns in."""
        if self.inner_scheme is None or self.outer_scheme is None:
            return y
        return convert_scheme(y, self.inner_scheme, self.outer_scheme)

    def to_outer(self, y: list[list[str]]) -> list[list[str]]:
        """Labels in the scheme of the training data."""
        if self.inner_scheme is None or self.outer_scheme is None:
            return y
        return convert_scheme(y, self.outer_scheme, self.inner_scheme)


@dataclass(eq=False, repr=False)
class _Metadata:
    """What a file says of a chain, besides arrays."""

    labels: Annotated[list[str], Range(1, _core.Chain.max_labels)]
    features: dict[str, Any]
    columns: Annotated[int, Range(1, MOST_COLUMNS)] | None
    inner_scheme: Scheme | None
    outer_scheme: Scheme | None
    temperature: float | None = None
    layout: ColumnLayout | None = None


@dataclass(frozen=True, eq=False)
class ChainModel(Deferring):
    """Weights with their meaning; those of a file are built when they are first used."""

    extractor: FeatureExtractor
    codec: Codec
    transitions: NDArray[np.bool_] | None
    w: _core.Weights
    n_columns: int | None
    temperature: float | None = None  #: at which scores are probabilities, if it was fitted
    layout: ColumnLayout | None = None  #: how the training file was read, if it was one

    @property
    def labels(self) -> Labels:
        return self.codec.labels

    def chain(self, X: Sequence[Any], allowed: Any = None, threads: int = 1) -> Chain:
        """The sentences as a structure without truth."""
        return unlabelled_chain(self.extractor, self.labels, self.transitions, X, allowed, threads)

    def best(self, X: Sequence[Any], allowed: Any = None, threads: int = 1) -> list[list[str]]:
        """The best labels of each sentence, as they were given in training."""
        chain = self.chain(X, allowed, threads)
        found = chain.decode_all(self.w, threads=threads)
        return list(self.codec.to_outer(self.labels.decode(found, chain.sentences)))

    def marginals(
        self, X: Sequence[Any], beta: float, threads: int
    ) -> tuple[NDArray[np.float32], Chain]:
        """The probability of each label of each token, and the sentences as a structure."""
        chain = self.chain(X, threads=threads)
        return chain.marginals_all(self.w, beta, threads=threads), chain

    def k_best(self, X: Sequence[Any], k: int) -> list[list[tuple[float, list[str]]]]:
        """The k best labellings of each sentence with their scores, best first."""
        chain, names = self.chain(X), self.labels.names
        return [
            [
                (score, self.codec.to_outer([[names[j] for j in y]])[0])
                for score, y in chain.k_best(self.w, i, k)
            ]
            for i in range(len(chain))
        ]

    def empty_chain(self) -> Chain:
        """A chain of no sentences: it knows the layout of the weights."""
        return empty_chain(self.extractor, self.labels, self.transitions)

    def emission(self) -> NDArray[np.float32]:
        return self.empty_chain().emission_weights(self.w)

    def transition(self) -> NDArray[np.float32]:
        return self.empty_chain().transition_weights(self.w)

    def pair_weights(self) -> NDArray[np.float32]:
        return self.empty_chain().pair_weights(self.w)

    def with_weights(
        self,
        emission: NDArray[np.float32],
        transition: NDArray[np.float32],
        pairs: NDArray[np.float32],
    ) -> ChainModel:
        """The same model with other weights."""
        return replace(self, w=self.empty_chain().pack(emission, transition, pairs))

    def with_weight(self, feature: str, label: str, weight: float) -> ChainModel:
        """The same model with another weight of a feature for a label."""
        at = self.extractor.find(feature)
        if at is None:
            raise InputError(f"the model has no feature {feature!r}: training never saw it")
        emission = np.array(self.emission())
        emission[at, self.labels.number(label)] = _finite(weight)
        return self.with_weights(emission, self.transition(), self.pair_weights())

    def with_transition(self, before: str, after: str, weight: float) -> ChainModel:
        """The same model with another weight of one label after another one."""
        outside = len(self.labels)
        row = outside if before == START else self.labels.number(before)
        column = outside if after == END else self.labels.number(after)
        if row == column == outside:
            raise InputError("there is no transition from <s> to </s>")
        transition = self.transition()
        transition[row, column] = _finite(weight)
        return self.with_weights(self.emission(), transition, self.pair_weights())

    def with_pair_weight(self, feature: str, before: str, after: str, weight: float) -> ChainModel:
        """The same model with another weight of a pair feature for a step."""
        at = None if self.extractor.pairs is None else self.extractor.pairs.find(feature)
        if at is None:
            raise InputError(f"the model has no pair feature {feature!r}: training never saw it")
        pairs = np.array(self.pair_weights())
        pairs[at, self.labels.number(before), self.labels.number(after)] = _finite(weight)
        return self.with_weights(self.emission(), self.transition(), pairs)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON and arrays; features whose weights are all 0 are left out."""
        emission, pairs = self.emission(), self.pair_weights()
        extractor = self.extractor
        if not getattr(extractor, "hash_bits", None):
            keep = emission.any(axis=1)
            extractor = extractor.copy()
            extractor.select(keep)
            emission = emission[keep]
            if extractor.pairs is not None:
                keep = pairs.any(axis=(1, 2))
                extractor.pairs.select(keep)
                pairs = pairs[keep]
        settings, arrays = extractor.state()
        metadata = {
            "labels": self.labels.names,
            "inner_scheme": self.codec.inner_scheme,
            "outer_scheme": self.codec.outer_scheme,
            "columns": self.n_columns,
            "temperature": self.temperature,
            "layout": None if self.layout is None else asdict(self.layout),
            "features": settings,
        }
        tensors = {f"features.{name}": array for name, array in arrays.items()}
        tensors["emission"] = emission
        tensors["transition"] = self.transition()
        if extractor.pairs is not None:
            tensors["pairs"] = pairs
        if self.transitions is not None:
            tensors["allowed_transitions"] = self.transitions.astype(np.uint8)
        return metadata, tensors

    def compact(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays of its state with the features sorted by name, where they have names."""
        return compact_arrays(self.extractor, arrays)

    def weight_uses(self, *data: Any) -> dict[str, NDArray[Any]]:
        """How often each feature occurs in data."""
        rows = self.extractor.transform(as_sentences(data[0]))
        return {"emission": np.bincount(rows.ids, minlength=rows.dimension)}

    @classmethod
    def from_state(
        cls, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> ChainModel:
        """The counterpart of :meth:`state`."""
        stored = fit_type(_Metadata, dict(metadata))
        extractor = _extractor_from(stored.features, inner_arrays(arrays, "features"))
        labels = Labels(stored.labels)
        transitions = None
        if "allowed_transitions" in arrays:
            allowed = stored_array(arrays, "allowed_transitions", np.uint8, 2)
            transitions = allowed.astype(np.bool_)
        chain = empty_chain(extractor, labels, transitions)
        emission: Any = arrays.get("emission")
        if not isinstance(emission, PackedRows):
            emission = stored_array(arrays, "emission", np.float32, 2)
        transition = stored_array(arrays, "transition", np.float32, 2)
        pairs = stored_array(arrays, "pairs", np.float32, 3) if "pairs" in arrays else None
        chain.check_weights(emission, transition, pairs)
        codec = Codec(labels, stored.inner_scheme, stored.outer_scheme)
        temperature = checked_temperature(stored.temperature)
        layout = stored.layout
        if layout is not None and len(layout.columns) != stored.columns:
            raise InputError(
                f"the layout has {plural(len(layout.columns), 'column')}, not {stored.columns}"
            )
        nothing: Any = None
        made = cls(extractor, codec, transitions, nothing, stored.columns, temperature, layout)
        made.defer("w", lambda: chain.pack(emission, transition, pairs))
        return made

    def grown_weights(self, rows: FeatureRows, labels: Labels) -> tuple[NDArray[np.float32], ...]:
        """All weights with room for the features and labels that came in addition."""
        old_emission, old_transition = self.emission(), self.transition()
        emission = np.zeros((rows.dimension, len(labels)), dtype=np.float32)
        emission[: len(old_emission), : len(self.labels)] = old_emission
        transition = np.zeros((len(labels) + 1, len(labels) + 1), dtype=np.float32)
        place = [*range(len(self.labels)), len(labels)]  # start and end stay last
        transition[np.ix_(place, place)] = old_transition
        if rows.pairs is None:
            return emission, transition
        old_pairs = self.pair_weights()
        pairs = np.zeros((rows.pairs.dimension, len(labels), len(labels)), dtype=np.float32)
        pairs[: len(old_pairs), : len(self.labels), : len(self.labels)] = old_pairs
        return emission, transition, pairs


def _extractor_from(
    settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> FeatureExtractor:
    """An extractor from a file; a second stage has a model of its own in it."""
    if settings.get("kind") != "stage":
        return from_state(settings, arrays)
    from dualstruct.tasks.tagging.stages import StageExtractor

    return StageExtractor.from_state(settings, arrays)


def _finite(weight: float) -> float:
    if not np.isfinite(weight):
        raise InputError(f"a weight is a finite number, not {weight}")
    return weight


def unlabelled_chain(
    extractor: FeatureExtractor,
    labels: Labels,
    transitions: NDArray[np.bool_] | None,
    X: Sequence[Any],
    allowed: Any = None,
    threads: int = 1,
) -> Chain:
    """Sentences as a structure without truth."""
    choices = None if allowed is None else labels.encode_allowed(allowed)
    rows = extractor.transform(seen(X, extractor.uses_documents), threads=threads)
    return Chain(rows, len(labels), transitions=transitions, allowed=choices)


def empty_chain(
    extractor: FeatureExtractor, labels: Labels, transitions: NDArray[np.bool_] | None
) -> Chain:
    """A chain of no sentences: it knows the layout of the weights."""
    return Chain(no_rows(extractor), len(labels), transitions=transitions)


def no_rows(extractor: FeatureExtractor) -> FeatureRows:
    """Rows of no tokens."""
    return FeatureRows(
        offsets=np.zeros(1, dtype=np.int64),
        ids=np.zeros(0, dtype=np.int32),
        values=None,
        sentences=np.zeros(1, dtype=np.int64),
        dimension=extractor.dimension,
        pairs=None if extractor.pairs is None else no_rows(extractor.pairs),
    )


def count_columns(X: Sequence[Any]) -> int | None:
    """How many columns the tokens have; None for attributes and matrices."""
    X = _innermost(X)
    if isinstance(X, ColumnSentences):
        return X.n_columns
    token = first_token(X)
    return len(token) if isinstance(token, tuple) else 1 if isinstance(token, str) else None


def _innermost(X: Any) -> Any:
    """Sentences without the vectors, documents or labels that stand beside them."""
    return _innermost(X.tokens) if isinstance(X, Sequence) and hasattr(X, "tokens") else X


def layout_of(X: Sequence[Any]) -> ColumnLayout | None:
    """How the file was read that the sentences are from, if they are from one."""
    tokens = _innermost(X)
    return tokens.layout if isinstance(tokens, ColumnSentences) else None


def first_token(X: Sequence[Any]) -> Any:
    """A token that says what all are like; None if there is none."""
    try:
        return next((token for sentence in X for token in sentence), None)
    except TypeError:  # a matrix and lengths: not a sequence of sentences
        return None
