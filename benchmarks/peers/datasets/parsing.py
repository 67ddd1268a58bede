"""Treebanks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmark_utils.corpora import parsing
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "parsing"
    parameters = {"corpus": ["ewt-trees", "ddt-trees"]}

    def get_data(self) -> dict[str, Any]:
        return {"problem": parsing(self.corpus, Path(tempfile.mkdtemp(prefix="treebank-")))}
