"""The default, tuned, and the best peer on the tasks of docs/benchmarks.md, with several seeds.

    python benchmarks/tuning.py [--seeds N] [--budget SECONDS] [--only CORPUS …] [--auto]
                                [--held-out] [--page FILE] [--collect]

Same sentences, attributes and judge as in the tables of that page, whose best peer is shown.
Settings are chosen on the development data, or on folds of the training data where there are none;
then the training data alone are learned from. ``--auto`` lets tuning choose the preset, too: a
column of its own in the same table.
``--held-out`` touches no test data: every fifth training sentence is judged on.

Every run is a process of its own, on two cores, and a line in a file: what is there is not run
again, so an interrupted benchmark continues where it was. The first seed of everything comes first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from benchmark_utils.corpora import PARSING, TAGGING, parsing, tagging
from benchmark_utils.problems import Parsing, Tagging, arcs_in

from dualstruct import (
    DependencyParser,
    InputError,
    SequenceTagger,
    read_conllu,
    tune,
    write_conllu,
)
from measuring import DATA

#: Quick ones first: what is missing after an interruption is known to take long.
CORPORA = sorted([*TAGGING, *PARSING], key=lambda name: (name in PARSING, name == "brown"))
#: Where luck is large.
MORE_SEEDS = {"wnut17": 10}
CORES, BUDGET = 2, 60.0
HERE = Path(__file__).parent
RESULTS = HERE / "peers" / "outputs" / "tuning.jsonl"
PAGE = HERE.parent / "docs" / "benchmarks.md"
#: Where the table stands in the page, and what follows it.
HEADING, NEXT = "## Tuned", "## Where others are ahead"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=BUDGET)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=CORPORA, default=CORPORA, metavar="CORPUS")
    parser.add_argument("--auto", action="store_true", help="choose the preset as well")
    parser.add_argument("--held-out", action="store_true", help="touch no test data")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="put the table into this page")
    parser.add_argument("--collect", action="store_true", help="run nothing, show what is there")
    parser.add_argument("--run", nargs=2, metavar=("CORPUS", "SEED"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.collect and not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    kind = {"budget": options.budget, "auto": options.auto, "held_out": options.held_out}
    if options.run:
        corpus, seed = options.run
        print(json.dumps(result_of(corpus, int(seed), kind)), flush=True)
        return
    try:
        if not options.collect:
            run_missing(list(runs(options.only, options.seeds)), kind, options.results)
    except KeyboardInterrupt:
        print("interrupted: the same command continues", file=sys.stderr)
    text = table_of(
        *(stored(options.results, {**kind, "auto": auto}) for auto in (False, True)),
        options.only,
        options.held_out,
    )
    print(text)
    if options.page is not None:
        options.page.write_text(
            with_section(options.page.read_text(encoding="utf-8"), section(text, options.budget)),
            encoding="utf-8",
        )


def runs(corpora: list[str], seeds: int) -> Iterator[tuple[str, int]]:
    """Corpus and seed, the first seed of everything first."""
    more = {corpus: max(seeds, MORE_SEEDS.get(corpus, 0)) if seeds > 1 else 1 for corpus in corpora}
    yield from ((corpus, 0) for corpus in corpora)
    yield from ((corpus, seed) for corpus in corpora for seed in range(seeds, more[corpus]))
    yield from ((corpus, seed) for seed in range(1, seeds) for corpus in corpora)


def run_missing(wanted: list[tuple[str, int]], kind: dict[str, Any], results: Path) -> None:
    done = {(line["corpus"], line["seed"]) for line in stored(results, kind)}
    results.parent.mkdir(parents=True, exist_ok=True)
    for n, (corpus, seed) in enumerate(wanted, 1):
        if (corpus, seed) in done:
            continue
        command = [sys.executable, __file__, "--run", corpus, str(seed)]
        command += ["--budget", str(kind["budget"])]
        command += ["--auto"] * kind["auto"] + ["--held-out"] * kind["held_out"]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if ran.returncode:
            print(f"{n}/{len(wanted)} {corpus} seed {seed} failed", file=sys.stderr, flush=True)
            continue
        with results.open("a", encoding="utf-8") as file:
            file.write(ran.stdout)
        line = json.loads(ran.stdout)
        print(
            f"{n}/{len(wanted)} {corpus} seed {seed}: {line['default']:.2f} → {line['tuned']:.2f} "
            f"in {line['wall']:.0f} s ({line['chosen']})",
            file=sys.stderr,
            flush=True,
        )


def stored(results: Path, kind: dict[str, Any]) -> list[dict[str, Any]]:
    """The results so far; a line that was cut off by an interruption does not count."""
    if not results.exists():
        return []
    found = []
    for text in results.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if {name: line.get(name) for name in kind} == kind:
            found.append(line)
    return found


def result_of(corpus: str, seed: int, kind: dict[str, Any]) -> dict[str, Any]:
    """One run: tuned, and by default where tuning chose something else."""
    with tempfile.TemporaryDirectory() as folder:
        make = labelled if corpus in TAGGING else trees
        given, data, dev, score = make(corpus, seed, kind, Path(folder))
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            tuned = tune(given, *data, dev=dev, budget=kind["budget"], threads=CORES)
            chosen = next(row for row in tuned.candidates_ if row.chosen)
            settings, name, candidates = tuned.settings_, chosen.name, len(tuned.candidates_)
            print(tuned.candidates_.table(), file=sys.stderr, flush=True)
        except InputError as problem:  # there is no time to choose
            tuned = given.fit(*data)
            settings, name, candidates = {}, f"as given: {problem}", 0
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        found = score(tuned)
        default = score(given.fit(*data)) if settings else found
    return {
        "corpus": corpus,
        "seed": seed,
        **kind,
        "default": default,
        "tuned": found,
        "wall": wall,
        "cpu": cpu,
        "chosen": name,
        "candidates": candidates,
    }


def labelled(corpus: str, seed: int, kind: dict[str, Any], _: Path) -> tuple[Any, ...]:
    """A tagger, what to train on, what to choose on, and who judges."""
    problem = tagging(corpus)
    dev = problem.held_out
    if kind["held_out"]:
        (x, y), dev = problem.train, None
        kept = [i for i in range(len(y)) if i % 5 != 4]
        train = [x[i] for i in kept], [y[i] for i in kept]
        problem = Tagging(problem.features, train, None, (x[4::5], y[4::5]), problem.spans)
    given = SequenceTagger(
        "auto" if kind["auto"] else problem.features, unseen_labels="count", seed=seed
    )
    return given, problem.train, dev, lambda it: problem.score(it.predict(problem.test[0]))["score"]


def trees(corpus: str, seed: int, kind: dict[str, Any], folder: Path) -> tuple[Any, ...]:
    """The same of a parser."""
    problem = parsing(corpus, folder)
    train = read_conllu(problem.train)
    dev = None if problem.held_out is None else read_conllu(problem.held_out)
    if kind["held_out"]:
        held_out = folder / "held-out.conllu"
        write_conllu(held_out, train.select(range(4, len(train), 5)))
        train, dev = train.select([i for i in range(len(train)) if i % 5 != 4]), None
        problem = Parsing(problem.train, None, held_out, problem.projective)

    def score(parser: DependencyParser) -> float:
        predicted = parser.predict(read_conllu(problem.test))
        return problem.score(arcs_in(bytes(predicted).decode()))["score"]

    return DependencyParser(seed=seed), (train,), dev, score


def table_of(
    results: list[dict[str, Any]], own: list[dict[str, Any]], corpora: list[str], held_out: bool
) -> str:
    """Markdown: the mean over seeds ± the standard deviation; ``own`` are those with ``--auto``."""
    peers = {} if held_out else best_peers(PAGE)
    names = ["task", "score", "seeds", "default", "tuned", "best peer", "wall s", "CPU s", "chosen"]
    names += ["tuned, own features", "wall s", "chosen"] * bool(own)
    rows = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    for corpus in corpora:
        lines = [line for line in results if line["corpus"] == corpus]
        others = [line for line in own if line["corpus"] == corpus]
        if not lines:
            continue
        cells = [
            corpus,
            "LAS" if corpus in PARSING else "F1" if TAGGING[corpus][2] else "accuracy",
            str(len(lines)),
            spread([line["default"] for line in lines]),
            spread([line["tuned"] for line in lines]),
            peers.get(corpus, "–"),
            average(lines, "wall"),
            average(lines, "cpu"),
            mostly_chosen(lines),
        ]
        if others:
            tuned = spread([line["tuned"] for line in others])
            cells += [tuned, average(others, "wall"), mostly_chosen(others)]
        elif own:
            cells += ["–"] * 3
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def average(lines: list[dict[str, Any]], name: str) -> str:
    return f"{mean(line[name] for line in lines):.0f}"


def mostly_chosen(lines: list[dict[str, Any]]) -> str:
    """What most seeds chose."""
    names = [line["chosen"] for line in sorted(lines, key=lambda line: line["seed"])]
    most = max(dict.fromkeys(names), key=names.count)
    return most if len(names) == 1 else f"{most} ({names.count(most)} of {len(names)})"


def spread(values: list[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


def best_peers(page: Path) -> dict[str, str]:
    """Of each corpus the peer with the best score, as the page has them."""
    best: dict[str, str] = {}
    corpus = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            corpus = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = all(cell.replace(".", "", 1).isdigit() for cell in cells[1:])
        peer = len(cells) == 6 and numbers and not cells[0].startswith("dualstruct")
        if corpus in CORPORA and peer and corpus not in best:  # the tables have the best first
            best[corpus] = f"{cells[1]} ({cells[0]})"
    return best


def section(table: str, budget: float) -> str:
    return (
        f"{HEADING}\n\n"
        f"`make bench-tuning`: {budget:g} s (wall) for choosing and training together, "
        f"on {CORES} cores, each run a process of its own; the attributes of the tables above. "
        "Settings are chosen on the development data, or on folds of the training data where there "
        "are none; the model learns from the training data alone. Means over seeds ± the standard "
        "deviation; `chosen` is what most seeds chose; with `own features`, if they are in the "
        "table, the presets that fit the columns are chosen from as well.\n\n"
        f"{table}\n\n"
    )


def with_section(page: str, text: str) -> str:
    """The page with this text in place of the one under its heading, or before the remarks."""
    before, found, _ = page.partition(f"{HEADING}\n")
    at = page.find(NEXT)
    if not found and at < 0:
        return f"{page}\n{text}"
    return (before if found else page[:at]) + text + page[at:]


if __name__ == "__main__":
    main()
