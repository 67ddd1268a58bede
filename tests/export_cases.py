"""Taggers of every kind that can be exported, and random sentences and texts of all scripts."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from dualstruct import DependencyParser, SequenceTagger, Treebank
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.datasets import load_english

needs_wasm = pytest.mark.skipif(
    not (resources.files("dualstruct.exporting.runtime") / "core.wasm.xz").is_file(),
    reason="dualstruct was built without clang for wasm32: docs/export.md names packages",
)
TREES = load_english("train").select(range(120))
WORDS, ENTITIES = TREES.forms, [sentence.entities for sentence in TREES]
COLUMNS = [
    list(zip(words, tags, strict=True)) for words, tags in zip(TREES.forms, TREES.upos, strict=True)
]
#: Of every scheme, and labels that are of none.
SPAN_LABELS = [
    "O", "B-A", "I-A", "E-A", "S-A", "L-B", "U-B", "B", "I", "B-<a>", "I-<a>", "<a>", "I-<b>",
    "<b>", "<other>", "I-<other>", "NN", "B-", "-", "",
]  # fmt: skip
ALL_FUNCTIONS = """clusters clusters.txt
gazetteer places places.txt
gazetteer exact places.txt case=exact
bias
word[-2..2]
lower(word[0])
digits(word[-1..1])
prefix(word[0],1..3)
suffix(lower(word[0]),2..4)
shape(word[0]) & shape(word[1])
shortshape(word[-1]) & word[0]
kind(word[0])
kind(digits(word[1]))
cluster(word[0])
cluster(lower(word[-1]),2) & cluster(word[0],1)
in(places,word[0])
in(exact,word[1]) & word[0]
part(places,word[-1])
labels(word[0])
labels(suffix(word[-1],2)) & labels(word[0])
known(word[0],2) & known(word[1],2)
pos[-1] & pos[0] & pos[1]
shape(pos[0])
"""
CRFPP = "U00:%x[-1,0]\nU01:%x[0,0]/%x[1,0]\nU02:%x[0,1]\nU\nB01:%x[0,1]\nB\n"
WAPITI = r"""*:%x[0,1]
u:%x[@1,0]/%x[@-1,0]
u:%X[-1,0]/%X[0,0]
u:%m[0,0,"^.?.?"]
u:%M[0,0,".?.?$"]
u:%t[0,0,"^\u\l*\d?$"]
u:%m[0,0,"\p"]/%t[1,0,"\A\s*"]
u:%x[-5,0]/%x[5,0]
b:%m[0,0,"\w*"]
"""


def stated(words: list[str]) -> list[dict[str, Any]]:
    """Attributes of all sorts."""
    return [
        {
            "w": word,
            "length": len(word) / 3,
            "title": word.istitle(),
            "near": {"left": words[t - 1] if t else "", "ends": [word[-1:], word[-2:]]},
            "some": {word[:1], "x"},
        }
        for t, word in enumerate(words)
    ]


def listed(words: list[str]) -> list[list[str]]:
    return [[f"w={word}", f"s={word[-2:]}"] for word in words]


NAMES = [
    "ner", "functions", "hashed", "bioes", "tags", "crf++", "hashed pairs", "wapiti", "attributes",
    "lists",
]  # fmt: skip


def taggers(folder: Path) -> dict[str, tuple[SequenceTagger, Any]]:
    """By name: a tagger, and how it takes the words and columns of a sentence."""
    (folder / "clusters.txt").write_text(
        "".join(
            f"{n % 16:04b}\t{word}\t1\n"
            for n, word in enumerate(sorted({w for s in WORDS for w in s}))
        )
    )
    (folder / "places.txt").write_text("New York\nnew york city\nTurin\nParis\nthe\nÉire Ωmega\n")
    (folder / "all.templates").write_text(ALL_FUNCTIONS)

    def words_of(tokens: Any) -> Any:
        return [word for word, _ in tokens]

    def same(tokens: Any) -> Any:
        return tokens

    def made(take: Any, features: Any, y: Any = ENTITIES, **settings: Any) -> Any:
        X = [take(sentence) for sentence in COLUMNS]
        return SequenceTagger(features=features, **settings).fit(X, y), take

    return {
        "ner": made(words_of, "ner", loss="crf"),
        "functions": made(same, str(folder / "all.templates"), passes=3),
        "hashed": made(words_of, "ner", hash_bits=12, passes=3),
        "bioes": made(words_of, "ner", scheme="bioes", loss="crf", passes=3),
        "tags": made(words_of, "pos", TREES.upos, passes=3),
        "crf++": made(same, CRFPP, passes=3),
        "hashed pairs": made(same, CRFPP, passes=3, hash_bits=14),
        "wapiti": made(same, WAPITI, TREES.upos, dialect="wapiti", passes=3),
        "attributes": made(lambda s: stated(words_of(s)), "attributes", loss="crf", passes=3),
        "lists": made(lambda s: listed(words_of(s)), "attributes", TREES.upos, passes=3),
    }


#: Where the scripts are from which characters are taken.
SCRIPTS = [
    tuple(int(code, 16) for code in each.split("-"))
    for each in [
        "21-7E",
        "41-5A",
        "61-7A",
        "A1-24F",
        "250-2FF",
        "300-36F",
        "370-3FF",
        "400-52F",
        "531-58F",
        "591-5F4",
        "600-6FF",
        "900-97F",
        "E01-E5B",
        "10A0-10FF",
        "1100-11FF",
        "13A0-13FD",
        "1780-17F9",
        "1C80-1CBF",
        "1E00-1FFF",
        "2000-206F",
        "20A0-20BF",
        "2100-218F",
        "2C00-2CFF",
        "3001-30FF",
        "4E00-9FFF",
        "A640-A7FF",
        "AB30-ABFF",
        "AC00-D7A3",
        "FB00-FDFF",
        "FF01-FFDC",
        "10400-104FF",
        "1D400-1D7FF",
        "1E900-1E95F",
        "1F1E6-1F1FF",
        "1F300-1F6FF",
        "1-10FFFF",
    ]
]


def character(chance: random.Random) -> str:
    while True:
        code = chance.randint(*chance.choice(SCRIPTS))
        if not 0xD800 <= code <= 0xDFFF:
            return chr(code)


def word(chance: random.Random) -> str:
    """One of training, perhaps in other letters, or characters of some script."""
    kind = chance.random()
    if kind < 0.2:
        script = chance.choice(SCRIPTS[:-1])
        return "".join(
            chr(code) for code in (chance.randint(*script) for _ in range(chance.randint(1, 9)))
        )
    if kind < 0.3:
        return "".join(character(chance) for _ in range(chance.randint(0, 6)))
    found = chance.choice(chance.choice(WORDS))
    if kind < 0.5:
        found = chance.choice(
            [found.upper(), found.title(), found[::-1], found + found, f"{found}-7"]
        )
    return found


def sentence(chance: random.Random) -> list[tuple[str, str]]:
    """Words with a second column; now and then a long sentence."""
    size = chance.randint(1, 12) if chance.random() < 0.97 else chance.randint(60, 200)
    tags = [tag for tags in TREES.upos[:5] for tag in tags]
    return [
        (word(chance), chance.choice(tags) if chance.random() < 0.9 else word(chance))
        for _ in range(size)
    ]


def text(chance: random.Random) -> str:
    """Words and what stands between and around them."""
    between = [
        " ", " ", " ", "", ". ", "! ", "\n", "\r\n", "\n\n", "\u2029", " (", ") ", '"', "’",
        "'s ", "n't ", "-", ".", ",", "/", "@", " @", "#", "...", " Mr. ", " No. 5", " U.S.A. ",
        " http://a.b/c_(d). ", "&", " me.you+x@host.example.org, ", "www.x.org)", "\u200d",
        "\u0301", "。", "」", "\U0001f1e9\U0001f1ea",
    ]  # fmt: skip
    size = chance.randint(1, 15)
    return "".join(word(chance) + chance.choice(between) for _ in range(size)).replace("\0", "")


TOKENIZERS = [
    Tokenizer(),
    Tokenizer(contractions="keep", hyphens="keep", abbreviations=("Foo.", "ÉTC", "x.y")),
    Tokenizer(sentences="lines"),
    Tokenizer(words="blanks", sentences="whole"),
]


def sentences(seed: int, count: int) -> Iterator[list[tuple[str, str]]]:
    chance = random.Random(seed)
    return (sentence(chance) for _ in range(count))


def words_with_columns(words: list[str], tags: list[str]) -> list[dict[str, str]]:
    """A sentence for a parser that was trained on TREES."""
    return [
        {"form": form, "lemma": form.lower() or "_", "upos": tag}
        for form, tag in zip(words, tags, strict=True)
    ]


def as_treebank(sentences: list[list[dict[str, str]]]) -> Treebank:
    """The same for the core."""
    lines = []
    for words in sentences:
        for n, word in enumerate(words, 1):
            cells = [str(n), word["form"], word["lemma"], word["upos"], *"______"]
            lines.append("\t".join(cells))
        lines.append("")
    return Treebank(("\n".join(lines) + "\n").encode())


def parsable(chance: random.Random) -> list[dict[str, str]]:
    """Random words in a form that CoNLL-U can hold."""
    tags = sorted({tag for tags in TREES.upos for tag in tags})
    words = []
    while not words:
        size = chance.randint(1, 25)
        found = [
            "".join(c for c in word(chance) if c.isprintable() and c != " ") for _ in range(size)
        ]
        words = [each for each in found if each]
    return words_with_columns(words, [chance.choice(tags) for _ in words])


def parsers() -> dict[str, DependencyParser]:
    """Parsers of every kind that can be exported."""
    settings: dict[str, dict[str, Any]] = {
        "first order": {},
        "crossing arcs": {"projective": False, "hash_bits": 12},
        "words alone": {"lemma": False, "hash_bits": 13, "loss": "crf"},
        "second order": {"order": 2, "hash_bits": 12},
    }
    return {name: DependencyParser(passes=2, **each).fit(TREES) for name, each in settings.items()}


def trees_of(parser: DependencyParser, sentences: list[list[dict[str, str]]]) -> list[Any]:
    """What the core answers, as an exported parser does."""
    return [
        [{"head": int(h), "relation": r} for h, r in zip(s.heads, s.relations, strict=True)]
        for s in parser.predict(as_treebank(sentences))
    ]


#: Asks a module what a file says, and prints the answers.
ASKING = """
import { readFileSync } from "node:fs";
const { load } = await import(process.argv[2]);
const tagger = await load();
const asked = JSON.parse(readFileSync(process.argv[3], "utf8"), (_, x) => (x && x.$set ? new Set(x.$set) : x));
const answers = asked.map(([method, argument]) => {
  try {
    return tagger[method](argument);
  } catch (error) {
    return String(error);
  }
});
process.stdout.write(JSON.stringify(answers));
"""  # noqa: E501


def as_json(value: Any) -> Any:
    if isinstance(value, set):
        return {"$set": sorted(value)}
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    return [as_json(each) for each in value] if isinstance(value, list | tuple) else value


def ask_node(module: Path, asked: list[list[Any]]) -> list[Any]:
    """What the methods of an exported module answer: [method, argument] each."""
    (module / "ask.mjs").write_text(ASKING)
    (module / "asked.json").write_text(json.dumps(as_json(asked)))
    files = [module / "ask.mjs", (module / "index.mjs").as_uri(), module / "asked.json"]
    shown = subprocess.run(["node", *map(str, files)], capture_output=True, check=False)
    assert not shown.stderr, shown.stderr.decode()
    return list(json.loads(shown.stdout))
