"""What is said of a suspect, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Doubt:
    """A token for which the model predicts something else."""

    token: int  #: counted from 1
    form: str
    given: str
    predicted: str
    #: In what the annotation differs: ``missed`` or ``invented`` (a span too few or too many),
    #: ``type`` or ``boundary`` of a span, ``label`` where labels mark no spans, ``head`` or
    #: ``relation`` of a tree.
    kind: str = ""
    given_probability: float | None = None  #: by the model, how probable what is given is
    predicted_probability: float | None = None  #: and what it says instead


@dataclass(frozen=True)
class Suspect:
    """A training sentence with which the model disagrees."""

    sentence: int  #: its number, counted from 1
    #: The higher, the more suspect: an estimate, from 0 to 1, that its most doubtful label is a
    #: slip (:mod:`dualstruct.suspecting.channel` says how); with duals the dual mass per token.
    score: float
    forms: tuple[str, ...]
    doubts: tuple[Doubt, ...]
    dual_mass: float | None = None  #: Σ_y α_iy of training, where its duals are known
    at_bound: bool | None = None  #: whether that is all that the loss allows (hinge and ramp)
    given_up: bool | None = None  #: whether the ramp loss had given the sentence up

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
