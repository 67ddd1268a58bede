"""What the command ``dualstruct`` does with tokenizers: learn, split texts, score."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from dualstruct.cli.judging import Judged
from dualstruct.cli.options import Reading, Splitting, Wanted
from dualstruct.cli.output import print_json, say, write_bytes
from dualstruct.cli.texts import Output
from dualstruct.cli.trees import is_treebank, judge_raw, read_all
from dualstruct.data.conllu import read_conllu
from dualstruct.data.lines import located_texts, text_blocks
from dualstruct.data.opening import name_of
from dualstruct.data.surface import running_texts
from dualstruct.errors import InputError
from dualstruct.estimators import LearnedTokenizer, SequenceTagger
from dualstruct.printable import plural
from dualstruct.texts import iter_documents
from dualstruct.training.results import FitResult


def train(
    files: list[str],
    dev: Path | None,
    start: Path | None,
    target: Path,
    settings: dict[str, Any],
    **_: None,
) -> tuple[dict[str, Any], FitResult]:
    """Learn a tokenizer and write it."""
    if start is not None or settings.get("engine") is not None:
        raise InputError("--start and --engine are for taggers and parsers, not for a tokenizer")
    started = time.perf_counter()
    data = _read(files)
    held_out = None if dev is None else _read([str(dev)])
    split = {"read": time.perf_counter() - started}
    tagger = SequenceTagger().set_params(**settings)
    tokenizer = LearnedTokenizer(tagger=tagger).fit(data, dev=held_out)
    result = tokenizer.result_
    tokenizer.save(target)
    split |= {"features": tokenizer.tagger_.feature_seconds_, "train": result.seconds}
    tokens = sum(len(each.forms if hasattr(each, "forms") else each.places) for each in data)
    report = {
        "model": str(target),
        "sentences": len(data),
        "tokens": tokens,
        "labels": len(tokenizer.tagger_.classes_),
        "features": tokenizer.tagger_.n_features_,
        "templates": "of characters",
        "multiword": len(tokenizer.expansions_.known),
        "seconds_split": split,
    }
    return report, result


def _read(files: list[str]) -> Any:
    """Treebanks, or other texts that come with tokens."""
    if all(map(is_treebank, files)):
        return read_all(files)
    documents = [one for file in files for one in iter_documents(file)]
    for each in documents:
        if each.tokens is None:
            raise InputError(f"{each.where}: a tokenizer learns from texts that have tokens")
    return documents


class TokenizerCommands:
    """A tokenizer as the commands ask models."""

    def __init__(self, model: LearnedTokenizer) -> None:
        self.model: Any = model

    def predict(
        self,
        file: str,
        text: Splitting | None,
        wanted: Wanted,
        reading: Reading,
        as_json: bool,
        output: Output,
    ) -> None:
        """Split the lines of a text, and print CoNLL-U or JSON."""
        if wanted.k_best is not None or wanted.marginals or wanted.confidence:
            self._refuse("has no probabilities")
        if output.format not in (None, "conllu") or output.path is not None:
            raise InputError("a tokenizer prints CoNLL-U; --format and --output are for taggers")
        self.model.tagger_.set_params(threads=reading.threads)
        rows: list[dict[str, Any]] = []
        name = name_of(file)
        for block in text_blocks(file):
            with located_texts(name, block.numbers):
                found = self.model.predict(block.texts, name)
            if as_json:
                rows += [{"tokens": sentence.forms} for sentence in found]
            else:
                write_bytes(bytes(found))
        if as_json:
            print_json({"sentences": rows})

    def judge(
        self,
        test: str,
        unseen_labels: str,
        confidence: bool,
        picture: Path | None,
        reading: Reading,
        raw_text: bool = True,
    ) -> Judged:
        """Score it on the running text of a treebank."""
        if confidence:
            self._refuse("has no probabilities")
        self.model.tagger_.set_params(threads=reading.threads)
        truth = read_conllu(test)
        words = truth.replace(heads=[[-1] * n for n in truth.lengths.tolist()])
        found = self.model.predict([each.text for each in running_texts(truth)], "predicted")
        return judge_raw(words, found, ("Tokens", "Sentences", "Words"))

    def words(self, sentence: str) -> list[str]:
        """A sentence of the command line."""
        return [word for row in self.model.words_of(sentence) for word in row]

    def inspect(self, label: str | None, top: int, as_json: bool) -> None:
        """Print what it is made of and how its training ended."""
        tagger, known = self.model.tagger_, self.model.expansions_.known
        summary = {
            "labels": tagger.classes_.tolist(),
            "features": tagger.n_features_,
            "multiword_tokens": len(known),
            "training": {k: v for k, v in tagger.result_.summary().items() if k != "trace"},
        }
        if as_json:
            print_json(summary)
        else:
            say(
                f"tokenizer: {plural(tagger.n_features_, 'feature')} of characters, {len(known):,} "
                f"multiword tokens; {tagger.result_}"
            )

    def sentences(self, *_: Any) -> Iterator[Any]:
        self._refuse("does not explain itself")

    true_sentences = sentences

    def truth(self, labels: str | None) -> NoReturn:
        self._refuse("does not explain itself")

    def labelled(self, file: str, reading: Reading) -> tuple[Any, ...]:
        """A file with true tokens, as the model scores it."""
        return (read_conllu(file),)

    def calibrate(self, dev: str, reading: Reading) -> NoReturn:
        self._refuse("has no probabilities")

    def suspects(self, *_: Any) -> NoReturn:
        self._refuse("has no suspects")

    def _refuse(self, why: str) -> NoReturn:
        raise InputError(f"a tokenizer {why}; this is for taggers and parsers")
