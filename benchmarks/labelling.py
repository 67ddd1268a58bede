"""How much has to be labelled in the order of the page, or at random: a simulated annotator.

    python benchmarks/labelling.py [--sentences N] [--seeds N] [--draw FILE] [--data DIR]
                                   [CORPUS …]

A fifth of the training data (at most as many sentences as are labelled) judges; test data are not
looked at. The annotator answers what is asked, with the labels of the corpus, until the model that
the page gives (trained on all answers) comes within half a point of one trained on everything.
Orders: "unsure" asks about the words of which the model is unsure (--ask unsure), and the others
stay as it suggests, right or wrong; "page" asks about whole sentences, and so does "random". Given
is the share of the tokens that were asked about by then (between two trainings, along a straight
line), and CPU seconds; --draw writes the curves as SVG, the mean of the seeds with a band from the
lowest to the highest. --keep is a file of finished runs: the same command resumes.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from dualstruct import SequenceTagger, read_columns
from dualstruct.drawing.style import COLOURS, INK
from dualstruct.labelling import Project
from dualstruct.labelling.sentences import checked_tokens
from dualstruct.labelling.session import Session
from dualstruct.texts.documents import joined
from measuring import DATA

CORPORA = ("conll2000", "wnut17", "usaddress")
WITHIN = 0.005
#: After so many answers the order is made anew, and after as much more the model.
REFRESHED, FIRST, GROWTH = 20, 40, 1.2
#: What each order is: whether sentences are drawn at random, and what is asked about them.
ORDERS = {"unsure": (True, "unsure"), "page": (True, "all"), "random": (False, "all")}

Rows = list[list[str]]
#: The share of the tokens that is labelled, and the score then.
Curve = list[tuple[float, float]]


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
    data: tuple[Rows, Rows, Rows, Rows], order: str, seed: int, whole: float
) -> tuple[Curve, int]:
    """The curve up to the score that is wanted, and how many sentences that took."""
    X, y, judged, truth = data
    active, ask = ORDERS[order]
    tokens = sum(map(len, X))
    with (
        tempfile.TemporaryDirectory(dir=in_memory()) as folder,
        project_of(folder, X, y) as project,
    ):
        session = Session(project, active=active, ask=ask, seed=seed)
        answered = given = labelled = 0
        target: float = FIRST * tokens / len(X)
        curve: Curve = []
        while questions := session.next("simulated", 1, []):
            [question] = questions
            number = question["sentence"]
            labels, asked = said(question, y[number - 1])
            labelled -= labelled_tokens(project, number)
            session.answer(number, labels, question["version"], "simulated", None, asked)
            answered += not question["version"]
            given += 1
            if given % REFRESHED == 0:
                session.order.refresh()
            labelled += labelled_tokens(project, number)
            if labelled < target:
                continue
            target = GROWTH * labelled
            session.learner.catch_up()
            curve.append((labelled / tokens, score_of(session, Path(folder), judged, truth)))
            if curve[-1][1] >= whole - WITHIN:
                if len(curve) > 1:
                    (a, low), (b, high) = curve[-2:]
                    share = a + (b - a) * (whole - WITHIN - low) / (high - low)
                    curve[-1] = (share, whole - WITHIN)
                return curve, answered
    return [*curve, (1.0, whole)], answered


def labelled_tokens(project: Project, number: int) -> int:
    sentence = project.sentences[number]
    return checked_tokens(sentence) if sentence.answers else 0


def said(question: dict[str, Any], truth: list[str]) -> tuple[list[str], list[int] | None]:
    """The truth where the annotator is asked, what the page shows elsewhere; and where that is.

    Spans are marked and removed as a whole: all words of one that a word in question is in, in
    truth or as it is shown, are labelled with it.
    """
    if question["asked"] is None:
        return truth, None
    shown = question["labels"] or question["suggestion"]["labels"]
    asked = set(question["asked"])
    spans = [set(range(a, b)) for labels in (truth, shown) for a, b in extents(labels)]
    while more := [span for span in spans if asked & span and not span <= asked]:
        asked.update(*more)
    return [truth[t] if t in asked else label for t, label in enumerate(shown)], sorted(asked)


def extents(labels: list[str]) -> list[tuple[int, int]]:
    """Where spans begin and end; labels of tokens have none."""
    starts = [t for t, label in enumerate(labels) if label[:2] == "B-"]
    ends = [t for t in range(1, len(labels) + 1) if t == len(labels) or labels[t][:2] != "I-"]
    return [(start, next(end for end in ends if end > start)) for start in starts]


def score_of(session: Session, folder: Path, judged: Rows, truth: Rows) -> float:
    """Of the model as a file, as a button of the page gives it."""
    model = session.learner.whole()
    assert model is not None
    model.save(folder / "m.dstruct")
    tagger = SequenceTagger.load(folder / "m.dstruct")
    tagger.unseen_labels = "count"
    return tagger.score(judged, truth)


def drawn(curves: dict[str, dict[str, tuple[float, list[Curve]]]]) -> str:
    """The curves as SVG, a panel for each corpus; the dashed line is what is wanted."""
    width, height, left, top = 260, 180, 40, 28
    parts = []
    colours = dict(zip(("page", "random", "unsure"), COLOURS, strict=False))
    for k, (name, orders) in enumerate(curves.items()):
        whole = next(iter(orders.values()))[0]
        low = min(y for _, each in orders.values() for curve in each for x, y in curve if x > 0.05)
        bottom, high = max(low, whole - 0.15), whole + 0.01

        def place(
            x: float, y: float, k: int = k, bottom: float = bottom, high: float = high
        ) -> str:
            across = left + k * (width + left) + width * x
            down = top + height * (1 - (max(y, bottom) - bottom) / (high - bottom))
            return f"{across:.1f},{down:.1f}"

        x, _ = place(0, bottom).split(",")
        parts.append(f'<text x="{x}" y="16" font-weight="bold">{name}</text>')
        for value in (bottom, whole - WITHIN):
            begin, end = place(0, value).split(","), place(1, value).split(",")
            dash = ' stroke-dasharray="4 3"' if value != bottom else ""
            parts.append(
                f'<line x1="{begin[0]}" y1="{begin[1]}" x2="{end[0]}" y2="{end[1]}" '
                f'stroke="{INK}"{dash}/><text x="{float(begin[0]) - 4}" y="{float(begin[1]) + 4}" '
                f'text-anchor="end">{100 * value:.1f}</text>'
            )
        for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end")):
            x, y = place(share, bottom).split(",")
            parts.append(
                f'<text x="{x}" y="{float(y) + 15}" text-anchor="{anchor}">{share:.0%}</text>'
            )
        for order, (_, several) in orders.items():
            end = min(curve[-1][0] for curve in several)
            at = np.linspace(max(curve[0][0] for curve in several), end, 60)
            rows = np.array([np.interp(at, *zip(*curve, strict=True)) for curve in several])
            low, high = rows.min(axis=0), rows.max(axis=0)
            band = [*zip(at, high, strict=True), *reversed(list(zip(at, low, strict=True)))]
            around = " ".join(place(x, y) for x, y in band)
            line = " ".join(place(x, y) for x, y in zip(at, rows.mean(axis=0), strict=True))
            parts.append(
                f'<polygon points="{around}" fill="{colours[order]}" fill-opacity="0.2"/>'
                f'<polyline points="{line}" fill="none" stroke="{colours[order]}" '
                'stroke-width="1.5"/>'
            )
    names = {"unsure": "unsure words", "page": "least sure sentences", "random": "at random"}
    for k, (order, name) in enumerate(names.items()):
        across, down = left + 150 * k, top + height + 36
        parts.append(f'<text x="{across}" y="{down}" fill="{colours[order]}">{name}</text>')
    size = f"{left + len(curves) * (width + left)} {top + height + 46}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" '
        f'font-size="12" fill="{INK}"><title>Score by share of tokens labelled</title>'
        f"{''.join(parts)}</svg>\n"
    )


def in_memory() -> str | None:
    """A simulated annotator needs no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def whole_score(data: tuple[Rows, Rows, Rows, Rows]) -> float:
    X, y, judged, truth = data
    spans = all(label == "O" or label[:2] in ("B-", "I-") for row in y for label in row)
    tagger = SequenceTagger(features="ner" if spans else "pos", seed=1, unseen_labels="count")
    return tagger.fit(X, y).score(judged, truth)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help=", ".join(CORPORA))
    parser.add_argument("--sentences", type=int, default=10**9, help="to label; default: all")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="the curves as SVG")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="finished runs, to resume")
    asked = parser.parse_args()
    kept: dict[str, Any] = {}
    if asked.keep is not None and asked.keep.exists():
        kept = json.loads(asked.keep.read_text())
    print(f"{'corpus':12}{'order':10}{'whole':>8}{'tokens':>9}{'sentences':>11}{'CPU s':>8}")
    curves: dict[str, dict[str, tuple[float, list[Curve]]]] = {}
    for name in asked.corpora or CORPORA:
        found: dict[str, list[Any]] = {order: [] for order in ORDERS}
        for seed in range(asked.seeds):
            X, y, judged, truth = sentences_of(name, asked.data, asked.sentences, seed)
            y, truth = [as_begun(row) for row in y], [as_begun(row) for row in truth]
            data = X, y, judged, truth
            whole = whole_score(data)
            for order, rows in found.items():
                key = f"{name} {order} {seed} {len(X)} {GROWTH}"
                if key not in kept:
                    began = time.process_time()
                    curve, answered = simulate(data, order, seed, whole)
                    kept[key] = whole, curve, answered, time.process_time() - began
                    if asked.keep is not None:
                        asked.keep.parent.mkdir(parents=True, exist_ok=True)
                        asked.keep.write_text(json.dumps(kept))
                rows.append(kept[key])
        for order, rows in found.items():
            shares = [row[1][-1][0] for row in rows]
            whole, answered, cpu = (mean(row[k] for row in rows) for k in (0, 2, 3))
            each = ", ".join(f"{100 * share:.0f}" for share in shares)
            line = f"{name:12}{order:10}{100 * whole:8.1f}{100 * mean(shares):8.1f}%"
            print(f"{line}{answered:11.0f}{cpu:8.0f}  ({each})", flush=True)
            curves.setdefault(name, {})[order] = whole, [row[1] for row in rows]
    if asked.draw is not None:
        asked.draw.write_text(drawn(curves))


if __name__ == "__main__":
    main()
