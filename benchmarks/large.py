"""Training on files larger than memory: how much memory and time it takes.

    python benchmarks/large.py --tokens 10000000 --passes 2 --limit 1.5
    python benchmarks/large.py --workers 2 --tokens 2000000 10000000 --passes 8 --restart

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
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from measuring import DATA

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


def write_parts(folder: Path, tokens: int, parts: int, seed: int = 0) -> None:
    """Files of sentences with the statistics of the chunking corpus."""
    from dualstruct import read_columns

    corpus = read_columns(DATA / "conll2000" / "train.txt.xz")
    numbers: dict[tuple[str, ...], int] = {("", ""): 0}  # the sentence's end, and its beginning
    walk = [0]
    for words, labels in zip(corpus.tokens, corpus.labels, strict=True):
        columns = zip(words, labels, strict=True)
        walk += [numbers.setdefault((*word, label), len(numbers)) for word, label in columns]
        walk.append(0)
    pairs, steps = list(numbers), np.array(walk)
    order = np.argsort(steps[:-1], kind="stable")
    after, first = steps[1:][order], np.searchsorted(steps[:-1][order], np.arange(len(pairs) + 1))
    once = np.bincount(steps, minlength=len(pairs)) == 1
    rng, made = np.random.default_rng(seed), itertools.count()

    def line(pair: int) -> str:
        word, *others = pairs[pair]
        if once[pair]:
            word = f"{word[:1]}{next(made):x}{word[-3:]}"
        return " ".join([word, *others])

    lines = ["" if k == 0 else " ".join(pairs[k]) for k in range(len(pairs))]
    chains = 4096
    for part in range(parts):
        with open(folder / f"{part:03}.txt", "w", encoding="utf-8") as file:
            here, rows = np.zeros(chains, np.int64), []
            for _ in range(-(-tokens // (parts * chains))):
                begins, ends = first[here], first[here + 1]
                here = after[begins + (rng.random(chains) * (ends - begins)).astype(np.int64)]
                rows.append(here)
            for walked in np.array(rows).T.tolist():
                file.writelines(f"{line(k) if once[k] else lines[k]}\n" for k in walked)
                file.write("\n")


def status(name: str, pid: int | str = "self") -> int:
    """A line of /proc/PID/status, in kB."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    for line in text.splitlines():
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


class Log:
    """A callback that writes down when which worker has ended which pass."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, point: object, iterate: object) -> None:
        words = [time.time(), iterate.communicator.rank, point.passes, os.getpid()]
        with open(self.path, "a") as file:
            file.write(json.dumps(words) + "\n")

    def seen(self) -> list[tuple[float, int, int, int]]:
        text = self.path.read_text() if self.path.exists() else ""
        return [tuple(json.loads(line)) for line in text.splitlines()]


def train_together(
    place: Path, workers: int, tokens: int, passes: int, bits: int, restart: bool
) -> dict[str, float]:
    """So many Ray workers; what each needs at most, and what a restart takes."""
    import warnings

    from dualstruct import SequenceTagger

    parts = place / "parts"
    parts.mkdir()
    write_parts(parts, tokens, 4 * workers)
    log, done = Log(place / "log"), threading.Event()
    found: dict[str, float] = {"RssAnon_MB": 0, "VmHWM_MB": 0, "disk_MB": 0}
    killed: list[float] = []

    def watch() -> None:
        while not done.wait(0.1):
            seen = log.seen()
            for pid in {each[3] for each in seen}:
                for name in ("RssAnon", "VmHWM"):
                    found[f"{name}_MB"] = max(found[f"{name}_MB"], status(name, pid) // 1024)
            size = sum(path.stat().st_size for path in (place / "disk").rglob("*.bin"))
            found["disk_MB"] = max(found["disk_MB"], size // 2**20)
            complete = any((place / "run").glob("*.manifest"))
            if restart and complete and seen and seen[-1][2] > 1 and not killed:
                killed.append(time.time())
                os.kill(seen[-1][3], signal.SIGKILL)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    tagger = SequenceTagger(
        "chunking", hash_bits=bits, passes=passes, engine="ray", workers=workers,
        checkpoint=place / "run",
    )  # fmt: skip
    started = time.time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tagger.fit_large(str(parts), place / "disk", callbacks=[log])
    done.set()
    watcher.join()
    ends = [each for each in log.seen() if each[1] == 0]
    steps = [
        after[0] - before[0]
        for before, after in itertools.pairwise(ends)
        if after[2] == before[2] + 1 and not any(before[0] < when < after[0] for when in killed)
    ]
    found |= {
        "tokens": tagger.trained_on_[1],
        "workers": workers,
        "seconds": round(time.time() - started, 1),
        "features_s": round(tagger.feature_seconds_, 1),
        "pass_s": round(float(np.median(steps)), 2),
        "passes": tagger.result_.passes,
        "gap": tagger.result_.gap,
        "load": os.getloadavg()[0],
    }
    if killed:
        again = next(each for each in ends if each[0] > killed[0] and each[3] != 0)
        found["restart_s"] = round(again[0] - killed[0], 1)
        found["told"] = [str(each.message) for each in caught]
    return found


def constants(runs: list[dict[str, float]]) -> dict[str, float]:
    """Of the laws in this file's documentation, by the smallest and the largest run."""
    small, large = runs[0], runs[-1]
    a_worker = [run["tokens"] / run["workers"] for run in (small, large)]

    def slope(name: str) -> float:
        return (large[name] - small[name]) / (a_worker[1] - a_worker[0])

    return {
        "a": large["features_s"] / a_worker[1],
        "c": slope("pass_s"),
        "b": small["pass_s"] - slope("pass_s") * a_worker[0],
        "e": slope("RssAnon_MB") * 2**20,
        "d": small["RssAnon_MB"] - slope("RssAnon_MB") * a_worker[0],
        "f": large["disk_MB"] * 2**20 / large["tokens"],
    }


def together(chosen: argparse.Namespace) -> None:
    """Runs of several sizes, and the law that they give."""
    runs = []
    for tokens in chosen.tokens:
        with tempfile.TemporaryDirectory(dir=chosen.folder) as place:
            how = chosen.passes, chosen.hash_bits, chosen.restart and tokens == chosen.tokens[-1]
            runs.append(train_together(Path(place), chosen.workers, tokens, *how))
            print(json.dumps(runs[-1]), flush=True)
    results: dict[str, object] = {"runs": runs}
    if len(runs) > 1:
        results["constants"] = constants(runs)
        print(json.dumps(results["constants"]))
    if chosen.store:
        stored = json.loads(chosen.store.read_text()) if chosen.store.exists() else {}
        chosen.store.write_text(json.dumps({**stored, "large": results}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--workers", type=int, help="train on so many Ray workers")
    parser.add_argument("--restart", action="store_true", help="kill one of them in the last run")
    parser.add_argument("--store", type=Path, help="keep the results of --workers in this file")
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
    if chosen.workers:
        together(chosen)
        return
    with tempfile.TemporaryDirectory(dir=chosen.folder) as place:
        path = Path(place) / "train.txt"
        write_file(path, chosen.tokens[0])
        print(f"{path.stat().st_size / 2**20:,.0f} MB of text", file=sys.stderr)
        command = [sys.executable, __file__, "--run", str(path), place]
        command += ["--passes", str(chosen.passes), "--hash-bits", str(chosen.hash_bits)]
        command += ["--limit", str(chosen.limit)] if chosen.limit else []
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    main()
