"""Ours and the peers on the same attributes: tables, ratios, a picture, a page.

    python benchmarks/peers/run.py [--corpora NAME …] [--solvers NAME …] [--page FILE] [--collect]

Each tool on each corpus is a run of benchopt of its own, with a limit of CPU time. What the others
did before comes from its cache, unless --anew. Times are CPU seconds of one thread. `prepare` is
what a tool does with ready tokens (ours: makes the attributes) or ready attributes (the others)
before it learns; reading files, and making the others' attributes, costs nothing here.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import figure
from benchmark_utils.corpora import DATA, PARSING, TAGGING

import tuning

#: What stands before the tables of the page and after them: what no program can say.
INTRODUCTION = HERE / "introduction.md"
REMARKS = HERE / "remarks.md"
STEPS = ("prepare", "train", "test")
JUDGED_BY = {True: "F1 of spans", False: "accuracy"}


#: What runs, in this order, as benchopt names it.
TAGGERS = [
    *(
        f"dualstruct[settings={name}]"
        for name in ("default", "quick", "chosen", "tuned", "certified", "crf")
    ),
    *(f"crfsuite[algorithm={name}]" for name in ("ap", "pa", "arow", "lbfgs", "l2sgd")),
    "sklearn-crfsuite",
    "vowpal-wabbit",
    "linear-svc",
]
PARSERS = [
    *(f"dualstruct[settings={name}]" for name in ("default", "tuned", "second-order")),
    *(f"udpipe[iterations={number}]" for number in (3, 10)),
]


def tools_for(corpus: str) -> list[str]:
    return TAGGERS if corpus in TAGGING else PARSERS


def run(corpus: str, tool: str, results: Path, limit: int, anew: bool) -> None:
    """Leaves what came out in ``results``; a note of the limit if it was not enough."""
    target = file_of(results, corpus, tool)
    note = target.with_suffix(".limit")
    for old in (target, note):  # benchopt would write beside it
        old.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    kind = "tagging" if corpus in TAGGING else "parsing"
    command = [sys.executable, "-m", "benchopt", "run", str(HERE), "-d", f"{kind}[corpus={corpus}]"]
    # Ours may have changed since it was run.
    command += ["-f" if anew or tool.startswith("dualstruct") else "-s", tool]
    command += ["--no-plot", "--no-html", "--output", str(target)]
    done = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 10)),
    )
    if done.returncode == -signal.SIGXCPU:
        note.write_text(str(limit))
    elif done.returncode:
        sys.exit(f"{tool} failed on {corpus}")


def file_of(results: Path, corpus: str, tool: str) -> Path:
    return results / corpus / f"{plain_name(tool).replace(' ', '-')}.parquet"


def table_of(corpus: str, results: Path) -> pd.DataFrame:
    """One row for each tool, the best score first."""
    paths = [file_of(results, corpus, tool) for tool in tools_for(corpus)]
    frames = [pd.read_parquet(path) for path in paths if path.exists()]
    if not frames:
        return pd.DataFrame()
    frame = pd.concat(frames, ignore_index=True)
    table = pd.DataFrame(
        {"tool": frame["solver_name"].map(plain_name), "score": frame["objective_score"]}
    )
    for step in (*STEPS, "choose"):
        column = f"objective_{step}_seconds"
        table[step] = frame[column].fillna(0.0) if column in frame else 0.0
    table["choice"] = frame["objective_choice"].fillna("") if "objective_choice" in frame else ""
    table["total"] = table[[*STEPS]].sum(axis=1)
    return table.sort_values("score", ascending=False, ignore_index=True)


def over_limit(corpus: str, results: Path) -> list[str]:
    """The tools that did not end in time."""
    lines = []
    for tool in tools_for(corpus):
        note = file_of(results, corpus, tool).with_suffix(".limit")
        if note.exists():
            lines.append(f"{plain_name(tool)} did not end within {note.read_text()} s")
    return lines


def plain_name(name: str) -> str:
    """ "crfsuite[algorithm=ap]" → "crfsuite ap"."""
    tool, _, settings = name.partition("[")
    values = [pair.split("=")[1] for pair in settings.rstrip("]").split(",") if pair]
    return " ".join([tool, *values])


def verdict(table: pd.DataFrame) -> list[str]:
    """How we stand against the best and the quickest of the others."""
    ours = table[table.tool.str.startswith("dualstruct")]
    others = table[~table.tool.str.startswith("dualstruct")]
    if ours.empty or others.empty:
        return []
    lines = []
    best = others.loc[others.score.idxmax()]
    level = ours[ours.score >= best.score]
    if level.empty:
        mine = ours.loc[ours.score.idxmax()]
        lines.append(
            f"best score: {best.tool}, {best.score:.2f}; ours {mine.score:.2f} ({mine.tool}), "
            f"{best.score - mine.score:.2f} below"
        )
    else:
        mine = level.loc[level.total.idxmin()]
        lines.append(
            f"the best peer's score ({best.tool}, {best.score:.2f}, {best.total:.2f} s): "
            f"{mine.tool} has {mine.score:.2f} in {mine.total:.2f} s, "
            f"{ratio(mine.total, best.total)}"
        )
    quickest = ours.loc[ours.total.idxmin()]
    level = others[others.score >= quickest.score]
    if level.empty:
        lines.append(
            f"no peer reaches {quickest.tool}: {quickest.score:.2f} in {quickest.total:.2f} s"
        )
    else:
        peer = level.loc[level.total.idxmin()]
        lines.append(
            f"the quickest peer at the score of {quickest.tool} ({quickest.score:.2f}, "
            f"{quickest.total:.2f} s): {peer.tool}, {peer.score:.2f}, {peer.total:.2f} s; "
            f"dualstruct is {ratio(quickest.total, peer.total)}"
        )
    return lines


def ratio(ours: float, theirs: float) -> str:
    times, word = (theirs / ours, "faster") if theirs >= ours else (ours / theirs, "slower")
    return f"about {times:.0f} times {word}" if times >= 10 else f"{times:.1f} times {word}"


def markdown(table: pd.DataFrame, score: str) -> str:
    rows = [
        f"| tool | {score} | prepare | train | test | total |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in table.itertuples():
        rows.append(
            f"| {row.tool} | {row.score:.2f} | {row.prepare:.2f} | {row.train:.2f} "
            f"| {row.test:.2f} | {row.total:.2f} |"
        )
    chose = table[table.choose > 0]
    for row in chose.itertuples():
        rows += ["", f"{row.tool}: {row.choice}; choosing took {row.choose:.1f} s more."]
    return "\n".join(rows)


def judged_by(corpus: str) -> str:
    return JUDGED_BY[TAGGING[corpus][2]] if corpus in TAGGING else "LAS"


def summary(tables: dict[str, pd.DataFrame]) -> str:
    """For each corpus the best peer, and the quickest of ours with at least its score."""
    rows = [
        "| corpus | score | best peer | dualstruct, at least as good | faster |",
        "| --- | --- | --- | --- | --- |",
    ]
    for corpus, table in tables.items():
        mine = table[table.tool.str.startswith("dualstruct")]
        others = table[~table.tool.str.startswith("dualstruct")]
        if mine.empty or others.empty:
            continue
        best = others.loc[others.score.idxmax()]
        level = mine[mine.score >= best.score]
        shown, compared = "none", "–"
        if not level.empty:
            quickest = level.loc[level.total.idxmin()]
            shown = in_words(quickest).removeprefix("dualstruct ")
            compared = ratio(quickest.total, best.total).replace(" times faster", "×")
        rows.append(
            f"| [{corpus}](#{corpus}) | {judged_by(corpus)} | {in_words(best)} | {shown} "
            f"| {compared} |"
        )
    return "\n".join(rows)


def in_words(row: pd.Series) -> str:
    return f"{row.tool}: {row.score:.2f} in {row.total:.2f} s"


def page(tables: dict[str, pd.DataFrame], picture: str, results: Path) -> str:
    before, after = INTRODUCTION.read_text(encoding="utf-8").split("SUMMARY\n")
    parts = [
        f"{before}{summary(tables)}\n{after}",
        f"![score against time]({picture})",
        "",
    ]
    for corpus, table in tables.items():
        score = judged_by(corpus)
        parts += [f"## {corpus}", "", markdown(table, score), ""]
        lines = [*verdict(table), *over_limit(corpus, results)]
        parts += [*(f"- {line}" for line in lines), ""]
    return "\n".join(parts) + tuned_section(results) + REMARKS.read_text(encoding="utf-8")


def tuned_section(results: Path) -> str:
    """What `make bench-tuning` has measured so far."""
    kind = {"budget": tuning.BUDGET, "auto": False, "held_out": False}
    lines = tuning.stored(results / tuning.RESULTS.name, kind)
    table = tuning.table_of(lines, tuning.CORPORA, held_out=False)
    return tuning.section(table, tuning.BUDGET) if lines else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=[*TAGGING, *PARSING])
    parser.add_argument(
        "--solvers", nargs="*", help='as benchopt names them: "crfsuite[algorithm=ap]"'
    )
    parser.add_argument(
        "--limit", type=int, default=1800, help="CPU seconds that a tool may take on a corpus"
    )
    parser.add_argument("--anew", action="store_true", help="run the others again, too")
    parser.add_argument("--results", type=Path, default=HERE / "outputs")
    parser.add_argument("--page", type=Path, help="write the page here, the picture in images/")
    parser.add_argument(
        "--collect", action="store_true", help="run nothing: use the results that are there"
    )
    options = parser.parse_args()
    if not options.collect and not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    tables = {}
    for corpus in options.corpora:
        if not options.collect:
            for tool in options.solvers or tools_for(corpus):
                run(corpus, tool, options.results, options.limit, options.anew)
        table = table_of(corpus, options.results)
        if not table.empty:
            tables[corpus] = table
            print(f"\n{corpus}\n{table.round(2).to_string(index=False)}")
            print("\n".join([*verdict(table), *over_limit(corpus, options.results)]))
    if options.page and tables:
        text = page(tables, figure.NAME, options.results)
        figure.draw(figure.tables_of(text), options.page.parent / figure.NAME)
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
