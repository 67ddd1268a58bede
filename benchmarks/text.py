"""From text to spans: tokens a second on one core, tokenizing and features included.

    python benchmarks/text.py [--data FOLDER] [--tokens 200000]

Trains the NER model of WNUT-17 with the defaults, joins the words of its training file with blanks,
and labels the text. CPU seconds, the best of three.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path

from dualstruct import Document, SequenceTagger, label_documents, read_columns
from dualstruct.texts.formats import FORMATS
from measuring import DATA, best_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with wnut17")
    parser.add_argument("--tokens", type=int, default=200_000)
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
    print(f"{tokens:,} tokens in {len(texts):,} texts")
    for what, each in seconds.items():
        print(f"{what:16} {each:.3f} s, {tokens / each:,.0f} tokens a second")


if __name__ == "__main__":
    main()
