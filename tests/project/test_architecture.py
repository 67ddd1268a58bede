"""The way from a file to weights is the one that docs/architecture.md walks; names have owners."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import dualstruct
from dualstruct import SequenceTagger, experiments, read_columns
from dualstruct.datasets import load_english
from private_names import sources_in, trespasses

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
PACKAGE = Path(dualstruct.__file__).parent


def walk() -> list[tuple[str, str]]:
    """The functions of the table, with their files."""
    text = PAGE.read_text(encoding="utf-8").partition("## From a column file to weights")[2]
    return re.findall(r"^\| `([\w.]+)` \| `([\w/.]+)` \|", text.partition("\n## ")[0], re.MULTILINE)


def test_the_way_from_a_file_to_weights_is_the_one_that_the_page_walks(tmp_path):
    file = tmp_path / "train.txt"
    sentences = load_english("train")[:40]
    blocks = (zip(each.forms, each.entities, strict=True) for each in sentences)
    text = "\n\n".join("\n".join(f"{word} {label}" for word, label in each) for each in blocks)
    file.write_text(text, encoding="utf-8")
    wanted = dict(walk())
    first: dict[str, None] = {}

    def called(frame, event, argument):
        if event == "call":
            code = frame.f_code
            for name, place in wanted.items():
                # Python 3.10 does not say whose method it is.
                known = getattr(code, "co_qualname", None) or name.rpartition(".")[2]
                same = known in (name, code.co_name) and code.co_name == name.rpartition(".")[2]
                if same and Path(code.co_filename) == PACKAGE / place:
                    first.setdefault(name)

    sys.setprofile(called)
    try:
        read = read_columns(file)
        SequenceTagger(features="ner", gap=0.01).fit(read.tokens, read.labels)
    finally:
        sys.setprofile(None)
    assert list(first) == [name for name, _ in walk()]
    assert len(set(wanted.values())) <= 15


def test_nobody_uses_private_names_of_others_or_asks_for_the_kind_of_a_model():
    assert trespasses(sources_in(PACKAGE)) == []


def test_the_command_that_trains_is_short():
    tree = ast.parse((PACKAGE / "cli" / "train.py").read_text(encoding="utf-8"))
    [train] = [each for each in tree.body if getattr(each, "name", None) == "train"]
    assert train.end_lineno - train.lineno < 60


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("tagger._model.w", "tagger._model is private"),
        ("class A:\n    def f(self, other):\n        return other._x", "other._x is private"),
        ("self.inner._x", "self.inner._x is private"),
        ("from dualstruct.losses import _x", "_x is private"),
        ("isinstance(m, SequenceTagger)", "isinstance(m, SequenceTagger) asks for a kind of model"),
        ("isinstance(m, (int, AnyModel))", "isinstance(m, (int, AnyModel)) asks for a kind"),
        ("type(m) is DependencyParser", "type(m) is DependencyParser asks for a kind of model"),
        ("m.__class__ == Estimator", "m.__class__ == Estimator asks for a kind of model"),
        ("match m:\n    case SequenceTagger():\n        pass", "SequenceTagger() asks for a kind"),
    ],
)
def test_what_reaches_into_others_is_found(code, said):
    [found] = trespasses({"file.py": code})
    assert found.startswith("file.py:")
    assert said in found


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    _x = 1\n    def f(self, other):\n        return self._y + other._x",
        "class A:\n    def _x(self): ...\nclass B(A):\n    def f(self, b):\n        return b._x()",
        "class A:\n    def f(self):\n        return super()._x()",
        "row._asdict()",
        "kind is SequenceTagger",
        "isinstance(m, Strategy)",
    ],
)
def test_what_is_ones_own_is_not_found(code):
    assert trespasses({"file.py": code}) == []


def test_every_benchmark_is_a_target_of_make():
    top = PAGE.parents[1]
    programs = {
        path.name
        for path in (top / "benchmarks").glob("*.py")
        if "__main__" in path.read_text(encoding="utf-8")
    } - {"curves.py"}  # which draws what another has measured
    assert len(programs) > 20
    called = re.findall(r"benchmarks/(\w+\.py)", (top / "Makefile").read_text(encoding="utf-8"))
    assert sorted(programs - set(called)) == []


def test_every_experiment_is_run_by_make_in_small_and_in_full():
    makefile = (PAGE.parents[1] / "Makefile").read_text(encoding="utf-8")
    for size in ("quick", "full"):  # the names are those that the command lists
        assert f"dualstruct experiment | sed 's/ .*/-{size}/'" in makefile
        assert re.search(rf"^%-{size}:.*\n\t.*dualstruct experiment \$\* ", makefile, re.MULTILINE)
    known = set(experiments.EXPERIMENTS)
    assert set(re.findall(r"^SIZE_([\w-]+) ", makefile, re.MULTILINE)) <= known


def test_every_target_of_make_does_something():
    makefile = (PAGE.parents[1] / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    [phony] = re.findall(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)
    rules = re.findall(r"^([\w-]+):.*\n\t", makefile, re.MULTILINE)
    assert sorted(set(phony.split()) - set(rules)) == []
