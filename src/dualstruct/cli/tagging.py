"""What the command ``dualstruct`` does with taggers: train, predict, score, show."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.cli import workers as cli_workers
from dualstruct.cli.columns import (
    Sentences,
    read_labelled,
    read_tokens,
    scores_as_json,
    text_blocks,
    token_blocks,
    words_of,
)
from dualstruct.cli.confidence import confident_lines, reliability_of
from dualstruct.cli.files import (
    column_numbers,
    located,
    places,
    read,
    read_corpus,
    shard_names,
    text_blocks_of,
    text_format,
)
from dualstruct.cli.judging import Judged
from dualstruct.cli.options import Reading, Splitting, TextOptions, Wanted, asked_tokenizer
from dualstruct.cli.output import print_json, write
from dualstruct.cli.texts import Output, document_sentences, predict_texts
from dualstruct.errors import InputError
from dualstruct.estimators import SequenceTagger
from dualstruct.printable import plural, printable
from dualstruct.screen import Column, Screen, Table, Text
from dualstruct.training.results import FitResult

if TYPE_CHECKING:
    from dualstruct.suspecting import Suspect


def train(
    files: list[str],
    dev: Path | None,
    start: Path | None,
    target: Path,
    settings: dict[str, Any],
    *,
    out_of_core: Path | None,
    label_column: str | None,
    columns: str | None,
    folds: None,
    format: str | None,
    misaligned: str | None,
    overlapping: str | None,
    tokenizer: str | None,
) -> tuple[dict[str, Any] | None, FitResult]:
    """Train a tagger and write the model; without a report, another process of the job does."""
    tagger = SequenceTagger() if start is None else SequenceTagger.load(start)
    tagger.set_params(**settings)
    together = tagger.engine is not None
    if out_of_core is not None and start is not None:
        raise InputError("--out-of-core learns from the beginning: leave out --start")
    split_as = None if tokenizer is None else asked_tokenizer(tokenizer)
    texts = TextOptions(format, misaligned, overlapping, split_as)
    given = Given(files, dev, start is not None, label_column, columns, texts)
    if out_of_core is not None:
        split, (sentences, tokens) = _learn_large(tagger, given, out_of_core)
    elif not together and len(files) == 1:
        split, (sentences, tokens) = _learn(tagger, given)
    elif (found := text_format(files[0], format, label_column)) is not None:
        split, (sentences, tokens) = _learn_texts(tagger, given, found)
    else:
        split, (sentences, tokens) = _learn_together(tagger, given)
    if tagger.rank_ != 0:
        return None, tagger.result_
    if split_as is not None and split_as.rules is None:
        tagger.tokenizer_ = split_as
    tagger.save(target)
    split |= {"features": tagger.feature_seconds_, "train": tagger.result_.seconds}
    report = {
        "model": str(target),
        "sentences": sentences,
        "tokens": tokens,
        "labels": len(tagger.classes_),
        "features": tagger.n_features_,
        "templates": str(getattr(tagger, "features_", tagger.features)),
        "coverage": getattr(tagger, "coverage_", {}),
        "seconds_split": split,
        **tagger.run_metadata(),
    }
    return report, tagger.result_


@dataclass(frozen=True)
class Given:
    """What a tagger is trained on."""

    files: list[str]
    dev: Path | None
    goes_on: bool  #: from the model that it is
    label_column: str | None
    columns: str | None
    texts: TextOptions


#: Seconds of what was done, and how many sentences and tokens were read.
Learned = tuple[dict[str, float], tuple[int, int]]


def _learn_together(tagger: SequenceTagger, given: Given) -> Learned:
    """From several files, or on several workers."""
    place, columns = places(given.label_column, given.columns)
    *counts, reading = cli_workers.learn_columns(
        tagger, given.goes_on, given.files, given.dev, place, column_numbers(columns)
    )
    return {"read": reading}, (int(counts[0]), int(counts[1]))


def _learn_texts(tagger: SequenceTagger, given: Given, format: str) -> Learned:
    """From several files of texts, or on several workers: everybody reads all of them."""
    started = time.perf_counter()
    data = read_corpus(given.files, format, given.label_column, given.texts)
    dev = None if given.dev is None else read(str(given.dev), given.label_column, given.columns)
    split = {"read": time.perf_counter() - started}
    with located(dev or data):
        learn = tagger.partial_fit if given.goes_on else tagger.fit
        learn(data.tokens, data.labels, dev=None if dev is None else (dev.tokens, dev.labels))
    return split, (len(data), int(data.tokens.lengths.sum()))


def _learn(tagger: SequenceTagger, given: Given) -> Learned:
    """From one file, on one worker."""
    started = time.perf_counter()
    place = given.label_column, given.columns, given.texts
    dev_data = None if given.dev is None else read(str(given.dev), *place)
    judged = None if dev_data is None else (dev_data.tokens, dev_data.labels)
    data = read(given.files[0], *place)
    split = {"read": time.perf_counter() - started}
    with located(dev_data or data):
        learn = tagger.partial_fit if given.goes_on else tagger.fit
        learn(data.tokens, data.labels, dev=judged)
    return split, (len(data), int(data.tokens.lengths.sum()))


def _learn_large(tagger: SequenceTagger, given: Given, folder: Path) -> Learned:
    """From files that memory does not hold, on one worker or on several."""
    dev = None
    if given.dev is not None:
        dev = read(str(given.dev), given.label_column, given.columns, given.texts)
    files = shard_names(given.files)
    found = text_format(files[0], given.texts.format, given.label_column)
    source: Any = "-" if files == ["-"] else files
    label, columns = -1, None
    if found is not None:
        source = text_blocks_of(files, found, given.label_column, given.texts)
    else:
        label, chosen = places(given.label_column, given.columns)
        columns = column_numbers(chosen)
    with contextlib.nullcontext() if dev is None else located(dev):
        tagger.fit_large(
            source,
            folder,
            None if dev is None else (dev.tokens, dev.labels),
            label_column=label,
            columns=columns,
        )
    return {}, tagger.read_ if tagger.engine is None else tagger.trained_on_


class TaggerCommands:
    """A tagger, as the commands ask models."""

    def __init__(self, model: SequenceTagger) -> None:
        self.model = model

    def predict(
        self,
        file: str,
        text: Splitting | None,
        wanted: Wanted,
        reading: Reading,
        as_json: bool,
        output: Output,
    ) -> None:
        """Label a file, a few sentences at a time, and print columns, JSON or documents."""
        tagger = self.model.set_params(threads=reading.threads)
        if not as_json and predict_texts(tagger, file, text, wanted, reading, output):
            return
        if not as_json:
            if text is not None:
                blocks = text_blocks(file, tagger, text)
            else:
                blocks = token_blocks(file, tagger, reading.columns, reading.label_column)
            for block in blocks:
                _print_labels(tagger, block, wanted)
            return
        if text is not None:
            sentences = Sentences(list(chain.from_iterable(text_blocks(file, tagger, text))))
        else:
            sentences = read_tokens(file, tagger, reading.columns, reading.label_column)
        rows: list[dict[str, Any]] = [{"tokens": list(tokens)} for tokens in sentences]
        for i, row in enumerate(rows):
            if metadata := sentences.metadata(i):
                row["metadata"] = metadata
        if wanted.confidence:
            sure = tagger.predict_confidence(sentences.tokens, wanted.k_best or 1)
            print_json({"sentences": [x | y.to_dict() for x, y in zip(rows, sure, strict=True)]})
            return
        outputs, probabilities = _outputs(tagger, sentences.tokens, wanted)
        for i, (row, found) in enumerate(zip(rows, outputs, strict=True)):
            row["labels"] = found[0][1]
            if probabilities is not None:
                row["marginals"] = probabilities[i][0]
            if wanted.k_best is not None:
                row["k_best"] = [{"score": score, "labels": labels} for score, labels in found]
        print_json({"sentences": rows})

    def judge(
        self,
        test: str,
        unseen_labels: str,
        confidence: bool,
        picture: Path | None,
        reading: Reading,
        raw_text: bool = False,
    ) -> Judged:
        """Score the model on a file with labels."""
        if raw_text:
            raise InputError("--raw-text is for pipelines and tokenizers, and for files of CoNLL-U")
        tagger = self.model.set_params(threads=reading.threads, unseen_labels=unseen_labels)
        data, labels = read_labelled(test, tagger, reading)
        with located(data):
            started = time.perf_counter()
            scores = tagger.evaluate(data.tokens, labels)
            seconds = time.perf_counter() - started
        diagrams = {}
        if confidence:
            diagrams = reliability_of(tagger, data.tokens, labels, picture)
        report = scores_as_json(scores)
        report |= {"tokens_per_second": scores.tokens / seconds, "seconds": seconds}
        if confidence:
            report["confidence"] = {name: each.to_dict() for name, each in diagrams.items()}
        text = [scores.table(), *(f"\n{each.table()}" for each in diagrams.values())]
        text.append(f"{report['tokens_per_second']:,.0f} tokens per second, features included")
        return Judged(
            report,
            "\n".join(text),
            lambda: tagger.mistakes(data.tokens, labels).located(data.where, data.documents()),
            lambda path: words_of(read_labelled(path, tagger, reading)[0]),
        )

    def sentences(
        self, file: str, text: Splitting | None, columns: str | None
    ) -> Iterator[tuple[str | None, Any]]:
        """The sentences of a file, with their names if they have some."""
        found: Iterable[Any]
        if text is not None:
            found = chain.from_iterable(text_blocks(file, self.model, text))
        elif (format := text_format(file, None, None)) is not None:
            found = document_sentences(self.model, file, format)
        else:
            found = read_tokens(file, self.model, columns)
        for tokens in found:
            yield None, list(tokens)

    def true_sentences(
        self, file: str, columns: str | None
    ) -> Iterator[tuple[None, Any, list[str]]]:
        """The sentences of a file with labels, and these."""
        data, true = read_labelled(file, self.model, Reading(None, columns, 1))
        for tokens, labels in zip(data.tokens, true, strict=True):
            yield None, list(tokens), [str(label) for label in labels]

    def truth(self, labels: str | None) -> list[str] | None:
        """What explain takes for true."""
        return None if labels is None else labels.split()

    def words(self, sentence: str) -> list[str]:
        """A sentence of the command line."""
        return list(chain.from_iterable(self.model.tokenizer_.words_of(sentence)))

    def labelled(self, file: str, reading: Reading) -> tuple[Any, ...]:
        """A file with true labels, as the model scores it."""
        data, labels = read_labelled(file, self.model, reading)
        self.model.set_params(threads=reading.threads)
        return data.tokens, labels

    def calibrate(self, dev: str, reading: Reading) -> float | None:
        """Fit the temperature, and print it."""
        self.model.calibrate(*self.labelled(dev, reading))
        return self.model.temperature_

    def suspects(
        self,
        train: str,
        top: int | None,
        folds: int,
        duals: Path | None,
        reading: Reading,
    ) -> tuple[list[Suspect], list[str]]:
        """Training sentences with which the model disagrees, and where they are."""
        data, labels = read_labelled(train, self.model, reading)
        self.model.set_params(threads=reading.threads)
        found = self.model.suspects(data.tokens, labels, top, folds, duals)
        return found, [data.where(each.sentence - 1, 0) for each in found]

    def inspect(self, label: str | None, top: int, as_json: bool) -> None:
        """Print the strongest weights and transitions."""
        tagger = self.model
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
            lists = {"weights": weights, "transitions": steps} | (
                {"pairs": by_pair} if pairs else {}
            )
            print_json({**summary, **lists})
            return
        screen = Screen()
        screen.print(
            f"{plural(len(table.labels), 'label')}, {plural(tagger.n_features_, 'feature')}, "
            f"{plural(len(table), 'weight')}",
        )
        features = _columns("weight", "label", "feature")
        for row in strongest:
            features.add(_signed(row.weight), printable(row.label), printable(row.feature))
        steps_table = _columns("weight", "from", "to")
        for a, b, weight in transitions:
            steps_table.add(_signed(weight), printable(a), printable(b))
        screen.print(features)
        screen.print()
        screen.print(steps_table)
        if pairs:
            pairs_table = _columns("weight", "from", "to", "feature")
            for pair in pairs:
                cells = (pair.before, pair.label, pair.feature)
                pairs_table.add(_signed(pair.weight), *map(printable, cells))
            screen.print()
            screen.print(pairs_table)


def _outputs(
    tagger: SequenceTagger, sentences: Any, wanted: Wanted
) -> tuple[list[list[tuple[float, list[str]]]], list[list[list[float]]] | None]:
    """The best labellings of each sentence with their scores; the marginals of their labels."""
    if wanted.k_best is not None:
        outputs = tagger.predict_k_best(sentences, wanted.k_best)
    else:
        outputs = [[(0.0, labels)] for labels in tagger.predict(sentences)]
    if not wanted.marginals:
        return outputs, None
    return outputs, _probabilities(tagger, sentences, outputs)


def _print_labels(
    tagger: SequenceTagger,
    sentences: Sentences,
    wanted: Wanted,
) -> None:
    if wanted.confidence:
        sure = tagger.predict_confidence(sentences.tokens, wanted.k_best or 1)
        write([*confident_lines(sentences, sure, wanted.k_best is not None), *sentences.rest()])
        return
    outputs, probabilities = _outputs(tagger, sentences.tokens, wanted)
    lines: list[str] = []
    for i, found in enumerate(outputs):
        for rank, (score, labels) in enumerate(found):
            above = [] if wanted.k_best is None else [f"# {rank + 1} {score:.6f}"]
            behind = None
            if probabilities is not None:
                behind = [f"{p:.4f}" for p in probabilities[i][rank]]
            lines += sentences.lines(i, labels, above, behind, first=not rank)
    write([*lines, *sentences.rest()])


def _columns(*names: str) -> Table:
    return Table(*(Column(Text(name, "bold")) for name in names))


def _signed(weight: float) -> Text:
    return Text(f"{weight:+.3f}", "green" if weight > 0 else "red")


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
