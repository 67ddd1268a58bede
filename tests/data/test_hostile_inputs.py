"""Every reader answers, or refuses by an error of ours, whatever a stranger's file holds.

`make fuzz` looks for inputs that break this (hostile_inputs.py); those that it found are here.
"""

from __future__ import annotations

import random

import pytest

from hostile_inputs import try_input
from hostile_readers import all_readers

#: Changed inputs of each reader, the same every time.
INPUTS = 25


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    return all_readers(tmp_path_factory.mktemp("readers"))


NAMES = [
    "columns", "blocks", "conllu", "templates", "patterns", "clusters", "vectors",
    "numpy vectors", "gazetteer", "costs",
    "model", "resealed model", "crfsuite", "wapiti", "command", "text",
    *(f"texts {name}" for name in (
        "jsonl", "labelstudio", "conllu", "csv", "conll", "brat", "project",
    )),
    *(f"page {name}" for name in ("words", "columns", "attributes", "parser", "pipeline")),
    *(f"checkpoint {name}" for name in (
        "dcd", "dcd-light", "cpd", "sdm", "frank-wolfe", "cutting-plane", "ramp-sdm", "lbfgs", "eg",
        "dca", "mira", "perceptron", "sgd", "pegasos",
    )),
]  # fmt: skip


def test_every_reader_takes_part(readers):
    assert sorted(readers) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_valid_inputs_are_read(name, readers, tmp_path):
    for seed in readers[name].seeds:
        (tmp_path / "input").write_bytes(seed)
        answer = readers[name].read(tmp_path / "input")
        if name.startswith("page"):
            assert answer == 200


@pytest.mark.parametrize("name", NAMES)
def test_changed_inputs_are_read_or_refused(name, readers, tmp_path):
    rng = random.Random(name)
    others = [seed for reader in readers.values() for seed in reader.seeds]
    for _ in range(INPUTS):
        data = readers[name].change(rng.choice(readers[name].seeds), rng, others)
        (tmp_path / "input").write_bytes(data)
        failure = try_input(readers[name], tmp_path / "input")
        assert failure is None, failure
