"""Public corpora, where somebody has them: none comes with dualstruct."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def corpus_here(name: str) -> Path:
    """A folder or file below DUALSTRUCT_DATA; a test that asks for what is not there is skipped."""
    folder = os.environ.get("DUALSTRUCT_DATA")
    if folder is None or not (Path(folder) / name).exists():
        pytest.skip(
            f"{name} is missing: `dualstruct datasets` tells how to get it; "
            "DUALSTRUCT_DATA is the folder with the corpora"
        )
    return Path(folder) / name
