"""The problem, once: P(w) = ½‖w − c‖² + C Σ_i ℓ_i(w), its dual, and the gap between them.

The center c is 0 unless training continues from an earlier model. With w = c + Σ α δ,

    D(α) = Σ_iy α_iy Δ_i(y) − ½(‖w‖² − ‖c‖²) − (what the loss adds)

C is the weight of one example's loss; where examples have weights of their own
(``Structure.set_example_weights``), it is C_i = C·weight_i. By weak duality P(w) ≥ P* ≥ D(α) for
every w and every feasible α, so P − D bounds what is left to gain, whatever solver produced them.
Where several workers have a share of the examples each, a communicator adds up what each of them
finds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.losses import Loss, find_loss
from dualstruct.structures.base import Structure
from dualstruct.threads import usable_threads

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator


#: What float32 rounds away, relative to a loss.
ROUNDING = 2.0**-23


class Certificate(NamedTuple):
    """Primal, dual and their relative gap (P − D)/|P|, at a fixed w."""

    primal: float
    dual: float | None
    gap: float | None
    #: Whether inference was approximate: then P may be larger, and the gap bounds nothing.
    estimate: bool = False


class Problem:
    """A structure's examples, a loss and its weight.

    Parameters
    ----------
    structure : Structure
        Examples with their true outputs.
    loss : str or Loss
    C : float
        The weight of one example's loss.
    center : Weights, optional
        The weights that regularisation pulls towards; 0 by default.
    threads : int
        The number of threads that decode.
    communicator : Communicator, optional
        Where the other examples of the problem are, when this worker has only some: then primal
        and dual are those of all examples, and all workers must ask for them together.
    examples : array of int, optional
        Which of all workers' examples these are. By them another number of workers can resume; the
        examples of a :class:`~dualstruct.structures.Subset` have such numbers by themselves.
    """

    def __init__(
        self,
        structure: Structure,
        loss: str | Loss = "squared_hinge",
        C: float = 1.0,
        *,
        center: _core.Weights | None = None,
        threads: int = 1,
        communicator: Communicator | None = None,
        examples: NDArray[np.int64] | None = None,
    ) -> None:
        if not 0 < C < float("inf"):
            raise InputError(f"C is {C}; it must be positive and finite")
        if not structure.core.has_truth:
            raise InputError("the structure has no true outputs to learn from")
        self.structure = structure
        self.loss = find_loss(loss)
        self.C = float(C)
        self.center = center
        self.threads = usable_threads(threads)
        self.communicator = communicator
        self.examples = structure.examples if examples is None else examples

    def primal(self, w: _core.Weights) -> float:
        """P(w), by a full inference pass."""
        with self.structure.translating_errors():
            losses = self.loss.values(self.structure.core_examples, w, self.threads)
        weights = self.structure.example_weights
        total = float(losses.sum() if weights is None else losses @ weights)
        return self.regulariser(w) + self.C * self._total(total)

    def weights_of_losses(self) -> NDArray[np.float64]:
        """C_i of every example."""
        weights = self.structure.example_weights
        return self.C * (np.ones(len(self.structure)) if weights is None else weights)

    def per_weight(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """A number per example, divided by C_i; 0 where that is 0, because duals are, too."""
        C = self.weights_of_losses()
        return np.divide(numbers, C, out=np.zeros_like(C), where=C > 0)

    def regulariser(self, w: _core.Weights) -> float:
        """½‖w − c‖²."""
        if self.center is None:
            return 0.5 * w.squared_norm(self.threads)
        return 0.5 * w.squared_distance(self.center, self.threads)

    def dual(self, duals: _core.DualState, w: _core.Weights, theta: float = 1.0) -> float:
        """D(α), where w = c + Σ α δ and the duals are θα."""
        penalty = self.loss.dual_penalty(duals.sum_alpha() / theta, self.weights_of_losses())
        at_center = 0.0 if self.center is None else self.center.squared_norm()
        gain = self._total(duals.sum_alpha_cost() / theta - penalty)
        return gain - 0.5 * (w.squared_norm(self.threads) - at_center)

    def _total(self, of_these_examples: float) -> float:
        if self.communicator is None:
            return of_these_examples
        return float(self.communicator.allreduce(np.array([of_these_examples]))[0])

    def certify(self, w: _core.Weights, dual: float | None) -> Certificate:
        """Primal and gap at w against a dual value, where there is one."""
        unproven = self.structure.unproven
        primal = self.primal(w)
        exact = self.structure.has_exact_inference(self.loss.sums)
        estimate = not exact or self.structure.unproven > unproven
        return Certificate(primal, dual, self.relative_gap(primal, dual), self._any(estimate))

    def relative_gap(self, primal: float, dual: float | None) -> float | None:
        """(P − D)/|P|; None without a dual, or where P or D is not known (NaN).

        Only where P is nothing but rounding, below 2⁻²³ C, it is (P − D)/(2⁻²³ C).
        """
        if dual is None or math.isnan(primal - dual):
            return None
        return (primal - dual) / max(abs(primal), ROUNDING * self.C)

    def _any(self, of_these_examples: bool) -> bool:
        return self._total(float(of_these_examples)) > 0
