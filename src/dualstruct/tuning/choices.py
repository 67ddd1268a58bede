"""What a search tries: one setting changed at a time, then several, then other C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dualstruct.training.settings import Training, is_default, tried_settings
from dualstruct.tuning.trials import PASSES, Way

Settings = dict[str, Any]

#: What C is multiplied by, around the one that a loss has where none is given.
SCALES = (0.3, 3.0)
#: And around the best.
FINER = (0.3, 0.55, 1.8, 3.0)
#: How many passes are tried besides with the best: so many that they cost as much as two runs.
LONGER = 20
#: Runs to convergence along a path of C, each from where the last one ended.
PATH = (0.3, 1.0, 3.0)
#: Where runs of a path end.
CONVERGED = {"gap": 0.01, "passes": 50}
#: Losses whose solvers move w step by step, so that an average of the steps is worth a try.
STEPWISE = ("squared_hinge", "hinge")


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
    >>> kept = frozenset({"scheme", "min_count"})
    >>> Choices(SequenceTagger(loss="crf"), (), kept).starts()
    [{'C': 0.9}, {'C': 9.0}]
    >>> Choices(SequenceTagger(loss="crf", C=2.0), (), kept).starts()
    []
    """

    def __init__(self, estimator: Any, features: Sequence[Any], fixed: frozenset[str]) -> None:
        self._given: Training = estimator
        self._fixed = fixed
        self._tried = {
            name: values for name, values in tried_settings(estimator).items() if name not in fixed
        }
        self._features = tuple(features)
        self._losses = [x for x in self._tried.pop("loss", ()) if x != estimator.loss]
        self._free_C = is_default(estimator, "C") and "C" not in fixed
        self._free_average = is_default(estimator, "averaged") and "averaged" not in fixed
        self._mass = 0.0
        ends = ("gap", "passes", "seconds")
        self._free_end = all(getattr(estimator, x) is None and x not in fixed for x in ends)
        #: After which passes runs are judged; none if the settings say when training ends.
        gap, passes = estimator.usual_end
        self.passes: tuple[int, ...] = PASSES if self._free_end and gap is None else ()
        self._longer = True
        #: How a run of the settings given ends.
        self.default_way = Way(passes if self.passes else None, estimator.averaged)

    def end_within(self, passes: float) -> None:
        """Judge no run after more passes than these: there is no time to train for so long."""
        usual = self.default_way.passes
        self.passes = tuple(x for x in self.passes if x <= passes or x == usual)
        self._longer = passes >= LONGER

    def see(self, offered: Mapping[str, tuple[Any, ...]], feature_mass: float) -> None:
        """What the data offer besides, and how dense their features are."""
        self._mass = feature_mass
        for name, values in offered.items():
            if values and is_default(self._given, name) and name not in self._fixed:
                self._tried[name] = values
        if self._features:
            self._tried["features"] = (*self._features, *self._tried.get("features", ()))

    def starts(self) -> list[Settings]:
        """What was given with one thing changed: another value of a setting, loss or C."""
        found: list[Settings] = [{"loss": loss} for loss in self._losses]
        found += [{name: value} for name, tried in self._tried.items() for value in tried]
        if self._free_C:
            usual = self._weight({})
            found += [{"C": _rounded(scale * usual)} for scale in SCALES]
        return found

    def scales(self, best: Settings) -> list[Settings]:
        """The best of these with other C."""
        if not self._free_C:
            return []
        C = self._weight(best)
        return [{**best, "C": _rounded(scale * C)} for scale in FINER]

    def longer(self, best: Settings) -> list[Settings]:
        """The best of these with more passes."""
        wanted = self._longer and self.passes and max(self.passes) < LONGER
        return [{**best, "passes": LONGER}] if wanted else []

    def path(self, best: Settings) -> list[Settings]:
        """The best of these trained to convergence, C ascending."""
        loss = str(best.get("loss", self._given.loss))
        if not (self._free_C and self._free_end and self._free_average) or loss not in STEPWISE:
            return []
        C, plain = self._weight(best), {**CONVERGED, "averaged": False}
        return [{**best, **plain, "C": _rounded(scale * C)} for scale in PATH]

    def joined(self, one: Settings, other: Settings) -> Settings:
        """Both changes: groups of features that are left out add up, else the second one counts."""
        found = {**one, **other}
        if one.get("without") and other.get("without"):
            groups = dict.fromkeys(f"{one['without']},{other['without']}".split(","))
            found["without"] = ",".join(groups)
        return found

    def averages(self, settings: Settings) -> bool:
        """Whether averaged weights are judged as well."""
        return self._free_average and str(settings.get("loss", self._given.loss)) in STEPWISE

    def passes_of(self, settings: Settings) -> tuple[int, ...]:
        """After which passes such a run is judged; none if it is judged at its end."""
        if "gap" in settings:
            return ()
        return (settings["passes"],) if "passes" in settings else self.passes

    def _weight(self, settings: Settings) -> float:
        """The C of settings."""
        loss, C = settings.get("loss", self._given.loss), settings.get("C", self._given.C)
        return replace(self._given, loss=loss, C=C).weight_of_loss(self._mass)


def _rounded(C: float) -> float:
    return float(f"{C:.3g}")
