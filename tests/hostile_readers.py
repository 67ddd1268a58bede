"""Every way that bytes of a stranger come in: valid inputs, how they are changed, what reads them.

`hostile_inputs.py` looks for those that break a reader; a new reader of files is a row here.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

#: Numbers and strings at which readers break.
NUMBERS = (0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, -(2**63), 10**30, 1e308, -1e-320, 0.5)
STRINGS = (
    "", "\0", "\x1b[2J", "\ud800", "\u202e", "\ufeff", "é" * 3000, "__class__", "../../x",
    "9" * 5000, "word[-100..100] & word[-100..100]", "(" * 3000, "nan", "inf", "-", "%x[0,0]",
)  # fmt: skip


def changed_bytes(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A few random changes of some bytes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        at = rng.randrange(len(out) + 1)
        length = min(rng.choice((1, 1, 2, 4, 8, 64, 512)), len(out) - at)
        change = rng.randrange(9)
        if change == 0 and at < len(out):
            out[at] ^= 1 << rng.randrange(8)
        elif change == 1:
            out[at : at + length] = rng.randbytes(length)
        elif change == 2:
            del out[at : at + length]
        elif change == 3:
            out[at:at] = out[at : at + length] * rng.choice((1, 2, 50))
        elif change == 4:
            out[at:at] = rng.choice(STRINGS).encode("utf-8", "surrogatepass")
        elif change == 5:
            number = rng.choice(NUMBERS)
            out[at:at] = str(number).encode()
        elif change == 6:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            out[at : at + length] = other[begin : begin + rng.choice((4, 64, 1024))]
        elif change == 7:
            size = rng.choice((1, 2, 4, 8))
            number = int(rng.choice(NUMBERS[:9])) % 2 ** (8 * size)
            out[at : at + size] = number.to_bytes(size, "little")
        else:
            out[at:at] = rng.choice((b"\n", b"\t", b"\n\n", b"\r\n", b" ", b"\xff", b"#", b"\0"))
    return bytes(out[: 1 << 20])


def changed_json(value: object, rng: random.Random) -> object:
    """One random change somewhere inside a value of JSON."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        copy = dict(value)
        if rng.random() < 0.1:
            del copy[key]
        else:
            copy[key] = changed_json(value[key], rng)
        return copy
    if isinstance(value, list) and value and rng.random() < 0.9:
        copy = list(value)
        at = rng.randrange(len(copy))
        if rng.random() < 0.1:
            copy[at:at] = copy[:3] * rng.choice((1, 1000))
        else:
            copy[at] = changed_json(copy[at], rng)
        return copy
    nested: object = []
    for _ in range(rng.choice((1, 1, 500))):
        nested = [nested]
    safe = [text for text in STRINGS if "\ud800" not in text]
    return rng.choice((rng.choice(NUMBERS), rng.choice(safe), None, True, {}, [], nested))


class Reader:
    """One way that bytes of a stranger come in.

    Parameters
    ----------
    seeds : list of bytes
        Valid inputs, from which others are made.
    read : callable
        Takes the file with an input, and does with it what a user would.
    change : callable, optional
        How an input is changed; bytes at random by default.
    """

    def __init__(
        self,
        seeds: list[bytes],
        read: Callable[[Path], object],
        change: Callable[[bytes, random.Random, list[bytes]], bytes] = changed_bytes,
    ) -> None:
        self.seeds, self.read, self.change = seeds, read, change


def sentences() -> tuple[list[list[str]], list[list[str]]]:
    X = [["Ada", "met", "Bo", "in", "Rome"], ["Rome", "is", "old"], ["Bo", "saw", "Ada", "."]]
    Y = [["B-PER", "O", "B-PER", "O", "B-LOC"], ["B-LOC", "O", "O"], ["B-PER", "O", "B-PER", "O"]]
    return X, Y


