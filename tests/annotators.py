"""Many annotators at once: no answer is wrong, lost or there twice.

    python tests/annotators.py --annotators 20 --seconds 60

Each is a thread with connections of its own. It asks for sentences, answers them with labels that
it draws, sends now and then an answer twice (as a client does that got no reply) or takes one
back, and keeps a log of what the server acknowledged. At the end the project has to hold exactly
that. The exit code is 1 if it does not.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import serving_cases as cases
from dualstruct.labelling import Project
from dualstruct.labelling.app import create_label_app
from dualstruct.labelling.session import Session
from dualstruct.texts import Document
from patience import HANGS

CHOICES = ("O", "O", "B-PER", "B-LOC")


class Annotator:
    """One of them, with its log."""

    def __init__(self, address: str, name: str, seed: int) -> None:
        self.address, self.name = address, name
        self.random = random.Random(seed)
        self.log: dict[int, tuple[int, list[str]]] = {}  # by answer: sentence, labels
        self.withdrawn: set[int] = set()
        self.seconds: list[float] = []
        self.failures: list[str] = []

    def post(self, path: str, **body: Any) -> Any:
        connection = HTTPConnection(urlsplit(self.address).netloc, timeout=HANGS)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/api/{path}", json.dumps(body), headers)
            answer = connection.getresponse()
            found = json.loads(answer.read())
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {found}")
            return found
        finally:
            connection.close()

    def work(self, until: float, most: int) -> None:
        try:
            while time.monotonic() < until and len(self.log) < most:
                for question in self.post("next", annotator=self.name, count=2)["questions"]:
                    self.answer(question)
        except Exception as problem:  # told at the end
            self.failures.append(f"{self.name}: {problem!r}")

    def answer(self, question: dict[str, Any]) -> None:
        labels = [self.random.choice(CHOICES) for _ in question["words"]]
        body = {
            "sentence": question["sentence"], "labels": labels, "version": question["version"],
            "annotator": self.name, "key": f"{self.name}-{self.random.random()}",
        }  # fmt: skip
        began = time.perf_counter()
        saved = self.post("answer", **body)
        self.seconds.append(time.perf_counter() - began)
        self.log[saved["answer"]] = (question["sentence"], labels)
        if self.random.random() < 0.2 and self.post("answer", **body)["answer"] != saved["answer"]:
            self.failures.append(f"{self.name}: {saved['answer']} is there twice")
        if self.random.random() < 0.1:
            self.post("undo", answer=saved["answer"], annotator=self.name)
            self.withdrawn.add(saved["answer"])


def run(folder: Path, annotators: int, seconds: float, most: int = 10**9) -> dict[str, Any]:
    """What they did, and what is wrong with the project afterwards."""
    path = folder / "p.db"
    with Project(path) as project:
        project.add(Document(f"Word{k} and Name{k} are here.") for k in range(200 * annotators))
        with Session(project) as session:
            app = create_label_app(session, limits=cases.PATIENT)
            with cases.running(app) as address:
                all_of_them = [Annotator(address, f"a{k}", k) for k in range(annotators)]
                until = time.monotonic() + seconds
                threads = [
                    threading.Thread(target=each.work, args=(until, most)) for each in all_of_them
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
    wrong = [failure for each in all_of_them for failure in each.failures]
    expected = {
        number: (each.name, sentence, labels, number in each.withdrawn)
        for each in all_of_them
        for number, (sentence, labels) in each.log.items()
    }
    wrong += differences(path, expected)
    times = sorted(second for each in all_of_them for second in each.seconds)
    return {"answers": len(expected), "wrong": wrong, "seconds": times}


def differences(path: Path, expected: dict[int, tuple[str, int, list[str], bool]]) -> list[str]:
    """Between what was acknowledged and what the project holds."""
    with Project(path) as project:
        rows = [(n, row) for n in project.sentences for row in project.history(n)]
    withdrawn = {row["withdraws"] for _, row in rows}
    found = {
        row["id"]: (row["annotator"], sentence, row["labels"], row["id"] in withdrawn)
        for sentence, row in rows
        if row["labels"] is not None
    }
    wrong = [f"lost: {number}" for number in expected.keys() - found.keys()]
    wrong += [f"never acknowledged: {number}" for number in found.keys() - expected.keys()]
    wrong += [
        f"answer {number} is {found[number]}, and was {expected[number]}"
        for number in expected.keys() & found.keys()
        if found[number] != expected[number]
    ]
    return wrong


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--annotators", type=int, default=20)
    asked.add_argument("--seconds", type=float, default=60)
    options = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = run(Path(folder), options.annotators, options.seconds)
    for line in done["wrong"][:20]:
        print(line)
    times = done["seconds"] or [0.0]
    middle, late = times[len(times) // 2], times[int(0.99 * len(times))]
    print(
        f"{done['answers']:,} answers of {options.annotators} annotators, "
        f"{len(done['wrong'])} wrong; saved in {middle:.3f} s (median), {late:.3f} s (99 %)"
    )
    return 1 if done["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
