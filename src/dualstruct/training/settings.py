"""The settings of training, spelled once: signatures, documentation, model files, the command.

Estimators are dataclasses of their settings. A field made by :func:`setting` says what its option
of ``dualstruct train`` looks like, and whether a model file keeps it.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from dualstruct.errors import InputError
from dualstruct.losses import LOSSES, Loss, find_loss
from dualstruct.solvers.solver import Solver
from dualstruct.training.stopping import Stopping

Kind = TypeVar("Kind")
#: The sum of squares that a feature of text has in the corpora that defaults were chosen on is 5 to
#: 30 on average; a pixel's is thousands.
SPARSE = 100.0
#: Losses whose duals are at most C.
BOUNDED = ("hinge", "ramp", "ramp_uncosted", "perceptron")


@dataclass(frozen=True)
class Option:
    """How a setting is given on the command line."""

    help: str
    type: Any = str
    flag: str | None = None  #: the name, if it is not that of the setting
    metavar: str | None = None
    choices: tuple[str, ...] = ()  #: what a shell completes, if ``metavar`` does not list it
    panel: str | None = None  #: the heading in the help
    default: str | None = None  #: what the help says about it, if it is not the setting's own
    parse: Callable[[Any], Any] = lambda value: value


def setting(
    default: Any, option: Option | None = None, *, kept: bool = False, tried: tuple[Any, ...] = ()
) -> Any:
    """A field of an estimator.

    Parameters
    ----------
    default : object
    option : Option, optional
        Its option of ``dualstruct train``; without, it has none.
    kept : bool
        Whether a model file keeps it. All others belong to a run, and are never taken from a file:
        whoever wrote it must not choose what is read, written or asked on this machine.
    tried : tuple
        What tuning tries instead of the default.
    """
    return field(default=default, metadata={"option": option, "kept": kept, "tried": tried})


def kept_settings(estimator: Any) -> tuple[str, ...]:
    """The settings that a model file keeps."""
    return tuple(each.name for each in fields(estimator) if each.metadata.get("kept"))


def tried_settings(estimator: Any) -> dict[str, tuple[Any, ...]]:
    """What tuning tries, for the settings that are as they are by default."""
    return {
        each.name: each.metadata["tried"]
        for each in fields(estimator)
        if each.metadata.get("tried") and is_default(estimator, each.name)
    }


def is_default(estimator: Any, name: str) -> bool:
    """Whether a setting is as it is by default."""
    default = next(each.default for each in fields(estimator) if each.name == name)
    return bool(getattr(estimator, name) == default)


def options_of(estimator: Any) -> dict[str, tuple[Option, Any]]:
    """The options of an estimator's settings, with the defaults."""
    found = {each.name: (each.metadata.get("option"), each.default) for each in fields(estimator)}
    return {name: (option, default) for name, (option, default) in found.items() if option}


def yes_or_no(value: str) -> bool | str:
    """The value of an option that may also be ``auto``."""
    choices: dict[str, bool | str] = {"auto": "auto", "yes": True, "no": False}
    if value not in choices:
        raise InputError(f"{value!r}; it must be auto, yes or no")
    return choices[value]


#: The heading of options about workers.
WORKERS = "Training on several workers"