def text_readers(folder: Path) -> dict[str, Reader]:
    import numpy as np

    from dualstruct import SequenceTagger, read_columns, read_conllu
    from dualstruct.data.blocks import read_blocks
    from dualstruct.data.conllu import write_conllu
    from dualstruct.datasets import load_english
    from dualstruct.features.clusters import read_clusters
    from dualstruct.features.gazetteers import read_gazetteer
    from dualstruct.features.word_vectors import read_vectors
    from dualstruct.labels.given_costs import read_costs

    X, Y = sentences()
    columns = "\n\n".join(
        "\n".join(f"{x} N {y}" for x, y in zip(xs, ys, strict=True))
        for xs, ys in zip(X, Y, strict=True)
    ).encode()
    trees = folder / "seed.conllu"
    write_conllu(trees, load_english("test")[:3])
    templates = b"columns word\nword[-2..2]\nword[-1] & word[0]\nsuffix(lower(word[0]),1..4)\n"
    templates += b"shape(word[0])\n"
    patterns = b'U00:%x[-1,0]\nU01:%x[0,0]/%x[1,0]\nB\nU02:%m[0,0,"^[A-Z]"]\n'

    def trained(path: Path) -> object:
        tagger = SequenceTagger(features=str(path), passes=1, hash_bits=10)
        return tagger.fit(X, Y).predict(X[:1])

    def columns_read(path: Path) -> object:
        file = read_columns(path)
        return [list(row) for row in file.tokens], [list(row) for row in file.labels]

    array = io.BytesIO()
    np.save(array, np.ones((2, 3), np.float32))

    def numpy_vectors(path: Path) -> object:
        (folder / "vectors.txt").write_text("Ada\nRome\n")
        (folder / "vectors.npy").write_bytes(path.read_bytes())
        return read_vectors(folder / "vectors.npy").words

    def treebank_read(path: Path) -> object:
        bank = read_conllu(path)
        write_conllu(path.with_suffix(".out"), bank)
        return [(s.forms, s.heads) for s in bank]

    return {
        "columns": Reader([columns, columns.replace(b" ", b"\t")], columns_read),
        "blocks": Reader(
            [columns], lambda path: [list(block.tokens) for block in read_blocks(path)]
        ),
        "conllu": Reader([trees.read_bytes()], treebank_read),
        "templates": Reader([templates], trained),
        "patterns": Reader([patterns], trained),
        "clusters": Reader([b"0010\tAda\t7\n0011\tBo\t3\n01\tRome\t2\n"], read_clusters),
        "vectors": Reader(
            [
                b"Ada 0.5 1\nRome 0.25 -1\n",
                b"2 2\nAda 0.5 1\nRome 0.25 -1\n",
                b"2 2\nAda " + bytes(8) + b"\nRome " + b"\0\0\x80?" * 2 + b"\n",
            ],
            read_vectors,
        ),
        "numpy vectors": Reader([array.getvalue()], numpy_vectors),
        "gazetteer": Reader([b"Rome\nNew York\n\nSan Marino\n"], read_gazetteer),
        "costs": Reader([b"# true predicted cost\nPER O 2\nLOC 0.5\n"], read_costs),
    }


