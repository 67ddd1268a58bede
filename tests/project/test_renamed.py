"""Modules that have moved still import under their names of before."""

from __future__ import annotations

import importlib
import subprocess
import sys

import numpy as np
import pytest

import dualstruct
from dualstruct.graphs import Graph
from dualstruct.renamed import RENAMED

#: A name in some of the modules, by the name of before.
PUBLIC = {
    "fit": "TracePoint",
    "files.columns": "read_columns",
    "files.conllu": "Treebank",
    "files.spans": "convert_scheme",
    "estimators.labels": "Labels",
    "estimators.weights": "WeightTable",
    "distributed.communicator": "Communicator",
}


@pytest.mark.parametrize("old", RENAMED)
def test_a_name_of_before_imports_with_a_warning(old, monkeypatch):
    monkeypatch.delitem(sys.modules, f"dualstruct.{old}", raising=False)
    monkeypatch.setattr(dualstruct, "fit", dualstruct.fit)  # importing the module replaces it
    with pytest.warns(DeprecationWarning, match=f"dualstruct.{old} is now dualstruct."):
        module = importlib.import_module(f"dualstruct.{old}")
    present = importlib.import_module(f"dualstruct.{RENAMED[old]}")
    name = PUBLIC.get(old, next(n for n in vars(present) if not n.startswith("_")))
    assert getattr(module, name) is getattr(present, name)


def test_fit_is_a_function_also_after_its_module_of_before_was_imported():
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "import dualstruct, numpy as np\n"
        "from dualstruct.fit import fit, Stopping\n"
        "assert dualstruct.Stopping is Stopping and callable(dualstruct.fit)\n"
        "X = np.array([[1.0], [-1.0]])\n"
        "known = dualstruct.Multiclass().learn(X, ['a', 'b'])\n"
        "bound = known.bind(X, ['a', 'b'])\n"
        "problem = dualstruct.Problem(bound, 'hinge', 1.0)\n"
        "print(dualstruct.fit(problem, dualstruct.SDM(), Stopping(passes=2)).passes)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"


def test_a_name_that_never_was_is_no_module():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("dualstruct.files.nothing")


OLD_CLASSES = [
    ("dualstruct", "FactorGraphs", "FactorGraphOutput"),
    ("dualstruct.structures", "FactorGraphs", "FactorGraphOutput"),
    ("dualstruct.structures", "Template", "OutputType"),
    ("dualstruct.data.sources", "Held", "InMemory"),
    ("dualstruct.data.sources", "Lent", "InObjectStore"),
    ("dualstruct.distributed", "Alone", "SingleWorker"),
    ("dualstruct.workers.communicator", "Alone", "SingleWorker"),
    ("dualstruct.structures.graph_output", "FactorGraphs", "FactorGraphOutput"),
    ("dualstruct.structures.output_type", "Template", "OutputType"),
]


@pytest.mark.parametrize(("module", "old", "present"), OLD_CLASSES)
def test_a_class_of_before_is_the_present_one(module, old, present):
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{old} is now dualstruct..*{present}"):
        found = getattr(home, old)
    assert found is getattr(home, present)


def test_a_class_of_before_in_a_module_of_before_is_the_present_one():
    with pytest.warns(DeprecationWarning, match="is now"):
        from dualstruct.structures.template import Template
    assert Template is dualstruct.structures.OutputType


def test_methods_of_before_call_the_present_ones():
    X = np.array([[1.0], [-1.0]])
    bound = dualstruct.Multiclass().learn(X, ["a", "b"]).bind(X, ["a", "b"])
    with pytest.warns(DeprecationWarning, match="weigh is now set_example_weights"):
        bound.weigh([2.0, 1.0])
    assert bound.example_weights.tolist() == [2.0, 1.0]
    with pytest.warns(DeprecationWarning, match="completes is now has_unknown_truth"):
        assert bound.completes is False
    with pytest.warns(DeprecationWarning, match="explained is now translating_errors"):
        bound.explained()
    with pytest.warns(DeprecationWarning, match="explained is now translating_errors"):
        Graph().explained()


def test_an_estimators_method_of_before_calls_the_present_one():
    with pytest.warns(DeprecationWarning, match=r"SequenceTagger.run_facts is now run_metadata"):
        assert dualstruct.SequenceTagger().run_facts() == {}


OLD_PARAMETERS = [
    (dualstruct.DCD, "inner_passes", "revisits"),
    (dualstruct.DCD, "delta", "admission"),
    (dualstruct.DCDLight, "delta", "admission"),
    (dualstruct.CPD, "delta", "admission"),
    (dualstruct.FrankWolfe, "cached_passes", "revisits"),
    (dualstruct.SDM, "kappa2", "max_revisits"),
    (dualstruct.CPD, "max_inner_passes", "max_revisits"),
]


@pytest.mark.parametrize(("solver", "old", "present"), OLD_PARAMETERS)
def test_a_solvers_parameter_of_before_is_the_present_one(solver, old, present):
    with pytest.warns(DeprecationWarning, match=f"{old} is now {present}"):
        found = solver(**{old: 3})
    assert repr(found) == repr(solver(**{present: 3}))
    with pytest.warns(DeprecationWarning, match=f"{old} is now {present}"):
        assert getattr(found, old) == 3
    with pytest.raises(TypeError, match="give one of them"):
        solver(**{old: 3, present: 3})