@dataclass(eq=False, repr=False, kw_only=True)
class Training:
    """Training settings that every estimator has.

    Parameters
    ----------
    loss : str
        The loss to minimise: ``squared_hinge``, ``hinge``, ``crf``, ``softmax_margin``,
        ``perceptron``, ``ramp``, ``ramp_uncosted`` (the ramp of Do et al. 2008) or ``risk_bound``
        (a bound of the expected cost).
    beta, gamma : float, optional
        The parameters of the losses ``softmax_margin`` and ``risk_bound``.
    solver : str or Solver
        ``"auto"`` chooses the fastest for the loss and the structure; or a name (docs/solvers.md
        lists them), or a solver object.
    averaged : bool
        Predict with the average of the weights over all steps of training. It helps with few passes
        and noisy labels, and little with dev data.
    C : float, optional
        The weight of one example's loss: larger values fit the training data more closely. None
        chooses a default for the loss: 0.1 for the hinges, 3 for ``crf``, 1 for ``softmax_margin``,
        less for dense features (parsers 0.01, StructuredSVM 1, for all losses).
    gap : float, optional
        Stop when this relative distance from the optimum is certified (0.01 is 1 %).
    passes, seconds : optional
        Stop after this many passes, or this much time. Without any rule: 10 passes
        (StructuredSVM: a gap of 1 %, or 100 passes), or with ``dev`` until the score has not
        improved for ``patience`` passes.
    patience : int
        Passes without a better development score.
    certify_every : int, optional
        Certify the gap every n passes, each with a full inference pass, so that
        ``result_.trace`` can be plotted; by default only where that may end training.
    seed : int
        Same seed, same model, bit for bit.
    threads : int
        For inference, in training and prediction. Decoders in Python run one at a time.
    verbose : bool
        Show a progress line on standard error.
    checkpoint : path, optional
        Where to save the state of training regularly, and when a pass fails.
    resume : bool
        Resume from the checkpoint, if it exists.
    engine : {"local", "ray", "mpi"}, optional
        Train on several workers, each with a part of the data: threads of this process,
        actors of a Ray cluster, or the processes of an MPI job (docs/distributed.md). ``solver``
        is then ``bqo``, ``admm``, ``mixing`` or ``average``, or a solver to use inside ``bqo``.
    workers : int, optional
        The number of workers; under MPI it is that of the job.
    address : str, optional
        The address of the Ray cluster, "auto" for the one of this machine; by default a cluster is
        started on this machine.
    """

    loss: str | Loss = setting(
        "squared_hinge",
        Option(
            f"{', '.join(list(LOSSES)[:-1])} or {list(LOSSES)[-1]}.",
            metavar="LOSS",
            choices=tuple(LOSSES),
        ),
        kept=True,
        tried=("squared_hinge", "hinge", "crf", "softmax_margin"),
    )
    beta: float | None = setting(
        None, Option("Sharpness of softmax_margin and risk_bound.", float), kept=True
    )
    gamma: float | None = setting(
        None, Option("Weight of costs in softmax_margin and risk_bound.", float), kept=True
    )
    solver: str | Solver = setting(
        "auto",
        Option(
            "auto, or a solver for this loss, such as dcd, sdm, frank-wolfe or lbfgs.",
            metavar="SOLVER",
        ),
        kept=True,
    )
    averaged: bool = setting(
        False,
        Option(
            "Use the average of the weights over all steps.",
            bool,
            default="yes for parsers, no for others",
        ),
        kept=True,
    )
    C: float | None = setting(
        None,
        Option(
            "The weight of one sentence's loss.",
            float,
            flag="-C",
            default="0.1 for hinges, 3 for crf, 1 for softmax_margin; parsers 0.01",
        ),
        kept=True,
    )
    gap: float | None = setting(
        None, Option("Stop at this certified gap; 0.01 is 1 %.", float), kept=True
    )
    passes: int | None = setting(None, Option("Stop after this many passes.", int), kept=True)
    seconds: float | None = setting(
        None, Option("Stop after this many seconds of wall time.", float), kept=True
    )
    patience: int = setting(
        5, Option("Stop after this many passes without a better dev score.", int), kept=True
    )
    certify_every: int | None = setting(
        None, Option("Certify the gap every N passes, for example to plot it.", int)
    )
    seed: int = setting(
        0, Option("The random seed; the same seed gives the same model.", int), kept=True
    )
    threads: int = setting(1, Option("Threads for inference.", int))
    verbose: bool = setting(False)
    checkpoint: str | Path | None = setting(
        None,
        Option(
            "Save the state of training to this file from time to time (to a "
            "folder with several workers).",
            Path,
        ),
    )
    resume: bool = setting(False, Option("Resume from the checkpoint.", bool))
    engine: str | None = setting(
        None,
        Option(
            "Run workers as threads (local), on a Ray cluster (ray), or in an "
            "MPI job (mpi). The solver is then bqo, admm, mixing or average, or "
            "a solver to use inside bqo.",
            metavar="local|ray|mpi",
            panel=WORKERS,
        ),
    )
    workers: int | None = setting(
        None, Option("The number of workers; each gets a share of the data.", int, panel=WORKERS)
    )
    address: str | None = setting(
        None,
        Option(
            "The address of a running Ray cluster; auto means the one on this "
            "machine. Default: start one.",
            panel=WORKERS,
        ),
    )

    #: C where none is given (docs/benchmarks.md says why), and for losses that have their own.
    usual_weight: ClassVar[float] = 0.1
    weights_of_losses: ClassVar[Mapping[str, float]] = {"crf": 3.0, "softmax_margin": 1.0}

    def weight_of_loss(self, feature_mass: float = 0.0) -> float:
        """C, or where none is given the one that suits the loss and the features.

        ``feature_mass`` is the sum of squares that a feature has over all tokens, on average. Where
        few features describe many tokens, as pixels do, examples pull at the same weights: with the
        C of sparse features, losses without a bound on an example's duals oscillate for long.

        >>> Training().weight_of_loss(), Training(loss="crf").weight_of_loss()
        (0.1, 3.0)
        >>> Training().weight_of_loss(10_000.0), Training(C=2.0).weight_of_loss(10_000.0)
        (0.01, 2.0)
        """
        if self.C is not None:
            return self.C
        loss = find_loss(self.loss, self.beta, self.gamma).name
        C = self.weights_of_losses.get(loss, self.usual_weight)
        if loss in BOUNDED or feature_mass <= SPARSE:
            return C
        return float(f"{C * (SPARSE / feature_mass) ** 0.5:.3g}")

    @classmethod
    def metadata(cls, name: str) -> Mapping[str, Any]:
        """Of a setting, for a subclass in which its default is another one."""
        return next(each.metadata for each in fields(cls) if each.name == name)

    def check_settings(self) -> None:
        """Raise an error for bad settings, before any work is done."""
        from dualstruct.workers.engines import check_engine

        check_engine(self.engine, self.workers, self.address)
        Stopping(self.gap, self.passes, self.seconds, self.patience)


