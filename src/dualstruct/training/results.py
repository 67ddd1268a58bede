"""What training reports: trace points, the result, scores of development data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dualstruct import _core
from dualstruct.data.schema import fit_type
from dualstruct.errors import InputError
from dualstruct.lazy import Deferring

if TYPE_CHECKING:
    from dualstruct.workers.communicator import Communicator


@dataclass(frozen=True)
class TracePoint:
    """The state of training after a pass."""

    passes: int
    seconds: float
    primal: float | None  #: None where no full inference pass was made
    dual: float | None
    gap: float | None  #: (P − D)/|P|, by a full inference pass
    gap_estimate: (
        float | None
    )  #: the same from the losses met during the pass, where they are known
    dev_score: float | None
    cuts: int
    inference_calls: int
    estimate: bool = False  #: whether inference was approximate, so that ``gap`` bounds nothing
    dev_metric: str | None = None  #: what the dev score is: F1, accuracy, LAS or score


@dataclass
class FitResult(Deferring):
    """The result of training."""

    w: _core.Weights = field(repr=False)
    passes: int
    primal: float
    dual: float | None
    gap: float | None
    dev_score: float | None  #: of the weights kept
    best_pass: int  #: the pass whose weights were kept
    #: gap, converged, stalled, passes, seconds, dev, callback, interrupt or error; conversion if
    #: another program trained the model
    stopped_by: str
    seconds: float
    cpu_seconds: float
    inference_calls: int
    cuts: int
    trace: list[TracePoint] = field(repr=False)
    #: Inferences of an approximate decoder that found less than an output already known: then
    #: losses are underestimated, and so may be the gap.
    beaten: int = 0
    skipped: int = 0  #: inferences that failed and were left out, because the user wanted it
    #: Inferences whose answer was not proven the best (graphs with loops), certificates included.
    unproven: int = 0
    #: Whether primal and gap rest on approximate inference: then they are estimates, not bounds.
    estimate: bool = False
    C: float | None = None  #: the weight of one example's loss; files of before do not say it

    @property
    def certified(self) -> bool:
        """Whether no weights can have an objective that is lower by more than the gap."""
        return self.gap is not None and not self.estimate

    @property
    def dev_metric(self) -> str | None:
        """What the dev score is: F1, accuracy, LAS or score; None without one."""
        return self.trace[-1].dev_metric if self.trace else None

    def summary(self) -> dict[str, Any]:
        """Everything but the weights, for a JSON file."""
        values = {name.name: getattr(self, name.name) for name in fields(self)}
        values.pop("w")
        return {**values, "trace": [asdict(point) for point in self.trace]}

    @classmethod
    def from_summary(cls, summary: Any, weights: Callable[[], _core.Weights]) -> FitResult:
        """The inverse of :meth:`summary`."""
        made = fit_type(cls, summary, "result", w=None)
        made.defer("w", weights)
        return made

    def __str__(self) -> str:
        parts = [f"passes {self.passes}", f"primal {objective(self.primal)}"]
        if self.gap is not None:
            parts.append(f"gap {percent(self.gap)}" + " (estimate)" * self.estimate)
        if self.dev_score is not None:
            score = f"{self.dev_metric or 'score'} {100 * self.dev_score:.2f}"
            parts.append(f"dev {score} (pass {self.best_pass})")
        if self.beaten:
            parts.append(f"{self.beaten} decodings beaten by known outputs")
        if self.unproven:
            parts.append(f"{self.unproven} decodings not proven the best")
        if self.skipped:
            parts.append(f"{self.skipped} skipped")
        return ", ".join([*parts, f"stopped by {self.stopped_by}"])


def percent(share: float) -> str:
    """A gap for people: two digits, never negative.

    >>> percent(0.00812), percent(0.999), percent(-1e-9)
    ('0.81 %', '100 %', '0 %')
    """
    share = 100 * max(share, 0.0)
    return f"{share:.0f} %" if share >= 10 or share < 1e-6 else f"{share:.2g} %"


def objective(value: float) -> str:
    """An objective for people.

    >>> objective(14160.27), objective(0.01234)
    ('14,160.3', '0.01234')
    """
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.4g}"


def check_metric(metric: str | None, *known: str) -> None:
    """Refuse what a kind of output is not judged by."""
    if metric is not None and metric not in known:
        raise InputError(f"metric is {metric!r}; it must be {' or '.join(known)}")


class SummedScore:
    """A development score of which every worker judges its own sentences; counts are summed up.

    Parameters
    ----------
    communicator : Communicator
        All workers ask together.
    count : callable
        What some weights get right and wrong on this worker's sentences, as numbers.
    score : callable
        The score that such numbers, of all sentences, come to.
    metric : str
        What the score is called: F1, accuracy, LAS.
    """

    def __init__(
        self,
        communicator: Communicator,
        count: Callable[[_core.Weights], Sequence[float]],
        score: Callable[[Sequence[float]], float],
        metric: str = "score",
    ) -> None:
        self._communicator = communicator
        self.count = count
        self.score = score
        self.metric = metric

    def __call__(self, w: _core.Weights) -> float:
        own = np.array(self.count(w), dtype=np.float64)
        return self.score(self._communicator.allreduce(own).tolist())
