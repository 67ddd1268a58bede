"""Corpora with a label for each token."""

from __future__ import annotations

from typing import Any

from benchmark_utils.corpora import tagging
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "tagging"
    parameters = {
        "corpus": [
            "conll2000",
            "ewt-xpos",
            "brown",
            "jnlpba",
            "wnut17",
            "kb_dutch_ner",
            "usaddress",
            "twpos",
        ]
    }

    def get_data(self) -> dict[str, Any]:
        return {"problem": tagging(self.corpus)}
