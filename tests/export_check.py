"""Exported models of every kind, beside the core, on many random sentences of all scripts.

    python tests/export_check.py [--sentences 100000] [--seed 0]

The sentences are divided among the models; every one is labelled by the core, by Python and by
Node. Prints how many differ, and the first that does.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import export_cases as cases
from dualstruct.exporting import export_model

#: Sentences at a time.
BLOCK = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if shutil.which("node") is None:
        sys.exit("Node.js is not here: apt-get install nodejs, or nodejs.org")
    different = 0
    with TemporaryDirectory() as place:
        folder = Path(place)
        made = cases.taggers(folder)
        each = -(-asked.sentences // len(made))
        for name, (tagger, take) in made.items():
            export_model(tagger, folder / "model.py")
            export_model(tagger, folder / "model", "js")
            tag = runpy.run_path(str(folder / "model.py"))["tag"]
            sentences = cases.sentences(asked.seed, each)
            wrong: dict[str, list[Any]] = {"python": [], "js": []}
            for begin in range(0, each, BLOCK):
                block = [take(next(sentences)) for _ in range(min(BLOCK, each - begin))]
                answers = {
                    "python": [tag(s) for s in block],
                    "js": cases.ask_node(folder / "model", [["tag", s] for s in block]),
                }
                wanted = tagger.predict(block)
                for target, found in answers.items():
                    pairs = zip(block, found, wanted, strict=True)
                    wrong[target] += [(s, got, want) for s, got, want in pairs if got != want]
            for target, some in wrong.items():
                print(f"{name:14} {target:7} {each:,} sentences, {len(some)} different", flush=True)
                for first in some[:1]:
                    print(*first, sep="\n")
                different += len(some)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
