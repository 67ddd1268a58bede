"""The search for suspects, once for every kind of output.

A model that has seen a sentence has memorised its mistakes; one that has not seen it
reveals them. So sentences are divided into folds, and each is read by a quick model of the others.
Its scores become probabilities at the temperature at which the given annotation is most probable,
and these are weighed as :mod:`~dualstruct.suspecting.channel` says. Without folds one model reads
all; with the duals of training (a checkpoint) sentences are ranked by dual mass per token,
Σ_y α_y / tokens, those first that the ramp loss has given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence.temperature import Search, fit_temperature
from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.problem import Problem
from dualstruct.solvers import Solver
from dualstruct.structures import Structure, Subset
from dualstruct.suspecting.channel import (
    Evidence,
    as_probabilities,
    joined,
    random_log_odds,
    sentence_log_odds,
)
from dualstruct.suspecting.duals import Duals, dual_facts
from dualstruct.suspecting.results import Doubt, Suspect
from dualstruct.training.loop import fit
from dualstruct.training.stopping import Stopping

CALIBRATION = Search(coldest=0.05, hottest=20, grid=7, steps=8)
#: The given annotation has slips in it, so the truth is a little surer than what fits it best.
SHARPER = 1.1
#: Smaller probabilities cannot be distinguished from each other.
FLOOR = 1e-6
#: A part whose annotation is at least so probable is no suspect.
SURE = 0.995


@dataclass(frozen=True)
class Quick:
    """How the models of the folds are trained: they need not be perfect."""

    loss: str
    C: float
    solver: Solver
    passes: int


@dataclass(frozen=True)
class Opinion:
    """What a model says of one sentence."""

    output: NDArray[np.int32]  #: its best output
    given: NDArray[np.float64]  #: [tokens] how probable what is given is
    predicted: NDArray[np.float64]  #: [tokens] how probable what it says instead is


@dataclass(frozen=True)
class Findings:
    """What speaks against the annotation of some sentences."""

    evidence: Evidence  #: of its parts
    at_random: NDArray[np.float64]  #: [sentences] log p(labels drawn at random) − log p(given)


class Reading(Protocol):
    """Sentences, and a model that judges them."""

    def surprise(self, beta: float) -> float:
        """−log likelihood of what is given, of some sentences, at p ∝ exp β·score."""

    def evidence(self, beta: float) -> Findings:
        """What speaks against the annotation."""

    def opinion(self, i: int, beta: float) -> Opinion:
        """Of a sentence, by its number in the whole data."""


class Case(Protocol):
    """Annotated sentences, as the search sees them."""

    @property
    def structure(self) -> Structure:
        """With what is given as the truth."""

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The tokens of each sentence."""

    @property
    def quick(self) -> Quick: ...

    def own_weights(self) -> _core.Weights:
        """Those of the trained model."""

    def reading(self, w: _core.Weights, examples: NDArray[np.intp]) -> Reading: ...

    def forms(self, i: int) -> tuple[str, ...]: ...

    def doubts(self, i: int, opinion: Opinion) -> tuple[Doubt, ...]:
        """Where an opinion differs from what is given."""


@dataclass(frozen=True)
class Judgement:
    """Who judged which sentences, and what came out."""

    shares: list[NDArray[np.intp]]  #: the sentences of each judge
    readings: list[Reading]  #: and what it says of them
    beta: float  #: at which scores are probabilities
    order: NDArray[np.float64]  #: [sentences] the higher, the more suspect
    scores: NDArray[np.float64]  #: [sentences] the same as probabilities, or dual mass per token


def judge(case: Case, *, folds: int, duals: Duals | None, seed: int, threads: int) -> Judgement:
    """Every sentence by a model that has not seen it, or all by the model itself."""
    count = len(case.structure)
    if folds == 0 or duals is not None:
        models = [(np.arange(count), case.own_weights())]
    else:
        models = held_out_models(case, folds, seed, threads)
    shares = [examples for examples, _ in models]
    readings = [case.reading(w, examples) for examples, w in models]

    def surprise_of_all(beta: float) -> float:
        return sum(reading.surprise(beta) for reading in readings)

    beta = 1 / fit_temperature(surprise_of_all, CALIBRATION)
    if duals is None:
        order = _log_odds(shares, [reading.evidence(beta) for reading in readings], count)
        scores = as_probabilities(order)
    else:
        order = scores = duals.scores(case.sizes)
    return Judgement(shares, readings, beta, order, scores)


def find(
    case: Case, *, top: int | None, folds: int, duals: Duals | None, seed: int, threads: int
) -> list[Suspect]:
    """The sentences with which the model disagrees, those first that are most worth a look."""
    verdict = judge(case, folds=folds, duals=duals, seed=seed, threads=threads)
    judge_of = np.zeros(len(case.structure), dtype=np.intp)
    for number, examples in enumerate(verdict.shares):
        judge_of[examples] = number
    suspects = []
    for i in np.argsort(-verdict.order, kind="stable")[:top].tolist():
        opinion = verdict.readings[judge_of[i]].opinion(i, verdict.beta)
        facts = dual_facts(duals, i)
        score = float(verdict.scores[i])
        suspects.append(Suspect(i + 1, score, case.forms(i), case.doubts(i, opinion), **facts))
    return suspects


def _log_odds(
    shares: list[NDArray[np.intp]], findings: list[Findings], count: int
) -> NDArray[np.float64]:
    """That a sentence has slips, or nothing but labels at random: [count]."""
    at_random = np.zeros(count)
    for examples, found in zip(shares, findings, strict=True):
        at_random[examples] = found.at_random
    slips = sentence_log_odds(joined([found.evidence for found in findings]), count)
    return np.maximum(slips, random_log_odds(at_random))


def held_out_models(
    case: Case, folds: int, seed: int, threads: int
) -> list[tuple[NDArray[np.intp], _core.Weights]]:
    """For each fold its sentences, and the weights of a model of all the others."""
    count = len(case.structure)
    if folds < 2:
        raise InputError(f"folds is {folds}; at least 2 are needed, or 0 for the model itself")
    if count < folds:
        raise InputError(
            f"{plural(count, 'sentence')} cannot be divided into {plural(folds, 'fold')}"
        )
    fold_of = np.random.default_rng(seed).permutation(count) % folds
    quick = case.quick
    models = []
    for fold in range(folds):
        others = Subset(case.structure, np.flatnonzero(fold_of != fold))
        problem = Problem(others, quick.loss, quick.C, threads=threads)
        result = fit(problem, quick.solver, Stopping(passes=quick.passes), seed=seed)
        if result.stopped_by == "interrupt":  # half a judgement is none
            raise KeyboardInterrupt
        models.append((np.flatnonzero(fold_of == fold), result.w))
    return models


def sharpened(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """A little surer: [parts, choices], rows that add up to 1."""
    powers = np.maximum(probabilities, FLOOR) ** SHARPER
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def surprise(probabilities: NDArray[np.floating]) -> NDArray[np.float64]:
    """−log p of each."""
    return np.asarray(-np.log(np.maximum(probabilities.astype(float), 1e-12)))
