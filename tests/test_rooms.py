"""The rooms of the core include each other in one direction, and only core/python knows Python."""

import pytest

from rooms import CORE, ROOMS, violations


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
