"""The losses: what one example costs at w, and their terms in the dual.

With H_i(y; w) = Δ_i(y) − w·δ_i(y) and P(w) = ½‖w‖² + C Σ_i ℓ_i(w):

| loss                 | ℓ_i(w)                                     | dual                        |
| -------------------- | ------------------------------------------ | --------------------------- |
| hinge                | max_y H_i(y)                               | α ≥ 0, Σ_y α_iy ≤ C         |
| squared_hinge        | (max_y H_i(y))²                            | α ≥ 0, − Σ_i (Σ_y α_iy)²/4C |
| softmax_margin(β, γ) | (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y))    | entropy                     |
| crf                  | softmax_margin(1, 0)                       | entropy                     |
| perceptron           | max_y −w·δ_i(y)                            | none of use: 0 is optimal   |
| ramp                 | max_y H_i(y) − (max_y −Δ_i(y) − w·δ_i(y))₊ | not convex                  |
| ramp_uncosted        | max_y H_i(y) − (max_y −w·δ_i(y))₊          | not convex                  |
| risk_bound(β, γ)     | (1/β) log E exp βγΔ_i(y), p ∝ exp β w·φ    | not convex                  |

(Σ_y α_iy ≤ C because the true output's share of C, whose δ is 0, is not stored.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from dualstruct import _core
from dualstruct.errors import InputError

if TYPE_CHECKING:  # the command line shows the names of losses without numpy
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]  # one per example


class Loss(Protocol):
    """A loss, and the term that its dual subtracts besides ½‖w‖²."""

    @property
    def name(self) -> str: ...

    @property
    def sums(self) -> bool:
        """Whether it sums over all outputs; others need only the best one."""

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        """ℓ_i(w) of every example, by a full inference pass."""

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        """For duals held as cuts, with C_i of each example: the dual is Σ α Δ − ½‖w‖² − this."""


@dataclass(frozen=True)
class Hinge:
    """ℓ_i(w) = max_y H_i(y; w)."""

    name: ClassVar[str] = "hinge"
    sums: ClassVar[bool] = False

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        return _core.largest_violations(examples, w, 1.0, threads)

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        return 0.0


@dataclass(frozen=True)
class SquaredHinge:
    """ℓ_i(w) = (max_y H_i(y; w))²."""

    name: ClassVar[str] = "squared_hinge"
    sums: ClassVar[bool] = False

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        return _core.largest_violations(examples, w, 1.0, threads) ** 2

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        used = sum_alpha > 0  # where C_i is 0 nothing is
        return float((sum_alpha[used] ** 2 / (4 * C[used])).sum())


@dataclass(frozen=True)
class Perceptron:
    """ℓ_i(w) = max_y −w·δ_i(y): what Collins's perceptron descends."""

    name: ClassVar[str] = "perceptron"
    sums: ClassVar[bool] = False

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        return _core.largest_violations(examples, w, 0.0, threads)

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        return 0.0


@dataclass(frozen=True)
class SoftmaxMargin:
    """ℓ_i(w) = (1/β) log Σ_y exp β(γΔ_i(y) − w·δ_i(y)); a CRF at β = 1, γ = 0."""

    beta: float = 1.0
    gamma: float = 1.0
    sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.beta < float("inf"):
            raise InputError(f"beta is {self.beta}; it must be positive and finite")
        if not 0 <= self.gamma < float("inf"):
            raise InputError(f"gamma is {self.gamma}; it must be at least 0 and finite")

    @property
    def name(self) -> str:
        return "crf" if (self.beta, self.gamma) == (1.0, 0.0) else "softmax_margin"

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        return _core.log_losses(examples, w, self.beta, self.gamma, threads)

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        raise NotImplementedError("the dual of this loss is not over cuts")


@dataclass(frozen=True)
class Ramp:
    """ℓ_i(w) = max_y H_i(y; w) − (max_y −costed·Δ_i(y) − w·δ_i(y))₊.

    Parameters
    ----------
    costed : bool
        Whether the second term subtracts the cost (Mančev 2015); without it the ramp is that of
        Do et al. 2008.
    """

    costed: bool = True
    sums: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return "ramp" if self.costed else "ramp_uncosted"

    @property
    def concave_cost_weight(self) -> float:
        return -1.0 if self.costed else 0.0

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        convex = _core.largest_violations(examples, w, 1.0, threads)
        return convex - _core.largest_violations(examples, w, self.concave_cost_weight, threads)

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        raise NotImplementedError("the ramp is not convex; its dual bounds nothing")


@dataclass(frozen=True)
class RiskBound:
    """ℓ_i(w) = (1/β) log E exp βγΔ_i(y) under p(y) ∝ exp β w·φ_i(y): softmax_margin(β, γ) less
    softmax_margin(β, 0).

    At γ = 1 it is at least the expected cost E Δ_i(y), which minimum risk training minimises, by
    Jensen's inequality (Martins et al. 2010, footnote 1). For β → ∞ it becomes the ramp without
    cost in its second term.
    """

    beta: float = 1.0
    gamma: float = 1.0
    name: ClassVar[str] = "risk_bound"
    sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        SoftmaxMargin(self.beta, self.gamma)  # has the same bounds

    def values(self, examples: _core.Examples, w: _core.Weights, threads: int) -> Numbers:
        costed = _core.log_losses(examples, w, self.beta, self.gamma, threads)
        return costed - _core.log_losses(examples, w, self.beta, 0.0, threads)

    def dual_penalty(self, sum_alpha: Numbers, C: Numbers) -> float:
        raise NotImplementedError("the bound of the risk is not convex; its dual bounds nothing")


LOSSES: dict[str, Loss] = {
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "crf": SoftmaxMargin(1.0, 0.0),
    "softmax_margin": SoftmaxMargin(1.0, 1.0),
    "perceptron": Perceptron(),
    "ramp": Ramp(),
    "ramp_uncosted": Ramp(costed=False),
    "risk_bound": RiskBound(),
}


def find_loss(name: str | Loss, beta: float | None = None, gamma: float | None = None) -> Loss:
    """The loss of this name; hyphens and underscores are alike.

    >>> find_loss("squared-hinge")
    SquaredHinge()
    >>> find_loss("softmax-margin", beta=3)
    SoftmaxMargin(beta=3, gamma=1.0)
    """
    if not isinstance(name, str):
        return name
    key = name.replace("-", "_")
    if key not in LOSSES:
        raise InputError(f"unknown loss {name!r}; choose one of {', '.join(LOSSES)}")
    if beta is None and gamma is None:
        return LOSSES[key]
    shaped: dict[str, type[SoftmaxMargin | RiskBound]] = {
        "softmax_margin": SoftmaxMargin,
        "risk_bound": RiskBound,
    }
    if key not in shaped:
        names = " and ".join(shaped)
        raise InputError(f"beta and gamma belong to the losses {names}, not to {key}")
    return shaped[key](1.0 if beta is None else beta, 1.0 if gamma is None else gamma)
