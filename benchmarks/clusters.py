"""Brown clusters of ten million tokens: the words of all corpora, and text drawn from their pairs.

    python benchmarks/clusters.py [--tokens N] [--clusters C] [--threads T] [--data DIR]

Drawn sentences follow the pairs of real ones; of rare words every third gets an ending that nobody
has seen, so that new words keep coming. Prints what `dualstruct clusters` prints, wall and CPU time
of the whole command among it, and whether that is within ten minutes.
"""

from __future__ import annotations

import argparse
import lzma
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from measuring import DATA

#: Seconds that it may take on two cores.
BAR = 600.0
#: Where the word is, by how the name of a file ends.
COLUMNS = {".txt.xz": 0, ".conllu.xz": 1, ".conllx.xz": 1}


def sentences(folder: Path) -> Iterator[list[str]]:
    """The words of all corpora in a folder."""
    for path in sorted(folder.glob("**/*.xz")):
        column = next((c for end, c in COLUMNS.items() if path.name.endswith(end)), None)
        if column is None or "clusters" in path.parent.name:
            continue
        words: list[str] = []
        for line in lzma.decompress(path.read_bytes()).decode(errors="replace").split("\n"):
            cells = line.split("\t") if "\t" in line else line.split()
            if not line.strip():
                yield words
                words = []
            elif len(cells) > column and (column == 0 or cells[0].isdigit()):
                words.append("_".join(cells[column].split()) or "_")
        yield words


def drawn(real: list[list[str]], tokens: int, seed: int) -> Iterator[list[str]]:
    """As many tokens of sentences in which pairs of words are as frequent as in real ones."""
    draw = random.Random(seed)
    after: dict[str | None, list[str | None]] = defaultdict(list)
    for words in real:
        for word, other in zip([None, *words], [*words, None], strict=True):
            after[word].append(other)
    seen = Counter(word for words in real for word in words)
    while tokens > 0:
        words, word = [], draw.choice(after[None])
        while word is not None and len(words) < 60:
            new = seen[word] < 4 and draw.random() < 0.3
            words.append(word + "".join(draw.choices("abcdefgh", k=2)) if new else word)
            word = draw.choice(after[word])
        tokens -= len(words)
        yield words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=int, default=10_200_000)
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args()
    real = [words for words in sentences(options.data) if words]
    if not real:
        sys.exit(f"no corpora in {options.data}: name a folder with --data or DUALSTRUCT_DATA")
    have = sum(map(len, real))
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        with text.open("w", encoding="utf-8") as file:
            for words in [*real, *drawn(real, options.tokens - have, seed=1)]:
                file.write(" ".join(words) + "\n")
        print(f"{have:,} real tokens, {options.tokens:,} in all", flush=True)
        numbers = ["--clusters", str(options.clusters), "--threads", str(options.threads)]
        command = [sys.executable, "-m", "dualstruct", "clusters", str(text), *numbers]
        started = time.perf_counter()
        subprocess.run([*command, "--out", str(Path(folder) / "paths")], check=True)
        wall = time.perf_counter() - started
        verdict = "within" if wall <= BAR else "MORE THAN"
        print(f"{wall:.0f} s of wall time on {options.threads} threads: {verdict} {BAR:.0f} s")


if __name__ == "__main__":
    main()