def positional(*names: str) -> Callable[[type[Kind]], type[Kind]]:
    """A class decorator: these settings may also be given without their names, in this order."""

    def decorate(kind: type[Kind]) -> type[Kind]:
        made: Callable[..., None] = kind.__init__
        known = dict(inspect.signature(made).parameters)
        me = known.pop("self")
        first = [known.pop(name) for name in names]
        in_place = [each.replace(kind=each.POSITIONAL_OR_KEYWORD) for each in first]
        rest = [each.replace(kind=each.KEYWORD_ONLY) for each in known.values()]

        @wraps(made)
        def init(self: Any, *values: Any, **named: Any) -> None:
            if len(values) > len(names):
                raise TypeError(
                    f"{type(self).__name__} takes {', '.join(names)} without a name, no others"
                )
            given = dict(zip(names, values, strict=False))
            if twice := given.keys() & named.keys():
                raise TypeError(f"{type(self).__name__} got {', '.join(twice)} twice")
            made(self, **given, **named)

        init.__signature__ = inspect.Signature([me, *in_place, *rest])  # type: ignore[attr-defined]
        kind.__init__ = init  # type: ignore[method-assign]
        return kind

    return decorate


def documented(*settings: type) -> Callable[[type[Kind]], type[Kind]]:
    """A class decorator: its documentation shows the parameters of these classes, too."""

    def decorate(kind: type[Kind]) -> type[Kind]:
        shown = [inspect.cleandoc(each.__doc__ or "").partition("---\n")[2] for each in settings]
        own = inspect.cleandoc(kind.__doc__ or "")
        before, heading, after = own.partition("\n\nAttributes\n---")
        parameters = "\n".join(shown)
        kind.__doc__ = f"{before}\n\nParameters\n----------\n{parameters}{heading}{after}"
        return kind

    return decorate


def untrained(estimator: Any) -> Any:
    """A copy of the settings alone."""
    return dataclasses.replace(estimator)
