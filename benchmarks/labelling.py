"""How much has to be labelled in the order of the page, or at random: a simulated annotator.

    python benchmarks/labelling.py [--sentences N] [--seeds N] [--latency N] [--data DIR] [CORPUS …]

A fifth of the training data (at most as many sentences as are labelled) judges; test data are not
looked at. The annotator answers what is asked, with the labels of the corpus, until a tagger
trained on all answers comes within half a point of one trained on everything. Given is the share
of the tokens that were labelled by then, and CPU seconds. With --latency a project with so many
answers learns from others; given are the seconds until an answer is saved, and until the model
that has learned from it suggests labels.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

from dualstruct import SequenceTagger, read_columns
from dualstruct.labelling import Project
from dualstruct.labelling.learning import is_measured
from dualstruct.labelling.session import Session
from dualstruct.texts.documents import joined
from dualstruct.texts.formats.columns import with_spans
from measuring import DATA

CORPORA = ("conll2000", "wnut17", "usaddress")
WITHIN = 0.005
#: After so many answers the order is made anew, and after a tenth more the model.
REFRESHED, FIRST, GROWTH = 20, 20, 1.1

Rows = list[list[str]]


def sentences_of(name: str, data: Path, most: int, seed: int) -> tuple[Rows, Rows, Rows, Rows]:
    """Some sentences to label, and others that judge."""
    file = read_columns(data / name / "train.txt.xz")
    rows = [
        ([w if isinstance(w, str) else w[0] for w in words], list(labels))
        for words, labels in zip(file.tokens, file.labels, strict=True)
    ]
    random.Random(seed).shuffle(rows)
    judging = min(len(rows) // 5, most)
    held_out, rest = rows[:judging], rows[judging : judging + most]
    return (
        [words for words, _ in rest], [labels for _, labels in rest],
        [words for words, _ in held_out], [labels for _, labels in held_out],
    )  # fmt: skip


def project_of(folder: str, X: Rows, y: Rows) -> Project:
    """All sentences, not labelled yet; blanks between words."""
    spans = all(label == "O" or label[:2] in ("B-", "I-") for row in y for label in row)
    project = Project(Path(folder) / "p.db", "spans" if spans else "labels")
    project.add(joined([words]) for words in X)
    return project


def as_begun(labels: list[str]) -> list[str]:
    """IOB1 and the like as the page has them."""
    made: list[str] = []
    for label in labels:
        inside = label[:2] == "I-" and made and made[-1][2:] == label[2:]
        made.append(f"B-{label[2:]}" if label[:2] == "I-" and not inside else label)
    return made


def simulate(
    data: tuple[Rows, Rows, Rows, Rows], active: bool, seed: int, whole: float
) -> tuple[float, int]:
    """The share of tokens that had to be labelled, and how many sentences."""
    X, y, judged, truth = data
    tokens = sum(map(len, X))
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        project_of(folder, X, y) as project,
    ):
        session = Session(project, active=active, seed=seed)
        answered = labelled = 0
        target = FIRST
        while questions := session.next("simulated", 1, []):
            [question] = questions
            labels = y[question["sentence"] - 1]
            session.answer(question["sentence"], labels, question["version"], "simulated", None)
            answered += not question["version"]
            labelled += 0 if question["version"] else len(labels)
            if answered % REFRESHED == 0:
                session.order.refresh()
            if answered < target:
                continue
            target = round(GROWTH * target) + 1
            session.learner.catch_up()
            every = project.settled()
            tagger = session.learner.maker.new()
            tagger.unseen_labels = "count"
            tagger.fit([each.words for each in every], [list(each.labels or ()) for each in every])
            if tagger.score(judged, truth) >= whole - WITHIN:
                break
    return labelled / tokens, answered


def in_memory() -> str | None:
    """A simulated annotator needs no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def whole_score(data: tuple[Rows, Rows, Rows, Rows]) -> float:
    X, y, judged, truth = data
    spans = all(label == "O" or label[:2] in ("B-", "I-") for row in y for label in row)
    tagger = SequenceTagger(features="ner" if spans else "pos", seed=1, unseen_labels="count")
    return tagger.fit(X, y).score(judged, truth)


def latency(data: Path, count: int) -> None:
    """Seconds until an answer is saved, and until suggestions know it."""
    X, y, _, _ = sentences_of("conll2000", data, count + 60, 0)
    y = [as_begun(row) for row in y]
    saved: list[float] = []
    known: list[float] = []
    with tempfile.TemporaryDirectory() as folder, project_of(folder, [], y) as project:
        rows = list(zip(X, y, strict=True))
        project.add(with_spans(joined([words], [labels])) for words, labels in rows[:count])
        project.add(joined([words]) for words, _ in rows[count:])
        with Session(project) as session:
            while session.learner.version < 1 or session.learner.training:
                time.sleep(0.1)
            cpu = time.process_time()
            for number in range(count + 1, len(X) + 1):
                version = session.learner.version
                began = time.perf_counter()
                session.answer(number, y[number - 1], 0, "a", None)
                saved.append(time.perf_counter() - began)
                if is_measured(number):
                    continue
                while session.learner.version == version:
                    time.sleep(0.005)
                session.suggest([number])
                known.append(time.perf_counter() - began)
            cpu = (time.process_time() - cpu) / len(saved)
    print(f"{cpu:.3f} CPU seconds for each answer, training and suggestions included")
    for name, times in (("answer to saved", saved), ("answer to suggestions", known)):
        times.sort()
        at = [times[min(int(p * len(times)), len(times) - 1)] for p in (0.5, 0.99)]
        print(f"{name}, {count:,} answers: median {at[0]:.3f} s, 99 % within {at[1]:.3f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=", ".join(CORPORA))
    parser.add_argument("--sentences", type=int, default=2000, help="to label")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--latency", type=int, metavar="N", help="answers that are there already")
    parser.add_argument("--data", type=Path, default=DATA)
    asked = parser.parse_args()
    if asked.latency is not None:
        latency(asked.data, asked.latency)
        return
    print(f"{'corpus':12}{'order':10}{'whole':>8}{'tokens':>9}{'sentences':>11}{'CPU s':>8}")
    for name in asked.corpora or CORPORA:
        found: dict[str, list[Any]] = {"page": [], "random": []}
        for seed in range(asked.seeds):
            X, y, judged, truth = sentences_of(name, asked.data, asked.sentences, seed)
            y, truth = [as_begun(row) for row in y], [as_begun(row) for row in truth]
            data = X, y, judged, truth
            whole = whole_score(data)
            for order, rows in found.items():
                began = time.process_time()
                share, answered = simulate(data, order == "page", seed, whole)
                rows.append((whole, share, answered, time.process_time() - began))
        for order, rows in found.items():
            whole, share, answered, cpu = (mean(column) for column in zip(*rows, strict=True))
            each = ", ".join(f"{100 * row[1]:.0f}" for row in rows)
            row = f"{name:12}{order:10}{100 * whole:8.1f}{100 * share:8.1f}%"
            print(f"{row}{answered:11.0f}{cpu:8.0f}  ({each})", flush=True)


if __name__ == "__main__":
    main()