def document_readers(folder: Path) -> dict[str, Reader]:
    """Files of texts: read, aligned with tokens, and written again."""
    from dualstruct.data.tokenizing import Tokenizer
    from dualstruct.labelling import Project
    from dualstruct.texts import Document, TextSpan, iter_documents, write_documents
    from dualstruct.texts.alignment import Alignment
    from dualstruct.texts.documents import split_documents
    from dualstruct.texts.formats import FORMATS

    spans = [TextSpan(0, 6, "PER"), TextSpan(14, 18, "LOC")]
    documents = [Document("Ada Wu left. \nRome 👍🏽 e\u0301", spans), Document("Bo's it.", [])]
    split_documents(documents, Tokenizer())

    def changed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
        if rng.random() < 0.5:
            return changed_bytes(data, rng, others)
        lines = data.decode().splitlines()
        at = rng.randrange(len(lines))
        try:
            lines[at] = json.dumps(changed_json(json.loads(lines[at]), rng))
        except ValueError:
            return changed_bytes(data, rng, others)
        return "\n".join(lines).encode("utf-8", "replace")

    def reader(name: str) -> Reader:
        place = folder / f"seed.{name}"
        write_documents(place, documents, name)

        def read(path: Path) -> object:
            found = list(iter_documents(path, name))
            split_documents(found, Tokenizer())
            for each in found:
                Alignment("move", "longest").labels(each)
            write_documents(path.with_suffix(".out"), found, name)
            write_documents(path.with_suffix(".jsonl"), found, "jsonl")
            return len(found)

        return Reader([place.read_bytes()], read, changed)

    def notes(path: Path) -> object:
        inner = folder / "standoff"
        inner.mkdir(exist_ok=True)
        (inner / "a.txt").write_text(documents[0].text)
        (inner / "a.ann").write_bytes(path.read_bytes())
        return list(iter_documents(inner))

    # Formats that libraries of others read are as robust as these.
    ours = [name for name, each in FORMATS.items() if each.write and not each.needs_library]
    found = {f"texts {name}": reader(name) for name in ours}
    found["texts brat"] = Reader(
        [b"T1\tPER 0 6\tAda Wu\nT2\tLOC 14 18\tRome\n#1\tNote T1\tx\n"], notes
    )
    with Project(folder / "seed.db") as project:
        project.add(documents)
    found["texts project"] = Reader(
        [(folder / "seed.db").read_bytes()], lambda path: list(iter_documents(path, "project"))
    )
    found["text"] = Reader(
        [documents[0].text.encode(), "a@b.c www.x.org/(y). It's 1,2 我。".encode()],
        lambda path: [each.text for each in iter_documents(path, "text")],
    )
    return found


def resealed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """A file of arrays with other metadata or arrays, and a checksum that is right again."""
    import numpy as np

    from dualstruct.data.arrays import packed_arrays

    kind, metadata, arrays = unsealed(data)
    arrays = dict(arrays)
    for _ in range(rng.choice((1, 1, 2))):
        if not arrays or rng.random() < 0.6:
            kept = {key: metadata[key] for key in ("format", "version") if key in metadata}
            told = changed_json(metadata, rng)
            metadata = {**(told if isinstance(told, dict) else {}), **kept}
            continue
        chosen = rng.choice(list(arrays))
        array = np.array(arrays[chosen])
        change = rng.randrange(4)
        if change == 0 and array.size:
            values = [v for v in NUMBERS if array.dtype.kind == "f" or abs(v) < 2**62]
            with np.errstate(all="ignore"):
                array.flat[rng.randrange(array.size)] = np.array(rng.choice(values)).astype(
                    array.dtype
                )
        elif change == 1:
            array = array.ravel()[: rng.randrange(array.size + 1)]
        elif change == 2:
            array = np.concatenate([array.ravel(), array.ravel()])
        else:
            array = array.astype(rng.choice(("<f4", "<f8", "<i8", "<i4", "<u4")))
        arrays[chosen] = array
    return packed_arrays(kind, metadata, arrays)


