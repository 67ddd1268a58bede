"""`make mutants`: mutants are what they say, and tests that cannot judge do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutation import mutants_of, sampled
from patience import HANGS

CAMPAIGN = Path(__file__).resolve().parents[1] / "mutants.py"


def changes(source):
    """What becomes of a source: from → to, without places."""
    return [f"{mutant.before} → {mutant.after}" for mutant in mutants_of(source, "file.py")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["a < b → a <= b", "a < b → a >= b"]),
        ("a is None", ["a is None → a is not None"]),
        ("0 < a <= b", ["0 < a <= b → 0 <= a <= b", "0 < a <= b → 0 < a < b", "0 → 1"]),
        ("a + b", ["a + b → a - b"]),
        ("a += b", ["a += b → a -= b", "a += b → pass"]),
        ("a and not b", ["a and (not b) → a or not b", "not b → b"]),
        ("f(3, 0.5, True)", ["f(3, 0.5, True) → pass", "3 → 4", "0.5 → 1.0", "True → False"]),
        ("a = f(x, k=k)", ["f(x, k=k) → f(x)"]),
        ("a = max(b, c)", ["max(b, c) → min(b, c)"]),
        ("a.b = c", ["a.b = c → pass"]),
        ("a = b if c else d", ["b if c else d → b if not c else d"]),
        ("for a in b:\n    break", ["break → continue"]),
        ("def f(a=1):\n    return a", ["1 → 2", "return a → return None"]),
        ("if a:\n    b", ["if a: b → if not a: b"]),
    ],
)
def test_every_kind_of_change_is_made(source, expected):
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Three < 4."""',
        "def f(a: 'x < 1') -> 'y + 2':\n    ...",
        "if TYPE_CHECKING:\n    a = 1",
        "Tokens = Sequence[str] | np.Array | None",
        "T = TypeVar('T', bound=Model)",
        "class Shape(Protocol):\n    sides = 4",
        "raise InputError(f'{a + 1} of {b}')",
        "def __repr__(self):\n    return a + b",
        "@overload\ndef f(a=1):\n    return a",
        "__all__ = [1]",
        "a = b + 'text'",
        "a = 'text' % b",
        "a = f(threads=2, stacklevel=3, strict=True)",
        "@cache(size=4)\nclass A:\n    pass",
        "a = f'{b:{4}}'",
    ],
)
def test_what_no_test_should_notice_is_left_alone(source):
    assert changes(source) == []


def test_a_warning_may_be_left_out_but_its_words_stay():
    assert changes("warnings.warn(f'{a + 1}')") == ["warnings.warn(f'{a + 1}') → pass"]


def test_a_mutant_does_what_it_says_and_leaves_the_others_alone():
    source = "def f(a, b):\n    return a - b\n"
    for _ in range(2):
        values = []
        for mutant in mutants_of(source, "file.py"):
            names = {}
            exec(mutant.compiled("file.py"), names)
            values.append(names["f"](5, 3))
        assert values == [None, 8]
    names = {}
    exec(compile(mutant.module, "file.py", "exec"), names)
    assert names["f"](5, 3) == 2


def test_lines_that_run_at_import_are_judged_by_those_that_may_depend_on_them():
    source = (
        "LIMIT = 3\n"  # 1
        "class A:\n"  # 2
        "    size = 4\n"
        "    def f(self, a=5):\n"  # 4
        "        if a < LIMIT:\n"  # 5
        "            return a\n"
        "        return f(\n"  # 7
        "            a + 1)\n"
    )
    judged_by = {f"{m.line} {m.before}": sorted(m.judged_by) for m in mutants_of(source, "f.py")}
    assert judged_by["1 3"] == [5]
    assert judged_by["3 4"] == [2, 3, 4, 5, 6, 7, 8]
    assert judged_by["4 5"] == [4, 5, 6, 7, 8]
    assert judged_by["5 a < LIMIT"] == [5]
    assert judged_by["6 return a"] == [6]
    assert judged_by["8 a + 1"] == [7, 8]


def test_a_sample_stays_the_same_when_other_code_comes():
    def source(lines):
        return "\n".join(f"def f{i}(a):\n    return a < {i}" for i in lines)

    def names(mutants):
        return {(mutant.where, mutant.before, mutant.after) for mutant in mutants}

    few, many = (mutants_of(source(range(first, 20)), "f.py") for first in (10, 0))
    assert names(sampled(few, 12)) == names(sampled(few, 12))
    assert len(sampled(few, 12)) == 12
    assert names(sampled(many, 12)) & names(few) <= names(sampled(few, 12))
    assert names(sampled(few, 12)) != names(sampled(few, 12, seed=1))
    assert sampled(few, None) == few


CALCULATIONS = """
def clip(a, most):
    if a > most:
        return most
    return a

def count(n):
    done = 0
    while n > done:
        done += 1
    return done

def forgotten(a):
    return a + 1

def shown(a):
    \"\"\"
    >>> shown(1)
    3
    \"\"\"
    return 2 + a
"""
TESTS = """
from pathlib import Path
import pytest
from toy.losses import clip, count, forgotten

def test_small():
    assert clip(1, 3) == 1

def test_large():
    assert clip(5, 3) == 3

def test_count():
    assert count(3) == 3

def test_that_fails_anyway():
    assert clip(1, 1) == 2

def test_that_passes_once():
    mark = Path(__file__).with_name("mark")
    met = mark.exists()
    mark.touch()
    assert forgotten(1) and not met
"""


def test_tests_judge_the_lines_they_run_unless_they_fail_without_a_mutant(tmp_path):
    pytest.importorskip("coverage", reason="coverage is missing: pip install 'dualstruct[test]'")
    (tmp_path / "src" / "toy").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "toy" / "__init__.py").touch()
    (tmp_path / "src" / "toy" / "losses.py").write_text(CALCULATIONS)
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    command = [sys.executable, CAMPAIGN, "--root", tmp_path, "--package", "toy"]
    command += ["--number", "all", "--jobs", "2", "--grace", "1"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def run(*options):
        done = subprocess.run(
            [*command, *options], env=environment, capture_output=True, text=True, timeout=HANGS
        )
        assert not done.stderr
        return done.returncode, done.stdout

    code, out = run()
    assert code == 1, out
    assert "test_that_fails_anyway: fails or is skipped without a mutant" in out
    assert "test_that_passes_once: fails alone without a mutant" in out
    survivors = out.partition("\nsurvived:\n")[2].partition("\n\n")[0].splitlines()
    assert survivors == [
        "losses.py:3 clip: a > most → a >= most",
        "losses.py:8 count: 0 → 1",
        "losses.py:14 forgotten: return a + 1 → return None",
        "losses.py:14 forgotten: a + 1 → a - 1",
        "losses.py:14 forgotten: 1 → 2",
    ]
    assert "done += 1 → done -= 1  [time]" in out
    assert "test_toy.py::test_count" in out
    assert run("--number", "1", "--least", "0")[0] == 0
    assert (tmp_path / "build" / "mutants" / "report.txt").read_text().endswith("%\n")
