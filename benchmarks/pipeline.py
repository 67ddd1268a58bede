"""From raw text to trees: ours and UDPipe 1, trained on the same files in the same run, one thread.

    python benchmarks/pipeline.py [--data FOLDER] [--json FILE] [--only NAME …]
        [--iterations N] [--corpus english|danish] [--test]

Scores are those of CoNLL-2018, on the tokens of the file and from its running text; times are CPU
seconds of training. They are of the development file (of Danish, which has none, the last tenth of
the training file) unless --test asks for those of the test file. UDPipe is trained with settings
like those of its models, which takes hours; fewer --iterations make parser and tokenizer quicker.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from measuring import DATA, Clock, in_own_process, peak_memory_mb

CORPORA = {
    "english": "ud_english_ewt/{}.conllu.xz",
    "danish": "ddt_conllx/{}.conllx.xz",
}
#: Published for UDPipe 1.2 and English (EWT): of its models for UD 2.
PUBLISHED = {
    "gold tokens": {"UPOS": 94.43, "UAS": 84.40, "LAS": 81.08},
    "raw text": {"UPOS": 93.34, "LAS": 78.64},
}
SHOWN = ("Words", "Sentences", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "MLAS", "BLEX")
#: Of UDPipe: the sizes and rates of its models for UD 2, as far as they are known here.
TOKENIZER = "dimension=24;epochs={epochs};segment_size=200;initialization_range=0.5;"
TOKENIZER += "batch_size=50;learning_rate=0.005;dropout=0.1;early_stopping=1"
TAGGER = "models=2;templates_1=tagger;guesser_suffix_rules_1=8;guesser_enrich_dictionary_1=6;"
TAGGER += "guesser_prefixes_max_1=0;use_lemma_1=0;use_xpostag_1=1;use_feats_1=1;provide_lemma_1=0;"
TAGGER += "provide_xpostag_1=1;provide_feats_1=1;prune_features_1=0;templates_2=lemmatizer;"
TAGGER += "guesser_suffix_rules_2=6;guesser_enrich_dictionary_2=4;guesser_prefixes_max_2=4;"
TAGGER += "use_lemma_2=1;use_xpostag_2=1;use_feats_2=1;provide_lemma_2=1;provide_xpostag_2=0;"
TAGGER += "provide_feats_2=0;prune_features_2=0"
PARSER = "iterations={iterations};embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;"
PARSER += "embedding_form=50;embedding_lemma=0;embedding_deprel=20;learning_rate=0.01;"
PARSER += "learning_rate_final=0.001;l2=0.5;hidden_layer=200;batch_size=10;"
PARSER += "transition_system={system};transition_oracle={oracle};structured_interval=10"


def read(data: Path, corpus: str, test: bool) -> tuple[Any, Any, Any]:
    """Training, development and scored sentences."""
    from dualstruct import read_conllu

    place = CORPORA[corpus]
    train = read_conllu(data / place.format("train"))
    held_out = data / place.format("dev")
    if held_out.exists():
        dev = read_conllu(held_out)
    else:
        cut = len(train) * 9 // 10
        train, dev = train.select(np.arange(cut)), train.select(np.arange(cut, len(train)))
    return train, dev, read_conllu(data / place.format("test")) if test else dev


def dualstruct_run(data: Path, corpus: str, test: bool, order: int) -> dict[str, Any]:
    from dualstruct import (
        DependencyParser,
        LearnedTokenizer,
        ParsingPipeline,
        evaluate_raw_text,
    )

    train, dev, scored = read(data, corpus, test)
    clock = Clock()
    pipeline = ParsingPipeline(
        tags="all", parser=DependencyParser(order=order), tokenizer=LearnedTokenizer()
    )
    pipeline.fit(train, dev=dev)
    seconds = clock.lap()
    gold, raw = evaluate_raw_text(scored, pipeline.predict(scored)), pipeline.evaluate_text(scored)
    return summary(seconds, gold, raw, clock.lap())


def udpipe_run(data: Path, corpus: str, test: bool, iterations: int) -> dict[str, Any]:
    from ufal.udpipe import (
        InputFormat,
        Model,
        Pipeline,
        ProcessingError,
        Sentence,
        Sentences,
        Trainer,
    )

    from dualstruct import evaluate_raw_text
    from dualstruct.data.surface import running_texts
    from dualstruct.data.treebank import Treebank

    train, dev, scored = read(data, corpus, test)

    def sentences(treebank: Treebank) -> Any:
        reader, error, found = InputFormat.newConlluInputFormat(), ProcessingError(), Sentences()
        reader.setText(bytes(treebank).decode())
        sentence = Sentence()
        while reader.nextSentence(sentence, error):
            found.push_back(sentence)
            sentence = Sentence()
        if error.occurred():
            raise RuntimeError(error.message)
        return found

    projective = corpus == "english"
    settings = PARSER.format(
        iterations=iterations,
        system="projective" if projective else "swap",
        oracle="dynamic" if projective else "static_lazy",
    )
    if not projective:  # a treebank of CoNLL-X, which knows many roots and no relation "root"
        settings += ";single_root=0"
    error = ProcessingError()
    clock = Clock()
    trained = Trainer.train(
        "morphodita_parsito",
        sentences(train),
        sentences(dev),
        TOKENIZER.format(epochs=max(1, 100 * min(iterations, 30) // 30)),
        TAGGER,
        settings,
        error,
    )
    if error.occurred():
        raise RuntimeError(error.message)
    seconds = clock.lap()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(trained)
        model = Model.load(str(path))
    words = [each.text for each in running_texts(scored)]

    def made(text: str, tokens: str) -> Treebank:
        pipeline = Pipeline(model, tokens, Pipeline.DEFAULT, Pipeline.DEFAULT, "conllu")
        out = pipeline.process(text, error)
        if error.occurred():
            raise RuntimeError(error.message)
        return Treebank(out.encode(), "udpipe")

    gold = evaluate_raw_text(scored, made(bytes(scored).decode(), "conllu"))
    raw = evaluate_raw_text(scored, made("\n\n".join(words), "tokenize"))
    return summary(seconds, gold, raw, clock.lap())


def summary(seconds: float, gold: Any, raw: Any, test_seconds: float) -> dict[str, Any]:
    return {
        "train": seconds,
        "test": test_seconds,
        "memory_mb": peak_memory_mb(),
        "gold tokens": {name: 100 * each.f1 for name, each in gold.scores.items()},
        "raw text": {name: 100 * each.f1 for name, each in raw.scores.items()},
    }


RUNS = ("dualstruct-1", "dualstruct-2", "udpipe")


def report(results: dict[str, Any], corpus: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=150)
    for part in ("gold tokens", "raw text"):
        table = Table(part, "CPU s", *SHOWN, box=None)
        for name, row in results.items():
            cells = (f"{row[part].get(score, 0):.2f}" for score in SHOWN)
            table.add_row(name, f"{row['train']:.0f}", *cells)
        if corpus == "english":
            known = PUBLISHED[part]
            cells = (f"{known[score]:.2f}" if score in known else "" for score in SHOWN)
            table.add_row("UDPipe 1.2, published", "", *cells)
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with ud_english_ewt …")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--corpus", choices=CORPORA, default="english")
    parser.add_argument("--iterations", type=int, default=30, help="of UDPipe's parser")
    parser.add_argument("--test", action="store_true", help="score on the test file")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.data / CORPORA[options.corpus].format("train")).exists():
        sys.exit(f"no {options.corpus} in {options.data}: see --data or DUALSTRUCT_DATA")
    if options.run:  # name:corpus:test:iterations
        name, corpus, test, iterations = options.run.split(":")
        asked = options.data, corpus, test == "1"
        if name == "udpipe":
            print(json.dumps(udpipe_run(*asked, int(iterations))))
        else:
            print(json.dumps(dualstruct_run(*asked, int(name[-1]))))
        return
    rest = f"{options.corpus}:{int(options.test)}:{options.iterations}"
    results = {
        name: in_own_process(__file__, f"{name}:{rest}", options.data) for name in options.only
    }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    report(results, options.corpus)


if __name__ == "__main__":
    main()
