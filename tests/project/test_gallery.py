"""The programs of examples/ run, draw pictures, and print what the gallery says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import HANGS

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    path.stem
    for path in (ROOT / "examples").glob("*.py")
    if path.stem not in ("make_gallery", "pictures")
)


def test_the_gallery_lists_every_example():
    sys.path.insert(0, str(ROOT / "examples"))
    import make_gallery

    assert sorted(make_gallery.EXAMPLES) == EXAMPLES
    assert len(EXAMPLES) == 15


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_prints_what_the_gallery_says(name, tmp_path):
    if name == "browser" and shutil.which("node") is None:
        pytest.skip("Node is not installed")
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / f"{name}.py", tmp_path],
        capture_output=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == (ROOT / "docs" / "gallery" / f"{name}.txt").read_text("utf-8")
    assert (tmp_path / f"{name}.svg").read_text("utf-8").rstrip().endswith("</svg>")
