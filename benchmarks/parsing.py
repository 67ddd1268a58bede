"""Dependency parsing on English (EWT) and Danish (DDT): accuracy, speed and memory, one thread.

    python benchmarks/parsing.py [--data FOLDER] [--json FILE] [--only NAME …]

The parser is trained with its defaults on gold tags, lemmas and morphology; the test files are
looked at once, at the end. English trees are projective with one root, Danish ones are neither.
The peer is TurboParser's basic model (arc-factored, labelled), which no longer builds everywhere;
its figures were measured once on this benchmark's English files and columns, with five passes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from measuring import DATA, Clock, in_own_process, peak_memory_mb

#: CPU seconds of training, scores on the test file, tokens per second, MB.
TURBO_PARSER = {
    "train": 1531,
    "uas": 0.8551,
    "las": 0.8364,
    "tokens_per_second": 1326,
    "memory_mb": 840,
}
CORPORA = {
    "english": ("ud_english_ewt/train.conllu.xz", "ud_english_ewt/test.conllu.xz"),
    "danish": ("ddt_conllx/train.conllx.xz", "ddt_conllx/test.conllx.xz"),
}


def run(data: Path, corpus: str, order: int) -> dict[str, Any]:
    """From the files to the test scores, then the speed of parsing alone."""
    from dualstruct import DependencyParser, read_conllu

    clock = Clock()
    train, test = (read_conllu(data / path) for path in CORPORA[corpus])
    read = clock.lap()
    parser = DependencyParser(order=order).fit(train)
    fitted = clock.lap()
    scores = parser.evaluate(test)
    evaluated = clock.lap()
    memory = peak_memory_mb()
    clock.lap()
    repeats = 3
    for _ in range(repeats):
        parser.predict(test)
    parsing = clock.lap() / repeats
    result = parser.result_
    return {
        "prepare": read + fitted - result.cpu_seconds,
        "train": result.cpu_seconds,
        "test": evaluated,
        "total": read + fitted + evaluated,
        "uas": scores.uas,
        "las": scores.las,
        "memory_mb": memory,
        "passes": result.passes,
        "tokens_a_training_second": len(train.heads) * result.passes / result.cpu_seconds,
        "tokens_per_second": len(test.heads) / parsing,
    }


RUNS = {f"{corpus}-{order}": (corpus, order) for corpus in CORPORA for order in (1, 2)}


def report(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=120)
    table = Table(
        "CPU seconds", "prepare", "train", "passes", "UAS", "LAS", "MB", "trained tokens/s",
        "parsed tokens/s", box=None,
    )  # fmt: skip
    for name, row in results.items():
        table.add_row(
            name, f"{row['prepare']:.1f}", f"{row['train']:.1f}", f"{row['passes']}",
            f"{100 * row['uas']:.2f}", f"{100 * row['las']:.2f}", f"{row['memory_mb']:.0f}",
            f"{row['tokens_a_training_second']:,.0f}", f"{row['tokens_per_second']:,.0f}",
        )  # fmt: skip
    turbo = TURBO_PARSER
    table.add_row(
        "english, TurboParser basic", "", f"{turbo['train']}", "5", f"{100 * turbo['uas']:.2f}",
        f"{100 * turbo['las']:.2f}", f"{turbo['memory_mb']}", "", f"{turbo['tokens_per_second']:,}",
    )  # fmt: skip
    console.print(table)
    console.print("-1 and -2: arc-factored and second-order (siblings, grandparents) models")
    ours = results.get("english-1")
    if ours:
        console.print(
            f"whole first-order training: {ours['train']:.1f} s against {turbo['train']} s: "
            f"1/{turbo['train'] / ours['train']:.0f}; parsing "
            f"{ours['tokens_per_second'] / turbo['tokens_per_second']:.0f} times as fast"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with ud_english_ewt …")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.data / CORPORA["english"][0]).exists():
        sys.exit(f"no EWT in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    if options.run:
        print(json.dumps(run(options.data, *RUNS[options.run])))
        return
    results = {name: in_own_process(__file__, name, options.data) for name in options.only}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    report(results)


if __name__ == "__main__":
    main()
