"""The settings of a model of any structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dualstruct.errors import InputError
from dualstruct.losses import Loss
from dualstruct.solvers import Solver
from dualstruct.structures.output_type import OutputType
from dualstruct.training.settings import Training, positional, setting


@positional("structure", "loss", "solver", "C")
@dataclass(eq=False, repr=False)
class StructuredSettings(Training):
    """What a model of any structure learns, besides how it is trained
    (:class:`~dualstruct.training.Training`).

    Parameters
    ----------
    structure : OutputType
        A :class:`~dualstruct.CustomStructure` of your own, or a built-in one.
    on_error : {"raise", "skip"}
        What to do when a method of a custom structure fails on a training example: stop and keep
        what was learned, or leave the example out this time and count it (``skipped_``).
    """

    structure: OutputType
    on_error: str = setting("raise", kept=True)
    loss: str | Loss = field(default="hinge", metadata=Training.metadata("loss"), kw_only=True)
    solver: str | Solver = field(
        default="auto",
        metadata={**Training.metadata("solver"), "tried": ("sdm", "frank-wolfe", "dcd", "lbfgs")},
        kw_only=True,
    )
    usual_weight: ClassVar[float] = 1.0
    weights_of_losses: ClassVar[Mapping[str, float]] = {}

    def check_settings(self) -> None:
        """Bad settings fail here, before features are computed."""
        check_template(self.structure)
        if self.on_error not in ("raise", "skip"):
            raise InputError(f"on_error is {self.on_error!r}; it must be 'raise' or 'skip'")
        super().check_settings()


def check_template(structure: Any) -> None:
    if not isinstance(structure, OutputType):
        raise InputError(
            f"structure is {structure!r}; give an instance of a CustomStructure or of a "
            "ready structure"
        )
