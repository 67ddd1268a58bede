"""The sequential dual method for the hinge loss.

    min_w  ½‖w‖² + C Σ_i max_y H_i(y; w)
    max_α  Σ_iy α_iy Δ_i(y) − ½‖w‖²,   α ≥ 0,  Σ_y α_iy = C (the true output included)

One example at a time: sequential minimal optimisation over its cuts (Algorithm 2,
core/learning/rules/smo.hpp). An example is τ-optimal when
ψ_i = max_y F_i(y) − min_{y: α_iy > 0} F_i(y) ≤ τ.

As published, Algorithm 3 makes type-II loops after iteration κ₁ where ψ̂_max, the largest
max F − min F over the outputs with a share, is above τ (line 31), and ends them when it has halved
or by line 37, (iter − κ₁) mod κ₂ = 0; a true output whose share is 0 leaves the set as any other
(line 23) and returns when inference finds it. Algorithm 1 decodes and solves an example again and
again until ψ_i ≤ τ. Both end where all ψ_i ≤ τ.

Source: Balamurugan et al. 2011, "A Sequential Dual Method for Structural SVMs", Algorithms 1–3.
Its α sum to 1 and its w carries the factor C; here α carries it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.renamed import OldAttribute, old_parameters
from dualstruct.solvers.base import DualIterate, DualSolver

#: Exchanges of an example at a time, as published: until τ̃.
UNLIMITED = 2**31 - 1


class SDM(DualSolver):
    """Algorithm 3: type-I loops with inference, type-II loops over the cuts held between them.

    Its formula is (18) of docs/mathematics.md.

    The paper stops at τ-optimality. Here a certified gap, a time or a score stops training, so
    when τ is reached and training continues, τ is halved. The default also makes only a few
    exchanges at a time; ``as_published=True`` is the paper's algorithm.

    Parameters
    ----------
    tau, tau_inner : float
        τ, how much an output must violate to become a cut, and τ̃, how exactly the problem of
        one example is solved.
    kappa1 : int
        The number of type-I loops before the first type-II loop; they find the cuts.
    max_revisits : int
        κ₂: the maximum number of type-II loops in a row; they end earlier when the
        largest violation among the cuts has halved (τ_v).
    max_steps : int
        The maximum number of exchanges of an example at a time. The paper continues until τ̃; few
        exchanges are up to twice as fast if τ̃ is small.
    small_change : float
        A type-I loop that raises the dual by less than this share counts as τ-optimal.
    heuristics : bool
        False leaves out the type-II loops: Algorithm 1.
    as_published : bool
        Algorithm 3, or Algorithm 1, line by line: exchanges until τ̃, line 31's test, a truth that
        can leave, and an end at τ-optimality. ``max_steps`` and ``small_change`` are not used.
    """

    name: ClassVar[str] = "sdm"
    losses: ClassVar[tuple[str, ...]] = ("hinge",)
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Balamurugan et al. 2011, Algorithm 3": {"as_published": True},
        "Balamurugan et al. 2011, Algorithm 1": {"heuristics": False, "as_published": True},
    }

    @old_parameters(kappa2="max_revisits")
    def __init__(
        self,
        tau: float = 0.25,
        tau_inner: float = 0.15,
        kappa1: int = 10,
        max_revisits: int = 5,
        max_steps: int = 4,
        small_change: float = 1e-4,
        heuristics: bool = True,
        as_published: bool = False,
    ) -> None:
        if not 0 < tau_inner <= tau:
            raise InputError(f"tau_inner is {tau_inner}; it must be positive and at most tau {tau}")
        if kappa1 < 0 or max_revisits < 0 or max_steps < 1:
            raise InputError("kappa1 and max_revisits must be at least 0, max_steps at least 1")
        self.tau = tau
        self.tau_inner = tau_inner
        self.kappa1 = kappa1
        self.max_revisits = max_revisits
        self.max_steps = max_steps
        self.small_change = small_change
        self.heuristics = heuristics
        self.as_published = as_published

    kappa2 = OldAttribute("max_revisits")

    def run_pass(self, iterate: DualIterate) -> _core.PassReport:
        if self.as_published:
            return self._algorithm_3(iterate) if self.heuristics else self._algorithm_1(iterate)
        memory = iterate.memory
        loops: int = memory.setdefault("loops", 0)
        scale: float = memory.setdefault("scale", 1.0)
        tau = self.tau * scale
        rule = _core.SMORule(iterate.problem.C, self.tau_inner * scale, tau, self.max_steps)

        before = iterate.cut_dual()
        found = iterate.visit(rule, tau)  # type I, lines 7–24
        memory["loops"] = loops + 1
        change = iterate.cut_dual() - before
        if found.largest_violation <= tau or change <= self.small_change * abs(before):
            memory["scale"] = scale / 2
        if self.heuristics and loops >= self.kappa1:
            self._type_two(iterate, rule)
        return found

    def _type_two(self, iterate: DualIterate, rule: _core.SMORule) -> None:
        """Lines 31–38. The largest violation as the loop meets it stands for ψ̂_max."""
        enough = 0.0
        for loop in range(self.max_revisits):
            largest = iterate.revisit(rule).largest_violation
            if loop == 0:
                enough = largest / 2  # τ_v
            elif largest < enough:
                break

    def _rule(self, iterate: DualIterate, truth_leaves: bool) -> _core.SMORule:
        return _core.SMORule(
            iterate.problem.C, self.tau_inner, self.tau, UNLIMITED, truth_leaves=truth_leaves
        )

    def _algorithm_3(self, iterate: DualIterate) -> _core.PassReport:
        """Lines 5–42 up to the next type-I loop."""
        C, rule = iterate.problem.C, self._rule(iterate, truth_leaves=True)
        iteration: int = iterate.memory.setdefault("loops", 0)
        found = iterate.visit(rule, self.tau)  # lines 7–24
        largest = iterate.duals.largest_spread(C)  # lines 25 and 26
        if found.largest_violation <= self.tau:
            iterate.converged = True  # line 29
        elif iteration >= self.kappa1 and largest > self.tau:
            enough = largest / 2  # τ_v
            back = False
            while not back:
                iteration += 1
                iterate.revisit(rule)
                turn = self.max_revisits and (iteration - self.kappa1) % self.max_revisits == 0
                back = iterate.duals.largest_spread(C) < enough or bool(turn)
        iterate.memory["loops"] = iteration + 1
        return found

    def _algorithm_1(self, iterate: DualIterate) -> _core.PassReport:
        """Lines 4–11."""
        found = iterate.settle_each(self._rule(iterate, truth_leaves=False))
        psi = iterate.gather(_core.SMOGatherRule(iterate.problem.C), self.tau)  # lines 9 and 10
        iterate.converged = psi.largest_violation <= self.tau
        return found
