"""Feeds damaged and hostile inputs to every reader until time is over.

    python tests/hostile_inputs.py --seconds 300 [--seed 7] [--keep FOLDER] [columns model …]

A reader takes bytes that began as something valid and were changed: bits, pieces, numbers, values
of JSON behind a checksum that is right again. It may answer or refuse by an error of
dualstruct's own. Anything else is a failure: another exception, an end of the process, more than
10 CPU seconds or 2 GB. Failing inputs are made small and kept; the exit code is 1. Each of them
belongs into tests/data/test_hostile_inputs.py.

Workers are processes of their own, so that the search survives what it looks for; where atheris is
installed, every other one is guided by the lines that an input reaches.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from hostile_readers import Reader, all_readers

HANG = 10.0  # CPU seconds an input may take; six times that without an answer is too long, too
MEMORY = 2 << 30  # bytes a process may hold


class HangError(BaseException):
    """An input took too long; no reader catches this."""


def try_input(reader: Reader, path: Path) -> str | None:
    """None, or the traceback of what no reader may raise."""
    from dualstruct.data.writing import OutputError
    from dualstruct.errors import DualstructError

    def late(*_: object) -> None:
        raise HangError

    signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, HANG)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reader.read(path)
    except (DualstructError, OutputError):
        return None
    except HangError:
        return f"took more than {HANG:g} CPU seconds\n{traceback.format_exc()}"
    except (Exception, SystemExit):
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def made_small(reader: Reader, path: Path, data: bytes, seconds: float = 10.0) -> bytes:
    """The input without pieces that it fails without, too."""
    end = time.monotonic() + seconds
    piece = max(len(data) // 2, 1)
    while piece and time.monotonic() < end:
        at = 0
        while at < len(data) and time.monotonic() < end:
            shorter = data[:at] + data[at + piece :]
            path.write_bytes(shorter)
            if try_input(reader, path) is not None:
                data = shorter
            else:
                at += piece
        piece //= 2
    return data


def instrumented() -> AbstractContextManager[object]:
    """Modules of dualstruct that are imported meanwhile tell atheris which lines they reach."""
    import atheris

    context: AbstractContextManager[object] = atheris.instrument_imports(include=["dualstruct"])
    return context


def work(folder: Path, seed: int, seconds: float, names: list[str], guided: bool) -> None:
    """One worker: inputs until time is over, counts on standard output."""
    with instrumented() if guided else nullcontext():  # our own code, as it is imported
        readers = all_readers(folder)
    chosen = names or list(readers)
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    path, end, shown = folder / "input", time.monotonic() + seconds, time.monotonic()

    def feed(name: str, data: bytes) -> None:
        nonlocal shown
        path.write_bytes(data)
        (folder / "reader").write_text(name)
        counts[name] += 1
        failure = try_input(readers[name], path)
        if failure is not None:
            small = made_small(readers[name], path, data) if len(data) < 100_000 else data
            kept = folder / f"failed-{counts.total()}"
            kept.write_bytes(small)
            print(json.dumps({"reader": name, "input": str(kept), "failure": failure}), flush=True)
        if time.monotonic() - shown > 2:
            shown = time.monotonic()
            print(json.dumps({"counts": counts}), flush=True)

    every = [seed_ for other in readers.values() for seed_ in other.seeds]
    spent = dict.fromkeys(chosen, 0.0)

    def one() -> None:
        """All readers get the same time, so that quick ones see more."""
        name = min(chosen, key=spent.__getitem__)
        began = time.process_time()
        reader = readers[name]
        feed(name, reader.change(rng.choice(reader.seeds), rng, every))
        spent[name] += time.process_time() - began

    if guided:
        import atheris

        def test_one_input(data: bytes) -> None:
            if time.monotonic() > end:
                print(json.dumps({"counts": counts}), flush=True)
                os._exit(0)
            if data:
                feed(chosen[data[0] % len(chosen)], data[1:])

        seeds = folder / "seeds"
        seeds.mkdir()
        for k, name in enumerate(chosen):
            for q, seed_ in enumerate(readers[name].seeds):
                (seeds / f"{k}-{q}").write_bytes(bytes([k]) + seed_)
        atheris.Setup([sys.argv[0], str(seeds), "-max_len=65536", "-verbosity=0"], test_one_input)
        atheris.Fuzz()
    while time.monotonic() < end:
        one()
    print(json.dumps({"counts": counts}), flush=True)


def memory_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, IndexError):
        return 0


class Worker:
    """A process that feeds inputs, and what it has said."""

    def __init__(self, folder: Path, seed: int, seconds: float, names: list[str], guided: bool):
        self.folder, self.counts, self.failures = folder, Counter(), []
        self.memory = 0
        folder.mkdir()
        self.log = open(folder / "log", "wb+")  # noqa: SIM115
        command = [sys.executable, __file__, "--worker", str(folder), "--seed", str(seed)]
        command += ["--seconds", str(seconds), *(["--guided"] if guided else []), *names]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT)

    def watch(self) -> bool:
        """Whether it continues; one that hangs or takes too much memory is ended."""
        self.memory = max(self.memory, memory_of(self.process.pid))
        file = self.folder / "input"
        still = time.time() - file.stat().st_mtime if file.exists() else 0
        if self.memory > MEMORY or still > 6 * HANG:
            self.process.kill()
            self.process.wait()
            why = f"{self.memory >> 20} MB" if self.memory > MEMORY else "no answer"
            self.keep(why)
            return False
        return self.process.poll() is None

    def keep(self, why: str) -> None:
        reader, given = self.folder / "reader", self.folder / "input"
        given.touch()  # it may have ended before the first one
        name = reader.read_text() if reader.exists() else "start"
        self.failures.append({"reader": name, "input": str(given), "failure": why})

    def finish(self) -> None:
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").splitlines()
        other = []  # than JSON
        for line in said:
            try:
                told = json.loads(line)
            except json.JSONDecodeError:
                other.append(line)
                continue
            if "counts" in told:
                self.counts = Counter(told["counts"])
            elif "failure" in told:
                self.failures.append(told)
        if self.process.returncode and not self.failures:
            self.keep(f"ended with {self.process.returncode}\n" + "\n".join(other[-40:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int)
    parser.add_argument(
        "--keep", type=Path, default=Path("build/hostile"), help="for failing inputs"
    )
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--guided", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("readers", nargs="*")
    asked = parser.parse_args()
    if asked.worker:
        work(asked.worker, asked.seed, asked.seconds, asked.readers, asked.guided)
        return 0
    seed = random.SystemRandom().randrange(2**31) if asked.seed is None else asked.seed
    print(f"hostile inputs for {asked.seconds:g} seconds, from seed {seed}", flush=True)
    try:
        import atheris  # noqa: F401

        can_guide = True
    except ImportError:
        can_guide = False
    counts: Counter[str] = Counter()
    failures, most = [], 0
    with tempfile.TemporaryDirectory() as name:
        end, number, running = time.monotonic() + asked.seconds, 0, []
        while True:
            left = end - time.monotonic()
            while left > 1 and len(running) < (os.cpu_count() or 1):
                guided = can_guide and number % 2 == 1
                running.append(
                    Worker(Path(name) / str(number), seed + number, left, asked.readers, guided)
                )
                number += 1
            time.sleep(0.2)
            for worker in [each for each in running if not each.watch()]:
                running.remove(worker)
                worker.finish()
                counts.update(worker.counts)
                most = max(most, worker.memory)
                for failure in worker.failures:
                    asked.keep.mkdir(parents=True, exist_ok=True)
                    kept = asked.keep / f"{failure['reader'].replace(' ', '-')}-{len(failures)}"
                    kept.write_bytes(Path(failure["input"]).read_bytes())
                    failures.append(failure)
                    print(f"{failure['reader']}: {kept}\n{failure['failure']}", flush=True)
            if not running and end - time.monotonic() <= 1:
                break
    for reader, count in sorted(counts.items()):
        print(f"{count:9,} {reader}")
    print(f"{counts.total():,} inputs, {len(failures)} failed, at most {most >> 20} MB a process")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
