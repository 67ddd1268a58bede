"""The one training loop: every solver's passes, and when to stop them.

Training stops on a certified gap, a number of passes, a time, or a development score that no
longer improves; then the best weights are kept. Ctrl-C stops it too, with what was learned.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import inner_arrays, stored_array
from dualstruct.data.writing import OutputError
from dualstruct.errors import InputError
from dualstruct.problem import ROUNDING, Certificate, Problem
from dualstruct.solvers import Iterate, Solver
from dualstruct.training.checkpoints import SavedRun, place_of
from dualstruct.training.results import FitResult, SummedScore, TracePoint, percent
from dualstruct.training.resuming import Resuming
from dualstruct.training.stopping import Stopping

#: Passes without any gain in dual and gap after which more of them are in vain.
STALLED_PASSES = 300
#: Passes for which the last certificate still says how far estimates of the gap are off.
CERTIFICATE_HOLDS = 3
#: Passes between two computations of w from the duals: after 80 passes of float32 sums the
#: drift is 1e-3 and shows in the certificate.
REBUILD_EVERY = 20
#: How far w of a checkpoint may be from what its duals give, relative to its length: more than
#: rounding adds up to between two such computations, less than any wrong dual.
DRIFT = 1e-3
#: How far the duals of a checkpoint may be beyond what the loss allows, relative to that: rounding.
EXCESS = 1e-6
#: Why training continues (None) or stops, as workers that train together inform each other.
REASONS = (
    None,
    "gap",
    "converged",
    "dev",
    "passes",
    "stalled",
    "seconds",
    "callback",
    "interrupt",
)


Callback = Callable[[TracePoint, Iterate], "bool | None"]


def fit(
    problem: Problem,
    solver: Solver,
    stopping: Stopping,
    *,
    dev: Callable[[_core.Weights], float] | None = None,
    seed: int = 0,
    certify_every: int | None = None,
    callbacks: Iterable[Callback] = (),
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
    rescue: Callable[[FitResult], object] | None = None,
    start: Iterate | None = None,
) -> FitResult:
    """Train until a stopping rule applies.

    Parameters
    ----------
    problem, solver, stopping
        The problem, the solver, and when to stop.
    dev : callable, optional
        The score of some weights on development data; the best weights are kept. Of several
        workers only the first one calls it.
    seed : int
        The seed of everything random.
    certify_every : int, optional
        Certify the gap every n passes, for a trace that can be plotted. By default
        the gap is certified when an estimate says that ``stopping.gap`` may have been reached.
    callbacks : iterable of callables
        Called with each trace point and the iterate; a true result stops training.
    checkpoint : path, optional
        Where to save everything needed to resume, every ``checkpoint_every`` passes, after a pass
        that ends a minute or more after the last time, and at the end (Ctrl-C leaves the last
        one); ``resume=True`` continues from there, to the model that an uninterrupted run gives.
        A pass that raises leaves a checkpoint, too. Several workers write into a folder, which all
        of them must see; restarted after a fault, they resume from there automatically.
        Another number of workers divides it again.
    rescue : callable, optional
        If a pass raises, called with what was learned until then, before the exception is raised.
    start : Iterate, optional
        Where training with another C ended: its duals are made feasible and used, if the
        solver has duals. It cannot be used again.
    """
    if problem.loss.name not in solver.losses:
        raise InputError(f"solver {solver.name} does not take the loss {problem.loss.name}")
    if (
        stopping.gap is None
        and stopping.passes is None
        and stopping.seconds is None
        and dev is None
    ):
        raise InputError("nothing would stop training: give a gap, passes, seconds or dev data")
    if not len(problem.structure):
        raise InputError("there are no examples to train on")
    if problem.communicator is not None and not solver.distributed:
        raise InputError(
            f"solver {solver.name} works on one machine; dualstruct.distributed has those for many"
        )
    if certify_every is not None and certify_every < 1:
        raise InputError(f"certify_every is {certify_every}; it must be at least 1")
    callbacks = list(callbacks)
    run = _Run(problem, solver, dev, seed, start)
    if stopping.passes is stopping.seconds is None and not dev and not run.can_end:
        raise InputError(
            f"solver {solver.name} has no dual and cannot stop on a gap: "
            "give passes, seconds or dev data"
        )
    saved = Resuming(run, place_of(checkpoint, problem.communicator))
    saved.go_on(resume)

    stopped_by = run.agreed(run.reason_to_stop(stopping))
    try:
        while stopped_by is None:
            try:
                with problem.structure.translating_errors():
                    point = run.one_pass(stopping, certify_every)
                stopped_by = run.reason_to_stop(stopping)
                for callback in callbacks:
                    if callback(point, run.iterate):
                        stopped_by = stopped_by or "callback"
                stopped_by = run.agreed(stopped_by)
                if saved.is_due(checkpoint_every) or stopped_by:
                    saved.save()
            except KeyboardInterrupt:
                stopped_by = "interrupt"
        with problem.structure.translating_errors():
            return run.finish(stopped_by)
    except Exception as error:
        if problem.communicator is not None:  # the others are elsewhere, and needed for all this
            raise
        if rescue is not None:
            rescue(run.finish("error"))
        # An old checkpoint is worth more than a run that learned nothing.
        learned = bool(run.trace) or bool(run.iterate.w.array.any())
        if learned and not isinstance(error, OutputError):
            saved.save()
        raise


class _Run:
    """The state of one call of fit: iterate, best weights, trace and clocks."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        dev: Callable[[_core.Weights], float] | None,
        seed: int,
        start: Iterate | None = None,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.dev = dev
        moved = start is not None and start.move_to(problem)
        self.iterate: Iterate = start if start and moved else solver.start(problem, seed)
        if solver.averaged:
            self.iterate.start_averaging(solver.linear_average)
        self.trace: list[TracePoint] = []
        self.best_w: NDArray[np.float32] | None = None
        self.best_score: float | None = None
        self.best_pass = 0
        # Weights and certificate of the last pass, if it was certified.
        self._certified: tuple[_core.Weights, Certificate] | None = None
        self._earlier_seconds = self._earlier_cpu = 0.0
        self._unproven_before = problem.structure.unproven
        self._started, self._cpu_started = time.perf_counter(), time.process_time()

    @property
    def can_end(self) -> bool:
        """Whether a certified gap or convergence can end training."""
        return self.iterate.can_end and self.solver.convex

    @property
    def seconds(self) -> float:
        return self._earlier_seconds + time.perf_counter() - self._started

    @property
    def cpu_seconds(self) -> float:
        return self._earlier_cpu + time.process_time() - self._cpu_started

    def one_pass(self, stopping: Stopping, certify_every: int | None) -> TracePoint:
        passes = len(self.trace) + 1
        self._certified = None
        report = self.solver.run_pass(self.iterate)
        if passes % REBUILD_EVERY == 0:
            self.iterate.rebuild()
        dual = self._dual()
        loss_met = self.problem.C * report.loss
        primal_met = self.problem.regulariser(self.iterate.w) + loss_met
        estimate = self.problem.relative_gap(primal_met, dual)
        certificate = None
        wanted = certify_every is not None and passes % certify_every == 0
        if wanted or (dual is not None and self._may_be_within(stopping.gap, estimate)):
            w, settled_dual = self.iterate.settled()
            certificate = self._certificate(w, settled_dual if self.solver.convex else None)
            self._certified = (w, certificate)
        score = None
        if self.dev is not None:
            answer = self.iterate.answer()
            score = self._dev_score(answer)
            if self.best_score is None or score > self.best_score:
                self.best_w, self.best_score = answer.array.copy(), score
                self.best_pass = passes
        point = TracePoint(
            passes=passes,
            seconds=self.seconds,
            primal=certificate and certificate.primal,
            dual=certificate.dual if certificate else dual,
            gap=certificate and certificate.gap,
            gap_estimate=estimate,
            dev_score=score,
            cuts=self.iterate.cuts,
            inference_calls=self.iterate.inference_calls,
            estimate=certificate is not None and certificate.estimate,
            dev_metric=getattr(self.dev, "metric", None if self.dev is None else "score"),
        )
        self.trace.append(point)
        return point

    def _may_be_within(self, gap: float | None, estimate: float | None) -> bool:
        """Whether a certificate, as much inference as a pass has, is likely to end training.

        Losses met on the way are usually larger than those at the end of the pass. How much, the
        last certificate has shown; after a few passes that is no longer known.
        """
        if gap is None:
            return False
        if estimate is None:  # nothing is known without a certificate
            return True
        for point in reversed(self.trace[-CERTIFICATE_HOLDS:]):
            if point.gap and point.gap_estimate:
                return not estimate * point.gap / point.gap_estimate > 1.2 * gap
        return not estimate > 2 * gap

    def _dual(self) -> float | None:
        return self.iterate.dual() if self.solver.convex else None

    def _certificate(self, w: _core.Weights, dual: float | None) -> Certificate:
        """An example that was left out makes it an estimate, and so does a decoder that was beaten
        although it has never said that an answer may not be the best."""
        certificate = self.problem.certify(w, dual)
        structure = self.problem.structure
        wrong = self.iterate.beaten > 0 and structure.unproven == self._unproven_before
        estimate = certificate.estimate or wrong or bool(structure.skipped)
        return certificate._replace(estimate=estimate)

    def _dev_score(self, answer: _core.Weights) -> float:
        """Of several workers the first one asks, and informs the others; or all do together."""
        assert self.dev is not None
        communicator = self.problem.communicator
        if communicator is None or isinstance(self.dev, SummedScore):
            return self.dev(answer)
        score = self.dev(answer) if communicator.rank == 0 else 0.0
        return float(communicator.broadcast(np.array([float(score)]))[0])

    def agreed(self, reason: str | None) -> str | None:
        """The first worker's reason to stop, on all: clocks and Ctrl-C differ between them."""
        communicator = self.problem.communicator
        if communicator is None:
            return reason
        if communicator.interrupted:
            reason = "interrupt"
        number = communicator.broadcast(np.array([REASONS.index(reason)]))
        return REASONS[int(number[0])]

    def reason_to_stop(self, stopping: Stopping) -> str | None:
        if not self.trace:
            return None
        point = self.trace[-1]
        if stopping.gap is not None and point.gap is not None and point.gap <= stopping.gap:
            return "gap"
        if self.iterate.converged:
            return "converged"
        if self.dev is not None and point.passes - self.best_pass >= stopping.patience:
            return "dev"
        if stopping.passes is not None and point.passes >= stopping.passes:
            return "passes"
        if self._stalled():
            return "stalled"
        if stopping.seconds is not None and point.seconds >= stopping.seconds:
            return "seconds"
        return None

    def _stalled(self) -> bool:
        """Whether dual and gap have stood still for so long that single precision is the limit."""
        if len(self.trace) <= STALLED_PASSES:
            return False
        now, then = self.trace[-1], self.trace[-1 - STALLED_PASSES]
        if now.dual is None or then.dual is None:
            return False
        if now.dual - then.dual > 1e-9 * max(abs(now.dual), ROUNDING * self.problem.C):
            return False
        # Near the optimum the dual changes less than rounding while the gap still falls.
        recent = self.trace[-STALLED_PASSES:]
        gaps = [point.gap_estimate for point in recent if point.gap_estimate is not None]
        if not gaps:  # of a solver that meets no losses, and is certified all the time
            gaps = [point.gap for point in recent if point.gap is not None]
        half = len(gaps) // 2
        return not half or min(gaps[half:]) >= 0.95 * min(gaps[:half])

    def finish(self, stopped_by: str) -> FitResult:
        w = self.iterate.answer()
        certificate = Certificate(float("nan"), None, None)
        try:
            settled = self._certified if self.iterate.settles_as_rebuilt else None
            if settled is not None and self.best_w is None:
                w, certificate = settled
            else:
                self.iterate.rebuild()  # nothing continues from here: no second set of weights
                w, dual = self.iterate.answer(), self._dual()
                if self.best_w is not None:  # what was judged is what is kept
                    w = self.problem.structure.new_weights(self.best_w)
                if stopped_by == "error":  # inference cannot be relied on
                    certificate = Certificate(float("nan"), dual, None)
                else:
                    certificate = self._certificate(w, dual)
        except KeyboardInterrupt:  # a second Ctrl-C: no time for a certificate
            stopped_by = "interrupt"
            if self.best_w is not None:
                w = self.problem.structure.new_weights(self.best_w)
        passes = len(self.trace)
        return FitResult(
            w=w,
            passes=passes,
            primal=certificate.primal,
            dual=certificate.dual,
            gap=certificate.gap,
            dev_score=self.best_score,
            best_pass=self.best_pass or passes,
            stopped_by=stopped_by,
            seconds=self.seconds,
            cpu_seconds=self.cpu_seconds,
            inference_calls=self.iterate.inference_calls,
            cuts=self.iterate.cuts,
            trace=self.trace,
            beaten=self.iterate.beaten,
            skipped=sum(self.problem.structure.skipped.values()),
            unproven=self.unproven,
            estimate=certificate.estimate,
            C=self.problem.C,
        )

    @property
    def unproven(self) -> int:
        """Answers that were not shown to be the best, in this run."""
        return self.problem.structure.unproven - self._unproven_before

    def restore(self, saved: SavedRun, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue where a checkpoint was written."""
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise InputError(f'the array "{name}" has numbers that are not finite')
        structure = self.problem.structure
        structure.restore(inner_arrays(arrays, "structure"))
        self.iterate.restore(saved.iterate, arrays)
        drift, excess = self.iterate.drift(), self.iterate.excess()
        if not drift <= DRIFT:
            raise InputError(
                f"its weights are not those that its duals give (they differ by {percent(drift)})"
            )
        if not excess <= EXCESS:
            raise InputError(
                f"its duals are more than the loss allows (by {percent(excess)} of an example's C)"
            )
        self.trace = saved.trace
        self.best_score, self.best_pass = saved.best_score, saved.best_pass
        if "best_w" in arrays:
            best = structure.new_weights(stored_array(arrays, "best_w", np.float32))
            self.best_w = best.array.copy()
            if self.dev is not None:
                self.best_score = self._dev_score(best)
        self._earlier_seconds = self.trace[-1].seconds if self.trace else 0.0
        self._unproven_before -= saved.unproven
        self._earlier_cpu = saved.cpu_seconds
        if self.trace and self.trace[-1].gap is not None:  # training may end by it
            unproven = structure.unproven
            w, dual = self.iterate.settled()
            found = self._certificate(w, dual if self.solver.convex else None)
            self._unproven_before += structure.unproven - unproven
            self._certified = (w, found)
            self.trace[-1] = replace(self.trace[-1], **found._asdict())
        # Checking what was read is no part of training.
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
