"""Models and servers for the tests of the page and its JSON interface."""

from __future__ import annotations

import atexit
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import uvicorn

from dualstruct import DependencyParser, ParsingPipeline, SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.serving.answers import Served, serve_model
from dualstruct.serving.app import create_app
from dualstruct.serving.connections import Limits, bounded_config
from patience import HANGS

SENTENCE = "Dr Ines Calder moved from Lisbon to Oslo in March ."
#: A busy machine is not to end what a test does not mean to end.
PATIENT = Limits(header=HANGS, body=HANGS, answer=HANGS, request=HANGS)


@cache
def tagger() -> SequenceTagger:
    train = load_english("train")
    made = SequenceTagger(features="ner", loss="crf", C=0.5, passes=8)
    return made.fit([s.forms for s in train], [s.entities for s in train])


@cache
def tagger_of_two_columns() -> SequenceTagger:
    train = load_english("train")[::4]
    rows = [list(zip(s.forms, s.upos, strict=True)) for s in train]
    return SequenceTagger(C=0.5, passes=4).fit(rows, [s.entities for s in train])


@cache
def attribute_tagger() -> SequenceTagger:
    train = load_english("train")[::8]
    rows = [[[f"word={form}", f"last={form[-1]}"] for form in s.forms] for s in train]
    return SequenceTagger(C=0.5, passes=4).fit(rows, [s.upos for s in train])


@cache
def parser() -> DependencyParser:
    return DependencyParser(hash_bits=14, passes=3, lemma=False).fit(load_english("train"))


@cache
def second_order_parser() -> DependencyParser:
    few = load_english("train")[::8]
    return DependencyParser(hash_bits=14, passes=2, order=2, lemma=False).fit(few)


@cache
def pipeline() -> ParsingPipeline:
    quick = DependencyParser(hash_bits=14, passes=3)
    return ParsingPipeline(parser=quick, folds=2).fit(load_english("train"))


@atexit.register
def forget() -> None:
    """Before the interpreter ends: the core tells of objects that are still there then."""
    for made in (tagger, tagger_of_two_columns, attribute_tagger, parser, second_order_parser):
        made.cache_clear()
    pipeline.cache_clear()


def served(model: Any, name: str = "model.dstruct") -> Served:
    return serve_model(model, name)


def app(shown: Served, *arguments: Any, **options: Any) -> Any:
    """The application, which waits for as long as it takes unless a test says otherwise."""
    return create_app(shown, *arguments, **{"limits": PATIENT, **options})


@contextmanager
def running(app: Any, limits: Limits = PATIENT) -> Iterator[str]:
    """A real server on a free port of the loopback interface; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server = uvicorn.Server(bounded_config(app, limits))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(HANGS)
        listening.close()
