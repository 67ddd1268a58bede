"""Kills training and saving at random instants: nothing that was written may be lost.

    python tests/kills.py --kills 1000 [--seed 7]

A job (JOBS) runs in a process of its own and is killed (SIGKILL, now and then SIGTERM). After each
kill every file that the job had finished must be readable. After a few of them the job runs to its
end, resuming where it can: its model must be that of a run that nobody killed, byte for byte, and
nothing else may be left in its folder. The exit code is 1 if something was lost, torn or left.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from dualstruct import DependencyParser, SequenceTagger, cli, load_model, write_columns
from dualstruct.data.arrays import format_of, read_arrays
from dualstruct.datasets import load_english

Job = Callable[[Path], None]

TRAIN = load_english("train")[:60]
X, Y = [s.forms for s in TRAIN], [s.entities for s in TRAIN]


def tagger(folder: Path) -> None:
    """A tagger that writes checkpoints."""
    made = SequenceTagger(passes=12, checkpoint=folder / "run", resume=True)
    made.fit(X, Y).save(folder / "model")


def planes(folder: Path) -> None:
    """Cutting planes on two threads, whose sums depend on how examples are divided."""
    made = SequenceTagger(
        solver="cutting-plane", passes=12, threads=2, checkpoint=folder / "run", resume=True
    )
    made.fit(X, Y).save(folder / "model")


def lbfgs(folder: Path) -> None:
    made = SequenceTagger(
        loss="crf", solver="lbfgs", passes=12, checkpoint=folder / "run", resume=True
    )
    made.fit(X, Y).save(folder / "model")


def parser(folder: Path) -> None:
    made = DependencyParser(passes=4, hash_bits=10, checkpoint=folder / "run", resume=True)
    made.fit(TRAIN).save(folder / "model")


def large(folder: Path) -> None:
    """Features in files, which are gone at the end."""
    made = SequenceTagger(passes=3, hash_bits=12)
    made.fit_large(zip(X, Y, strict=True), folder / "features").save(folder / "model")


def out_of_core(folder: Path) -> None:
    """The same by the command, which also tidies up on SIGTERM."""
    write_columns(folder / "train.txt", X, Y)
    sys.argv = ["dualstruct", "train", str(folder / "train.txt"), "--model", str(folder / "model")]
    sys.argv += ["--out-of-core", str(folder / "features"), "--passes", "3", "--hash-bits", "12"]
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        cli.main()
    except SystemExit as done:
        if done.code:
            raise


def workers(folder: Path) -> None:
    """Two workers, each with files of its own: features in files, and checkpoints."""
    texts = folder / "texts"
    texts.mkdir(exist_ok=True)
    for k in range(4):
        if not (texts / f"{k}.txt").exists():
            write_columns(texts / f"{k}.txt", X[k::4], Y[k::4])
    made = SequenceTagger(
        engine="local", workers=2, passes=60, hash_bits=12, checkpoint=folder / "checkpoints",
        resume=True,
    )  # fmt: skip
    with warnings.catch_warnings():  # of checkpoints that were not finished
        warnings.simplefilter("ignore")
        made.fit_large(str(texts), folder / "features").save(folder / "model")
    shutil.rmtree(folder / "checkpoints")


def saving(folder: Path) -> None:
    """One model over another, again and again."""
    made = SequenceTagger(passes=1).fit(X[:10], Y[:10])
    for _ in range(20):
        made.save(folder / "model")


JOBS: dict[str, Job] = {
    job.__name__: job
    for job in (tagger, planes, lbfgs, parser, large, out_of_core, workers, saving)
}


def start(job: Job, folder: Path) -> int:
    """The job in a child of this process, which has imported everything already."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        job(folder)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def end(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def digest(path: Path) -> str:
    """Of the arrays and metadata of a model, without the clocks."""
    metadata, arrays = read_arrays(path, format_of(path))
    result = metadata.get("result", {})
    for clock in ("seconds", "cpu_seconds"):
        result.pop(clock, None)
    for point in result.get("trace", []):
        point.pop("seconds", None)
    total = hashlib.blake2b(repr(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        total.update(arrays[name].tobytes())
    return total.hexdigest()


def found_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def torn(folder: Path) -> list[str]:
    """Files that a reader takes for finished, and cannot read."""
    bad = []
    for name in ("model", "run"):
        path = folder / name
        if not path.exists():
            continue
        try:
            load_model(path) if name == "model" else read_arrays(path, format_of(path))
        except ValueError as error:
            bad.append(f"{name}: {error}")
    return bad


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--kills", type=int, default=1000)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("jobs", nargs="*", help=f"of {', '.join(JOBS)}")
    options = asked.parse_args()
    rng = random.Random(options.seed)
    jobs = {name: JOBS[name] for name in options.jobs or JOBS}
    wrong: list[str] = []
    kills = runs = missed = 0
    with tempfile.TemporaryDirectory() as place:
        expected, took = {}, {}
        for name, job in jobs.items():
            folder = Path(place) / f"{name}-whole"
            folder.mkdir()
            began = time.monotonic()
            if end(start(job, folder)):
                print(f"{name} fails without being killed")
                return 1
            took[name] = time.monotonic() - began
            expected[name] = digest(folder / "model"), found_in(folder)
        while kills < options.kills:
            name = rng.choice(list(jobs))
            folder = Path(place) / f"{name}-{runs}"
            folder.mkdir()
            runs += 1
            for _ in range(rng.randint(1, 5)):
                child = start(jobs[name], folder)
                time.sleep(rng.uniform(0, 1.1 * took[name]))
                os.kill(child, rng.choice((signal.SIGKILL,) * 4 + (signal.SIGTERM,)))
                if end(child) == 0:
                    missed += 1
                else:
                    kills += 1
                wrong += [f"{name}: torn {bad}" for bad in torn(folder)]
            if end(start(jobs[name], folder)):
                wrong.append(f"{name}: the run after the kills fails")
                continue
            model, files = expected[name]
            if digest(folder / "model") != model:
                wrong.append(f"{name}: another model than without kills")
            if left := found_in(folder) - files:
                wrong.append(f"{name}: left behind {', '.join(sorted(left))}")
            if lost := files - found_in(folder):
                wrong.append(f"{name}: lost {', '.join(sorted(lost))}")
    for line in wrong:
        print(line)
    print(f"{kills} kills in {runs} runs ({missed} came too late), {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
