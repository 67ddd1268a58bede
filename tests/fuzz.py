"""Looks for new cases that break a test, until time is over: hypothesis with other seeds.

    python tests/fuzz.py --seconds 300 [--seed 7] [structures/test_chain.py …]

Every test file with tests of hypothesis takes part. What fails is printed with the command that
repeats it, and the exit code is 1: make the case an @example of its test, then mend the cause.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).parent
NONE_COLLECTED = 5  # pytest's exit code


def command(file: Path, seed: int) -> list[str]:
    options = f"--hypothesis-profile=fuzz --hypothesis-seed={seed} -p no:cacheprovider --tb=short"
    return [sys.executable, "-m", "pytest", str(file), "-m", "hypothesis", *options.split()]


class Search:
    """What the workers share."""

    def __init__(self, files: list[Path], seconds: float, seed: int) -> None:
        self.files, self.seed = files, seed
        self.end = time.monotonic() + seconds
        self.waiting: list[tuple[Path, int]] = []
        self.lock = threading.Lock()
        self.runs = 0
        self.failed: list[str] = []

    def next(self) -> tuple[Path, int] | None:
        """A file and a seed: all files in random order, then all again with another seed."""
        with self.lock:
            if not self.waiting:
                self.waiting = [(file, self.seed) for file in self.files]
                random.Random(self.seed).shuffle(self.waiting)
                self.seed += 1
            return self.waiting.pop() if self.waiting else None

    def work(self) -> None:
        while (left := self.end - time.monotonic()) > 0 and (case := self.next()):
            file, seed = case
            try:
                done = subprocess.run(
                    command(file, seed), capture_output=True, text=True, timeout=left, check=False
                )
            except subprocess.TimeoutExpired:
                return  # it had no time to finish
            with self.lock:
                self.judge(file, seed, done)

    def judge(self, file: Path, seed: int, done: subprocess.CompletedProcess[str]) -> None:
        if done.returncode == NONE_COLLECTED:
            self.files = [other for other in self.files if other != file]
            return
        self.runs += 1
        said = done.stdout.strip().splitlines()
        print(f"{file.name}, seed {seed}: {said[-1] if said else 'nothing said'}", flush=True)
        if done.returncode:
            print(done.stdout + done.stderr, flush=True)
            self.failed.append(" ".join(command(file, seed)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, help="of the first round; drawn if not given")
    parser.add_argument("files", nargs="*", help="paths in tests/; all if none is given")
    asked = parser.parse_args()
    files = [TESTS / name for name in asked.files] or sorted(TESTS.glob("*/test_*.py"))
    if missing := [file.name for file in files if not file.exists()]:
        parser.error(f"there is no {missing[0]} in {TESTS}")
    seed = random.SystemRandom().randrange(2**31) if asked.seed is None else asked.seed
    print(f"{len(files)} files for {asked.seconds:g} seconds, from seed {seed}", flush=True)
    search = Search(files, asked.seconds, seed)
    workers = [threading.Thread(target=search.work) for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{search.runs} runs, {len(search.failed)} failed")
    for line in search.failed:
        print(f"repeat it with: {line}")
    return 1 if search.failed else 0


if __name__ == "__main__":
    sys.exit(main())
