"""What is not asked for: a default that changes would change everybody's models.

New parameters may come; those that are here keep their values.
"""

from __future__ import annotations

import inspect

import pytest

from dualstruct import DependencyParser, ParsingPipeline, SequenceTagger, StructuredSVM
from dualstruct import distributed as many
from dualstruct import solvers as one
from dualstruct.losses import Ramp, SoftmaxMargin
from dualstruct.metrics import reliability
from dualstruct.problem import Problem
from dualstruct.training.loop import fit
from dualstruct.training.stopping import Stopping

#: Every estimator has them.
SHARED = {
    "beta": None,
    "gamma": None,
    "solver": "auto",
    "gap": None,
    "passes": None,
    "seconds": None,
    "patience": 5,
    "seed": 0,
    "threads": 1,
    "verbose": False,
    "checkpoint": None,
    "resume": False,
    "engine": None,
    "workers": None,
    "address": None,
}
DEFAULTS = [
    (
        SequenceTagger,
        SHARED
        | {
            "features": "auto",
            "loss": "squared_hinge",
            "averaged": False,
            "C": None,
            "constraints": "auto",
            "scheme": None,
            "cost": None,
            "class_weight": None,
            "unknown_label": None,
            "hash_bits": None,
            "min_count": 1,
            "unseen_labels": "warn",
            "dialect": "auto",
            "document_features": False,
            "stages": 1,
        },
    ),
    (
        DependencyParser,
        SHARED
        | {
            "projective": "auto",
            "single_root": "auto",
            "order": 1,
            "grandparents": True,
            "most_heads": 10,
            "lemma": True,
            "morphology": True,
            "clusters": None,
            "loss": "squared_hinge",
            "averaged": True,
            "C": None,
            "hash_bits": None,
            "label_cost": 0.5,
            "bad_trees": "error",
            "minimum_risk": None,
        },
    ),
    (
        StructuredSVM,
        SHARED | {"loss": "hinge", "C": None, "averaged": False, "on_error": "raise"},
    ),
    (
        ParsingPipeline,
        {"tags": "auto", "folds": 5, "tagger": None, "parser": None, "verbose": False},
    ),
    (SoftmaxMargin, {"beta": 1.0, "gamma": 1.0}),
    (Ramp, {"costed": True}),
    (
        Problem,
        {"loss": "squared_hinge", "C": 1.0, "center": None, "threads": 1, "communicator": None},
    ),
    (Stopping, {"gap": None, "passes": None, "seconds": None, "patience": 5}),
    (
        fit,
        {
            "dev": None,
            "seed": 0,
            "certify_every": None,
            "callbacks": (),
            "checkpoint": None,
            "checkpoint_every": 10,
            "resume": False,
            "rescue": None,
        },
    ),
    (one.DCD, {"revisits": 5, "admission": 0.01}),
    (one.DCDLight, {"admission": 0.01}),
    (one.CPD, {"admission": 0.01, "tolerance": 0.1, "max_revisits": 100}),
    (
        one.SDM,
        {
            "tau": 0.25,
            "tau_inner": 0.15,
            "kappa1": 10,
            "max_revisits": 5,
            "max_steps": 4,
            "small_change": 1e-4,
            "heuristics": True,
            "as_published": False,
        },
    ),
    (one.FrankWolfe, {"revisits": 5, "averaged": False}),
    (
        one.CuttingPlane,
        {
            "slack": "one",
            "tolerance": 1e-5,
            "patience": 50,
            "epsilon": None,
            "as_published": False,
        },
    ),
    (one.ExponentiatedGradient, {"first_step": None, "first_score": 20.0}),
    (one.LBFGS, {"states": "all", "l1": 0.0, "memory_size": 6, "tolerance": 1e-5}),
    (one.MIRA, {"k": 1, "averaged": True, "candidates": "costed", "slack": True}),
    (one.DCA, {"k": 1, "averaged": True}),
    (
        one.Pegasos,
        {
            "batch": 1,
            "projection": False,
            "hinge_passes": 1,
            "averaged": True,
            "ramp": "cccp",
            "passes_per_round": 10,
        },
    ),
    (one.Perceptron, {"averaged": True}),
    (one.RampSDM, {"passes_per_round": 10, "sdm": None}),
    (one.SGD, {"schedule": "bottou", "eta0": None, "averaged": False}),
    (one.Completing, {"passes_per_round": None}),
    (
        many.BQO,
        {
            "solver": None,
            "theta": None,
            "local_passes": 1,
            "rounds_per_pass": None,
            "revisits": None,
        },
    ),
    (many.ADMM, {"solver": None, "rho": None, "local_passes": 1}),
    (many.IterativeMixing, {"solver": None, "weighted": False}),
    (reliability, {"bins": 10}),
]


@pytest.mark.parametrize(
    ("what", "expected"), DEFAULTS, ids=lambda part: getattr(part, "__name__", "")
)
def test_defaults_stay_as_they_are(what, expected):
    parameters = inspect.signature(what).parameters
    assert {name: parameters[name].default for name in expected} == expected


ESTIMATORS = [SequenceTagger, DependencyParser, ParsingPipeline]


@pytest.mark.parametrize("what", ESTIMATORS)
def test_an_estimator_has_the_defaults(what):
    expected = dict(DEFAULTS)[what]
    found = what().get_params(deep=False)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "what", [what for what, _ in DEFAULTS if inspect.isclass(what) and issubclass(what, one.Solver)]
)
def test_a_solver_has_the_defaults(what):
    made = what(one.DCD()) if what is one.Completing else what()
    for name, value in dict(DEFAULTS)[what].items():
        assert value is None or getattr(made, name) == value


@pytest.mark.parametrize("what", [SoftmaxMargin, Ramp, Stopping])
def test_a_record_has_the_defaults(what):
    expected = dict(DEFAULTS)[what]
    assert {name: getattr(what(), name) for name in expected} == expected


def test_what_methods_give_unasked():
    for what in (SequenceTagger, DependencyParser, StructuredSVM):
        assert inspect.signature(what.predict_k_best).parameters["k"].default == 5
