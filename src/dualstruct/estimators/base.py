"""What estimators share: the settings of training, the loop, model files, pickles."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.data.arrays import as_json, read_arrays, write_arrays
from dualstruct.data.schema import arguments_of, fit_type
from dualstruct.data.sources import Part, Source
from dualstruct.distributed.base import Strategy
from dualstruct.distributed.strategies import described, find_strategy, is_strategy
from dualstruct.distributed.training import train_together
from dualstruct.errors import InputError, not_fitted
from dualstruct.estimators.params import Parameters, pack_solver, unpack_solver
from dualstruct.losses import Loss, find_loss
from dualstruct.problem import Problem
from dualstruct.solvers import Averaged, Completing, Solver, find_solver
from dualstruct.structures import Structure
from dualstruct.threads import usable_threads
from dualstruct.training.loop import Callback, FitResult, Stopping, fit
from dualstruct.training.progress import ProgressLine
from dualstruct.workers.communicator import Alone, Communicator
from dualstruct.workers.engines import check_engine

if TYPE_CHECKING:
    from typing_extensions import Self

State = tuple[dict[str, Any], dict[str, NDArray[Any]]]


class Model(Protocol):
    """Everything that predicting takes, in one immutable piece."""

    @property
    def w(self) -> _core.Weights: ...

    def state(self) -> State:
        """Facts for JSON, and arrays."""


ModelT = TypeVar("ModelT", bound=Model)


class Estimator(Parameters, Generic[ModelT]):
    """A model that is trained by a solver and kept in a file."""

    model_format: ClassVar[str]
    #: The parameters that a model file keeps. All others belong to a run, and are never taken from
    #: a file: whoever wrote it must not choose what is read, written or asked on this machine.
    of_the_model: ClassVar[tuple[str, ...]] = (
        "loss",
        "beta",
        "gamma",
        "solver",
        "averaged",
        "C",
        "gap",
        "passes",
        "seconds",
        "patience",
        "seed",
    )
    #: The gap and the passes that training ends at when it is told nothing about stopping.
    default_gap: ClassVar[float | None] = None
    default_passes: ClassVar[int] = 10
    #: What ``solver="auto"`` takes for a loss where it is not the choice of docs/solvers.md.
    auto_solvers: ClassVar[dict[str, Solver]] = {}

    loss: str | Loss
    beta: float | None
    gamma: float | None
    solver: str | Solver
    averaged: bool
    C: float
    gap: float | None
    passes: int | None
    seconds: float | None
    patience: int
    certify_every: int | None
    seed: int
    threads: int
    verbose: bool
    checkpoint: str | Path | None
    resume: bool
    engine: str | None
    workers: int | None
    address: str | None

    #: Who else trains this model, and what this rank has of the data; None if it has all.
    _ranks: Communicator = Alone()
    _part: Part | None = None
    _dev_part: Part | None = None
    _warnings: list[Warning]

    _model: ModelT
    result_: FitResult
    #: Which process of an MPI job this is; 0 is the one that writes and prints.
    rank_: int = 0
    #: Sentences and tokens of all workers.
    trained_on_: tuple[int, int]
    workers_: int

    def _settings(self) -> tuple[Solver, Stopping]:
        """The solver and when it stops; bad parameters fail here, before any work is done."""
        check_engine(self.engine, self.workers, self.address)
        stopping = Stopping(self.gap, self.passes, self.seconds, self.patience)
        return self._find_solver(self.solver), stopping

    def _find_solver(self, name: str | Solver) -> Solver:
        loss = find_loss(self.loss, self.beta, self.gamma).name
        if self.engine is not None:
            return find_strategy(name, loss, self.auto_solvers.get(loss), self.averaged)
        if is_strategy(name):
            called = name.name if isinstance(name, Solver) else name
            raise InputError(f"solver {called} is for several workers: give engine and workers")
        wanted = self.auto_solvers.get(loss, "auto") if name == "auto" else name
        solver = find_solver(wanted, loss)
        return Averaged(solver) if self.averaged else solver

    @property
    def _threads(self) -> int:
        """For prediction; training bounds its own."""
        return usable_threads(self.threads)

    @property
    def _divides(self) -> bool:
        """Whether the data are still to be divided among workers."""
        return self.engine is not None and self._part is None

    def run_facts(self) -> dict[str, Any]:
        """How many workers trained and how; nothing if it was one machine."""
        if self.engine is None:
            return {}
        strategy = self._find_solver(self.solver)
        assert isinstance(strategy, Strategy)
        return {"engine": self.engine, "workers": self.workers_, "solver": described(strategy)}

    def _train_together(
        self,
        method: str,
        train: Source,
        dev: Source | None,
        callbacks: Iterable[Callback],
        prepared: dict[str, Any] | None = None,
    ) -> None:
        """Run ``method`` on each worker's part of the data, and take over the model."""
        stopping = self._stopping(judged=dev is not None)
        # Workers in this process show their own.
        elsewhere = self.engine == "ray"
        with ProgressLine(stopping, show=self.verbose and elsewhere) as line:
            train_together(self, method, train, dev, callbacks, line.update, prepared)

    def _warn(self, warning: Warning) -> None:
        """Warn whoever called fit; the first worker does it for all."""
        if self._part is None:
            warnings.warn(warning, stacklevel=4)
        elif self._ranks.rank == 0:
            self._warnings.append(warning)

    def _stopping(self, judged: bool) -> Stopping:
        stopping = self._settings()[1]
        if not judged and stopping.gap is stopping.passes is stopping.seconds is None:
            return Stopping(self.default_gap, self.default_passes, patience=self.patience)
        return stopping

    def _optimise(
        self,
        structure: Structure,
        center: _core.Weights | None,
        judge: Callable[[_core.Weights], float] | None,
        callbacks: Iterable[Callback],
        rescue: Callable[[FitResult], object] | None = None,
    ) -> FitResult:
        """Train as the parameters say; ``rescue`` gets what was learned if an exception ends it."""
        solver, _ = self._settings()
        stopping = self._stopping(judge is not None)
        loss = find_loss(self.loss, self.beta, self.gamma)
        # eg starts close to the truth, and is slow where costs do not say what that is.
        slow = structure.completes or not structure.has_parts or structure.has_many_parts
        if solver.name == "eg" and self.solver == "auto" and slow:
            solver = self._find_solver("lbfgs")
        if structure.completes and loss.name != "ramp":  # the ramp's own rounds complete, too
            solver = Completing(solver)
        ranks = self._ranks if isinstance(solver, Strategy) else None
        problem = Problem(
            structure, loss, self.C, center=center, threads=self.threads, communicator=ranks
        )
        callbacks = list(callbacks)
        with ProgressLine(stopping, show=self.verbose) as line:
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
            )

    @abstractmethod
    def _model_from(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ModelT:
        """The counterpart of the model's ``state``."""

    def _trained(self) -> ModelT:
        if not hasattr(self, "_model"):
            raise not_fitted(f"this {type(self).__name__} is not trained yet")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def save(self, path: str | Path) -> None:
        """Write the model to a file; features whose weights are all 0 are left out."""
        write_arrays(path, self.model_format, *self._state())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. Loading runs no code from the file."""
        return cls()._read(path)

    def _read(self, path: str | Path) -> Self:
        facts, arrays = read_arrays(path, self.model_format)
        try:
            self._restore(facts, arrays)
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        return self

    def _state(self) -> State:
        facts, tensors = self._trained().state()
        parameters = {name: getattr(self, name) for name in self.of_the_model}
        parameters["solver"] = pack_solver(self.solver)
        facts["parameters"] = parameters
        facts["result"] = self.result_.summary()
        return facts, tensors

    def _restore(self, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        model = self._model_from(facts, arrays)
        self.set_params(**self._parameters_from(facts.get("parameters")))
        self.result_ = FitResult.from_summary(facts.get("result"), model.w)
        self._model = model

    def _parameters_from(self, stored: Any) -> dict[str, Any]:
        """What a file says about parameters, of those that it may say something about."""
        stored = fit_type(dict[str, Any], stored, "parameters")
        # Before version 2 files had some of the run, threads for instance.
        of_the_run = self._defaults().keys() - set(self.of_the_model)
        kept = {name: value for name, value in stored.items() if name not in of_the_run}
        solver = unpack_solver(kept.pop("solver", "auto"))
        return {**arguments_of(type(self), kept, "parameters"), "solver": solver}

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: parameters, and the model as JSON and arrays."""
        model = None
        if hasattr(self, "_model"):
            facts, arrays = self._state()
            model = as_json(facts), arrays
        parameters = self.get_params(deep=False)
        return {"parameters": parameters, "model": model, **self._requests()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, **state["parameters"])
        if state["model"] is not None:
            self._restore(*state["model"])
        self.set_params(**state["parameters"])
        self._restore_requests(state)
