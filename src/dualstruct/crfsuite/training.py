"""CRFsuite's five training algorithms over CRFsuite's features.

``lbfgs`` minimises

    Σ_i −log p(y_i|x_i) + c1‖w‖₁ + c2‖w‖² = 2 c2·(½‖w‖² + C Σ_i ℓ_i + l1‖w‖₁)

with C = 1/(2 c2) and l1 = c1 C by the solver :class:`~dualstruct.solvers.LBFGS`. The online
algorithms run in double precision in the core (core/crfsuite/precise_learner.hpp).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.conversions import C_from_c2
from dualstruct.crfsuite.features import REFERENCES, Features, Joined, Params, Sequences, Weights
from dualstruct.crfsuite.files import CRFsuiteModel
from dualstruct.crfsuite.log import performance, settings_lines
from dualstruct.errors import InputError
from dualstruct.features import FeatureRows
from dualstruct.problem import Problem
from dualstruct.solvers import LBFGS
from dualstruct.structures import Chain

#: Our objective divides by c2; below this it makes no difference that can be measured.
SMALLEST_C2 = 1e-6
SEED = 0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Round:
    """What an iteration arrived at, and the lines that describe it."""

    w: Weights
    lines: list[str]


Algorithm = Callable[[Features, Joined, Params, Say], Iterator[Round]]


def train(
    data: Sequences,
    labels: list[str],
    attributes: list[str],
    algorithm: str,
    params: Params,
    holdout: int,
    say: Say,
) -> CRFsuiteModel:
    """Train on all groups but the one held out, telling in CRFsuite's words how it goes."""
    training = data.select(lambda group: group != holdout)
    held_out = data.select(lambda group: group == holdout) if holdout >= 0 else None
    if not any(len(y) for y in training.labels):
        return _trained_on_nothing(labels, say)
    if held_out is not None:
        say(f"Holdout group: {holdout + 1}\n")
        say("\n")
    started = time.perf_counter()
    say("Feature generation\n")
    say("type: CRF1d\n")
    of_features = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")
    for line in _chosen(params, *of_features):
        say(line)
    joined = Joined(training)
    features = Features(joined, len(attributes), len(labels), params)
    for mark in range(51):
        say("." if mark % 5 else str(mark // 5))
    say("\n")
    say(f"Number of features: {len(features)}\n")
    say(f"Seconds required: {time.perf_counter() - started:.3f}\n")
    say("\n")
    if not len(features):
        raise InputError("no feature occurs feature.minfreq times, so that nothing can be learned")

    started = before = time.perf_counter()
    w = np.zeros(len(features))
    for number, round_ in enumerate(ALGORITHMS[algorithm](features, joined, params, say), 1):
        w = round_.w
        say(f"***** {'Epoch' if algorithm == 'l2sgd' else 'Iteration'} #{number} *****\n")
        for line in round_.lines:
            say(line)
        say(f"Seconds required for this iteration: {time.perf_counter() - before:.3f}\n")
        if held_out is not None:
            chain = features.chain(w)
            found = [chain.decode(chain.emissions(*rows)).tolist() for rows in held_out.rows]
            for line in performance(labels, [y.tolist() for y in held_out.labels], found):
                say(line)
        say("\n")
        before = time.perf_counter()
    say(f"Total seconds required for training: {time.perf_counter() - started:.3f}\n")
    say("\n")
    model = features.model(w, labels, attributes)
    say("Storing the model\n")
    say(f"Number of active features: {np.count_nonzero(w)} ({len(features)})\n")
    say(f"Number of active attributes: {len(model.attributes)} ({len(attributes)})\n")
    say(f"Number of active labels: {len(labels)} ({len(labels)})\n")
    for part in ("labels", "attributes", *(f"feature references for {w}" for w in REFERENCES)):
        say(f"Writing {part}\n")
    return model


def _trained_on_nothing(labels: list[str], say: Say) -> CRFsuiteModel:
    """A model without weights, which is what CRFsuite writes then."""
    warnings.warn(
        "there are no sequences to train on, so that the model has no weights: append some first",
        stacklevel=5,
    )
    for line in (
        "Feature generation\n",
        "Number of features: 0\n",
        "Seconds required: 0.000\n",
        "Training terminated with error: there are no sequences\n",
        "Total seconds required for training: 0.000\n",
        "\n",
        "Storing the model\n",
    ):
        say(line)
    numbers, weights = np.zeros(0, np.int32), np.zeros(0)
    return CRFsuiteModel(labels, [], numbers, numbers, weights, numbers, numbers, weights)


class _FeatureLBFGS(LBFGS):
    """L-BFGS on the weights of CRFsuite's features alone."""

    def __init__(self, mask: NDArray[np.bool_], l1: float, memory_size: int, tolerance: float):
        super().__init__(l1=l1, memory_size=memory_size, tolerance=tolerance)
        self.mask = mask

    def learned(self, problem: Problem) -> NDArray[np.bool_]:
        return self.mask


def _lbfgs(features: Features, data: Joined, params: Params, say: Say) -> Iterator[Round]:
    say("L-BFGS optimization\n")
    shown = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}
    names = ("c1", "c2", "num_memories", "max_iterations", "epsilon", "period", "delta")
    for name in (*names, "linesearch", "max_linesearch"):
        say(settings_lines({shown.get(name, name): params[name]})[0])
    say("\n")
    c1, c2 = params["c1"], max(params["c2"], SMALLEST_C2)
    C = C_from_c2(c2)
    single = None if data.values is None else data.values.astype(np.float32)
    rows = FeatureRows(data.offsets, data.ids, single, data.sentences, features.n_attributes)
    chain = Chain(rows, features.n_labels, data.truth)
    mask = np.zeros((features.n_attributes + features.n_labels + 2, chain.core.stride), np.bool_)
    mask[features.attributes, features.targets] = True
    mask[features.n_attributes + features.before, features.after] = True

    def learned(w: _core.Weights) -> Weights:
        moves = chain.transition_weights(w)[features.before, features.after]
        state = chain.emission_weights(w)[features.attributes, features.targets]
        return np.concatenate([state, moves]).astype(np.float64)

    if features.n_labels == 1:  # every labelling is the true one
        return
    problem = Problem(chain, "crf", C)
    solver = _FeatureLBFGS(
        mask.ravel(), c1 * C, params["num_memories"], params["epsilon"] / (2 * c2)
    )
    iterate = solver.start(problem, SEED)
    losses: list[float] = []
    reason = "L-BFGS terminated with the maximum number of iterations\n"
    for _ in range(params["max_iterations"]):
        calls = iterate.inference_calls
        point = solver.run_pass(iterate)
        if iterate.converged and losses:
            reason = "L-BFGS resulted in convergence\n"
            break
        w = learned(iterate.w)
        loss = 2 * c2 * point.value
        trials = (iterate.inference_calls - calls) // len(chain)
        yield Round(
            w,
            [
                f"Loss: {loss:f}\n",
                f"Feature norm: {np.linalg.norm(w):f}\n",
                f"Error norm: {2 * c2 * math.sqrt(point.gradient_norm2):f}\n",
                f"Active features: {np.count_nonzero(w)}\n",
                f"Line search trials: {trials}\n",
            ],
        )
        losses.append(loss)
        period = params["period"]
        if len(losses) > period and (losses[-1 - period] - loss) < params["delta"] * abs(loss):
            reason = "L-BFGS terminated with the stopping criteria\n"
            break
    say(reason)


def _l2sgd(features: Features, data: Joined, params: Params, say: Say) -> Iterator[Round]:
    say("Stochastic Gradient Descent (SGD)\n")
    for line in _chosen(params, "c2", "max_iterations", "period", "delta"):
        say(line)
    say("\n")
    learner = features.learner(data)
    n = len(data.sentences) - 1
    lambda_ = 2 * max(params["c2"], SMALLEST_C2) / n
    rng = np.random.default_rng(SEED)
    eta = _calibrate(learner, n, lambda_, params, rng, say)
    say("\n")
    learner.restart()
    t0 = 1 / (lambda_ * eta)
    best, best_loss = learner.weights(), math.inf
    losses: list[float] = []
    reason = "SGD terminated with the maximum number of iterations\n"
    for epoch in range(params["max_iterations"]):
        loss = learner.gradient(_order(rng, n), lambda_, t0, epoch * n)
        w = learner.weights()
        norm2 = float(w @ w)
        loss += 0.5 * lambda_ * norm2 * n
        if not math.isfinite(loss):
            raise InputError("the steps of l2sgd diverge; give a smaller calibration.eta")
        if loss < best_loss:
            best, best_loss = w, loss
        losses.append(loss)
        improvement = math.inf
        if epoch >= params["period"]:
            before = losses[-1 - params["period"]]
            improvement = (before - loss) / loss if loss else 0.0
        yield Round(
            best,
            [
                f"Loss: {loss:f}\n",
                *([f"Improvement ratio: {improvement:f}\n"] if improvement < math.inf else []),
                f"Feature L2-norm: {math.sqrt(norm2):f}\n",
                f"Learning rate (eta): {1 / (lambda_ * (t0 + (epoch + 1) * n)):f}\n",
                f"Total number of feature updates: {(epoch + 1) * n}\n",
            ],
        )
        if improvement < params["delta"]:
            reason = "SGD terminated with the stopping criteria\n"
            break
    say(reason)
    say(f"Loss: {best_loss:f}\n")


def _calibrate(
    learner: _core.PreciseLearner,
    n: int,
    lambda_: float,
    params: Params,
    rng: np.random.Generator,
    say: Say,
) -> float:
    """The learning rate with the least loss after one pass over a sample."""
    samples = min(n, int(params["calibration.samples"]))
    say("Calibrating the learning rate (eta)\n")
    for name in ("eta", "rate", "samples", "candidates", "max_trials"):
        value = samples if name == "samples" else params[f"calibration.{name}"]
        say(settings_lines({f"calibration.{name}": value})[0])
    started = time.perf_counter()
    sample = _order(rng, n)[:samples]
    first_loss = learner.log_loss(sample)
    say(f"Initial loss: {first_loss:f}\n")
    eta, rate = params["calibration.eta"], params["calibration.rate"]
    best, best_loss = eta, math.inf
    wanted, growing = params["calibration.candidates"], True
    for trial in range(1, params["calibration.max_trials"]):
        say(f"Trial #{trial} (eta = {eta:f}): ")
        learner.restart()
        loss = learner.gradient(sample, lambda_, 1 / (lambda_ * eta), 0)
        w = learner.weights()
        loss += 0.5 * lambda_ * float(w @ w) * n
        better = math.isfinite(loss) and loss < first_loss
        say(f"{loss:f}\n" if better else f"{loss:f} (worse)\n")
        if math.isfinite(loss) and loss < best_loss:
            best, best_loss = eta, loss
        wanted -= better
        if growing and (not better or wanted <= 0):
            # As far up as it helps, then down from where it began.
            growing, eta = False, params["calibration.eta"]
            wanted = params["calibration.candidates"] if wanted <= 0 else wanted
        elif not growing and wanted <= 0:
            break
        eta = eta * rate if growing else eta / rate
    say(f"Best learning rate (eta): {best:f}\n")
    say(f"Seconds required: {time.perf_counter() - started:.3f}\n")
    return float(best)


def _ap(features: Features, data: Joined, params: Params, say: Say) -> Iterator[Round]:
    learner = features.learner(data)
    return _online(
        "Averaged perceptron\n",
        ("max_iterations", "epsilon"),
        learner.perceptron,
        learner.average,
        learner.average,
        lambda loss: loss < params["epsilon"],
        data,
        params,
        say,
    )


def _pa(features: Features, data: Joined, params: Params, say: Say) -> Iterator[Round]:
    learner = features.learner(data)
    kind, c, sensitive = params["type"], params["c"], params["error_sensitive"]
    if kind not in (0, 1, 2):
        raise InputError(f"type is {kind}; it must be 0, 1 or 2")
    return _online(
        "Passive Aggressive\n",
        ("type", "c", "error_sensitive", "averaging", "max_iterations", "epsilon"),
        lambda order: learner.passive_aggressive(order, kind, c, sensitive),
        learner.average if params["averaging"] else learner.weights,
        learner.weights,  # CRFsuite logs these even when it keeps the average
        lambda loss: loss < params["epsilon"],
        data,
        params,
        say,
    )


def _arow(features: Features, data: Joined, params: Params, say: Say) -> Iterator[Round]:
    learner = features.learner(data)
    return _online(
        "Adaptive Regularization of Weights (AROW)\n",
        ("variance", "gamma", "max_iterations", "epsilon"),
        lambda order: learner.arow(order, params["variance"], params["gamma"]),
        learner.weights,
        learner.weights,
        lambda loss: loss <= params["epsilon"],
        data,
        params,
        say,
    )


def _online(
    title: str,
    shown: tuple[str, ...],
    run: Callable[[NDArray[np.int32]], float],
    weights: Callable[[], Weights],
    normed: Callable[[], Weights],
    is_enough: Callable[[float], bool],
    data: Joined,
    params: Params,
    say: Say,
) -> Iterator[Round]:
    say(title)
    for line in _chosen(params, *shown):
        say(line)
    say("\n")
    n = len(data.sentences) - 1
    rng = np.random.default_rng(SEED)
    for _ in range(params["max_iterations"]):
        loss = run(_order(rng, n))
        norm = float(np.linalg.norm(normed()))
        yield Round(weights(), [f"Loss: {loss:f}\n", f"Feature norm: {norm:f}\n"])
        if is_enough(loss / n):
            say("Terminated with the stopping criterion\n")
            say("\n")
            break


def _chosen(params: Params, *names: str) -> list[str]:
    return settings_lines({name: params[name] for name in names})


def _order(rng: np.random.Generator, n: int) -> NDArray[np.int32]:
    return rng.permutation(n).astype(np.int32)


ALGORITHMS: dict[str, Algorithm] = {
    "lbfgs": _lbfgs,
    "l2sgd": _l2sgd,
    "averaged-perceptron": _ap,
    "passive-aggressive": _pa,
    "arow": _arow,
}
