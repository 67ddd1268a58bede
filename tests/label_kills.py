"""Kills a labelling process at random instants: what it acknowledged is never lost.

    python tests/label_kills.py --kills 200 [--seed 7]

A child answers sentences of a project and says of each answer that it is saved, by a pipe, only
after the project said so. It is killed (SIGKILL); then the project is opened, and each answer that
was said to be saved has to be there, once. The exit code is 1 if one is lost, changed or doubled.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from dualstruct.labelling import Project
from dualstruct.texts import Document, iter_documents

SENTENCES = 20
WORDS = 5
CHOICES = ("O", "B-PER", "B-LOC")


def make(path: Path) -> None:
    with Project(path) as project:
        project.add(Document(f"a b c d e{number}") for number in range(SENTENCES))


def annotate(path: Path, seed: int, out: int) -> None:
    """Answer until killed; now and then take an answer back."""
    rng = random.Random(seed)
    with Project(path) as project:
        while True:
            sentence = project.sentences[rng.randint(1, SENTENCES)]
            labels = [rng.choice(CHOICES) for _ in range(WORDS)]
            key = f"{seed}-{rng.random()}"
            made = project.answer(
                sentence.id, labels, annotator="a", seen=sentence.version, key=key
            )
            os.write(out, (json.dumps([made.id, sentence.id, labels, None]) + "\n").encode())
            if rng.random() < 0.2:
                project.withdraw(made.id, "a")
                os.write(out, (json.dumps([0, sentence.id, None, made.id]) + "\n").encode())


def killed_once(path: Path, seed: int, seconds: float) -> list[list]:
    """What was acknowledged before the kill."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            annotate(path, seed, writing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        first = file.readline()  # it is at work
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        text = first + file.read()
    # A line that was cut was not acknowledged.
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


def missing(path: Path, acknowledged: list[list]) -> list[str]:
    """What of it is not there, or is there twice."""
    wrong = []
    with Project(path) as project:
        rows = {n: project.history(n) for n in project.sentences}
    keys = Counter(row["id"] for each in rows.values() for row in each)
    wrong += [
        f"answer {number} is there {count} times" for number, count in keys.items() if count > 1
    ]
    for number, sentence, labels, withdraws in acknowledged:
        if not any(
            (row["id"] == number and row["labels"] == labels)
            if withdraws is None
            else row["withdraws"] == withdraws
            for row in rows[sentence]
        ):
            wrong.append(f"lost: {number or f'the withdrawal of {withdraws}'} of {sentence}")
    list(iter_documents(path))
    return wrong


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--kills", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()
    rng = random.Random(options.seed)
    acknowledged: list[list] = []
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "project.db"
        make(path)
        for kill in range(options.kills):
            acknowledged += killed_once(path, options.seed + kill, rng.uniform(0, 0.2))
            wrong += missing(path, acknowledged)
            if wrong:
                break
    for line in wrong:
        print(line)
    print(f"{options.kills} kills, {len(acknowledged)} acknowledged, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
