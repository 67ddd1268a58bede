"""The rooms of the core include each other in one direction, only core/python knows Python, files
are short enough to be read at once, and tests lie in folders named after rooms.
"""

import pytest

from rooms import CORE, GENERATED, MOST_LINES, ROOMS, ROOT, misplaced, too_long, violations


@pytest.mark.skipif(not CORE.exists(), reason="the sources of the core are not here")
def test_rooms_of_the_core_include_only_what_they_may():
    assert violations(CORE) == []


def test_an_include_that_a_room_may_not_have_is_named(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "words.cpp").write_text(
        "#include <Python.h>\n#include <nanobind/ndarray.h>\n#include <string>\n"
        '#include "learning/cuts.hpp"\n#include "base/errors.hpp"\n#include "text/hash.hpp"\n'
    )
    (tmp_path / "stray.hpp").write_text("")
    assert violations(tmp_path) == [
        f"stray.hpp: not in a room ({', '.join(ROOMS)})",
        "text/words.cpp: only python/ may include Python.h",
        "text/words.cpp: only python/ may include nanobind/ndarray.h",
        "text/words.cpp: text/ may not include learning/cuts.hpp",
    ]


@pytest.mark.skipif(not CORE.exists(), reason="the sources of the core are not here")
def test_no_file_is_too_long_to_be_read_at_once():
    assert too_long(ROOT) == []


def test_a_file_that_is_too_long_is_named_unless_a_program_wrote_it(tmp_path):
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    for name in (*GENERATED, "long.py"):
        (folder / name).write_text("x = 1\n" * (MOST_LINES + 1))
    (folder / "short.py").write_text("x = 1\n" * MOST_LINES)
    assert too_long(tmp_path) == [
        f"src/package/long.py: {MOST_LINES + 1} lines; files have at most {MOST_LINES}"
    ]


@pytest.mark.skipif(not CORE.exists(), reason="the sources of the core are not here")
def test_tests_lie_in_folders_named_after_rooms():
    assert misplaced(ROOT) == []


def test_tests_that_lie_elsewhere_are_named(tmp_path):
    for place in ("core/text", "src/dualstruct/solvers", "src/dualstruct/__pycache__"):
        (tmp_path / place).mkdir(parents=True)
    right = ["text/test_a.py", "solvers/test_b.py", "project/test_c.py", "naive.py"]
    wrong = ["attic/test_d.py", "solvers/old/test_e.py", "test_f.py"]
    for place in right + wrong:
        file = tmp_path / "tests" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert [line.partition(":")[0] for line in misplaced(tmp_path)] == [
        f"tests/{place}" for place in wrong
    ]
