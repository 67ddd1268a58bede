"""What is said of a suspect, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Doubt:
    """A token at which the model would have said something else."""

    token: int  #: counted from 1
    form: str
    given: str
    predicted: str


@dataclass(frozen=True)
class Suspect:
    """A training sentence, and how much it fights the model."""

    sentence: int  #: its number, counted from 1
    score: float  #: the higher, the more suspect; see :func:`~dualstruct.suspecting.ranking.rank`
    forms: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    dual_mass: float | None = None  #: Σ_y α_iy of training, where its duals are known
    at_bound: bool | None = None  #: whether that is all that the loss allows (hinge and ramp)
    given_up: bool | None = None  #: whether the ramp loss had given the sentence up

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
