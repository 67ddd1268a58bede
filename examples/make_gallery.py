"""Runs all examples, and writes their pictures and what they print to docs/gallery.

python examples/make_gallery.py [NAME ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
GALLERY = HERE.parent / "docs" / "gallery"
#: In the order of the page.
EXAMPLES = [
    "learning_curves",
    "convergence",
    "reliability",
    "confusion",
    "explanation",
    "tree",
    "image_grid",
    "alignment",
    "ranking",
    "matching",
    "active_learning",
    "regularisation_path",
    "several_machines",
    "noisy_labels",
    "browser",
]


def run(name: str, folder: Path) -> str:
    """Run an example; its picture goes to the folder. What it printed.

    Sums are rounded differently by wider instructions: all processors have the baseline.
    """
    done = subprocess.run(
        [sys.executable, HERE / f"{name}.py", folder],
        env={**os.environ, "DUALSTRUCT_SIMD": "baseline"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr}")
    return done.stdout


if __name__ == "__main__":
    for name in sys.argv[1:] or EXAMPLES:
        printed = run(name, GALLERY)
        (GALLERY / f"{name}.txt").write_text(printed, encoding="utf-8")
        print(f"{name}\n{printed}")
