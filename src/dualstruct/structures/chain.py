"""First-order chains: a label for every token, scored by emissions and transitions.

    w·φ(x, y) = Σ_t Σ_f x_tf W[f, y_t] + A[start, y_1] + Σ_t A[y_t−1, y_t] + A[y_T, end]

Pair features, if there are any, let what is seen at a token weigh the step into it: the score gains
Σ_t>1 Σ_g z_tg P[g, y_t−1, y_t]. P has labels² weights for each pair feature.

The core does the arithmetic (core/structures/chain/chain.cpp); this is its face.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.packed import PackedRows
from dualstruct.data.schema import stored_array
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.structures.base import Structure, check_beta, digest_of

if TYPE_CHECKING:
    from dualstruct.features import FeatureRows

Floats = NDArray[np.float32]
MAX_LABELS = _core.Chain.max_labels
MAX_TOKENS = _core.Chain.max_tokens
#: Larger feature values would overflow the sums of a sentence in single precision.
MAX_VALUE = 1e12
#: Weights of pair features take 4 bytes each, and training holds a few copies of them.
MAX_PAIR_WEIGHTS = 2**29

#: For each sentence and token, the labels allowed there (None: all of them).
AllowedLabels = Sequence[Sequence[Sequence[int] | None] | None]


class Expectation(NamedTuple):
    """What p(y) ∝ exp β(w·φ(y) + γΔ(y)) says of one sentence."""

    log_partition: float  #: (1/β) log Σ_y exp β(w·φ(y) + γΔ(y))
    cost: float  #: the expected cost
    labels: NDArray[np.float32]  #: [tokens, labels]: p(y_t = k)
    pairs: NDArray[np.float32]  #: [tokens − 1, labels, labels]: p(y_t = j, y_t+1 = k)


class Chain(Structure):
    """Sentences of sparse features, one label per token.

    Parameters
    ----------
    rows : FeatureRows
        The features of every token; ``rows.pairs`` are its pair features.
    labels : int
        The number of labels, at most 4,096.
    truth : int32 array [tokens], optional
        The true labels; without them the chain is for prediction only.
    cost : array [labels] or [labels, labels], optional
        Hamming cost by default. A vector weighs the true label of each mistaken token, a matrix
        gives the cost of (true, predicted) directly; its diagonal must be 0.
    token_weights : float array [tokens], optional
        The factor of the cost of a mistake at each token; 1 by default.
    unknown : bool array [tokens], optional
        Tokens whose true label is unknown. Mistakes there cost nothing, and ``truth`` has a
        guess that :meth:`set_truth` replaces by a better one (:meth:`best_completion`).
    transitions : bool array [labels + 1, labels + 1], optional
        Which label may follow which; row ``labels`` is the start, column ``labels`` the end.
    allowed : optional
        For each sentence, for each token, the labels allowed there, or None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from dualstruct.features import FeatureRows
    >>> rows = FeatureRows(
    ...     offsets=np.array([0, 1, 2]), ids=np.array([0, 1], dtype=np.int32), values=None,
    ...     sentences=np.array([0, 2]), dimension=2)
    >>> chain = Chain(rows, labels=2, truth=np.array([0, 1], dtype=np.int32))
    >>> w = chain.new_weights()
    >>> chain.add_features(w, 0, [0, 1], 1.0)       # w = φ(x, y)
    >>> chain.decode(w, 0).tolist()
    [0, 1]
    >>> chain.score(w, 0, [0, 1])                   # two emissions, start, one step, end
    5.0
    """

    core: _core.Chain

    def __init__(
        self,
        rows: FeatureRows,
        labels: int,
        truth: NDArray[np.int32] | None = None,
        *,
        cost: ArrayLike | None = None,
        token_weights: ArrayLike | None = None,
        unknown: NDArray[np.bool_] | None = None,
        transitions: NDArray[np.bool_] | None = None,
        allowed: AllowedLabels | None = None,
    ) -> None:
        if not 1 <= labels <= MAX_LABELS:
            raise InputError(f"{plural(labels, 'label')}: a chain takes 1 to {MAX_LABELS}")
        self.rows = rows
        self.labels = labels
        self.sentences = np.ascontiguousarray(rows.sentences, dtype=np.int64)
        offsets = self._check_rows(rows)
        pair_arrays = self._pair_arrays(rows.pairs)
        tokens = len(offsets) - 1
        if truth is not None:
            truth = np.ascontiguousarray(truth, dtype=np.int32)
            if truth.shape != (tokens,):
                raise InputError(f"{plural(tokens, 'token')}, but {plural(truth.size, 'label')}")
            if truth.size and not 0 <= truth.min() <= truth.max() < labels:
                bad = int(np.flatnonzero((truth < 0) | (truth >= labels))[0])
                raise InputError(f"{self.name_token(bad)}: a label that is not among the {labels}")
        self.truth = truth
        self.cost_matrix = cost_matrix(cost, labels)
        self.token_weights = self._checked_weights(token_weights, tokens)
        self.unknown = None if unknown is None or not unknown.any() else unknown
        if self.unknown is not None:
            known = np.float32(1) if self.token_weights is None else self.token_weights
            self.token_weights = np.where(self.unknown, np.float32(0), known)
        if transitions is not None:
            transitions = np.ascontiguousarray(transitions, dtype=np.uint8)
            if transitions.shape != (labels + 1, labels + 1):
                raise InputError(
                    f"transitions has shape {transitions.shape}, not {(labels + 1, labels + 1)}"
                )
        self.transitions = transitions
        allowed_offsets, allowed_labels = self._flatten(allowed, tokens)
        self._allowed = allowed_offsets, allowed_labels
        self._arrays = (
            self.sentences,
            offsets,
            rows.ids,
            rows.values,
            truth,
            self.cost_matrix,
            *(() if self.token_weights is None else (self.token_weights,)),
            transitions,
            allowed_offsets,
            allowed_labels,
            *pair_arrays,
        )
        self.core = _core.Chain(
            self.sentences,
            offsets,
            np.ascontiguousarray(rows.ids, dtype=np.int32),
            None if rows.values is None else np.ascontiguousarray(rows.values, dtype=np.float32),
            truth,
            rows.dimension,
            labels,
            self.cost_matrix,
            self.token_weights,
            transitions,
            allowed_offsets,
            allowed_labels,
            *pair_arrays,
            self.pair_dimension,
        )
        if truth is not None:
            given = truth if self.unknown is None else np.where(self.unknown, np.int32(-1), truth)
            self._check_truth(given, allowed_offsets, allowed_labels)
        if self.unknown is not None:
            if truth is None or allowed is not None:
                raise InputError("unknown labels need true ones beside them, and no allowed ones")
            self._make_completer(truth, offsets)

    def _make_completer(self, truth: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """The same sentences with the known labels as constraints."""
        assert self.unknown is not None
        before = np.concatenate([[0], np.cumsum(self.unknown)])[self.sentences]
        #: The sentences with unknown labels.
        self.incomplete: NDArray[np.int64] = np.flatnonzero(np.diff(before)).astype(np.int64)
        known = ~self.unknown
        whole = _core.Chain(
            self.sentences,
            offsets,
            np.ascontiguousarray(self.rows.ids, dtype=np.int32),
            self._arrays[3],
            None,
            self.rows.dimension,
            self.labels,
            self.cost_matrix,
            None,
            self.transitions,
            np.concatenate([[0], np.cumsum(known)]).astype(np.int64),
            truth[known],
            *self._pair_arrays(self.rows.pairs),
            self.pair_dimension,
        )
        self._completer = _core.Examples(whole, self.incomplete)
        lengths = np.diff(self.sentences)
        inside = np.zeros(len(lengths), dtype=np.bool_)
        inside[self.incomplete] = True
        self._of_incomplete = np.repeat(inside, lengths)  # [tokens]

    @property
    def has_unknown_truth(self) -> bool:
        return self.unknown is not None

    def best_completion(self, w: _core.Weights, threads: int = 1) -> NDArray[np.int32]:
        """argmax_h w·φ(h) over the labellings h that have the labels known: [tokens]."""
        assert self.truth is not None
        completed = np.array(self.truth)
        with self.translating_errors():
            completed[self._of_incomplete] = self._completer.decode_all(w, 0.0, threads)
        return completed

    def set_truth(self, truth: NDArray[np.int32]) -> None:
        """Other true labels. Duals of the old ones are no longer valid: see
        :meth:`~dualstruct.solvers.base.Iterate.change_truth`."""
        self.core.set_truth(np.ascontiguousarray(truth, dtype=np.int32))
        self.truth = truth

    def state(self) -> dict[str, NDArray[Any]]:
        return {} if self.unknown is None or self.truth is None else {"truth": self.truth}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        if self.unknown is None or self.truth is None:
            if arrays:
                raise InputError("there are no labels that a checkpoint could have completed")
            return
        truth = stored_array(arrays, "truth", np.int32)
        known = ~self.unknown
        if truth.shape != self.truth.shape or (truth[known] != self.truth[known]).any():
            raise InputError("the true labels are others")
        if len(truth) and not 0 <= truth.min() <= truth.max() < self.labels:
            raise InputError("a label that was completed is none")
        self.set_truth(truth)

    @property
    def pair_dimension(self) -> int:
        """The number of pair features."""
        return 0 if self.rows.pairs is None else self.rows.pairs.dimension

    @property
    def feature_mass(self) -> float:
        values = self.rows.values
        squares = len(self.rows.ids) if values is None else float(np.vdot(values, values))
        return squares / max(self.rows.dimension, 1)

    @property
    def has_many_parts(self) -> bool:
        return self.rows.pairs is not None

    def name_example(self, i: int, part: int) -> str:
        return f"sentence {i + 1}, token {part + 1}"

    def digest(self) -> str:
        return digest_of(self._arrays)

    def name_token(self, token: int) -> str:
        """Where the token with this number in the whole data is, for messages."""
        i = int(np.searchsorted(self.sentences, token, side="right")) - 1
        return self.name_example(i, token - int(self.sentences[i]))

    def tokens(self, i: int) -> int:
        return int(self.sentences[i + 1] - self.sentences[i])

    def allowed_at(self, token: int) -> NDArray[np.int32] | None:
        """The labels that a token, by its number in the whole data, may have; None: all."""
        offsets, labels = self._allowed
        if offsets is None or labels is None or offsets[token] == offsets[token + 1]:
            return None
        return labels[offsets[token] : offsets[token + 1]]

    def expectation(
        self, w: _core.Weights, i: int, beta: float = 1.0, gamma: float = 0.0
    ) -> Expectation:
        """Log-partition, expected cost and marginals of labels and of neighbouring pairs."""
        check_beta(beta)
        with self.translating_errors():
            return Expectation(*self.core.expectation(w, self._example(i, gamma), beta, gamma))

    def marginals_all(
        self, w: _core.Weights, beta: float = 1.0, gamma: float = 0.0, threads: int = 1
    ) -> NDArray[np.float32]:
        """The label marginals of every sentence: [tokens, labels]."""
        check_beta(beta)
        self._needs_truth(gamma)
        with self.translating_errors():
            return self.core.marginals_all(w, beta, gamma, threads)

    def emission_weights(self, w: _core.Weights) -> NDArray[np.float32]:
        """A view of W: [features, labels]."""
        return self._matrix(w)[: self.rows.dimension, : self.labels]

    def transition_weights(self, w: _core.Weights) -> NDArray[np.float32]:
        """A: [labels + 1, labels + 1]; the last row is the start, the last column the end."""
        first = self.rows.dimension
        block = self._matrix(w)[first : first + self.labels + 2, : self.labels]
        square = np.zeros((self.labels + 1, self.labels + 1), dtype=np.float32)
        square[:, :-1] = block[:-1]
        square[:-1, -1] = block[-1]
        return square

    def pair_weights(self, w: _core.Weights) -> NDArray[np.float32]:
        """A view of P: [pair features, labels before, labels]."""
        block = self._matrix(w)[self.rows.dimension + self.labels + 2 :]
        shape = (self.pair_dimension, self.labels, self.core.stride)
        return block.reshape(shape)[:, :, : self.labels]

    def check_weights(
        self, emission: Floats | PackedRows, transition: Floats, pairs: Floats | None = None
    ) -> None:
        """Raise an error for weights that :meth:`pack` cannot use."""
        features, labels = self.rows.dimension, self.labels
        if emission.shape != (features, labels):
            raise InputError(f"emissions have shape {emission.shape}, not {(features, labels)}")
        if transition.shape != (labels + 1, labels + 1):
            raise InputError(f"transitions have shape {transition.shape}")
        shape = (self.pair_dimension, labels, labels)
        given = (0, labels, labels) if pairs is None else pairs.shape
        if given != shape:
            raise InputError(f"the weights of pairs have shape {given}, not {shape}")
        values = emission.values if isinstance(emission, PackedRows) else emission
        parts = (values, transition) if pairs is None else (values, transition, pairs)
        if not all(np.isfinite(part).all() for part in parts):
            raise InputError("the weights hold NaN or infinite values")

    def pack(
        self, emission: Floats | PackedRows, transition: Floats, pairs: Floats | None = None
    ) -> _core.Weights:
        """The weights from the results of the functions above."""
        self.check_weights(emission, transition, pairs)
        labels, stride = self.labels, self.core.stride
        behind = np.zeros((labels + 2 + self.pair_dimension * labels, stride), dtype=np.float32)
        behind[: labels + 1, :labels] = transition[:, :-1]
        behind[labels + 1, :labels] = transition[:-1, -1]
        if pairs is not None:
            behind[labels + 2 :, :labels] = pairs.reshape(-1, labels)
        w = _core.Weights(self.core)
        if isinstance(emission, PackedRows):
            stored = emission.counts, emission.columns, emission.values
            w.assign_rows(self.core, *stored, stride, behind.ravel())
        else:
            rows = np.zeros((len(emission), stride), dtype=np.float32)
            rows[:, :labels] = emission
            w.assign(self.core, np.concatenate([rows, behind]).ravel())
        return w

    def _matrix(self, w: _core.Weights) -> NDArray[np.float32]:
        return w.array.reshape(-1, self.core.stride)

    def checked_output(self, i: int, output: ArrayLike) -> NDArray[np.int32]:
        labels = np.ascontiguousarray(output, dtype=np.int32)
        if labels.shape != (self.tokens(i),):
            raise InputError(f"sentence {i + 1} has {self.tokens(i)} tokens, not {labels.size}")
        if labels.size and not 0 <= labels.min() <= labels.max() < self.labels:
            raise InputError(f"sentence {i + 1}: a label that is not among the {self.labels}")
        return labels

    def _pair_arrays(
        self, pairs: FeatureRows | None
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.int32] | None, NDArray[np.float32] | None]:
        if pairs is None:
            return None, None, None
        if not np.array_equal(pairs.sentences, self.sentences):
            raise InputError("the pair features are of other sentences than the features")
        if pairs.dimension * self.labels**2 > MAX_PAIR_WEIGHTS:
            gigabytes = 4e-9 * pairs.dimension * self.labels**2
            raise InputError(
                f"{pairs.dimension} features of pairs of {self.labels} labels need {gigabytes:.1f}"
                " GB of weights: leave out rare ones by min_count, or give hash_bits"
            )
        offsets = self._check_rows(pairs)
        values = pairs.values
        return (
            offsets,
            np.ascontiguousarray(pairs.ids, dtype=np.int32),
            None if values is None else np.ascontiguousarray(values, dtype=np.float32),
        )

    def _check_rows(self, rows: FeatureRows) -> NDArray[np.int64]:
        offsets = np.ascontiguousarray(rows.offsets, dtype=np.int64)
        tokens = len(offsets) - 1
        if tokens < 0 or offsets[0] != 0 or (np.diff(offsets) < 0).any():
            raise InputError("the offsets of the features do not rise from 0")
        if offsets[-1] != len(rows.ids):
            raise InputError("the offsets of the features do not end at their number")
        lengths = np.diff(self.sentences)
        if not len(self.sentences) or self.sentences[0] != 0 or (lengths < 0).any():
            raise InputError("the offsets of the sentences do not rise from 0")
        if self.sentences[-1] != tokens:
            raise InputError(f"the sentences have {self.sentences[-1]} tokens, not {tokens}")
        if lengths.size and lengths.max() >= MAX_TOKENS:
            raise InputError(f"sentence {int(lengths.argmax()) + 1} has more than 1,048,575 tokens")
        if len(rows.ids) and not 0 <= rows.ids.min() <= rows.ids.max() < rows.dimension:
            raise InputError(f"a feature id is not in 0 … {rows.dimension - 1}")
        if rows.values is not None:
            if rows.values.shape != rows.ids.shape:
                raise InputError(f"{rows.ids.size} features, but {rows.values.size} values")
            self._check_values(rows.values, offsets)
        return offsets

    def _check_values(self, values: NDArray[np.float32], offsets: NDArray[np.int64]) -> None:
        good = np.abs(values) <= MAX_VALUE  # false for NaN
        if not good.all():
            bad = int(np.flatnonzero(~good)[0])
            token = int(np.searchsorted(offsets, bad, side="right")) - 1
            where = self.name_token(token)
            raise InputError(f"{where}: a feature has the value {values[bad]}")

    def _checked_weights(
        self, weights: ArrayLike | None, tokens: int
    ) -> NDArray[np.float32] | None:
        if weights is None:
            return None
        given = np.ascontiguousarray(weights, dtype=np.float32)
        if given.shape != (tokens,):
            raise InputError(f"{plural(tokens, 'token')}, but {plural(given.size, 'token weight')}")
        good = (given >= 0) & (given <= MAX_VALUE)  # false for NaN
        if not good.all():
            bad = int(np.flatnonzero(~good)[0])
            raise InputError(
                f"{self.name_token(bad)}: the weight is {given[bad]}; it must be at least 0 and "
                "finite"
            )
        return given

    def _flatten(
        self, allowed: AllowedLabels | None, tokens: int
    ) -> tuple[NDArray[np.int64] | None, NDArray[np.int32] | None]:
        if allowed is None:
            return None, None
        if len(allowed) != len(self.sentences) - 1:
            raise InputError(f"allowed is given for {len(allowed)} sentences, not {len(self)}")
        offsets = np.zeros(tokens + 1, dtype=np.int64)
        flat: list[int] = []
        for i, sentence in enumerate(allowed):
            first, length = int(self.sentences[i]), self.tokens(i)
            if sentence is not None and len(sentence) != length:
                raise InputError(
                    f"sentence {i + 1}: allowed has {plural(len(sentence), 'token')} of {length}"
                )
            for t in range(length):
                choice = None if sentence is None else sentence[t]
                if choice is not None:
                    if not len(choice) or not all(0 <= k < self.labels for k in choice):
                        raise InputError(f"{self.name_example(i, t)}: allowed is {list(choice)}")
                    flat.extend(choice)
                offsets[first + t + 1] = len(flat)
        return offsets, np.array(flat, dtype=np.int32)

    def _check_truth(
        self,
        truth: NDArray[np.int32],
        allowed_offsets: NDArray[np.int64] | None,
        allowed: NDArray[np.int32] | None,
    ) -> None:
        """The truth has to be one of the outputs that the constraints leave."""
        if self.transitions is not None:
            forbidden = forbidden_tokens(truth, self.sentences, self.transitions)
            if len(forbidden):
                where = self.name_token(int(forbidden[0]))
                raise InputError(f"{where}: the true label is not allowed to stand there")
        if allowed_offsets is not None and allowed is not None:
            for token in np.flatnonzero(np.diff(allowed_offsets)):
                choice = allowed[allowed_offsets[token] : allowed_offsets[token + 1]]
                if truth[token] not in choice:
                    where = self.name_token(int(token))
                    raise InputError(f"{where}: the true label is not among those allowed")


def forbidden_tokens(
    labels: NDArray[np.int32], sentences: NDArray[np.int64], transitions: NDArray[Any]
) -> NDArray[np.intp]:
    """Tokens whose label may not follow the one before it, or not end its sentence.

    A negative label is unknown: whatever is beside it is allowed.
    """
    outside = len(transitions) - 1
    lengths = np.diff(sentences)
    firsts = sentences[:-1][lengths > 0]
    lasts = sentences[1:][lengths > 0] - 1
    before = np.empty_like(labels)
    before[1:] = labels[:-1]
    before[firsts] = outside
    known = labels >= 0
    forbidden = (transitions[before, labels] == 0) & known & (before >= 0)
    forbidden[lasts] |= (transitions[labels[lasts], outside] == 0) & known[lasts]
    return np.flatnonzero(forbidden)


def cost_matrix(cost: ArrayLike | None, labels: int) -> NDArray[np.float32]:
    """Δ of (true, predicted) labels from nothing (Hamming), a vector or a matrix."""
    hamming = 1 - np.eye(labels, dtype=np.float32)
    if cost is None:
        return hamming
    given = np.asarray(cost, dtype=np.float32)
    if given.shape not in ((labels,), (labels, labels)):
        raise InputError(f"the cost has shape {given.shape}; {labels} labels need one or two axes")
    matrix = np.ascontiguousarray(hamming * given[:, None] if given.ndim == 1 else given)
    if not np.isfinite(matrix).all() or (matrix < 0).any() or np.diagonal(matrix).any():
        raise InputError("costs must be finite, at least 0, and 0 for the true label")
    return matrix
