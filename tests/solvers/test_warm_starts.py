"""Training that goes on with another C: duals stay feasible, and the optimum is the same."""

from __future__ import annotations

import numpy as np
import pytest

from dualstruct.datasets import make_chains
from dualstruct.problem import Problem
from dualstruct.solvers import DCD, LBFGS, FrankWolfe, Iterate, Solver
from dualstruct.training.loop import fit
from dualstruct.training.stopping import Stopping


def ended(structure, loss: str, C: float, solver: Solver, gap: float, start: Iterate | None = None):
    """A run, and the iterate that it left."""
    last: list[Iterate] = []
    result = fit(
        Problem(structure, loss, C),
        solver,
        Stopping(gap=gap, passes=3000),
        callbacks=[lambda point, iterate: last.append(iterate) or False],
        start=start,
    )
    return result, last[-1]


@pytest.mark.parametrize(("loss", "solver"), [("squared_hinge", DCD()), ("hinge", FrankWolfe())])
@pytest.mark.parametrize("to", [0.02, 0.3])
def test_duals_of_another_weight_are_feasible_and_lead_to_the_same_optimum(loss, solver, to):
    structure = make_chains(sentences=12, seed=1).structure()
    structure.set_example_weights(np.linspace(0.0, 2.0, 12))
    _, there = ended(structure, loss, 0.1, solver, 1e-3)
    problem = Problem(structure, loss, to)
    before = there.duals.sum_alpha().copy()
    assert there.move_to(problem)
    after, most = there.duals.sum_alpha(), problem.weights_of_losses()
    if loss == "hinge":
        assert (after <= most * (1 + 1e-9)).all()
        assert after == pytest.approx(np.minimum(before, most))
    else:
        assert after == pytest.approx(before * to / 0.1)
    assert there.excess() <= 1e-6
    assert there.drift() < 1e-5
    warm, _ = ended(structure, loss, to, solver, 1e-3, there)
    cold, _ = ended(structure, loss, to, solver, 1e-3)
    assert warm.gap <= 1e-3
    assert warm.primal == pytest.approx(cold.primal, rel=2e-3)


def test_a_solver_without_duals_starts_anew():
    structure = make_chains(sentences=20, seed=2).structure()
    _, there = ended(structure, "squared_hinge", 0.1, DCD(), 1e-2)
    anew, _ = ended(structure, "crf", 0.1, LBFGS(), 1e-3, there)
    plain, _ = ended(structure, "crf", 0.1, LBFGS(), 1e-3)
    assert anew.w.array.tobytes() == plain.w.array.tobytes()
