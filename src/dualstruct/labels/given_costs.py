"""Costs of mistakes as users give them: in a file, on the command line, beside a loss.

What the options of ``dualstruct train`` refer to; ``--help`` needs no numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualstruct.data.opening import lines_of, read_text
from dualstruct.errors import InputError
from dualstruct.losses import Loss, SoftmaxMargin

#: ``{label: cost}``, ``{(true, predicted): cost}``, the same as a list of triples, or a matrix.
Costs = Any


def check_costs_count(loss: Loss, **given: Any) -> None:
    """Refuse costs for a loss that has none."""
    if loss.name not in ("crf", "perceptron") and not (
        isinstance(loss, SoftmaxMargin) and loss.gamma == 0
    ):
        return
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name} weighs the cost of mistakes, which the loss {loss.name} does not have; "
                "softmax_margin is the crf with costs, and hinge and squared_hinge have them, too"
            )


def read_costs(path: str | Path) -> dict[Any, float]:
    """Costs from a file: each line a true label and a cost, or true label, predicted one, cost."""
    costs: dict[Any, float] = {}
    for number, line in enumerate(lines_of(read_text(path)), 1):
        cells = line.split()
        if not cells or cells[0].startswith("#"):
            continue
        try:
            *names, cost = cells
            key = names[0] if len(names) == 1 else (names[0], names[1])
            if len(names) > 2:
                raise ValueError
            costs[key] = float(cost)
        except (ValueError, IndexError):
            raise InputError(
                f"{path}, line {number}: a label and a cost, or two labels and a cost, are expected"
            ) from None
    if not costs:
        raise InputError(f"{path}: there are no costs in it")
    return costs


def parse_class_weights(given: Sequence[str] | None) -> dict[str, float] | str | None:
    """Class weights as the command line has them: ``balanced``, or ``LABEL=WEIGHT`` each.

    >>> parse_class_weights(["B-LOC=2", "O=0.5"])
    {'B-LOC': 2.0, 'O': 0.5}
    """
    if not given:
        return None
    if list(given) == ["balanced"]:
        return "balanced"
    weights = {}
    for item in given:
        label, _, weight = item.rpartition("=")
        try:
            weights[label] = float(weight)
        except ValueError:
            label = ""
        if not label:
            raise InputError(
                f"--class-weight is {item!r}; it must be balanced, or a label and its weight such "
                "as B-LOC=2"
            )
    return weights
