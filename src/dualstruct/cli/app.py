"""The command ``dualstruct``: train, predict, evaluate, explain, draw, inspect, convert, serve,
demo, and the papers' experiments with their corpora (``cli_experiments``).

Results go to standard output, everything else to standard error. Heavy imports happen inside
the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dualstruct.cli import experiments as cli_experiments
from dualstruct.cli.boundary import Commands, run
from dualstruct.cli.columns import (
    Sentences,
    compare_labels,
    read_labelled,
    read_sentences,
    read_tokens,
    scores_as_json,
    token_blocks,
)
from dualstruct.cli.confidence import calibrate, confident_lines, reliability_of
from dualstruct.cli.explain import explain
from dualstruct.cli.files import (
    check_outputs,
    located,
)
from dualstruct.cli.options import Json, Model, SameColumns, SameLabelColumn, Threads
from dualstruct.cli.output import console, print_json, say, tell, write
from dualstruct.cli.serve import serve
from dualstruct.cli.suspects import suspects
from dualstruct.cli.train import train
from dualstruct.data.leftovers import tidy_on_sigterm
from dualstruct.errors import InputError
from dualstruct.printable import printable

if TYPE_CHECKING:
    from dualstruct.estimators import SequenceTagger

app = typer.Typer(
    cls=Commands,
    help="Linear structured prediction by dual methods.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from dualstruct import __version__

        say(f"dualstruct {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Its version.")
    ] = False,
) -> None:
    """Linear structured prediction by dual methods."""


app.command()(train)


@app.command()
def predict(
    model: Model,
    file: Annotated[
        str,
        typer.Argument(
            help="A column file, with or without labels, or CoNLL-U for parsers; - is standard "
            "input."
        ),
    ] = "-",
    k_best: Annotated[
        int | None,
        typer.Option(min=1, max=1000, help="The k best labellings or trees of each sentence."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add the probability of each label or head.")
    ] = False,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Add the probability of each label or head, of each entity, and of the whole "
            "sentence; the model must be calibrated.",
        ),
    ] = False,
    text: Annotated[
        bool, typer.Option("--text", help="Each line is a sentence, words separated by blanks.")
    ] = False,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Label or parse new sentences.

    A tagger prints all columns, with the predicted label in the place of a label that is there, or
    last; comments (# …) and -DOCSTART- lines before sentences are kept. With --k-best, each
    labelling follows a line "# rank score", with --confidence each sentence a line "# probability"
    and one "# entity" for each entity. A parser prints CoNLL-U with everything else kept; a
    tag+parse model also takes one token per line.
    """
    from dualstruct.estimators import SequenceTagger, load_model

    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        from dualstruct.cli import trees as cli_trees

        cli_trees.predict(tagger, file, text, k_best, marginals, confidence, threads, as_json)
        return
    tagger.set_params(threads=threads)
    if not as_json:
        blocks = token_blocks(file, tagger, columns, label_column)
        for block in [read_sentences(file)] if text else blocks:
            _print_labels(tagger, block, k_best, marginals, confidence)
        return
    sentences = read_sentences(file) if text else read_tokens(file, tagger, columns, label_column)
    rows: list[dict[str, Any]] = [{"tokens": list(tokens)} for tokens in sentences]
    for i, row in enumerate(rows):
        if metadata := sentences.metadata(i):
            row["metadata"] = metadata
    if confidence:
        sure = tagger.predict_confidence(sentences.tokens, k_best or 1)
        print_json({"sentences": [x | y.to_dict() for x, y in zip(rows, sure, strict=True)]})
        return
    outputs, probabilities = _outputs(tagger, sentences.tokens, k_best, marginals)
    for i, (row, found) in enumerate(zip(rows, outputs, strict=True)):
        row["labels"] = found[0][1]
        if probabilities is not None:
            row["marginals"] = probabilities[i][0]
        if k_best is not None:
            row["k_best"] = [{"score": score, "labels": labels} for score, labels in found]
    print_json({"sentences": rows})


def _outputs(
    tagger: SequenceTagger, sentences: Any, k_best: int | None, marginals: bool
) -> tuple[list[list[tuple[float, list[str]]]], list[list[list[float]]] | None]:
    """The best labellings of each sentence with their scores; the marginals of their labels."""
    if k_best is not None:
        outputs = tagger.predict_k_best(sentences, k_best)
    else:
        outputs = [[(0.0, labels)] for labels in tagger.predict(sentences)]
    if not marginals:
        return outputs, None
    return outputs, _probabilities(tagger, sentences, outputs)


