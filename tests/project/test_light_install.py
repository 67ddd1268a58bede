"""`pip install dualstruct` brings numpy, and that is enough to tag and parse."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import dualstruct
from dualstruct.estimators.loading import KINDS

ROOT = Path(__file__).parents[2]
FOUND = {**os.environ, "PYTHONPATH": str(Path(dualstruct.__file__).parents[1])}

#: Nothing can be imported but Python's own modules, numpy and dualstruct.
ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Nothing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in sys.stdlib_module_names | {"numpy", "dualstruct"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Nothing())
"""

NOTHING_HEAVY = """
import sys
from dualstruct import SequenceTagger, load_model
SequenceTagger(features="pos").fit([["a"]], [["B"]]).save("model.dstruct")
load_model("model.dstruct").predict([["a"]])
heavy = {"scipy", "sklearn", "rich", "safetensors", "pandas", "ray"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""

#: What training, scores, text formats and other kinds of models take.
OPENS_LITTLE = """
import sys
from dualstruct import load_model
load_model("model.dstruct").predict([["a"]])
ours = "solvers.registry distributed.training metrics texts training.loop training.checkpoints"
others = "estimators.parser estimators.tokenizer suspecting.results data.sources data.conllu"
unneeded = {f"dualstruct.{name}" for name in f"{ours} {others}".split()}
unneeded |= {"_hashlib", "sqlite3", "secrets"}
assert not unneeded & set(sys.modules), unneeded & set(sys.modules)
"""


def run(code, folder, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=folder, env=FOUND, capture_output=True, text=True, check=False
    )


def test_numpy_is_enough(tmp_path):
    script = (ROOT / "tests" / "light.py").read_text(encoding="utf-8")
    after = "from __future__ import annotations"
    done = run(script.replace(after, after + ALONE), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_kind_of_model_is_found_by_its_format():
    for name, (module, kind) in KINDS.items():
        found = getattr(import_module(f"dualstruct.estimators.{module}"), kind)
        assert found.model_format == name


def test_training_and_opening_a_model_imports_nothing_heavy(tmp_path):
    done = run(NOTHING_HEAVY, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_opening_a_tagger_imports_what_tagging_takes(tmp_path):
    dualstruct.SequenceTagger(features="pos").fit([["a"]], [["B"]]).save(tmp_path / "model.dstruct")
    done = run(OPENS_LITTLE, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (
            "X = dualstruct.CSRSequences([[1.0]], [1])\nX[0]",
            "a sentence's rows as a matrix needs scipy: pip install 'dualstruct[scipy]'",
        ),
        (
            "dualstruct.SequenceTagger().set_fit_request(sample_weight=True)",
            "metadata routing needs scikit-learn: pip install 'dualstruct[sklearn]'",
        ),
    ],
)
def test_what_needs_more_says_what(code, sentence, tmp_path):
    done = run(f"{ALONE}\nimport dualstruct\n{code}\n", tmp_path)
    assert done.stderr.splitlines()[-1] == f"dualstruct.errors.InputError: {sentence}"


def test_the_command_needs_numpy_alone(tmp_path):
    code = ALONE + "from dualstruct.cli import main\nmain()\n"
    (tmp_path / "train.txt").write_text("Ada B-PER\nsings O\n\n" * 8)
    for arguments in (
        ["--help"],
        ["--version"],
        ["train", "train.txt", "--model", "m.dstruct"],
        ["evaluate", "m.dstruct", "train.txt", "--errors", "--confusion", "--by", "length"],
        ["compare", "m.dstruct", "m.dstruct", "train.txt"],
        ["explain", "m.dstruct", "Ada sings"],
        ["suspects", "m.dstruct", "train.txt"],
        ["inspect", "m.dstruct"],
        ["demo", "--files", "practice"],
        ["draw", "practice/test.conllu", "--most", "1"],
        ["predict", "m.dstruct", "train.txt"],
        ["convert", "train.txt", "train.jsonl"],
        ["compress", "m.dstruct", "small.dstruct", "--size", "1MB"],
        ["export", "m.dstruct", "m.py"],
    ):
        done = run(code, tmp_path, *arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments
        assert done.stdout


def test_every_extra_that_is_named_exists():
    tomllib = pytest.importorskip("tomllib")  # of Python 3.11
    named = set()
    for file in [*(ROOT / "src").rglob("*.py"), ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for after in file.read_text(encoding="utf-8").split("dualstruct[")[1:]:
            inside = after.partition("]")[0]
            named |= set(inside.split(",")) if "{" not in inside else set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert named <= set(project["optional-dependencies"])
    assert [each.partition(">")[0] for each in project["dependencies"]] == ["numpy"]
