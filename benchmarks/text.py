"""From text to spans: tokens a second on one core, tokenizing and features included.

    python benchmarks/text.py [--data FOLDER] [--tokens 200000] [--no-spacy]

Trains the NER model of WNUT-17 with the defaults, joins the words of its training file with blanks,
and labels the text. CPU seconds, the best of three. Beside it spaCy, if it is installed, on the
same texts and one thread: its tokenizer, and its tokenizer with its component ``ner`` (by default
the network of its small models), trained on one pass over the same sentences, since pip has no
trained model of it by name.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dualstruct import Document, SequenceTagger, label_documents, read_columns
from dualstruct.texts.formats import FORMATS
from measuring import DATA, best_of


def spacy_ways(file: Any, texts: list[str]) -> dict[str, Callable[[], Any]]:
    """What spaCy does with the texts."""
    import spacy
    from spacy.training import Example

    nlp = spacy.blank("en")
    ner = nlp.add_pipe("ner")
    examples = []
    for forms, labels in zip(file.forms, file.labels, strict=True):
        doc = spacy.tokens.Doc(nlp.vocab, words=list(forms))
        examples.append(Example.from_dict(doc, {"entities": as_bilou(labels)}))
    for label in {each[2:] for row in file.labels for each in row if each != "O"}:
        ner.add_label(label)
    optimizer = nlp.initialize(lambda: examples)
    for batch in spacy.util.minibatch(examples, 128):
        nlp.update(batch, sgd=optimizer)
    return {
        "spaCy: text to tokens": lambda: [nlp.make_doc(text) for text in texts],
        "spaCy: text to spans": lambda: [doc.ents for doc in nlp.pipe(texts, batch_size=256)],
    }


def as_bilou(labels: list[str]) -> list[str]:
    found = []
    for label, behind in zip(labels, [*labels[1:], "O"], strict=True):
        goes_on = behind.startswith("I-")
        kind = {"B": "B" if goes_on else "U", "I": "I" if goes_on else "L"}.get(label[0], "O")
        found.append(kind + label[1:])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with wnut17")
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--no-spacy", action="store_true", help="leave spaCy out")
    asked = parser.parse_args()
    path = asked.data / "wnut17" / "train.txt.xz"
    if not path.exists():
        sys.exit(f"no WNUT-17 in {asked.data}: name a folder with --data or DUALSTRUCT_DATA")
    file = read_columns(path)
    texts = [" ".join(sentence) for sentence in file.forms]
    texts *= max(1, asked.tokens // int(file.lengths.sum()))
    tagger = SequenceTagger(features="ner").fit(file.tokens, file.labels)
    found = list(label_documents(tagger, map(Document, texts)))
    tokens = sum(len(document.places) for document in found)
    ways = {
        "text to tokens": lambda: tagger.tokenizer_.split(texts),
        "text to spans": lambda: list(label_documents(tagger, map(Document, texts))),
        "spans to JSON": lambda: FORMATS["jsonl"].write(found, io.BytesIO()),
    }
    seconds = {what: best_of(3, way)[0] for what, way in ways.items()}
    seconds["text to JSON"] = seconds["text to spans"] + seconds["spans to JSON"]
    if not asked.no_spacy:
        seconds |= {what: best_of(3, way)[0] for what, way in spacy_ways(file, texts).items()}
    print(f"{tokens:,} tokens in {len(texts):,} texts")
    for what, each in seconds.items():
        print(f"{what:22} {each:.3f} s, {tokens / each:,.0f} tokens a second")


if __name__ == "__main__":
    for library in ("OMP", "OPENBLAS", "BLIS"):  # before the first of them is imported
        os.environ[f"{library}_NUM_THREADS"] = "1"
    main()
