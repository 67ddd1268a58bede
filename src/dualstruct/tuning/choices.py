"""What a search tries: losses with their C, then other settings one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dualstruct.training.settings import Training, is_default, tried_settings
from dualstruct.tuning.trials import PASSES, Way

#: By what C is multiplied, for each loss: each has its own scale.
SCALES = {
    "squared_hinge": (1.0, 0.3, 3.0, 10.0),
    "hinge": (1.0, 3.0, 0.3, 10.0),
    "softmax_margin": (1.0, 0.3, 3.0),
    "crf": (1.0, 0.3, 3.0),
}
#: Losses whose solvers move w step by step, so that an average of the steps is worth a try.
AVERAGED = ("squared_hinge", "hinge")
#: What C is multiplied by once the best of the grid is known.
BETWEEN = (0.55, 1.8)


class Choices:
    """What may be chosen for an estimator.

    Parameters
    ----------
    estimator : Estimator
        What it has in other settings than those by default stays as it is.
    features : sequence
        Other values of the setting ``features``.
    fixed : set of str
        Settings that stay as they are, too.

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> Choices(SequenceTagger(loss="crf"), (), frozenset()).starts()
    [{'C': 0.9}, {'C': 9.0}]
    >>> Choices(SequenceTagger(loss="crf", C=2.0), (), frozenset()).starts()
    []
    """

    def __init__(self, estimator: Any, features: Sequence[Any], fixed: frozenset[str]) -> None:
        self._given: Training = estimator
        self._tried = {
            name: values for name, values in tried_settings(estimator).items() if name not in fixed
        }
        if features:
            self._tried["features"] = tuple(features)
        others = [loss for loss in self._tried.pop("loss", ()) if loss != estimator.loss]
        self._losses = [estimator.loss, *others]
        self._free_C = is_default(estimator, "C") and "C" not in fixed
        self._free_average = is_default(estimator, "averaged") and "averaged" not in fixed
        ends = ("gap", "passes", "seconds")
        free = all(getattr(estimator, name) is None and name not in fixed for name in ends)
        #: After which passes runs are judged; none if the settings say when training ends.
        self.passes = PASSES if free and estimator.default_gap is None else ()
        #: How a run of the settings given ends.
        self.default_way = Way(
            estimator.default_passes if self.passes else None, estimator.averaged
        )

    def starts(self) -> list[dict[str, Any]]:
        """Every loss with every C; what was given is not among them."""
        found = []
        for loss in self._losses:
            for scale in SCALES.get(str(loss), (1.0,)) if self._free_C else (1.0,):
                changed: dict[str, Any] = {} if loss == self._given.loss else {"loss": loss}
                if scale != 1:
                    changed["C"] = _rounded(scale * self._usual_weight(changed))
                if changed:
                    found.append(changed)
        return found

    def changes(self, best: dict[str, Any]) -> list[dict[str, Any]]:
        """The best of these with one setting changed."""
        found = [{**best, name: value} for name, tried in self._tried.items() for value in tried]
        if self._free_C:
            C = best.get("C", self._usual_weight(best))
            found += [{**best, "C": _rounded(scale * C)} for scale in BETWEEN]
        return found

    def _usual_weight(self, settings: dict[str, Any]) -> float:
        """The C of a loss where none is given."""
        loss = settings.get("loss", self._given.loss)
        return replace(self._given, loss=loss).weight_of_loss()

    def averages(self, settings: dict[str, Any]) -> bool:
        """Whether averaged weights are judged as well."""
        return self._free_average and str(settings.get("loss", self._given.loss)) in AVERAGED


def _rounded(C: float) -> float:
    return float(f"{C:.3g}")
