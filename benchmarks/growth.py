"""How training grows: time and memory with tokens, time with labels. One thread, CPU time.

    python benchmarks/growth.py [--data FOLDER] [--json FILE]

jnlpba (11 labels, the `ner` preset) and Brown (the `pos` preset, its tags without title, headline
and other marks) at 1/16 to all of their sentences; Brown with all but its most frequent tags taken
together. Every point is a process of its own: 5 passes of the defaults, C = 0.1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from measuring import DATA, Clock, in_own_process, peak_memory_mb, plain_tag

PASSES = 5
SHARES = (16, 8, 4, 2, 1)
LABELS = (10, 20, 40, 80)
PRESETS = {"jnlpba": "ner", "brown": "pos"}
RUNS = [
    *(f"{corpus}-1/{share}" for corpus in PRESETS for share in SHARES),
    *(f"brown-{labels}-labels" for labels in LABELS),
]


def run(data: Path, name: str) -> dict[str, Any]:
    from dualstruct import SequenceTagger, read_columns

    corpus, what = name.split("-", 1)
    file = read_columns(data / corpus / "train.txt.xz")
    tokens, labels = file.tokens, file.labels
    if corpus == "brown":
        labels = [[plain_tag(tag) for tag in s] for s in labels]
    if what.startswith("1/"):
        share = int(what.removeprefix("1/"))
        tokens, labels = tokens[::share], labels[::share]
    else:
        most = int(what.removesuffix("-labels"))
        counts = Counter(tag for s in labels for tag in s)
        kept = {tag for tag, _ in counts.most_common(most - 1)}
        labels = [[tag if tag in kept else "OTHER" for tag in s] for s in labels]
        tokens, labels = tokens[::8], labels[::8]
    clock = Clock()
    tagger = SequenceTagger(PRESETS[corpus], C=0.1, passes=PASSES).fit(tokens, labels)
    return {
        "sentences": len(labels),
        "tokens": sum(map(len, labels)),
        "labels": len(tagger.classes_),
        "features": tagger.n_features_,
        "seconds": clock.lap(),
        "seconds_a_pass": tagger.result_.cpu_seconds / PASSES,
        "memory_mb": peak_memory_mb(),
    }


def report(results: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=110)
    for corpus in PRESETS:
        rows = [results[f"{corpus}-1/{share}"] for share in SHARES]
        columns = ("tokens", "labels", "s per pass", "µs per token and pass", "MB")
        table = Table(corpus, *columns, box=None)
        for share, row in zip(SHARES, rows, strict=True):
            table.add_row(
                f"1/{share}", f"{row['tokens']:,}", str(row["labels"]),
                f"{row['seconds_a_pass']:.3f}",
                f"{1e6 * row['seconds_a_pass'] / row['tokens']:.2f}", f"{row['memory_mb']:.0f}",
            )  # fmt: skip
        console.print(table)
        tokens = np.array([row["tokens"] for row in rows], dtype=float)
        memory = np.array([row["memory_mb"] for row in rows])
        slope, start = np.polyfit(tokens, memory, 1)
        console.print(
            f"memory: {start:.0f} MB and {1e6 * slope:.0f} bytes per token; the largest distance "
            f"from that line is {np.abs(memory - start - slope * tokens).max():.0f} MB\n"
        )
    rows = [results[f"brown-{labels}-labels"] for labels in LABELS]
    table = Table("brown 1/8", "s per pass", "µs per token and pass", "ns by labels²", box=None)
    for row in rows:
        each = row["seconds_a_pass"] / row["tokens"]
        table.add_row(
            f"{row['labels']} labels", f"{row['seconds_a_pass']:.3f}", f"{1e6 * each:.2f}",
            f"{1e9 * each / row['labels'] ** 2:.2f}",
        )  # fmt: skip
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with brown and jnlpba")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.data / "jnlpba/train.txt.xz").exists():
        sys.exit(f"no jnlpba in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    if options.run:
        print(json.dumps(run(options.data, options.run)))
        return
    results = {name: in_own_process(__file__, name, options.data) for name in RUNS}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    report(results)


if __name__ == "__main__":
    main()
