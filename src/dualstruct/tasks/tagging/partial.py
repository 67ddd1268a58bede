"""Labels that are partly unknown: which they are, and the first guess at them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain as concatenated

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.errors import InputError
from dualstruct.features import FeatureRows
from dualstruct.labels.names import Labels
from dualstruct.problem import Problem
from dualstruct.solvers import DCD
from dualstruct.structures import Chain
from dualstruct.training.loop import fit
from dualstruct.training.stopping import Stopping

#: What unknown labels are usually written as.
USUAL_MARK = "?"
#: What the first guess is made with, whatever the loss: it has to be quick and good enough.
FIRST_PASSES, FIRST_C = 5, 0.1


class UnknownLabelWarning(UserWarning):
    """A label that looks like the mark of an unknown one."""


def known_labels(y: Sequence[Sequence[str]], unknown_label: str | bool | None) -> Labels:
    """The labels in y without the mark of unknown ones."""
    return without_unknown(Labels.learn(y), unknown_label)


def without_unknown(labels: Labels, unknown_label: str | bool | None) -> Labels:
    """The labels without the mark of unknown ones; a mark that is learned is warned of."""
    if not isinstance(unknown_label, str):
        if unknown_label is None and USUAL_MARK in labels.names:
            warnings.warn(
                UnknownLabelWarning(
                    f'the label "{USUAL_MARK}" is learned like any other; '
                    f'unknown_label="{USUAL_MARK}" takes it for labels that nobody knows, '
                    "unknown_label=False silences this"
                ),
                stacklevel=4,
            )
        return labels
    names = [name for name in labels.names if name != unknown_label]
    if not names:
        raise InputError(
            f"all labels are unknown ({unknown_label}): there is nothing to learn from"
        )
    return Labels(names)


def has_unknown(y: Sequence[Sequence[str]], unknown_label: str | bool | None) -> bool:
    """Whether some label in y is unknown."""
    if not isinstance(unknown_label, str):
        return False
    if isinstance(y, ColumnSentences):
        numbers, strings = y.encoded()
        return any(strings[k] == unknown_label for k in np.unique(numbers))
    return unknown_label in concatenated.from_iterable(y)


def runs_of_known(
    rows: FeatureRows, truth: NDArray[np.int32], unknown: NDArray[np.bool_]
) -> tuple[FeatureRows, NDArray[np.int32]]:
    """The known tokens, each run of neighbours as a sentence of its own.

    >>> rows = FeatureRows(np.arange(6), np.arange(5, dtype=np.int32), None, np.array([0, 3, 5]), 5)
    >>> runs, truth = runs_of_known(rows, np.arange(5), np.array([0, 1, 0, 0, 0], dtype=bool))
    >>> runs.ids.tolist(), runs.sentences.tolist()
    ([0, 2, 3, 4], [0, 1, 2, 4])
    """
    pairs = None if rows.pairs is None else runs_of_known(rows.pairs, truth, unknown)[0]
    known = ~unknown
    starts = np.zeros(rows.n_tokens, dtype=np.bool_)
    starts[rows.sentences[:-1][np.diff(rows.sentences) > 0]] = True
    starts[1:] |= unknown[:-1]
    lengths = np.diff(rows.offsets)
    kept = np.repeat(known, lengths)
    firsts = np.flatnonzero(starts[known])
    return FeatureRows(
        offsets=np.concatenate([[0], np.cumsum(lengths[known])]),
        ids=rows.ids[kept],
        values=None if rows.values is None else rows.values[kept],
        sentences=np.append(firsts, int(known.sum())),
        dimension=rows.dimension,
        pairs=pairs,
    ), truth[known]


def first_weights(chain: Chain, truth: NDArray[np.int32], seed: int) -> _core.Weights:
    """Weights learned from the known tokens alone, for a first guess at the others.

    What comes before or after a run of known tokens is unknown: the weights of first and last
    labels mean nothing and are left at 0.
    """
    assert chain.unknown is not None
    rows, known = runs_of_known(chain.rows, truth, chain.unknown)
    if not len(known):
        raise InputError("all labels are unknown: there is nothing to learn from")
    runs = Chain(rows, chain.labels, known, cost=chain.cost_matrix)
    problem = Problem(runs, "squared_hinge", FIRST_C)
    result = fit(problem, DCD(), Stopping(passes=FIRST_PASSES), seed=seed)
    if result.stopped_by == "interrupt":  # there is nothing yet that could be kept
        raise KeyboardInterrupt
    transition = runs.transition_weights(result.w)
    transition[-1] = transition[:, -1] = 0
    pairs = runs.pair_weights(result.w)
    return chain.pack(runs.emission_weights(result.w), transition, pairs)
