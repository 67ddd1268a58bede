"""What mistakes of a tagger cost: weights of labels, pairs, a matrix become Δ(true, predicted)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.errors import InputError
from dualstruct.labels.given_costs import Costs
from dualstruct.labels.names import Labels
from dualstruct.printable import plural
from dualstruct.structures.chain import cost_matrix


def label_costs(
    labels: Labels,
    cost: Costs | None,
    class_weight: Mapping[str, float] | str | None,
    counts: NDArray[np.int64],
) -> NDArray[np.float32] | None:
    """Δ as [true, predicted], or None for Hamming cost.

    Parameters
    ----------
    labels : Labels
    cost : dict, list of triples or matrix, optional
        By true label, by pair, or [labels, labels] in the order of the labels; 1 where not named.
    class_weight : dict or "balanced", optional
        Multiplies the cost of mistaking a label. ``"balanced"`` is tokens / (labels · tokens with
        this label), so that all labels together weigh the same.
    counts : array
        How many tokens have each label, for ``"balanced"``.

    Examples
    --------
    >>> both = Labels(["A", "O"]), {("A", "O"): 3.0}, {"O": 0.5}, np.array([1, 3])
    >>> label_costs(*both).tolist()
    [[0.0, 3.0], [0.5, 0.0]]
    >>> label_costs(both[0], None, "balanced", np.array([1, 2])).tolist()
    [[0.0, 1.5], [0.75, 0.0]]
    """
    if cost is None and class_weight is None:
        return None
    matrix = cost_matrix(_matrix(labels, cost), len(labels))
    if class_weight is not None:
        matrix = cost_matrix(matrix * _weights(labels, class_weight, counts)[:, None], len(labels))
    return matrix


def pack_costs(cost: Costs | None) -> Any:
    """Costs for a JSON file; :func:`label_costs` takes them as they come out."""
    if cost is None:
        return None
    if isinstance(cost, Mapping):
        pairs = [(key, float(value)) for key, value in cost.items()]
        if all(isinstance(key, str) for key, _ in pairs):
            return dict(pairs)
        return [[*key, value] for key, value in pairs]
    return (
        np.asarray(cost).tolist() if isinstance(cost, np.ndarray) else [list(row) for row in cost]
    )


def _matrix(labels: Labels, cost: Costs | None) -> NDArray[np.float32] | None:
    if cost is None:
        return None
    if isinstance(cost, Mapping):
        return _named(labels, list(cost.items()))
    rows = list(cost) if isinstance(cost, Sequence) else None
    if rows and isinstance(rows[0], Sequence) and isinstance(rows[0][0], str):
        return _named(labels, [((row[0], row[1]), row[2]) for row in rows])
    given = np.asarray(cost, dtype=np.float32)
    if given.shape != (len(labels), len(labels)):
        raise InputError(
            f"cost has shape {given.shape}; for {plural(len(labels), 'label')} it must be "
            f"{(len(labels), len(labels))}, in the order {', '.join(labels.names[:5])} …"
        )
    return given


def _named(labels: Labels, costs: list[tuple[Any, float]]) -> NDArray[np.float32]:
    """Whole rows first, so that a pair can differ from the rest of its row."""
    matrix = 1 - np.eye(len(labels), dtype=np.float32)
    for key, cost in costs:
        if isinstance(key, str):
            row = labels.number(key, "cost")
            matrix[row] = cost
            matrix[row, row] = 0
    for key, cost in costs:
        if not isinstance(key, str):
            if not isinstance(key, tuple) or len(key) != 2:
                raise InputError(f"cost: {key!r} is neither a label nor a pair (true, predicted)")
            true, predicted = (labels.number(name, "cost") for name in key)
            if true == predicted and cost != 0:
                raise InputError(f"cost: ({key[0]}, {key[1]}) is not a mistake and must cost 0")
            matrix[true, predicted] = cost
    return matrix


def _weights(
    labels: Labels, class_weight: Mapping[str, float] | str, counts: NDArray[np.int64]
) -> NDArray[np.float32]:
    weights = np.ones(len(labels), dtype=np.float32)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise InputError(f"class_weight is {class_weight!r}; it must be 'balanced' or a dict")
        seen = counts > 0
        weights[seen] = counts.sum() / (len(labels) * counts[seen])
        return weights
    for name, weight in class_weight.items():
        if not 0 <= weight < float("inf"):
            raise InputError(
                f"the class weight of {name} is {weight}; it must be at least 0 and finite"
            )
        weights[labels.number(name, "class_weight")] = weight
    return weights


def flat_token_weights(
    weights: Sequence[Sequence[float]] | None, sentences: NDArray[np.int64]
) -> NDArray[np.float32] | None:
    """A weight for each token of all sentences, from a list for each sentence (or None for 1s)."""
    if weights is None:
        return None
    if len(weights) != len(sentences) - 1:
        raise InputError(
            f"token_weight is given for {plural(len(weights), 'sentence')}, not "
            f"{len(sentences) - 1}"
        )
    flat = np.ones(int(sentences[-1]), dtype=np.float32)
    for i, given in enumerate(weights):
        if given is None:
            continue
        begin, end = int(sentences[i]), int(sentences[i + 1])
        if len(given) != end - begin:
            raise InputError(
                f"sentence {i + 1}: {plural(end - begin, 'token')}, but "
                f"{plural(len(given), 'token weight')}"
            )
        flat[begin:end] = given
    return flat
