"""The programs of examples/ run, draw pictures, and print what the gallery says."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "examples"))
import make_gallery  # noqa: E402

EXAMPLES = sorted(
    path.stem
    for path in (ROOT / "examples").glob("*.py")
    if path.stem not in ("make_gallery", "pictures")
)


def test_the_gallery_lists_every_example():
    assert sorted(make_gallery.EXAMPLES) == EXAMPLES
    assert len(EXAMPLES) == 15


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_the_gallery_says(name, tmp_path):
    if name == "browser" and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    printed = make_gallery.run(name, tmp_path)
    assert printed == (ROOT / "docs" / "gallery" / f"{name}.txt").read_text("utf-8")
    assert (tmp_path / f"{name}.svg").read_text("utf-8").rstrip().endswith("</svg>")
