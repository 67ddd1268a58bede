"""Which loss, C and averaging should be the default: a scan on held-out training data.

    python benchmarks/defaults.py [--corpora NAME …] [--losses NAME …] [--results FILE] [--collect]

Every candidate learns from nine tenths with all other settings as they are by default, and is
judged on the tenth left out; test and development data are not touched. CPU seconds of one thread.
The regret of a C is what it loses to the best C of the same loss on the same corpus; the C with the
least regret, on average over the corpora, is the one that the loss should have where none is given.

What was measured is a line in a file and not measured again: an interrupted scan continues.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from dualstruct import DependencyParser, SequenceTagger, read_conllu
from measuring import DATA, Clock

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from benchmark_utils.corpora import columns, words_and_tags

#: Folder: templates, judged by spans, tenths to hold out in turn: more where they are small.
CORPORA = {
    "usaddress": ("pos", False, 6),
    "twpos": ("pos", False, 6),
    "wnut17": ("ner", True, 3),
    "kb_dutch_ner": ("ner", True, 3),
    "conll2000": ("chunking-small", True, 2),
    "bc2gm": ("ner", True, 2),
    "ud_english_ewt": ("pos", False, 1),
    "jnlpba": ("ner", True, 1),
}
#: Treebanks: file, and every how many sentences are taken.
TREES = {"ddt_conllx": ("train.conllx.xz", 2), "ud_english_ewt trees": ("train.conllu.xz", 6)}
#: What is tried for each loss, and with averaged weights.
SCAN = {
    "squared_hinge": (0.03, 0.1, 0.3, 1.0),
    "hinge": (0.03, 0.1, 0.3, 1.0),
    "crf": (0.1, 0.3, 1.0, 3.0, 10.0),
    "softmax_margin": (0.1, 0.3, 1.0, 3.0),
}
AVERAGED = (("squared_hinge", 0.1), ("hinge", 0.1))
SCAN_OF_PARSERS = {
    "squared_hinge": (0.003, 0.01, 0.03),
    "hinge": (0.003, 0.01, 0.03),
    "crf": (0.003, 0.01, 0.03, 0.1, 0.3),
}
RESULTS = Path(__file__).parent / "peers" / "outputs" / "defaults.jsonl"

Result = dict[str, Any]


def main() -> None:
    every = [*CORPORA, *TREES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="*", choices=every, default=every, metavar="NAME")
    parser.add_argument("--losses", nargs="*", choices=SCAN, default=list(SCAN), metavar="NAME")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--collect", action="store_true", help="run nothing, show what is there")
    options = parser.parse_args()
    if not options.collect and not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    options.results.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not options.collect:
            scan(options.corpora, options.losses, options.results)
    except KeyboardInterrupt:
        print("interrupted: the same command continues", file=sys.stderr)
    found = stored(options.results)
    for corpora in (CORPORA, TREES):
        for loss in options.losses:
            if table := table_of(
                found, loss, [name for name in corpora if name in options.corpora]
            ):
                print(f"{table}\n")


def scan(corpora: list[str], losses: list[str], results: Path) -> None:
    """Candidate by candidate, so that all corpora have the first losses early."""
    done = {key_of(line) for line in stored(results)}
    for loss in losses:
        for corpus in corpora:
            for candidate in candidates(loss, corpus in TREES):
                wanted = {"corpus": corpus, **candidate}
                if key_of(wanted) in done:
                    continue
                line = {**wanted, **judged(corpus, candidate)}
                with results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(
                    f"{corpus} {name_of(candidate)}: {line['score']:.2f} ({line['cpu']:.1f} s)",
                    file=sys.stderr,
                    flush=True,
                )


def candidates(loss: str, parser: bool) -> Iterator[dict[str, Any]]:
    for C in (SCAN_OF_PARSERS if parser else SCAN).get(loss, ()):
        yield {"loss": loss, "C": C, "averaged": parser}
    if not parser:
        yield from ({"loss": x, "C": C, "averaged": True} for x, C in AVERAGED if x == loss)


def key_of(line: Result) -> tuple[Any, ...]:
    return line["corpus"], line["loss"], line["C"], line["averaged"]


def name_of(candidate: dict[str, Any]) -> str:
    return f"{candidate['loss']} {candidate['C']:g}" + " averaged" * candidate["averaged"]


def stored(results: Path) -> list[Result]:
    """The results so far; a line that was cut off by an interruption does not count."""
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def judged(corpus: str, candidate: dict[str, Any]) -> dict[str, float]:
    judge = judged_trees if corpus in TREES else judged_labels
    scores, seconds = zip(*judge(corpus, candidate), strict=True)
    return {"score": 100 * mean(scores), "cpu": mean(seconds)}


def judged_labels(corpus: str, candidate: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """The score of each tenth that is held out, and the CPU seconds of training."""
    features, spans, tenths = CORPORA[corpus]
    if (DATA / corpus / "train.conllu.xz").exists():
        x, y = words_and_tags(DATA / corpus / "train.conllu.xz")
    else:
        x, y = columns(DATA / corpus / "train.txt.xz")
    for fold in range(1, tenths + 1):
        kept = [i for i in range(len(y)) if i % 10 != fold]
        tagger = SequenceTagger(features, seed=fold, unseen_labels="count", **candidate)
        clock = Clock()
        tagger.fit([x[i] for i in kept], [y[i] for i in kept])
        seconds = clock.lap()
        found = tagger.evaluate(x[fold::10], y[fold::10])
        yield found.f1 if spans else found.accuracy, seconds


def judged_trees(corpus: str, candidate: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """The same of one tenth of some trees: LAS."""
    file, every = TREES[corpus]
    trees = read_conllu(DATA / corpus.split()[0] / file)
    some = range(0, len(trees), every)
    parser = DependencyParser(**candidate)
    clock = Clock()
    parser.fit(trees.select([i for n, i in enumerate(some) if n % 10 != 1]))
    seconds = clock.lap()
    yield parser.evaluate(trees.select(list(some)[1::10])).las, seconds


def table_of(found: list[Result], loss: str, corpora: list[str]) -> str:
    """Markdown: corpora, C, and the mean regret of each C; nothing if nothing was measured."""
    mine = {key_of(line): line for line in found if line["loss"] == loss}
    tried = sorted({key[2:] for key in mine if key[0] in corpora}, key=lambda key: key[::-1])
    names = [name_of({"loss": loss, "C": C, "averaged": averaged}) for C, averaged in tried]
    complete = [
        corpus for corpus in corpora if all((corpus, loss, *each) in mine for each in tried)
    ]
    if not complete or not tried:
        return ""
    rows = [f"| held out, % (CPU s) | {' | '.join(names)} |", "| --- " * (len(names) + 1) + "|"]
    scores = {
        corpus: [mine[(corpus, loss, *each)]["score"] for each in tried] for corpus in complete
    }
    for corpus in complete:
        lines = [mine[(corpus, loss, *each)] for each in tried]
        cells = [f"{line['score']:.2f} ({line['cpu']:.1f})" for line in lines]
        rows.append(f"| {corpus} | {' | '.join(cells)} |")
    regrets = [mean(max(row) - row[n] for row in scores.values()) for n in range(len(tried))]
    rows.append(f"| mean regret | {' | '.join(f'{each:.2f}' for each in regrets)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
