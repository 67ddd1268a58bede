"""dualstruct.compat.pycrfsuite beside python-crfsuite: CPU time of training and of opening a model.

Both get the same dicts, the same parameters and the same number of iterations, in one process and
in turns; of several repeats the fastest counts. Training is append, train and writing the file.
Opening is ``Tagger.open`` (or ``open_inmemory``) and the first ``tag``.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pycrfsuite

import dualstruct.compat.pycrfsuite as ours
from dualstruct import read_columns
from measuring import DATA, Clock

Sentence = list[dict[str, Any]]
LIBRARIES = {"dualstruct": ours, "CRFsuite": pycrfsuite}
STREETS = {
    "street",
    "st",
    "avenue",
    "ave",
    "road",
    "rd",
    "drive",
    "dr",
    "lane",
    "ln",
    "blvd",
    "way",
}
DIRECTIONS = {"n", "s", "e", "w", "north", "south", "east", "west", "ne", "nw", "se", "sw"}


def address_item(token: str) -> dict[str, Any]:
    """What parsers of addresses say of a token: a word or a number, its shape and its kind."""
    word = token.strip(",.;()#").lower()
    digits = sum(c.isdigit() for c in word)
    is_number = digits == len(word)
    return {
        "abbreviated": token.endswith("."),
        "digits": "all" if is_number else "some" if digits else "none",
        "word": False if is_number else word,
        "zeros": word[len(word.rstrip("0")) :] if is_number else False,
        "length": ("d:" if is_number else "w:") + str(len(word)),
        "ends": token[-1] if token[-1] in ",.;" else False,
        "direction": word in DIRECTIONS,
        "street": word in STREETS,
        "vowels": any(c in "aeiou" for c in word[1:]),
    }


def address_items(tokens: Any) -> Sentence:
    """An item for each token, with those of its neighbours in it, as usaddress does."""
    alone = [address_item(token) for token in tokens]
    items = [dict(item) for item in alone]
    for before, after in zip(range(len(items)), range(1, len(items)), strict=False):
        items[before]["next"] = alone[after]
        items[after]["previous"] = alone[before]
    items[0]["start"] = items[-1]["end"] = True
    for neighbour in items[1:2]:
        neighbour["previous"] = {**neighbour["previous"], "start": True}
    for neighbour in items[-2:-1]:
        neighbour["next"] = {**neighbour["next"], "end": True}
    return items


def chunking_items(tokens: Any) -> Sentence:
    """Words and parts of speech of a token and its neighbours."""
    items = []
    for t, (word, tag) in enumerate(tokens):
        item = {"word": word, "tag": tag, "suffix": word[-3:], "title": word.istitle()}
        for name, k in (("-1", t - 1), ("-2", t - 2), ("+1", t + 1), ("+2", t + 2)):
            if 0 <= k < len(tokens):
                item[name] = {"word": tokens[k][0], "tag": tokens[k][1]}
        items.append(item)
    return items


CORPORA: dict[str, tuple[Callable[[Any], Sentence], int]] = {
    "usaddress": (address_items, 100),
    "conll2000": (chunking_items, 10),
}


def train(
    library: Any, path: Path, X: list[Sentence], Y: list[list[str]], prepared: bool, **params: Any
) -> float:
    clock = Clock()
    algorithm = params.pop("algorithm")
    trainer = library.Trainer(algorithm, params, verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(library.ItemSequence(x) if prepared else x, y)
    trainer.train(str(path))
    return clock.lap()


def open_and_tag(library: Any, path: Path, x: Sentence, in_memory: bool) -> float:
    data = path.read_bytes()
    clock = Clock()
    tagger = library.Tagger()
    if in_memory:
        tagger.open_inmemory(data)
    else:
        tagger.open(str(path))
    tagger.tag(x)
    return clock.lap()


def tag_all(library: Any, path: Path, X: list[Sentence]) -> float:
    tagger = library.Tagger()
    tagger.open(str(path))
    clock = Clock()
    for x in X:
        tagger.tag(x)
    return clock.lap()


def report(
    name: str, repeats: int, measure: Callable[..., float], *args: Any, **named: Any
) -> None:
    """The fastest of the repeats, the libraries in turns, and the ratio of the two."""
    times: dict[str, list[float]] = {library: [] for library in LIBRARIES}
    for _ in range(repeats):
        for library, module in LIBRARIES.items():
            times[library].append(measure(module, *args, **named))
    mine, theirs = (1000 * min(times[library]) for library in LIBRARIES)
    print(f"| {name} | {mine:.2f} | {theirs:.2f} | {mine / theirs:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--algorithms", nargs="+", default=["ap", "pa", "arow"])
    args = parser.parse_args()
    print("| CPU milliseconds | dualstruct | CRFsuite | ratio |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for corpus in args.corpora:
            items, rounds = CORPORA[corpus]
            file = read_columns(args.data / corpus / "train.txt.xz")
            X, Y = [items(x) for x in file.tokens], [list(y) for y in file.labels]
            path = Path(folder, "model")  # the last one written is CRFsuite's own
            for algorithm in args.algorithms:
                for prepared, iterations in ((False, rounds), (True, 5)):
                    given = "ItemSequence" if prepared else "dicts"
                    params = {"algorithm": algorithm, "max_iterations": iterations}
                    name = f"{corpus}: train {algorithm}, {given}, {iterations} iterations"
                    report(name, args.repeats, train, path, X, Y, prepared, **params)
            size = f"{path.stat().st_size / 1e6:.1f} MB"
            often = 10 * args.repeats
            report(f"{corpus}: open {size} and tag", often, open_and_tag, path, X[0], False)
            report(f"{corpus}: open_inmemory and tag", often, open_and_tag, path, X[0], True)
            report(f"{corpus}: tag all", args.repeats, tag_all, path, X)


if __name__ == "__main__":
    main()
