"""Estimators whose scores become probabilities: by their loss, or by a fitted temperature."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dualstruct.confidence.temperature import UncalibratedWarning, uncalibrated
from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator
from dualstruct.labels.names import Labels
from dualstruct.losses import SoftmaxMargin, find_loss
from dualstruct.structures.base import check_beta
from dualstruct.tasks.base import Model

if TYPE_CHECKING:
    from dualstruct.suspecting import Suspect
    from dualstruct.suspecting.search import Case


class CalibratedModel(Model, Protocol):
    """A model of labels that may have a temperature of its own."""

    @property
    def labels(self) -> Labels: ...

    @property
    def temperature(self) -> float | None: ...


CalibratedT = TypeVar("CalibratedT", bound=CalibratedModel)


class CalibratedEstimator(Estimator[CalibratedT]):
    """Knows its labels, and at which temperature scores are probabilities."""

    @property
    def classes_(self) -> NDArray[np.str_]:
        """The labels, in the scheme that the model learns in, or the relations of trees."""
        return np.array(self.model_.labels.names)

    @property
    def temperature_(self) -> float | None:
        """T of p(y) ∝ exp(score / T): fitted on development data, or that of the loss; or None."""
        fitted = self.model_.temperature
        if fitted is not None:
            return fitted
        loss = find_loss(self.loss, self.beta, self.gamma)
        return 1 / loss.beta if isinstance(loss, SoftmaxMargin) else None

    def _suspects(
        self, case: Case, top: int | None, folds: int, duals: str | Path | None
    ) -> list[Suspect]:
        """Those of annotated sentences; ``duals`` is a checkpoint of this model's training."""
        from dualstruct.suspecting.duals import read_duals
        from dualstruct.suspecting.search import find

        loss = find_loss(self.loss, self.beta, self.gamma).name
        C = self.result_.C or self.weight_of_loss()
        return find(
            case,
            top=top,
            folds=folds,
            duals=None if duals is None else read_duals(duals, len(case.structure), loss, C),
            seed=self.seed,
            threads=self._threads,
        )

    def _beta(self, beta: float | None, *, strict: bool) -> float:
        """What scores are multiplied by; without a temperature an error, or 1 and a warning."""
        if beta is not None:
            check_beta(beta)
            return beta
        temperature = self.temperature_
        if temperature is not None:
            return 1 / temperature
        message = uncalibrated(find_loss(self.loss, self.beta, self.gamma).name)
        if strict:
            raise InputError(message)
        warnings.warn(UncalibratedWarning(message), stacklevel=3)
        return 1.0
