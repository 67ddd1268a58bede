"""Where a pass of DCD spends its time: ns per token and pass by phase, and the bytes it touches.

    python benchmarks/phases.py [--data FOLDER] [--page PAGE] [--corpora NAME ...]

Chains with the default settings (squared hinge, C = 0.1), one thread, CPU time. Decoding is timed
at the w of the moment; the same sentences without features show what of it is Viterbi's. What a
visit takes beyond that goes into cuts: finding, adding and learning from them. With --page the
table between its two markers is replaced.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dualstruct import Problem, _core, read_columns, read_conllu
from dualstruct.features import FeatureRows, make_extractor
from dualstruct.labels.names import Labels
from dualstruct.solvers import DCD
from dualstruct.structures import Chain
from measuring import DATA, Clock, best_of

AT = (1, 5, 10, 20)  #: passes after which a row is written
MARKS = ("<!-- phases -->", "<!-- end of phases -->")


def column_corpus(folder: Path, preset: str) -> Chain:
    train = read_columns(folder / "train.txt.xz")
    return chain_of(preset, train.tokens, train.labels)


def tags_of_ewt(folder: Path) -> Chain:
    trees = read_conllu(folder / "train.conllu.xz")
    return chain_of(
        "pos", [list(tree.forms) for tree in trees], [list(tree.xpos) for tree in trees]
    )


def chain_of(preset: str, tokens: Any, labels: Any) -> Chain:
    rows = make_extractor(preset).fit(tokens)
    names = Labels.learn(labels)
    return Chain(rows, len(names), names.encode(labels, rows.sentences))


CORPORA = {
    "conll2000": lambda data: column_corpus(data / "conll2000", "chunking-small"),
    "jnlpba": lambda data: column_corpus(data / "jnlpba", "ner"),
    "EWT XPOS": lambda data: tags_of_ewt(data / "ud_english_ewt"),
}


def without_features(chain: Chain) -> Chain:
    offsets = np.zeros(int(chain.sentences[-1]) + 1, dtype=np.int64)
    ids = np.zeros(0, dtype=np.int32)
    return Chain(FeatureRows(offsets, ids, None, chain.sentences, 1), chain.labels)


@dataclass
class Held:
    """What the cuts held are made of."""

    cuts: int = 0
    tokens: int = 0  #: Σ over cuts of the tokens at which they differ from the truth
    pairs: int = 0  #: distinct (token, label) pairs of each sentence's cuts, the true ones included


def held_by(duals: _core.DualState) -> Held:
    codes, of_example, _ = duals.save()
    held, start, head = Held(cuts=duals.cuts), 0, 6  # numbers before the codes of a cut
    for count in of_example.tolist():
        end, mine = start + count, []
        while start < end:
            size = int(codes[start + 4])
            mine.append(codes[start + head : start + head + size])
            start += head + (size + 1) // 2 * 2
        if mine:
            distinct = np.unique(np.concatenate(mine))
            held.tokens += sum(map(len, mine))
            held.pairs += len(distinct) + len(np.unique(distinct >> 12))
    return held


def measure(name: str, chain: Chain) -> list[list[str]]:
    tokens = int(chain.sentences[-1])
    features = len(chain.rows.ids) / tokens
    problem, solver = Problem(chain, C=0.1), DCD()
    iterate = solver.start(problem, 0)
    bare = without_features(chain)
    no_weights = bare.new_weights()
    rows = []
    for number in range(1, max(AT) + 1):
        clock = Clock()
        for _ in range(solver.revisits if iterate.cuts else 0):
            solver.run_revisit(iterate)
        revisited = clock.lap()
        cuts = iterate.cuts
        report = solver.run_visit(iterate)
        visited = clock.lap()
        if number not in AT:
            continue
        viterbi = best_of(3, lambda: bare.decode_all(no_weights))[0]
        decoded = best_of(3, lambda: chain.decode_all(iterate.w))[0]
        held = held_by(iterate.duals)
        used = np.count_nonzero(iterate.w.array)
        each = 1e9 / tokens
        rows.append(
            [
                name if not rows else "",
                str(number),
                f"{each * (decoded - viterbi):.0f}",
                f"{each * viterbi:.0f}",
                f"{each * max(visited - decoded, 0):.0f}",
                f"{each * revisited:.0f}" if cuts else "–",
                f"{1e9 * revisited / (solver.revisits * cuts):.0f}" if cuts else "–",
                f"{held.cuts:,} (+{report.added:,})",
                f"{held.tokens / max(held.pairs, 1):.1f}",
                f"{4e-6 * len(iterate.w.array):.0f} / {4e-6 * used:.1f}",
                f"{1e-6 * tokens * features * 4 * chain.labels:.0f}",
                f"{1e-6 * held.pairs * features * 8:.0f}",
            ]
        )
        print(" | ".join(rows[-1]), flush=True)
    return rows


def table(rows: list[list[str]]) -> str:
    heads = (
        "corpus", "pass", "emissions", "Viterbi", "cuts of a visit", "all revisits",
        "ns per cut and revisit", "cuts held (added)", "tokens of cuts per pair", "MB of w / not 0",
        "MB read to decode", "MB of pairs",
    )  # fmt: skip
    lines = ["| " + " | ".join(row) + " |" for row in (heads, ["---"] * len(heads), *rows)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the corpora")
    parser.add_argument("--page", type=Path, help="the page whose table is replaced")
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    options = parser.parse_args()
    rows = [row for name in options.corpora for row in measure(name, CORPORA[name](options.data))]
    if options.page:
        before, after = MARKS
        page = options.page.read_text()
        inside = re.compile(f"{before}.*{after}", re.DOTALL)
        if not inside.search(page):
            raise SystemExit(f"{options.page} has no {before}")
        options.page.write_text(inside.sub(lambda _: f"{before}\n{table(rows)}\n{after}", page))


if __name__ == "__main__":
    main()