@cache
def unsealed(data: bytes) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Format, metadata and arrays of a valid file."""
    from dualstruct.data.arrays import format_of, read_arrays

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "file"
        path.write_bytes(data)
        kind = format_of(path)
        return kind, *read_arrays(path, kind)


#: A model of Wapiti's: its templates, labels, observations and weights.
WAPITI = b"""#mdl#2#4
#rdr#3/1/0
9:u:%x[0,0],
18:*:%x[-1,0]/%x[0,0],
1:b,
#qrk#2
1:A,
1:B,
#qrk#4
5:u:Ada,
4:u:is,
10:*:_x-1/Ada,
1:b,
0=0x1p-1
3=-0x1.8p+0
4=0.25
10=1
"""


def model_readers(folder: Path) -> dict[str, Reader]:
    import dualstruct.compat.pycrfsuite as pycrfsuite
    from dualstruct import DependencyParser, Problem, SequenceTagger, Stopping, fit, load_model
    from dualstruct.datasets import load_english, make_chains
    from dualstruct.solvers import SOLVERS
    from dualstruct.wapiti import read_wapiti, tagger_from_wapiti

    X, Y = sentences()
    few = load_english("train")[:8]
    models = []
    for k, (loss, features) in enumerate([("squared_hinge", "ner"), ("crf", "word[0]\n")]):
        SequenceTagger(features=features, loss=loss, passes=2).fit(X, Y).save(folder / f"tagger{k}")
        models.append((folder / f"tagger{k}").read_bytes())
    DependencyParser(hash_bits=8, passes=1).fit(few).save(folder / "parser")
    models.append((folder / "parser").read_bytes())

    def used(path: Path) -> object:
        model = load_model(path)
        return model.predict(few if isinstance(model, DependencyParser) else X[:1])

    problem = {}
    readers = {
        "model": Reader(models, used),
        "resealed model": Reader(models, used, resealed),
    }
    chains = make_chains(sentences=6, tokens=4, labels=3, features=8, seed=1).structure()
    for name, solver in SOLVERS.items():
        problem[name] = Problem(chains, solver.losses[0], 0.5)
        file = folder / f"{name}.checkpoint"
        fit(problem[name], solver(), Stopping(passes=3), checkpoint=file, checkpoint_every=1)

        def resumed(path: Path, name: str = name) -> object:
            return fit(
                problem[name], SOLVERS[name](), Stopping(passes=5), checkpoint=path, resume=True
            )

        readers[f"checkpoint {name}"] = Reader([file.read_bytes()], resumed, resealed)
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False, params={"max_iterations": 3})
    for x, y in zip(X, Y, strict=True):
        trainer.append([[f"w={word}"] for word in x], y)
    trainer.train(str(folder / "crfsuite"))

    def tagged(path: Path) -> object:
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
        tagger.info()
        return tagger.tag([["w=Ada"], ["w=is"]]) if tagger.labels() else None

    readers["crfsuite"] = Reader([(folder / "crfsuite").read_bytes()], tagged)

    def converted(path: Path) -> object:
        return tagger_from_wapiti(read_wapiti(path)).predict([["Ada", "is"]])

    readers["wapiti"] = Reader([WAPITI], converted)
    return readers


def page_readers(folder: Path) -> dict[str, Reader]:
    """Requests to the page: a method and a path on the first line, then a body."""
    import asyncio
    from urllib.parse import quote

    import httpx

    from dualstruct import DependencyParser, ParsingPipeline, SequenceTagger
    from dualstruct.datasets import load_english
    from dualstruct.serving.answers import serve_model
    from dualstruct.serving.app import create_app

    X, Y = sentences()
    pairs = [[(word, word[-1]) for word in x] for x in X]
    attributes = [[[f"w={word}", f"last={word[-1]}"] for word in x] for x in X]
    trees = load_english("train")[:8]
    few = DependencyParser(hash_bits=8, passes=1)
    models: dict[str, tuple[Any, Any]] = {
        "words": (SequenceTagger(features="ner", loss="crf", passes=2).fit(X, Y), X[0]),
        "columns": (SequenceTagger(passes=2).fit(pairs, Y), [list(pair) for pair in pairs[0]]),
        "attributes": (SequenceTagger(passes=2).fit(attributes, Y), attributes[0]),
        "parser": (few.fit(trees), None),
        "pipeline": (
            ParsingPipeline(parser=DependencyParser(hash_bits=8, passes=1), folds=2),
            X[0],
        ),
    }
    models["pipeline"][0].fit(trees)
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)

    def request(method: str, path: str, body: object = None) -> bytes:
        return f"{method} {path}\n{'' if body is None else json.dumps(body)}".encode()

    def changed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
        first, _, body = data.partition(b"\n")
        if rng.random() < 0.1:
            return changed_bytes(data, rng, others)
        if not body or rng.random() < 0.4:
            return first + b"\n" + changed_bytes(body, rng, others)
        return first + b"\n" + json.dumps(changed_json(json.loads(body), rng)).encode()

    def reader(model: Any, tokens: Any) -> Reader:
        served = serve_model(model, "model")
        app = create_app(served)
        names = served.columns.names
        tokens = [[*names]] if tokens is None else tokens
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        seeds = [
            request("POST", "/api/predict", {"tokens": tokens, "k": 2}),
            *(
                request("POST", "/api/explain", {"tokens": tokens, "token": 1, "of": of})
                for of in served.explains
            ),
            *(request("GET", path) for path in ("/api/model", "/api/training", "/openapi.json")),
            *(request("GET", path) for path in ("/", "/api/suspects", "/static/page.js")),
        ]
        if served.columns.only_words:
            seeds += [request("POST", "/api/predict", {"text": "Ada met Bo in Rome"})]

        def asked(path: Path) -> object:
            first, _, body = path.read_bytes().partition(b"\n")
            method, _, place = first.decode("latin-1").partition(" ")
            answer = loop.run_until_complete(ask(method, place, body))
            said = f"{method} {place}: {answer.status_code} {answer.text[:500]}"
            assert answer.status_code < 500, said
            return answer.status_code

        async def ask(method: str, place: str, body: bytes) -> httpx.Response:
            known = method if method in ("GET", "POST", "PUT", "HEAD", "OPTIONS") else "POST"
            place = "/" + quote(place.lstrip("/"), safe="/?&=%")[:2000]
            async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
                return await client.request(
                    known, place, content=body, headers={"content-type": "application/json"}
                )

        return Reader(seeds, asked, changed)

    return {f"page {name}": reader(*each) for name, each in models.items()}


#: Arguments that reach beyond the folder, the network, or the time that an input has.
ELSEWHERE = re.compile(
    r"^[/~]|^-+[a-z-]+=[/~]|\.\.|^(demo|experiment|ray|mpi)$|download|^--(address|engine|data|out$)|"
    r"^--[a-z-]*=(ray|mpi)$"
)


def command_readers(folder: Path) -> dict[str, Reader]:
    """Command lines, one argument a line; the files are in a folder of their own."""
    import uvicorn

    from command_cases import READING, WAYS, make_files
    from command_line import numeric_options, run_command

    place = folder / "a" / "b" / "commands"
    place.mkdir(parents=True)
    make_files(place)
    ways = [way for way in (*WAYS.values(), *READING.values()) if not refused(way)]
    seeds = ["\n".join(part.replace("{}/", "") for part in way).encode() for way in ways]
    options = [[option] for _, option, _ in numeric_options()]
    options += [[part] for way in ways for part in way if part.startswith("-")]

    def changed(data: bytes, rng: random.Random, others: list[bytes]) -> bytes:
        arguments = data.decode().split("\n")
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(len(arguments) + 1)
            silly = rng.choice((*map(str, NUMBERS), *STRINGS, *arguments))
            change = rng.randrange(5)
            if change == 0:
                arguments[at : at + 1] = [silly]
            elif change == 1:
                del arguments[at : at + 1]
            elif change == 2:
                arguments[at:at] = [*rng.choice(options), silly]
            elif change == 3:
                arguments += [*rng.choice(options), silly]
            else:
                other = rng.choice(seeds).decode().split("\n")
                arguments[at:at] = other[rng.randrange(len(other)) :]
        return "\n".join(arguments).encode("utf-8", "surrogatepass")

    def run(path: Path) -> object:
        text = path.read_bytes().replace(b"\0", b"").decode("utf-8", "surrogateescape")
        arguments = text.split("\n")
        if refused(arguments):
            return None
        if arguments[0] == "train":  # the last ones count
            arguments += ["--seconds", "0.1", "--passes", "2", "--hash-bits", "8"]
        before = os.getcwd()
        os.chdir(place)
        try:
            with patch.object(uvicorn.Server, "run", lambda _, sockets: sockets[0].close()):
                code, output, messages = run_command(arguments)
        finally:
            os.chdir(before)
        assert code in (0, 1, 2), messages[-2000:]
        assert "Traceback" not in output + messages, messages[-2000:]
        return code

    return {"command": Reader(seeds, run, changed)}


def refused(arguments: Sequence[str]) -> bool:
    """Whether a command would reach beyond its folder, or take too long."""
    return any(ELSEWHERE.search(part.replace("{}/", "")) for part in arguments)


def all_readers(folder: Path) -> dict[str, Reader]:
    return {
        **text_readers(folder),
        **document_readers(folder),
        **model_readers(folder),
        **page_readers(folder),
        **command_readers(folder),
    }
