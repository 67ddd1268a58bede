"""What estimators share: one way to train, on one worker or on several."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.schema import arguments_of, fit_type
from dualstruct.errors import InputError
from dualstruct.estimators.params import pack_solver, unpack_solver
from dualstruct.estimators.storage import Stored
from dualstruct.losses import Ramp, find_loss
from dualstruct.renamed import OldAttribute
from dualstruct.solvers.base import Averaged
from dualstruct.solvers.solver import Solver
from dualstruct.tasks.base import Known, Model, State
from dualstruct.threads import usable_threads
from dualstruct.training.results import FitResult
from dualstruct.training.settings import Training, kept_settings, untrained
from dualstruct.training.stopping import Stopping

if TYPE_CHECKING:
    from typing_extensions import Self

    from dualstruct.data.sources import Share, Source
    from dualstruct.distributed.training import Job, Trained
    from dualstruct.solvers import Iterate
    from dualstruct.structures import Structure
    from dualstruct.training.loop import Callback

ModelT = TypeVar("ModelT", bound=Model)


class Estimator(Training, Stored, Generic[ModelT]):
    """A model that is trained by a solver and kept in a file."""

    #: The gap and the passes that training ends at when nothing was said about stopping.
    default_gap: ClassVar[float | None] = None
    default_passes: ClassVar[int] = 10
    #: What ``solver="auto"`` should know of the outputs (:func:`~dualstruct.solvers.auto_solver`).
    slow_revisits: ClassVar[bool] = False

    #: Settings that trials of tuning have, besides those that are tried.
    trial_settings: ClassVar[dict[str, Any]] = {}

    _model: ModelT
    result_: FitResult
    #: Which process of an MPI job this is; 0 is the one that writes and prints.
    rank_: int = 0
    #: Sentences and tokens of all workers.
    trained_on_: tuple[int, int]
    workers_: int
    #: Seconds that it took to make features.
    feature_seconds_: float

    @abstractmethod
    def _learn(self, job: Job, start: Any) -> Known[ModelT]:
        """What is learned from all shares of the data, bound to this worker's share.

        ``start`` is what :meth:`_start` found, the same for all workers.
        """

    @abstractmethod
    def _source(self, X: Any, y: Any) -> Source:
        """Where examples are that were given as X and y."""

    def _dev_source(self, dev: Any) -> Source:
        return self._source(*dev)

    def _start(self, train: Source, old: ModelT | None) -> Any:
        """What is known before the data are divided: the model that training continues from."""
        return old

    def _fit(
        self,
        X: Any,
        y: Any,
        dev: Any,
        callbacks: Iterable[Callback],
        old: ModelT | None = None,
        **weights: Any,
    ) -> Self:
        """Learn on one worker, or on as many as the settings say."""
        from dualstruct.data.sources import weighed
        from dualstruct.distributed.training import Job, train_together
        from dualstruct.training.progress import ProgressLine

        self.check_settings()
        train = self._source(X, y)
        held_out = None if dev is None else self._dev_source(dev)
        callbacks = list(callbacks)
        if self.engine is None:
            start = self._start(train, old)
            judged = None if held_out is None else held_out.whole()
            share = train.whole().with_weights(weights)
            with share.lasting():
                job = Job.alone(share, judged)
                self._keep(self.train_share(job, start, callbacks, rescue=self._keep))
            return self
        self._check_division(train)
        train = weighed(train, **weights)
        start = self._start(train, old)
        # Workers in this process show a line of their own.
        shown = self.verbose and self.engine == "ray"
        with ProgressLine(self._stopping(judged=dev is not None), show=shown) as line:
            watch = line.update if shown else None
            self._keep(train_together(untrained(self), start, train, held_out, callbacks, watch))
        return self

    def train_share(
        self,
        job: Job,
        start: Any,
        callbacks: Iterable[Callback],
        rescue: Callable[[Trained], object] | None = None,
    ) -> Trained:
        """Learn from this worker's share, together with the others; the estimator stays untrained.

        ``rescue`` gets what was learned if an exception ends training.
        """
        from dualstruct.distributed.training import Trained

        known = self._learn(job, start)

        def trained(result: FitResult) -> Trained:
            return Trained(known.model(result.w), result, known.attributes(), self._model_from)

        result = self._optimise(
            known.structure,
            known.center,
            None if job.dev is None else known.judge(job.dev),
            callbacks,
            job,
            None if rescue is None else lambda result: rescue(trained(result)),
        )
        found = trained(result)
        if job.dev is not None:
            found.model = known.calibrated(found.model, job.dev)
        return found

    def examples(self, X: Any, y: Any = None, **weights: Any) -> Share:
        """All examples as one share, such as ``fit`` takes them."""
        return self._source(X, y).whole().with_weights(weights)

    def dev_examples(self, dev: Any) -> Share:
        """Development data as one share, such as ``fit`` takes them."""
        return self._dev_source(dev).whole()

    def bind(self, share: Share) -> Known[ModelT]:
        """What is learned from examples under these settings, before anything is trained."""
        from dualstruct.data.sources import InMemory
        from dualstruct.distributed.training import Job

        self.check_settings()
        start = self._start(InMemory(share.X, share.y, share.weights), None)
        return self._learn(Job.alone(share, None), start)

    def optimise(
        self, known: Known[ModelT], callbacks: Iterable[Callback], start: Iterate | None = None
    ) -> FitResult:
        """Train on what :meth:`bind` bound, as the settings say; the estimator stays untrained.

        ``start`` is where training with another C ended.
        """
        from dualstruct.data.sources import Share
        from dualstruct.distributed.training import Job

        nothing = Share(None, None, np.zeros(0, np.int64))
        job = Job.alone(nothing, None)
        return self._optimise(known.structure, known.center, None, callbacks, job, None, start)

    def _keep(self, trained: Trained) -> None:
        self._model, self.result_ = trained.model, trained.result
        self.is_compressed_ = False
        vars(self).update(trained.attributes)

    def check_settings(self) -> None:
        """Raise an error for bad settings, before any work is done."""
        super().check_settings()
        self._find_solver()

    def _check_division(self, train: Source) -> None:
        """Refuse data that cannot be divided among workers."""

    def _find_solver(self, structure: Structure | None = None) -> Solver:
        """The solver that the settings ask for, on a structure if it is known by now."""
        from dualstruct.distributed.strategies import find_strategy, is_strategy
        from dualstruct.solvers import auto_solver, find_solver

        name, loss = self.solver, find_loss(self.loss, self.beta, self.gamma).name
        if self.engine is not None:
            return find_strategy(name, loss, self.slow_revisits, self.averaged)
        if is_strategy(name):
            called = name.name if isinstance(name, Solver) else name
            raise InputError(f"solver {called} is for several workers: give engine and workers")
        if name == "auto":
            name = auto_solver(loss, structure, slow_revisits=self.slow_revisits)
        solver = find_solver(name, loss)
        return Averaged(solver) if self.averaged else solver

    @property
    def _threads(self) -> int:
        """For prediction; training bounds its own."""
        return usable_threads(self.threads)

    def run_metadata(self) -> dict[str, Any]:
        """How many workers trained and how; nothing if it was one."""
        if self.engine is None:
            return {}
        from dualstruct.distributed.base import Strategy
        from dualstruct.distributed.strategies import described

        strategy = self._find_solver()
        assert isinstance(strategy, Strategy)
        return {"engine": self.engine, "workers": self.workers_, "solver": described(strategy)}

    run_facts = OldAttribute("run_metadata")

    @property
    def usual_end(self) -> tuple[float | None, int]:
        """At which gap and after how many passes training ends where nothing says when."""
        return self._find_solver().usual_end or (self.default_gap, self.default_passes)

    def _stopping(self, judged: bool) -> Stopping:
        stopping = Stopping(self.gap, self.passes, self.seconds, self.patience)
        if not judged and stopping.gap is stopping.passes is stopping.seconds is None:
            gap, passes = self.usual_end
            return Stopping(gap, passes, patience=self.patience)
        return stopping

    def _optimise(
        self,
        structure: Structure,
        center: _core.Weights | None,
        judge: Callable[[_core.Weights], float] | None,
        callbacks: Iterable[Callback],
        job: Job,
        rescue: Callable[[FitResult], object] | None,
        start: Iterate | None = None,
    ) -> FitResult:
        """Train as the settings say."""
        from dualstruct.distributed.base import Strategy
        from dualstruct.problem import Problem
        from dualstruct.solvers import Completing
        from dualstruct.training.loop import fit
        from dualstruct.training.progress import ProgressLine

        solver = self._find_solver(structure)
        stopping = self._stopping(judge is not None)
        loss = find_loss(self.loss, self.beta, self.gamma)
        # The ramp's own rounds complete, too.
        if structure.has_unknown_truth and not isinstance(loss, Ramp):
            solver = Completing(solver)
        mass = job.workers.allreduce(np.array([structure.feature_mass]))
        numbers = job.share.examples
        problem = Problem(
            structure,
            loss,
            self.weight_of_loss(float(mass[0])),
            center=center,
            threads=self.threads,
            communicator=job.workers if isinstance(solver, Strategy) else None,
            examples=numbers if len(numbers) == len(structure) else None,  # some may be left out
        )
        with ProgressLine(stopping, show=self.verbose and job.shows) as line:
            return fit(
                problem,
                solver,
                stopping,
                dev=judge,
                seed=self.seed,
                certify_every=self.certify_every,
                callbacks=[*callbacks, line.update],
                checkpoint=self.checkpoint,
                resume=self.resume,
                rescue=rescue,
                start=start,
            )

    @abstractmethod
    def _model_from(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ModelT:
        """The counterpart of the model's ``state``."""

    @property
    def model_(self) -> ModelT:
        """Everything that predicting takes, in one immutable piece."""
        self._check_trained()
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def state(self) -> State:
        metadata, tensors = self.model_.state()
        parameters = {name: getattr(self, name) for name in kept_settings(self)}
        parameters["solver"] = pack_solver(self.solver)
        metadata["parameters"] = parameters
        metadata["result"] = self.result_.summary()
        return metadata, tensors

    def compact_state(self) -> State:
        metadata, tensors = self.state()
        return metadata, self.model_.compact(tensors)

    def weight_uses(self, *data: Any) -> dict[str, NDArray[Any]]:
        return self.model_.weight_uses(*data)

    def restore(self, metadata: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        model = self._model_from(metadata, arrays)
        self.set_params(**self._parameters_from(metadata.get("parameters")))
        self.result_ = FitResult.from_summary(metadata.get("result"), lambda: model.w)
        self._model = model

    def _parameters_from(self, stored: Any) -> dict[str, Any]:
        """What a file says about parameters, of those that it may say something about."""
        stored = fit_type(dict[str, Any], stored, "parameters")
        # Before version 2 files had some of the run, threads for instance.
        of_the_run = self._defaults().keys() - set(kept_settings(self))
        kept = {name: value for name, value in stored.items() if name not in of_the_run}
        solver = unpack_solver(kept.pop("solver", "auto"))
        return {**arguments_of(type(self), kept, "parameters"), "solver": solver}
