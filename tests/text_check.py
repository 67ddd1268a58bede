"""Random texts of all of Unicode, through tokenizer, writer and reader of every format and back.

    python tests/text_check.py [--texts 100000] [--seed 0]

Texts are made of pieces that break rules (emoji, combining marks, right-to-left, line ends of all
kinds) and of characters from all planes, with some tokens marked as spans. Each text must be its
tokens and blank gaps; each format must give text, offsets and labels back exactly (formats of
words: words and spans). Prints how many differ, and the first that does.

Each file is synced with the disk, which takes most of the time: TMPDIR=/dev/shm spares it.
"""

from __future__ import annotations

import argparse
import random
import sys
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import naive_text
from dualstruct import InputError
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.texts import Document, TextSpan, iter_documents, write_documents
from dualstruct.texts.documents import split_documents
from dualstruct.texts.formats import FORMATS, find_format
from texts.test_formats import OF_TEXT, PIECES, READ, words_and_spans

#: Texts in a file.
BLOCK = 1000
#: Where characters come from, so that the large blocks of Asia do not crowd out the rest.
RANGES = [(1, 0x250), (0x250, 0x3000), (0x3000, 0x10000), (0x10000, 0x20000), (0x20000, 0x110000)]
#: Line ends within a span are refused by formats of lines: no span has one.
LINE_ENDS = set("\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")


def random_text(rng: random.Random) -> str:
    found = []
    for _ in range(rng.randrange(1, 40)):
        if rng.random() < 0.6:
            found.append(rng.choice(PIECES))
            continue
        character = chr(rng.randrange(*rng.choice(RANGES)))
        if unicodedata.category(character) not in ("Cs", "Cn"):
            found.append(character)
    return "".join(found)


def random_document(rng: random.Random) -> Document:
    document = Document(random_text(rng), [])
    split_documents([document], Tokenizer())
    tokens, at = document.tokens, 0
    while at < len(tokens):
        size = min(rng.randrange(1, 4), len(tokens) - at)
        span = TextSpan(tokens[at][0], tokens[at + size - 1][1], rng.choice(["PER", "LOC"]))
        if rng.random() < 0.3 and not LINE_ENDS & set(document.text[span.start : span.end]):
            document.spans.append(span)
        at += size
    return document


def is_whole(document: Document) -> bool:
    """Whether nothing but blanks lies between tokens, and the offsets go from left to right."""
    behind = 0
    for start, end in document.tokens:
        if not behind <= start < end or not is_blank(document.text[behind:start]):
            return False
        behind = end
    return is_blank(document.text[behind:])


def is_blank(gap: str) -> bool:
    return all(naive_text.kind(c) == "_" for c in gap)


def in_one(documents: list[Document]) -> tuple[list[str], list[tuple[int, int, str]]]:
    """Words and spans of all documents: formats of words need not keep documents apart."""
    words: list[str] = []
    spans: list[tuple[int, int, str]] = []
    for each in documents:
        these, marked = words_and_spans(each)
        spans += [(a + len(words), b + len(words), label) for a, b, label in marked]
        words += these
    return words, spans


def wrong_of(format: str, documents: list[Document], folder: Path) -> int:
    path = folder / READ.get(format, f"a.{format}")
    write_documents(path, documents)
    if find_format(path).name != format:
        print(f"{format}: its file is taken for {find_format(path).name}")
        return len(documents)
    found = list(iter_documents(path))
    if format not in OF_TEXT:
        if in_one(found) == in_one(documents):
            return 0
        wrong = [each for each in documents if is_lost(format, each, folder / "one")]
    else:
        pairs = zip(documents, found, strict=True)
        wrong = [a for a, b in pairs if (a.text, a.spans) != (b.text, b.spans)]
    for first in wrong[:1]:
        print(format, repr(first.text), first.spans, sep="\n")
    return len(wrong)


def is_lost(format: str, document: Document, folder: Path) -> bool:
    folder.mkdir(exist_ok=True)
    path = folder / READ.get(format, f"a.{format}")
    write_documents(path, [document])
    return in_one(list(iter_documents(path))) != in_one([document])


def refuses(text: str) -> bool:
    try:
        Tokenizer().split([text])
    except InputError:
        return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    formats = [name for name, each in FORMATS.items() if each.write or each.write_folder]
    wrong = dict.fromkeys(["tokenizer", *formats], 0)
    for done in range(0, asked.texts, BLOCK):
        documents = [random_document(rng) for _ in range(min(BLOCK, asked.texts - done))]
        wrong["tokenizer"] += sum(not is_whole(each) for each in documents)
        marked = [each for each in documents if each.tokens]
        for format in formats:
            with TemporaryDirectory() as folder:
                wrong[format] += wrong_of(format, marked, Path(folder))
    halves = ["\0", "a\0b", "\ud800", "a\udfffb"]
    wrong["refused"] = sum(not refuses(text) for text in halves)
    for name, number in wrong.items():
        print(f"{name:12} {asked.texts:,} texts, {number} different")
    sys.exit(1 if any(wrong.values()) else 0)


if __name__ == "__main__":
    main()
