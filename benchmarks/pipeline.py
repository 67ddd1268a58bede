"""From raw text to trees: ours and UDPipe 1, trained on the same files in the same run, one thread.

    python benchmarks/pipeline.py [--data FOLDER] [--json FILE] [--only NAME …]
        [--share S] [--corpus english|danish] [--test]

Scores are those of CoNLL-2018, on the tokens of the file and from its running text, in which an
empty line stands between documents, as in the shared task; times are CPU seconds of training. They
are of the development file (of Danish, which has none, the last tenth of the training file) unless
--test asks for those of the test file. Danish, whose file does not say where blanks are, is scored
on its tokens alone. UDPipe is trained with the settings of its models for UD 2.0 (but without the
word vectors made beforehand), which takes half a day; --share 0.1 makes a tenth of the passes.
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
#: Whose files say where blanks are.
WITH_BLANKS = ("english",)
#: Published for UDPipe 1.2 and UD's treebanks (Danish: another release, relations and tags).
PUBLISHED = {
    "english": {
        "gold tokens": {"UPOS": 94.43, "UAS": 84.40, "LAS": 81.08},
        "raw text": {"UPOS": 93.34, "LAS": 78.64},
    },
    "danish": {"gold tokens": {"LAS": 76.78}},
}
#: Of UDPipe: how often each part goes through the training data.
PASSES = {"tokenizer": 100, "tagger": 20, "parser": 30}
SHOWN = ("Words", "Sentences", "UPOS", "XPOS", "UFeats", "Lemmas", "UAS", "LAS", "MLAS", "BLEX")
#: Of UDPipe: how its models for UD 2.0 were trained, without the word vectors made beforehand.
TAGGER = "models=2;iterations_1={tagger};iterations_2={tagger};templates_1=tagger;"
TAGGER += "guesser_prefixes_max_1=0;use_xpostag_1=1;use_feats_1=1;guesser_enrich_dictionary_1=6;"
TAGGER += "provide_lemma_1=0;provide_xpostag_1=1;provide_feats_1=1;prune_features_1=0;"
TAGGER += "templates_2=lemmatizer;guesser_suffix_rules_2=6;guesser_prefixes_max_2=4;use_lemma_2=1;"
TAGGER += "use_xpostag_2=0;use_feats_2=0;provide_lemma_2=1;provide_xpostag_2=0;provide_feats_2=0;"
PARSER = "iterations={parser};embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;"
PARSER += "embedding_form=50;embedding_lemma=0;embedding_deprel=20;learning_rate=0.01;"
PARSER += "learning_rate_final=0.001;l2=0.5;hidden_layer=200;batch_size=10;structured_interval=8;"
UDPIPE = {
    "english": (
        "dimension=64;epochs={tokenizer};initialization_range=0.1;batch_size=100;"
        "learning_rate=0.005;dropout=0.1;early_stopping=1",
        TAGGER + "guesser_suffix_rules_1=12;use_lemma_1=1;guesser_enrich_dictionary_2=6;"
        "prune_features_2=0",
        PARSER + "transition_system=projective;transition_oracle=dynamic",
    ),
    "danish": (  # the file does not say where blanks are: there is nothing to learn for a tokenizer
        "none",
        TAGGER + "guesser_suffix_rules_1=8;use_lemma_1=0;guesser_enrich_dictionary_2=4;"
        "prune_features_2=1",
        # CoNLL-X knows many roots and no relation "root"
        PARSER + "transition_system=swap;transition_oracle=static_lazy;single_root=0",
    ),
}


def read(data: Path, corpus: str, test: bool) -> tuple[Any, Any, Any]:
    """Training, development and scored sentences."""
    from dualstruct import read_conllu

    place = CORPORA[corpus]
    train = with_documents(read_conllu(data / place.format("train")))
    held_out = data / place.format("dev")
    if held_out.exists():
        dev = with_documents(read_conllu(held_out))
    else:
        cut = len(train) * 9 // 10
        train, dev = train.select(np.arange(cut)), train.select(np.arange(cut, len(train)))
    return train, dev, with_documents(read_conllu(data / place.format("test"))) if test else dev


def with_documents(treebank: Any) -> Any:
    """The treebank with ``# newdoc`` where the part of ``sent_id`` before the number changes.

    The files here have no other comments; in EWT as it is published, that part is the document's.
    """
    from dualstruct.data.treebank import Treebank

    lines, last = [], None
    for line in bytes(treebank).split(b"\n"):
        if line.startswith(b"# sent_id"):
            document = line.rpartition(b"-")[0]
            lines += [b"# newdoc"] if document != last else []
            last = document
        lines.append(line)
    return Treebank(b"\n".join(lines), treebank.name)


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
        tags="all",
        parser=DependencyParser(order=order),
        tokenizer=LearnedTokenizer() if corpus in WITH_BLANKS else None,
    )
    pipeline.fit(train, dev=dev)
    seconds = clock.lap()
    found = {"gold tokens": evaluate_raw_text(scored, pipeline.predict(scored))}
    if corpus in WITH_BLANKS:
        found["raw text"] = pipeline.evaluate_text(scored)
    return summary(seconds, found, clock.lap())


def udpipe_run(data: Path, corpus: str, test: bool, share: float) -> dict[str, Any]:
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

    passes = {name: max(1, round(share * n)) for name, n in PASSES.items()}
    # Its parser crashes on development data with several roots.
    held_out = sentences(dev) if corpus == "english" else Sentences()
    error = ProcessingError()
    clock = Clock()
    trained = Trainer.train(
        "morphodita_parsito",
        sentences(train),
        held_out,
        *(settings.format(**passes) for settings in UDPIPE[corpus]),
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

    found = {"gold tokens": evaluate_raw_text(scored, made(bytes(scored).decode(), "conllu"))}
    if corpus in WITH_BLANKS:
        found["raw text"] = evaluate_raw_text(scored, made("\n\n".join(words), "tokenize"))
    return summary(seconds, found, clock.lap())


def summary(seconds: float, found: dict[str, Any], test_seconds: float) -> dict[str, Any]:
    scores = {
        part: {name: 100 * each.f1 for name, each in raw.scores.items()}
        for part, raw in found.items()
    }
    return {"train": seconds, "test": test_seconds, "memory_mb": peak_memory_mb(), **scores}


RUNS = ("dualstruct-1", "dualstruct-2", "udpipe")


def report(results: dict[str, Any], corpus: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=150)
    for part in ("gold tokens", *(["raw text"] if corpus in WITH_BLANKS else [])):
        table = Table(part, "CPU s", *SHOWN, box=None)
        for name, row in results.items():
            cells = (f"{row[part].get(score, 0):.2f}" for score in SHOWN)
            table.add_row(name, f"{row['train']:.0f}", *cells)
        if part in PUBLISHED[corpus]:
            known = PUBLISHED[corpus][part]
            cells = (f"{known[score]:.2f}" if score in known else "" for score in SHOWN)
            table.add_row("UDPipe 1.2, published", "", *cells)
        console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with ud_english_ewt …")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--corpus", choices=CORPORA, default="english")
    parser.add_argument("--share", type=float, default=1, help="of UDPipe's passes to make")
    parser.add_argument("--test", action="store_true", help="score on the test file")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.data / CORPORA[options.corpus].format("train")).exists():
        sys.exit(f"no {options.corpus} in {options.data}: see --data or DUALSTRUCT_DATA")
    if options.run:  # name:corpus:test:share
        name, corpus, test, share = options.run.split(":")
        asked = options.data, corpus, test == "1"
        if name == "udpipe":
            print(json.dumps(udpipe_run(*asked, float(share))))
        else:
            print(json.dumps(dualstruct_run(*asked, int(name[-1]))))
        return
    rest = f"{options.corpus}:{int(options.test)}:{options.share}"
    results = {
        name: in_own_process(__file__, f"{name}:{rest}", options.data) for name in options.only
    }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    report(results, options.corpus)


if __name__ == "__main__":
    main()
