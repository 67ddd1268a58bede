"""Exported models of every kind, beside the core, on many random sentences of all scripts.

    python tests/export_check.py [--sentences 100000] [--seed 0]

The sentences are divided among the taggers; every one is labelled by the core, by Python and by
Node, in JavaScript alone and in WebAssembly. Parsers see a tenth as many, and all sentences of the
corpus that comes with dualstruct. Prints how many differ, and the first that does.
"""

from __future__ import annotations

import argparse
import random
import runpy
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import export_cases as cases
from dualstruct.datasets import load_english
from dualstruct.exporting import export_model

#: Sentences at a time.
BLOCK = 2000

Answer = Callable[[list[Any]], list[Any]]


def ask(module: Path, method: str, block: list[Any]) -> list[Any]:
    [answer] = cases.ask_node(module, [[method, block]])
    return list(answer)


def compare(name: str, core: Answer, ways: dict[str, Answer], sentences: Iterable[Any]) -> int:
    """How many sentences are answered otherwise than by the core."""
    wrong: dict[str, list[Any]] = {target: [] for target in ways}
    total, rest = 0, iter(sentences)
    while block := list(islice(rest, BLOCK)):
        total += len(block)
        wanted = core(block)
        for target, answer in ways.items():
            pairs = zip(block, answer(block), wanted, strict=True)
            wrong[target] += [(s, got, want) for s, got, want in pairs if got != want]
    for target, some in wrong.items():
        print(f"{name:14} {target:7} {total:,} sentences, {len(some)} different", flush=True)
        for first in some[:1]:
            print(*first, sep="\n")
    return sum(map(len, wrong.values()))


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
            tag = runpy.run_path(str(folder / "model.py"))["tag"]
            ways = {"python": lambda block, tag=tag: [tag(s) for s in block]}
            for target in ("js", "wasm"):
                export_model(tagger, folder / target, target)
                ways[target] = partial(ask, folder / target, "tagAll")
            sentences = (take(s) for s in cases.sentences(asked.seed, each))
            different += compare(name, tagger.predict, ways, sentences)
        for name, parser in cases.parsers().items():
            export_model(parser, folder / "parser", "wasm")
            chance = random.Random(asked.seed)
            columns = zip(load_english().forms, load_english().upos, strict=True)
            real = (cases.words_with_columns(*pair) for pair in columns)
            others = (cases.parsable(chance) for _ in range(each // 10))
            ways = {"wasm": partial(ask, folder / "parser", "parseAll")}
            different += compare(name, partial(cases.trees_of, parser), ways, chain(real, others))
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
