"""A small problem without a corpus, to see that everything runs."""

from __future__ import annotations

import random
from typing import Any

from benchmark_utils.problems import Labels, Tagging
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "generated"
    parameters = {"sentences": [200]}

    def get_data(self) -> dict[str, Any]:
        draw = random.Random(7)

        def part(n: int) -> tuple[list[list[str]], Labels]:
            labels = [[draw.choice("ABC") for _ in range(draw.randint(3, 9))] for _ in range(n)]
            words = [[f"{a.lower()}{draw.randint(0, 9)}" for a in s] for s in labels]
            return words, labels

        train, test = part(self.sentences), part(50)
        return {
            "problem": Tagging("word[-1..1]\nprefix(word[0],1)\n", train, None, test, spans=False)
        }
