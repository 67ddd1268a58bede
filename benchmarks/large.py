"""Training on a file larger than memory: how much memory it takes.

    python benchmarks/large.py --tokens 10000000 --passes 2 --limit 1.5

Makes a synthetic column file of so many tokens (words with a long tail, 20 labels), then trains on
it in a process of its own by fit_large, and reports what the kernel says of that process:

    RssAnon   memory of the process's own: weights, cuts, buffers, Python. This is what it needs.
    RssFile   pages of mapped files that happen to be in memory (features on disk, libraries); the
              kernel takes them back when others need the memory
    VmHWM     the largest sum of both (ru_maxrss): it counts the mapped pages, too

RssAnon is sampled every 20 ms, VmHWM is the kernel's own record. With --limit the process cannot
have more private memory than that (RLIMIT_DATA): a run that ends has stayed within it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

LABELS = 20
WORDS = 200_000


def write_file(path: Path, tokens: int, seed: int = 0) -> None:
    """Words follow Zipf's law; a word has a label of its own, but some take that before them."""
    rng = np.random.default_rng(seed)
    of_word = rng.integers(0, LABELS, WORDS)
    endings = ("ns", "ly", "ed", "ing", "er")
    words = [f"{'abcdefghij'[k % 10]}w{k:x}{endings[k % 5]}" for k in range(WORDS)]
    with open(path, "w", encoding="utf-8") as file:
        written = 0
        while written < tokens:
            size = min(1 << 18, tokens - written)
            ids = np.minimum(rng.zipf(1.3, size), WORDS) - 1
            labels = of_word[ids]
            copied = np.flatnonzero(rng.random(size) < 0.1)
            labels[copied] = labels[copied - 1]
            ends = rng.random(size) < 1 / 25
            file.writelines(
                f"{words[word]} L{label}\n" + ("\n" if end else "")
                for word, label, end in zip(
                    ids.tolist(), labels.tolist(), ends.tolist(), strict=True
                )
            )
            written += size


def status(name: str) -> int:
    """A line of /proc/self/status, in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


def train(path: Path, folder: Path, passes: int, bits: int) -> None:
    """The process that is measured; prints JSON."""
    largest, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            largest[0] = max(largest[0], status("RssAnon"))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    from dualstruct import SequenceTagger

    started, cpu = time.perf_counter(), time.process_time()
    tagger = SequenceTagger("pos", hash_bits=bits, passes=passes)
    tagger.fit_large(path, folder)
    done.set()
    watcher.join()
    print(
        json.dumps(
            {
                "sentences": tagger.read_[0],
                "tokens": tagger.read_[1],
                "features_s": round(tagger.feature_seconds_, 1),
                "train_s": round(tagger.result_.seconds, 1),
                "seconds": round(time.perf_counter() - started, 1),
                "cpu_s": round(time.process_time() - cpu, 1),
                "cuts": tagger.result_.cuts,
                "RssAnon_MB": largest[0] // 1024,
                "VmHWM_MB": status("VmHWM") // 1024,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=10_000_000)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--hash-bits", type=int, default=20)
    parser.add_argument("--folder", type=Path, help="where there is room; a temporary one if not")
    parser.add_argument(
        "--limit", type=float, help="GB of private memory that the process may have"
    )
    parser.add_argument("--run", nargs=2, metavar=("FILE", "FOLDER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.run:
        if chosen.limit:
            most = int(chosen.limit * 2**30)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        train(Path(chosen.run[0]), Path(chosen.run[1]), chosen.passes, chosen.hash_bits)
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as place:
        path = Path(place) / "train.txt"
        write_file(path, chosen.tokens)
        print(f"{path.stat().st_size / 2**20:,.0f} MB of text", file=sys.stderr)
        command = [sys.executable, __file__, "--run", str(path), place]
        command += ["--passes", str(chosen.passes), "--hash-bits", str(chosen.hash_bits)]
        command += ["--limit", str(chosen.limit)] if chosen.limit else []
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    main()