def _print_labels(
    tagger: SequenceTagger,
    sentences: Sentences,
    k_best: int | None,
    marginals: bool,
    confidence: bool,
) -> None:
    if confidence:
        sure = tagger.predict_confidence(sentences.tokens, k_best or 1)
        write([*confident_lines(sentences, sure, k_best is not None), *sentences.rest()])
        return
    outputs, probabilities = _outputs(tagger, sentences.tokens, k_best, marginals)
    lines: list[str] = []
    for i, found in enumerate(outputs):
        for rank, (score, labels) in enumerate(found):
            above = [] if k_best is None else [f"# {rank + 1} {score:.6f}"]
            behind = None
            if probabilities is not None:
                behind = [f"{p:.4f}" for p in probabilities[i][rank]]
            lines += sentences.lines(i, labels, above, behind, first=not rank)
    write([*lines, *sentences.rest()])


@app.command()
def evaluate(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|GOLD",
            help="A model file that train wrote, or a file with the true labels or trees.",
        ),
    ],
    test: Annotated[
        str,
        typer.Argument(
            metavar="TEST|PREDICTED",
            help="What to score the model on (- is standard input), or a file with predicted "
            "labels or trees.",
        ),
    ],
    unseen_labels: Annotated[
        str, typer.Option(help="Labels never seen in training: warn, count (as mistakes) or error.")
    ] = "warn",
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence", help="Compare confidence with accuracy: bins, and the ECE of each kind."
        ),
    ] = False,
    reliability: Annotated[
        Path | None,
        typer.Option(help="Draw the same as reliability diagrams to this file, .svg or .png."),
    ] = None,
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Score a model, or the labels or trees of one file against those of another one.

    Labels: token accuracy, and precision, recall and F1 of spans as conlleval counts. Trees: UAS
    and LAS, with and without punctuation, as CoNLL-X and CoNLL-2018 count, by relation and
    distance.
    """
    from dualstruct.cli import trees as cli_trees
    from dualstruct.data.opening import is_text
    from dualstruct.estimators import SequenceTagger, load_model

    if reliability is not None:
        from dualstruct.drawing.reliability import check_picture

        check_picture(reliability)
        check_outputs([reliability], [model, test])
    asked = confidence or reliability is not None
    chosen = columns is not None or label_column is not None
    trees = cli_trees.is_treebank(model) and not chosen
    if (trees or is_text(model)) and asked:
        raise InputError("confidence is that of a model, and a file of labels or trees has none")
    if trees:
        cli_trees.compare_files(model, test, as_json)
        return
    if is_text(model):
        scores = compare_labels(str(model), test, label_column, columns)
        if as_json:
            print_json(scores_as_json(scores))
        else:
            say(scores.table())
        return
    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        cli_trees.evaluate(tagger, test, threads, as_json, asked, reliability)
        return
    tagger.set_params(threads=threads, unseen_labels=unseen_labels)
    data = read_labelled(test, tagger, label_column, columns)
    with located(data):
        started = time.perf_counter()
        scores = tagger.evaluate(data.tokens, data.labels)
        seconds = time.perf_counter() - started
    diagrams = reliability_of(tagger, data.tokens, data.labels, reliability) if asked else {}
    report = scores_as_json(scores)
    report |= {"tokens_per_second": scores.tokens / seconds, "seconds": seconds}
    if asked:
        report["confidence"] = {name: each.to_dict() for name, each in diagrams.items()}
    if as_json:
        print_json(report)
    else:
        say(scores.table())
        for each in diagrams.values():
            say(f"\n{each.table()}")
        say(f"{report['tokens_per_second']:,.0f} tokens a second, features included")


app.command()(explain)
app.command()(calibrate)
app.command()(suspects)


@app.command()
def draw(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A CoNLL-U file; - is standard input.")
    ],
    sentence: Annotated[
        str | None, typer.Option(help="Only this one: its sent_id, or its number from 1.")
    ] = None,
    svg: Annotated[
        Path | None, typer.Option(help="Draw the sentence (the first unless named) to this file.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many sentences to draw at most.")] = 10,
    width: Annotated[
        int | None, typer.Option(min=20, help="How many columns to use; the terminal's by default.")
    ] = None,
) -> None:
    """Draw dependency trees: arcs over the words, in the terminal or as SVG."""
    from dualstruct.cli.trees import draw_file

    say("\n".join(draw_file(file, sentence, svg, width, most)))


@app.command()
def inspect(
    model: Model,
    label: Annotated[str | None, typer.Option(help="Only the weights of this label.")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many weights to show.")] = 15,
    as_json: Json = False,
) -> None:
    """Show what a model has learned: its strongest weights and transitions, if it is a tagger."""
    from dualstruct.estimators import SequenceTagger, load_model

    tagger = load_model(model)
    if not isinstance(tagger, SequenceTagger):
        from dualstruct.cli import trees as cli_trees

        cli_trees.inspect(tagger, as_json)
        return
    table = tagger.weights_
    strongest = table.strongest(top, label)
    transitions = table.transitions(top)
    pairs = table.strongest_pairs(top)
    summary = {
        "labels": table.labels,
        "features": tagger.n_features_,
        "nonzero_weights": len(table),
        "training": {k: v for k, v in tagger.result_.summary().items() if k != "trace"},
    }
    if as_json:
        weights = [row._asdict() for row in strongest]
        steps = [{"from": a, "to": b, "weight": weight} for a, b, weight in transitions]
        by_pair = [
            {"feature": row.feature, "from": row.before, "to": row.label, "weight": row.weight}
            for row in pairs
        ]
        lists = {"weights": weights, "transitions": steps} | ({"pairs": by_pair} if pairs else {})
        print_json({**summary, **lists})
        return
    from rich.table import Table

    screen = console()
    screen.print(
        f"{len(table.labels)} labels, {tagger.n_features_:,} features, {len(table):,} weights",
        markup=False,
    )
    features = Table("weight", "label", "feature", box=None, title_justify="left")
    for row in strongest:
        features.add_row(_signed(row.weight), _plain(row.label), _plain(row.feature))
    steps_table = Table("weight", "from", "to", box=None)
    for a, b, weight in transitions:
        steps_table.add_row(_signed(weight), _plain(a), _plain(b))
    screen.print(features)
    screen.print()
    screen.print(steps_table)
    if pairs:
        pairs_table = Table("weight", "from", "to", "feature", box=None)
        for pair in pairs:
            cells = (pair.before, pair.label, pair.feature)
            pairs_table.add_row(_signed(pair.weight), *map(_plain, cells))
        screen.print()
        screen.print(pairs_table)


@app.command()
def convert(
    source: Annotated[
        Path, typer.Argument(help="A tagger that train wrote, or a CRFsuite model file.")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="The file to write, of the other kind: .dstruct is ours, .crfsuite (.crfmodel, "
            ".crf, .model) CRFsuite's."
        ),
    ],
) -> None:
    """Turn a CRFsuite model into one of ours, or a tagger of ours into a CRFsuite model."""
    from dualstruct.compat.conversion import END, START, crfsuite_from_tagger, tagger_from_crfsuite
    from dualstruct.data.crfsuite import is_crfsuite, read_crfsuite, write_crfsuite
    from dualstruct.estimators import SequenceTagger, load_model

    if is_crfsuite(source):
        kind = "dualstruct"
        _check_ending(target, kind)
        check_outputs([target], [source])
        found = read_crfsuite(source)
        tagger_from_crfsuite(found).save(target)
    else:
        kind = "CRFsuite"
        tagger = load_model(source)
        if not isinstance(tagger, SequenceTagger):
            raise InputError(f"{source} holds no tagger, and CRFsuite knows nothing else")
        _check_ending(target, kind)
        if target.exists() and not is_crfsuite(target):
            raise InputError(f"{target} exists and is not a CRFsuite model; choose another name")
        found = crfsuite_from_tagger(tagger)
        write_crfsuite(target, found)
    say(
        f"{len(found.labels):,} labels, {len(found.attributes):,} attributes; "
        f"{kind} model written to {target}"
    )
    if kind == "CRFsuite" and {START, END} & set(found.attributes):
        tell(f"the first item of a sequence needs the attribute {START}, the last one {END}")


#: How the names of the files that convert writes end, by whose they are.
ENDINGS = {"dualstruct": (".dstruct",), "CRFsuite": (".crfsuite", ".crfmodel", ".crf", ".model")}


def _check_ending(target: Path, kind: str) -> None:
    """A name that promises another format than is written is a mistake."""
    known = ENDINGS[kind]
    if target.suffix and target.suffix not in known:
        raise InputError(
            f"{target}: a {kind} model would be written there, whose name ends in "
            f"{', '.join(known)}; convert knows dualstruct's models and CRFsuite's, no others"
        )


app.command()(serve)


@app.command()
def demo() -> None:
    """Train on the corpus that comes with dualstruct, and tag and parse new sentences."""
    from dualstruct.demo import run_demo

    run_demo(console())


app.command()(cli_experiments.experiment)
app.command()(cli_experiments.datasets)


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(printable(text))


def _signed(weight: float) -> Any:
    from rich.text import Text

    return Text(f"{weight:+.3f}", style="green" if weight > 0 else "red")


def _probabilities(tagger: SequenceTagger, sentences: Any, outputs: Any) -> list[list[list[float]]]:
    """The marginal of each label that was put out."""
    import numpy as np

    found = []
    for marginals, labellings in zip(tagger.predict_marginals(sentences), outputs, strict=True):
        rows = []
        for _, labels in labellings:
            chosen = marginals[np.arange(len(labels)), tagger.class_indices(labels)]
            rows.append([round(float(p), 6) for p in chosen])
        found.append(rows)
    return found


def main() -> None:
    """Run the command line; whatever goes wrong is one sentence, never a traceback."""
    tidy_on_sigterm()
    run(app)


if __name__ == "__main__":
    main()
