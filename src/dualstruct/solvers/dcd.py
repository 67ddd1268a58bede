"""Dual coordinate descent for the squared hinge loss.

    min_w    ½‖w‖² + C Σ_i (max_y H_i(y; w))²
    max_α≥0  Σ_iy α_iy Δ_i(y) − ½‖w‖² − (1/4C) Σ_i (Σ_y α_iy)²,   w = Σ_iy α_iy δ_i(y)

One variable at a time, exactly (Algorithm 1, UpdateWeight, core/learning/rules/dcd.hpp):

    d = (H_i(y; w) − Σ_y' α_iy' / 2C) / (‖δ_i(y)‖² + 1/2C),   α_iy ← max(α_iy + d, 0)

Source: Chang & Yih 2013, "Dual Coordinate Descent Algorithms for Efficient Large Margin
Structured Prediction". C multiplies the squared loss of one example, as in the paper's eq. (2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.renamed import OldAttribute, old_parameters
from dualstruct.solvers.base import DualIterate, DualSolver, RevisitingSolver
from dualstruct.solvers.solver import PassResult

AnyRule = TypeVar("AnyRule", bound="_core.Rule | _core.GatheringRule")

#: Gradients this small are rounding errors of single precision.
ROUNDING = 1e-6

#: Passes before an example's problem is solved further than by one round: until then most outputs
#: that decoding finds have parts that are new, and scores do not gain by it.
FIRST_PASSES = 10


def _check_admission(admission: float) -> None:
    if not admission >= 0:
        raise InputError(f"admission is {admission}; it must be at least 0")


def _visit(
    iterate: DualIterate,
    rule: AnyRule,
    admission: float,
    pass_: Callable[[AnyRule, float], _core.PassReport],
) -> _core.PassReport:
    """A visit; the least gradient to be admitted is halved whenever a pass admitted nothing."""
    scale: float = iterate.memory.setdefault("delta_scale", 1.0)
    report = pass_(rule, admission * scale)
    if not report.added:
        iterate.memory["delta_scale"] = scale / 2
    return report


class DCD(RevisitingSolver):
    """DCD-SSVM (Algorithm 3): r passes over the cuts held, then one with inference.

    Its formula is (17) of docs/mathematics.md.

    Not as published: from the 11th pass on an example's problem is solved further each time it is
    met (``rounds``). ``DCD(rounds=1)`` is Algorithm 3, except that δ (``admission``) is halved when
    a pass admits nothing, where the paper stops.

    Parameters
    ----------
    revisits : int
        r: the number of revisits of the cuts between two inference passes.
    admission : float
        A new cut is admitted when its dual gradient is at least this: smaller is more exact.
        It is halved whenever a pass admits none, so that any gap can be reached.
    rounds : int
        From the 11th pass on: how often, at most, the cuts of an example are gone through each
        time it is met. With more than one, the best output made of parts of its cuts joins them
        first, and every revisit but the first leaves out the examples that violated less than the
        mean in the one before. Structures other than chains, and chains whose features have values
        or weigh pairs of labels, have one round and no such outputs.
    """

    name: ClassVar[str] = "dcd"
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    published: ClassVar[dict[str, dict[str, Any]]] = {
        "Chang & Yih 2013, Algorithm 3": {"rounds": 1}
    }

    @old_parameters(inner_passes="revisits", delta="admission")
    def __init__(self, revisits: int = 5, admission: float = 0.01, rounds: int = 3) -> None:
        _check_admission(admission)
        self._set_revisits(revisits)
        if rounds < 1:
            raise InputError(f"rounds is {rounds}; it must be at least 1")
        self.admission = admission
        self.rounds = rounds

    inner_passes = OldAttribute("revisits")
    delta = OldAttribute("admission")

    def run_pass(self, iterate: DualIterate) -> PassResult:
        done: int = iterate.memory.get("passes", 0)
        iterate.memory["passes"] = done + 1
        if self.rounds == 1 or done < FIRST_PASSES:
            return super().run_pass(iterate)
        rule = _core.DCDRule(iterate.problem.C, self.rounds)
        if self.revisits and iterate.cuts:
            iterate.revisit(rule, self.revisits)
        return _visit(iterate, rule, self.admission, iterate.visit)

    def run_visit(self, iterate: DualIterate) -> _core.PassReport:
        rule = _core.DCDRule(iterate.problem.C)
        return _visit(iterate, rule, self.admission, iterate.visit)


class DCDLight(DCD):
    """DCD-Light (Algorithm 2): every pass decodes and updates example by example, as published.

    Its formula is (17) of docs/mathematics.md.
    """

    name: ClassVar[str] = "dcd-light"
    published: ClassVar[dict[str, dict[str, Any]]] = {"Chang & Yih 2013, Algorithm 2": {}}

    @old_parameters(delta="admission")
    def __init__(self, admission: float = 0.01) -> None:
        super().__init__(revisits=0, admission=admission, rounds=1)


class CPD(DualSolver):
    """Cutting planes with dual coordinate descent inside (Chang et al. 2010), as published.

    Its formula is (17) of docs/mathematics.md.

    All examples are decoded at a fixed w; then the dual over the cuts held is solved until its
    projected gradient falls below ``tolerance``.

    Parameters
    ----------
    admission : float
        A new cut is admitted when its dual gradient is at least this.
    tolerance : float
        How exactly each sub-problem is solved, relative to the violations just found.
    max_revisits : int
        The maximum number of passes over the cuts held for a sub-problem.
    """

    name: ClassVar[str] = "cpd"
    losses: ClassVar[tuple[str, ...]] = ("squared_hinge",)
    published: ClassVar[dict[str, dict[str, Any]]] = {"Chang et al. 2010, cutting planes": {}}

    @old_parameters(max_inner_passes="max_revisits", delta="admission")
    def __init__(
        self, admission: float = 0.01, tolerance: float = 0.1, max_revisits: int = 100
    ) -> None:
        _check_admission(admission)
        if max_revisits < 0:
            raise InputError(f"max_revisits is {max_revisits}; it must be at least 0")
        self.admission = admission
        self.tolerance = tolerance
        self.max_revisits = max_revisits

    max_inner_passes = OldAttribute("max_revisits")
    delta = OldAttribute("admission")

    def run_pass(self, iterate: DualIterate) -> _core.PassReport:
        found = _visit(iterate, _core.GatherRule(iterate.problem.C), self.admission, iterate.gather)
        rule = _core.DCDRule(iterate.problem.C)
        enough = max(self.tolerance * found.largest_violation, ROUNDING)
        for _ in range(self.max_revisits):
            if iterate.revisit(rule).largest_violation <= enough:
                break
        return found
