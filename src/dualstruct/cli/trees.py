"""What the command ``dualstruct`` does with trees: learn, predict and score them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

from dualstruct.cli.confidence import reliability_of
from dualstruct.cli.judging import Judged
from dualstruct.cli.options import Reading, Splitting, Wanted
from dualstruct.cli.output import print_json, say, write_bytes
from dualstruct.cli.texts import Output
from dualstruct.data.blocks import blocks_of
from dualstruct.data.columns import ColumnFile
from dualstruct.data.conllu import (
    Treebank,
    looks_like_conllu,
    treebanks_of,
)
from dualstruct.data.lines import located_texts, text_blocks
from dualstruct.data.opening import name_of, read_bytes, read_pieces
from dualstruct.data.sources import TreeFiles, check_paths
from dualstruct.data.surface import running_texts, treebank_of
from dualstruct.data.tokenizing import Splitter
from dualstruct.errors import InputError
from dualstruct.estimators import (
    DependencyParser,
    LearnedTokenizer,
    ParsingPipeline,
    SequenceTagger,
)
from dualstruct.metrics import evaluate_raw_text, evaluate_trees
from dualstruct.metrics.raw_text import same_text
from dualstruct.metrics.words import same_words
from dualstruct.mistakes import tree_mistakes
from dualstruct.printable import plural
from dualstruct.suspecting import Suspect
from dualstruct.texts.treebanks import holds_trees, read_trees
from dualstruct.training.results import FitResult

Parser = DependencyParser | ParsingPipeline


def is_treebank(path: str | Path) -> bool:
    """Whether a file is CoNLL-U or CoNLL-X, by its name or its first row."""
    names = Path(path).suffixes
    if any(suffix in names for suffix in (".conllu", ".conllx")):
        return True
    return Path(path).is_file() and looks_like_conllu(read_bytes(path))


def train(
    files: list[str],
    dev: Path | None,
    start: Path | None,
    target: Path,
    settings: dict[str, Any],
    *,
    folds: int | None = None,
    jackknifed: bool = False,
    from_text: bool = False,
    **_: None,
) -> tuple[dict[str, Any] | None, FitResult]:
    """Train a parser, or taggers and a parser (and what comes before them), and write the model.

    Without a report, another process of the job writes and prints.
    """
    if jackknifed and start is not None:
        raise InputError("--start continues from a tagger or a parser, not from a tag+parse model")
    started = time.perf_counter()
    parser = DependencyParser() if start is None else DependencyParser.load(start)
    parser.set_params(**settings)
    treebank: Any
    held_out: Any
    divided = parser.engine is not None and not jackknifed
    if divided:  # each worker reads its own share
        for file in filter(holds_trees, files):
            raise InputError(f"{file}: workers read CoNLL-U; dualstruct label --export writes it")
        treebank = TreeFiles(tuple(map(Path, files)))
        held_out = None if dev is None else TreeFiles((dev,))
    else:
        treebank = read_all(files)
        held_out = None if dev is None else read_trees(dev)
    split = {"read": time.perf_counter() - started}
    model: Parser = parser
    started = time.perf_counter()
    if jackknifed:
        shared = {name: getattr(parser, name) for name in ("seed", "threads", "verbose")}
        where = {name: getattr(parser, name) for name in ("engine", "workers", "address")}
        tagger = SequenceTagger(**shared, **where, unseen_labels="count")
        model = ParsingPipeline(
            folds=5 if folds is None else folds,
            tagger=tagger,
            parser=parser,
            verbose=parser.verbose,
            **_of_text(shared) if from_text else {},
        )
        model.fit(treebank, dev=held_out)
        parser = model.parser_
        split["taggers"] = time.perf_counter() - started - parser.result_.seconds
    else:
        learn = parser.fit if start is None else parser.partial_fit
        learn(treebank, dev=held_out)
    split["train"] = parser.result_.seconds
    if parser.rank_ != 0:
        return None, parser.result_
    model.save(target)
    if divided:
        sentences, tokens = parser.trained_on_
    else:
        sentences, tokens = len(treebank), len(treebank.heads)
    report = {
        "model": str(target),
        "sentences": sentences,
        "tokens": tokens,
        "labels": len(parser.classes_),
        "trees": _describe(parser),
        "projective": parser.projective_,
        "single_root": parser.single_root_,
        "lifted": parser.lifted_,
        "skipped": parser.skipped_,
        "seconds_split": split,
        **parser.run_metadata(),
    }
    return report, parser.result_


def read_all(files: list[str]) -> Treebank:
    """The trees of all files."""
    if len(files) == 1:
        return read_trees(files[0])
    if any(map(holds_trees, files)):
        return Treebank(b"".join(bytes(read_trees(file)) for file in files), " + ".join(files))
    paths = tuple(map(Path, files))
    check_paths(paths)
    treebank: Treebank = TreeFiles(paths).whole().X
    return treebank


def _of_text(shared: dict[str, Any]) -> dict[str, Any]:
    """What a pipeline from raw text has besides taggers for tags and a parser."""
    return {"tags": "all", "tokenizer": LearnedTokenizer(SequenceTagger(**shared))}


def _describe(parser: DependencyParser) -> str:
    arcs = "projective" if parser.projective_ else "non-projective"
    roots = "one root" if parser.single_root_ else "any number of roots"
    pairs = ", second order" if parser.order == 2 else ""
    return f"{arcs} trees with {roots}{pairs}"


class TreeCommands:
    """A parser, or a pipeline that ends in one, as the commands ask models."""

    def __init__(self, model: Parser) -> None:
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
        """Parse a file, a few sentences at a time, and print CoNLL-U or JSON."""
        if wanted.k_best is not None and (wanted.marginals or wanted.confidence):
            option = "--marginals" if wanted.marginals else "--confidence"
            raise InputError(f"--k-best and {option} cannot be printed together")
        if output.format not in (None, "conllu") or output.path is not None:
            raise InputError("trees are printed as CoNLL-U; --format and --output are for taggers")
        model, parser = self.model, self.model.parser_
        parser.set_params(threads=reading.threads)
        for tagger in model.taggers_.values():
            tagger.set_params(threads=reading.threads)
        rows: list[dict[str, Any]] = []
        for treebank in self._read(file, text):
            tagged = model.tag(treebank)
            if as_json:
                rows += _json_rows(parser, tagged, wanted)
                continue
            written = _conllu(parser, tagged, wanted)
            write_bytes(written)
        if as_json:
            print_json({"sentences": rows})

    def _read(self, file: str, text: Splitting | None) -> Iterator[Treebank]:
        own = None if text is None else self._pipeline("--text").tokenizer_
        return read_any(file, text, self.model.takes_words, own)

    def _pipeline(self, what: str) -> ParsingPipeline:
        """The model, if it takes words alone."""
        if not self.model.takes_words:
            raise InputError(
                f"{what} needs a model that also tags: train it with --task tag+parse or pipeline"
            )
        return cast(ParsingPipeline, self.model)

    def judge(
        self,
        test: str,
        unseen_labels: str,
        confidence: bool,
        picture: Path | None,
        reading: Reading,
        raw_text: bool = False,
    ) -> Judged:
        """Score the model on a file with trees, or on its running text."""
        model, parser = self.model, self.model.parser_
        treebank = read_trees(test)
        parser.set_params(threads=reading.threads)
        if raw_text:
            texts = [each.text for each in running_texts(treebank)]
            return judge_raw(
                treebank, self._pipeline("--raw-text").predict_text(texts, "predicted")
            )
        started = time.perf_counter()
        predicted = model.predict(treebank)
        seconds = time.perf_counter() - started
        scores = model.evaluate(treebank, predicted)
        speed = len(treebank.heads) / seconds
        diagrams = {}
        if confidence:
            diagrams = reliability_of(parser, model.tag(treebank), None, picture)
        report = {**scores.to_dict(), "tokens_per_second": speed, "seconds": seconds}
        if diagrams:
            report["confidence"] = {name: each.to_dict() for name, each in diagrams.items()}
        tables = [scores.table(), *(each.table() for each in diagrams.values())]
        text = "\n\n".join([*tables, f"{speed:,.0f} tokens per second, features included"])
        return Judged(report, text, lambda: tree_mistakes(treebank, predicted), words_of)

    def sentences(
        self, file: str, text: Splitting | None, columns: str | None
    ) -> Iterator[tuple[str | None, Any]]:
        """The sentences of a file, with their names if they have some."""
        for one in chain.from_iterable(self._read(file, text)):
            yield one.sent_id, one

    def true_sentences(
        self, file: str, columns: str | None
    ) -> Iterator[tuple[str | None, Any, bool]]:
        """The sentences of a file with trees, and that these are true."""
        for one in read_trees(file):
            yield one.sent_id, one, True

    def truth(self, labels: str | None) -> bool:
        """What explain takes for true."""
        if labels is not None:
            raise InputError("--labels is for taggers; trees are in a file: see --gold")
        return False

    def words(self, sentence: str) -> list[str]:
        """A sentence of the command line."""
        splitter = self._pipeline("a sentence").tokenizer_
        return list(chain.from_iterable(splitter.words_of(sentence)))

    def labelled(self, file: str, reading: Reading) -> tuple[Any, ...]:
        """A file with true trees, as the model scores it."""
        return (read_trees(file),)

    def calibrate(self, dev: str, reading: Reading) -> float | None:
        """Fit the temperatures, and print that of trees."""
        self.model.calibrate(*self.labelled(dev, reading))
        return self.model.parser_.temperature_

    def suspects(
        self,
        train: str,
        top: int | None,
        folds: int,
        duals: Path | None,
        reading: Reading,
    ) -> tuple[list[Suspect], list[str]]:
        """Training sentences with which the model disagrees, and where they are."""
        treebank = read_trees(train)
        if duals is not None and self.model.takes_words:
            raise InputError("--duals is for taggers and parsers, not for a tag+parse model")
        parser = self.model.parser_.set_params(threads=reading.threads)
        found = parser.suspects(self.model.tag(treebank), top=top, folds=folds, duals=duals)
        return found, [treebank.where(each.sentence - 1, 0) for each in found]

    def inspect(self, label: str | None, top: int, as_json: bool) -> None:
        """Print what the model is made of and how its training ended."""
        parser, taggers = self.model.parser_, self.model.taggers_
        summary = {
            "relations": parser.classes_.tolist(),
            "projective": parser.projective_,
            "single_root": parser.single_root_,
            "looks_at": list(parser.sources_),
            "training": {k: v for k, v in parser.result_.summary().items() if k != "trace"},
        }
        if taggers:
            summary["taggers"] = {
                name: tagger.classes_.tolist() for name, tagger in taggers.items()
            }
        if as_json:
            print_json(summary)
            return
        lines = [
            f"{name.upper()} tagger: {plural(len(tagger.classes_), 'label')}, "
            f"{tagger.n_features_:,} "
            f"features; {tagger.result_}"
            for name, tagger in taggers.items()
        ]
        lines += [
            f"parser: {plural(len(parser.classes_), 'relation')}, {_describe(parser)}; "
            f"{parser.result_}",
            f"features use {', '.join(parser.sources_)}",
            f"relations: {', '.join(parser.classes_)}",
        ]
        say("\n".join(lines))


def read_any(
    file: str, text: Splitting | None, raw_words: bool, own: Splitter | None = None
) -> Iterator[Treebank]:
    """Sentences from CoNLL-U, or for a pipeline from one token per line or plain text."""
    name = name_of(file)
    if text is not None:
        splitter = text.tokenizer(own)
        for texts, numbers in text_blocks(file):
            with located_texts(name, numbers):
                yield treebank_of(splitter.analyse(texts), name)
        return
    pieces = read_pieces(file)
    beginning = b""
    for piece in pieces:  # until there is a whole row to look at
        beginning += piece
        if any(row.strip() and row[:1] != b"#" for row in beginning.split(b"\n")[:-1]):
            break
    everything = chain([beginning], pieces)
    if looks_like_conllu(beginning) or not raw_words:
        yield from treebanks_of(everything, name)
    else:
        for block in blocks_of(everything, name, label_column=None, columns=[0]):
            yield _words_of(block)


def _words_of(file: ColumnFile) -> Treebank:
    """The first cell of each token, with the comments before the sentences."""
    treebank = Treebank.from_columns(file.tokens, name=file.name)
    if not file.other_lines:
        return treebank
    sentences = list(treebank)
    for (number, tokens), lines in file.other_lines.items():
        if tokens == 0 and number < len(sentences):
            above = [line.strip() for line in lines if line.strip()]
            sentences[number].comments = [
                line if line.startswith("#") else "# newdoc" for line in above
            ]
    return Treebank.from_sentences(sentences, file.name)


def _conllu(
    parser: DependencyParser,
    treebank: Treebank,
    wanted: Wanted,
) -> bytes:
    if wanted.k_best is not None:
        lines = []
        for trees in parser.predict_k_best(treebank, wanted.k_best):
            for rank, (score, sentence) in enumerate(trees, 1):
                sentence.comments.append(f"# rank = {rank}")
                sentence.comments.append(f"# score = {score:.6f}")
                lines.append(str(sentence))
        return "".join(lines).encode()
    parsed = parser.predict(treebank)
    if wanted.confidence:
        found = parser.predict_confidence(treebank)
        sentences = list(_with_probabilities(parsed, [each.heads for each in found]))
        for sentence, each in zip(sentences, found, strict=True):
            if each.probability is not None:
                sentence.comments.append(f"# probability = {each.probability:.4f}")
        return "".join(map(str, sentences)).encode()
    if wanted.marginals:
        parsed = _with_probabilities(parsed, _head_probabilities(parser, treebank, parsed))
    return bytes(parsed)


def _with_probabilities(parsed: Treebank, probabilities: list[list[float]]) -> Treebank:
    cells = []
    for old, numbers in zip(parsed.misc, probabilities, strict=True):
        new = (f"HeadProbability={p:.4f}" for p in numbers)
        cells.append([b if a == "_" else f"{a}|{b}" for a, b in zip(old, new, strict=True)])
    return parsed.replace(misc=cells)


def _head_probabilities(
    parser: DependencyParser, treebank: Treebank, parsed: Treebank
) -> list[list[float]]:
    """How probable each predicted head is."""
    found = []
    for sentence, table in zip(parsed, parser.predict_marginals(treebank), strict=True):
        found.append(
            [round(float(row[h]), 6) for row, h in zip(table, sentence.heads, strict=True)]
        )
    return found


def _json_rows(
    parser: DependencyParser,
    treebank: Treebank,
    wanted: Wanted,
) -> list[dict[str, Any]]:
    parsed = parser.predict(treebank)
    rows: list[dict[str, Any]] = [
        {
            "tokens": sentence.forms,
            "upos": sentence.upos,
            "heads": sentence.heads,
            "relations": sentence.relations,
        }
        for sentence in parsed
    ]
    if wanted.marginals:
        for row, numbers in zip(rows, _head_probabilities(parser, treebank, parsed), strict=True):
            row["marginals"] = numbers
    if wanted.confidence:
        for row, each in zip(rows, parser.predict_confidence(treebank), strict=True):
            row["confidence"] = each.to_dict()
    if wanted.k_best is not None:
        k_best = parser.predict_k_best(treebank, wanted.k_best)
        for row, trees in zip(rows, k_best, strict=True):
            row["k_best"] = [
                {"score": score, "heads": tree.heads, "relations": tree.relations}
                for score, tree in trees
            ]
    return rows


def judge_trees(gold: str, predicted: str, raw: bool = False) -> Judged:
    """The trees in one file against those in another one, which may split the text otherwise."""
    truth, found = read_trees(gold), read_trees(predicted)
    if raw or (not same_words(truth, found) and same_text(truth, found)):
        return judge_raw(truth, found)
    scores = evaluate_trees(truth, found)
    return Judged(scores.to_dict(), scores.table(), lambda: tree_mistakes(truth, found), words_of)


def judge_raw(truth: Treebank, found: Treebank, names: Sequence[str] | None = None) -> Judged:
    """Both as made from raw text; some of the scores, if names say which."""
    scores = evaluate_raw_text(truth, found)
    if names is not None:
        scores = replace(scores, scores={name: scores.scores[name] for name in names})
    report = {"raw_text": scores.to_dict()}
    return Judged(report, scores.table(), lambda: tree_mistakes(truth, found), words_of)


def words_of(path: str) -> set[str]:
    """The words of a file."""
    return set(read_trees(path).forms.encoded()[1])
