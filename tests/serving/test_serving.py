"""The JSON interface of ``dualstruct serve``: right answers, clear refusals, bounds."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPConnection
from itertools import pairwise
from urllib.request import urlopen

import httpx
import numpy as np
import pytest

import serving_cases as cases
from dualstruct import SequenceTagger, write_columns, write_conllu
from dualstruct.crfsuite.conversion import crfsuite_from_tagger, tagger_from_crfsuite
from dualstruct.datasets import load_english
from dualstruct.errors import InputError
from dualstruct.features import CSRSequences
from dualstruct.serving import requests
from dualstruct.serving.answers import MOST_SUSPECTS, serve_model
from dualstruct.serving.suspicion import Suspicion
from patience import HANGS

WORDS = cases.SENTENCE.split()


def client(model, **options) -> httpx.AsyncClient:
    app = cases.app(cases.served(model), **options)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


def ask(model, path: str, body=None, **options) -> httpx.Response:
    async def send() -> httpx.Response:
        async with client(model) as one:
            if body is None and not options:
                return await one.get(path)
            return await one.post(path, **({"json": body} if body is not None else options))

    return asyncio.run(send())


def refusal(response: httpx.Response) -> tuple[int, str]:
    assert list(response.json()) == ["error"]
    return response.status_code, response.json()["error"]


def test_labels_are_those_of_the_model():
    tagger = cases.tagger()
    answer = ask(tagger, "/api/predict", {"text": cases.SENTENCE, "k": 3}).json()
    assert answer["tokens"] == WORDS
    assert [answer["labels"]] == tagger.predict([WORDS])
    [found] = tagger.predict_confidence([WORDS], 3)
    assert answer["confidence"] == pytest.approx(found.marginals, abs=1e-6)
    alternatives = [(one["score"], one["labels"]) for one in answer["alternatives"]]
    assert alternatives == [(one.score, one.labels) for one in found.k_best]
    shares = [one["probability"] for one in answer["alternatives"]]
    assert shares == pytest.approx([one.probability for one in found.k_best], abs=1e-6)
    assert ask(tagger, "/api/predict", {"tokens": WORDS, "k": 3}).json() == answer


def test_trees_are_those_of_the_model_and_their_picture_has_an_arc_for_each_word():
    pipeline = cases.pipeline()
    answer = ask(pipeline, "/api/predict", {"text": cases.SENTENCE}).json()
    [sentence] = pipeline.predict([WORDS])
    assert answer["heads"] == sentence.heads
    assert answer["relations"] == sentence.relations
    assert answer["tags"] == sentence.upos
    assert len(answer["alternatives"]) == 5
    assert answer["alternatives"][0]["heads"] == sentence.heads
    assert [arc["token"] for arc in answer["picture"]["arcs"]] == list(range(1, len(WORDS) + 1))
    assert [arc["label"] for arc in answer["picture"]["arcs"]] == sentence.relations
    places = [word["x"] for word in answer["picture"]["words"]]
    assert all(a < b for a, b in pairwise(places))


def test_a_parser_takes_the_columns_that_it_looks_at():
    parser = cases.parser()
    sentence = load_english("test")[3]
    about = ask(parser, "/api/model").json()
    assert about["columns"][:2] == ["form", "upos"]
    cells = {"form": sentence.forms, "upos": sentence.upos, "feats": sentence.feats}
    rows = [list(row) for row in zip(*(cells[name] for name in about["columns"]), strict=True)]
    answer = ask(parser, "/api/predict", {"tokens": rows}).json()
    assert answer["heads"] == parser.predict(load_english("test")[3:4])[0].heads
    explained = ask(parser, "/api/explain", {"tokens": rows, "token": 1}).json()
    assert explained["tokens"][0]["head"] == answer["heads"][0]


def test_a_parser_of_second_order_has_no_alternatives():
    parser = cases.second_order_parser()
    about = ask(parser, "/api/model").json()
    rows = [["Ada", "PROPN"], ["sings", "VERB"]]
    tokens = [[*row, *["_"] * (len(about["columns"]) - 2)] for row in rows]
    answer = ask(parser, "/api/predict", {"tokens": tokens}).json()
    assert answer["alternatives"] == []
    assert len(answer["heads"]) == 2


def test_a_tagger_of_two_columns_says_which_one_is_missing():
    tagger = cases.tagger_of_two_columns()
    assert ask(tagger, "/api/model").json()["columns"] == ["word", "pos"]
    row = [["Ada", "PROPN"], ["sings", "VERB"]]
    answer = ask(tagger, "/api/predict", {"tokens": row}).json()
    assert [answer["labels"]] == tagger.predict([[tuple(token) for token in row]])
    status, message = refusal(
        ask(tagger, "/api/predict", {"tokens": [["Ada", "PROPN"], ["sings"]]})
    )
    assert (status, message) == (
        400,
        "token 2 has 1 of the 2 columns that the model looks at (word, pos): pos missing",
    )
    status, message = refusal(ask(tagger, "/api/predict", {"text": "Ada sings"}))
    assert (status, message) == (
        400,
        "this model looks at columns (word, pos): send tokens, each a list, not text",
    )


def test_a_tagger_of_attributes_takes_any_number_of_them():
    tagger = cases.attribute_tagger()
    tokens = [["word=the", "last=e"], [], ["last=s"]]
    answer = ask(tagger, "/api/predict", {"tokens": tokens}).json()
    assert [answer["labels"]] == tagger.predict([tokens])
    assert answer["tokens"] == ["word=the", "", "last=s"]
    explained = ask(tagger, "/api/explain", {"tokens": tokens, "token": 3}).json()
    assert explained["tokens"][0]["label"] == answer["labels"][2]


def test_a_tagger_of_matrices_is_refused():
    matrix = CSRSequences(np.eye(4, dtype=np.float32), [2, 2])
    tagger = SequenceTagger().fit(matrix, [["A", "B"], ["A", "B"]])
    with pytest.raises(InputError, match=r"rows\.dstruct looks at rows of a matrix"):
        serve_model(tagger, "rows.dstruct")


@pytest.mark.parametrize("of", ["labels", "tree", "upos"])
def test_explanations_add_up(of):
    model = cases.tagger() if of == "labels" else cases.pipeline()
    answer = ask(model, "/api/predict", {"text": cases.SENTENCE}).json()
    found = ask(model, "/api/explain", {"text": cases.SENTENCE, "token": 6, "of": of}).json()
    [token] = found["tokens"]
    assert token["form"] == "Lisbon"
    expected = {"labels": "labels", "tree": "relations", "upos": "tags"}[of]
    assert token["label"] == answer[expected][5]
    for rival in token["alternatives"]:
        amounts = [each["amount"] for each in rival["contributions"]]
        assert sum(amounts) == pytest.approx(rival["difference"], abs=1e-9)


def test_training_is_told_pass_by_pass():
    parts = ask(cases.pipeline(), "/api/training").json()["parts"]
    assert [part["name"] for part in parts] == ["parser", "UPOS tagger"]
    result = cases.pipeline().result_
    assert parts[0]["gap"] == result.gap
    assert [point["dual"] for point in parts[0]["trace"]] == [p.dual for p in result.trace]


def test_a_converted_model_has_no_training_to_tell_of():
    tagger = tagger_from_crfsuite(crfsuite_from_tagger(cases.attribute_tagger()))
    [part] = ask(tagger, "/api/training").json()["parts"]
    assert (part["stopped_by"], part["primal"], part["trace"]) == ("conversion", None, [])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 60000, "the body is not JSON"),
        (b"[]", "the body is not a JSON object"),
        (b"{}", "either text or tokens is expected"),
        (b'{"text": "a", "tokens": ["a"]}', "either text or tokens is expected"),
        (b'{"text": " \\n "}', "the sentence has no words"),
        (b'{"tokens": []}', "the sentence has no words"),
        (b'{"text": 3}', "text has to be a string of at most 4000 characters"),
        (b'{"text": "a", "k": 0}', "k has to be a whole number from 1 to 20"),
        (b'{"text": "a", "k": NaN}', "k has to be a whole number from 1 to 20"),
        (b'{"text": "a", "k": true}', "k has to be a whole number from 1 to 20"),
        (b'{"text": "a", "beta": 1}', "'beta' is unknown; the names are text, tokens, k"),
        (b'{"tokens": "a"}', "tokens has to be a list"),
        (b'{"tokens": [["a"]]}', "token 1 has to be a string"),
        (b'{"tokens": ["a", 3]}', "token 2 has to be a string"),
        (b'{"tokens": ["a b"]}', "token 1, word: spaces and control characters are not allowed"),
        (
            b'{"tokens": ["\\ud800"]}',
            "token 1, word: spaces and control characters are not allowed",
        ),
        (b'{"tokens": [""]}', "token 1, word: a string of 1 to 200 characters is expected"),
    ],
)
def test_bad_requests_are_told_what_is_wrong(body, message):
    headers = {"content-type": "application/json"}
    response = ask(cases.tagger(), "/api/predict", content=body, headers=headers)
    assert refusal(response) == (400, message)


def test_other_refusals_have_their_status():
    tagger = cases.tagger()
    assert refusal(ask(tagger, "/api/explain", {"text": "a b", "token": 3})) == (
        404,
        "the sentence has no token 3; it has 2",
    )
    assert refusal(ask(tagger, "/api/explain", {"text": "a b"})) == (400, "token is missing")
    wrong = ask(tagger, "/api/explain", {"text": "a", "token": 1, "of": "tree"})
    assert refusal(wrong) == (400, "of has to be one of labels")
    assert refusal(ask(tagger, "/nothing"))[0] == 404
    assert refusal(ask(tagger, "/static/../app.py"))[0] == 404
    assert refusal(ask(tagger, "/api/predict"))[0] == 405
    plain = ask(tagger, "/api/predict", content=b"{}", headers={"content-type": "text/plain"})
    assert refusal(plain)[0] == 415
    many = ask(tagger, "/api/predict", {"tokens": ["a"] * 1001})
    assert refusal(many) == (400, "1001 tokens are too many; 1000 are taken")


def test_control_characters_separate_words_of_a_text():
    answer = ask(cases.tagger(), "/api/predict", {"text": "Ada\x00sings\u2028here\x7f"}).json()
    assert answer["tokens"] == ["Ada", "sings", "here"]


def test_answers_tell_browsers_to_be_careful():
    for path in ("/", "/api/model", "/nothing", "/static/page.js"):
        headers = ask(cases.tagger(), path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_other_names_for_the_server_are_refused():
    async def names() -> list[int]:
        statuses = []
        async with client(cases.tagger(), hosts=("localhost", "::1")) as one:
            for host in ("localhost:80", "LOCALHOST", "[::1]:80", "evil.example", ""):
                response = await one.get("/api/model", headers={"host": host})
                statuses.append(response.status_code)
        return statuses

    assert asyncio.run(names()) == [200, 200, 200, 421, 421]


def test_a_mistake_of_the_server_is_a_sentence_without_details(monkeypatch):
    served = cases.served(cases.tagger())
    monkeypatch.setattr(served, "predict", lambda sentence, k: 1 / 0)

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(cases.app(served), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as one:
            return await one.post("/api/predict", json={"text": "a"})

    status, message = refusal(asyncio.run(send()))
    assert (status, message) == (500, "the server has made a mistake; its log says which")


@pytest.fixture(scope="module")
def address():
    app = cases.app(cases.served(cases.tagger()))
    with cases.running(app) as address:
        yield address


def raw(address: str, *pieces: bytes) -> bytes:
    """What comes back for bytes that no well-behaved client would send.

    A server that closes before it has read everything resets the connection; what it said before
    is heard.
    """
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HANGS) as connection:
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        received = b""
        with suppress(ConnectionError):
            while chunk := connection.recv(65536):
                received += chunk
    return received


HEAD = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def test_a_body_that_does_not_arrive_in_time_is_refused():
    app = cases.app(cases.served(cases.tagger()), limits=replace(cases.PATIENT, body=0.3))
    with cases.running(app) as address:
        answer = raw(address, HEAD + b'Content-Length: 20\r\n\r\n{"text"')
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the request has not arrived within 0.3 seconds" in answer


def test_a_large_body_is_refused_before_it_is_read(address):
    size = requests.MOST_BYTES + 1
    declared = raw(address, HEAD + b"Content-Length: %d\r\n\r\n" % size)
    piece = b"8000\r\n" + b"a" * 0x8000 + b"\r\n"
    chunked = raw(address, HEAD + b"Transfer-Encoding: chunked\r\n\r\n", piece, piece, piece)
    for answer in (declared, chunked):
        assert answer.startswith(b"HTTP/1.1 413")
        assert b"the body is larger than 65536 bytes" in answer


def test_an_answer_that_takes_too_long_is_given_up(monkeypatch):
    served = cases.served(cases.tagger())
    release = threading.Event()
    monkeypatch.setattr(served, "predict", lambda sentence, k: release.wait(HANGS))
    short = replace(cases.PATIENT, answer=0.1)
    with cases.running(cases.app(served, limits=short)) as address:
        response = httpx.post(f"{address}/api/predict", json={"text": "a"}, timeout=HANGS)
        release.set()
    assert refusal(response) == (
        503,
        "the answer has taken more than 0.1 seconds; try a shorter sentence",
    )


def test_a_hundred_clients_at_once_get_right_answers(address):
    clients, rounds = 100, 4
    sentences = [sentence.forms for sentence in load_english("test")]
    asked = [
        [sentences[(7 * c + r) % len(sentences)] for r in range(rounds)] for c in range(clients)
    ]
    together = threading.Barrier(clients, timeout=HANGS)

    def converse(questions: list[list[str]]) -> list[list[str]]:
        connection = HTTPConnection(address.removeprefix("http://"), timeout=HANGS)
        answers = []
        try:
            for question in questions:
                together.wait()
                body = json.dumps({"tokens": question, "k": 1})
                headers = {"Content-Type": "application/json"}
                connection.request("POST", "/api/predict", body, headers)
                answers.append(json.load(connection.getresponse())["labels"])
        finally:
            connection.close()
        return answers

    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(converse, asked))
    for questions, labels in zip(asked, answers, strict=True):
        assert labels == cases.tagger().predict(questions)


def test_suspects_are_looked_for_in_the_background():
    release, found = threading.Event(), [{"sentence": 1}]

    def search():
        release.wait(HANGS)
        return found

    suspicion = Suspicion(search)
    suspicion.start()
    assert suspicion.state()["state"] == "working"
    release.set()
    suspicion.join(HANGS)
    assert suspicion.state() == {"state": "ready", "message": "", "suspects": found}

    def fail():
        raise InputError("there is no such file")

    failing = Suspicion(fail)
    failing.start()
    failing.join(HANGS)
    assert failing.state()["state"] == "failed"
    assert failing.state()["message"] == "there is no such file"
    assert ask(cases.tagger(), "/api/suspects").json()["state"] == "missing"


def test_suspects_of_a_file_come_with_their_lines(tmp_path):
    few = load_english("train")[::3]
    labels = [list(sentence.entities) for sentence in few]
    wrong = next(i for i, names in enumerate(labels) if "B-LOC" in names and i > 20)
    labels[wrong] = ["B-QTY"] * len(labels[wrong])
    path = tmp_path / "train.txt"
    write_columns(path, [sentence.forms for sentence in few], labels)
    found = serve_model(cases.tagger(), "tagger").suspects(path)
    assert found[0].sentence == wrong + 1
    assert found[0].where.startswith("train.txt, line ")
    assert {doubt.given for doubt in found[0].doubts} == {"B-QTY"}
    trees = tmp_path / "train.conllu"
    write_conllu(trees, few)
    for model in (cases.parser(), cases.pipeline()):
        assert 0 < len(serve_model(model, "trees").suspects(trees)) <= MOST_SUSPECTS


def serve(*arguments) -> subprocess.Popen:
    command = [sys.executable, "-m", "dualstruct", "serve", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_says_where_the_page_is_and_ends_on_ctrl_c(tmp_path):
    path = tmp_path / "ner.dstruct"
    cases.tagger().save(path)
    process = serve(path, "--port", 0, "--no-browser")
    try:
        line = process.stdout.readline()
        assert line.startswith(f"{path} is at http://127.0.0.1:")
        address = line.split()[3]
        with urlopen(f"{address}api/model", timeout=HANGS) as response:
            assert json.load(response)["name"] == "ner.dstruct"
        port = address.rstrip("/").rpartition(":")[2]
        second = serve(path, "--port", port, "--no-browser")
        _, error = second.communicate(timeout=HANGS)
        assert second.returncode == 1
        assert error.startswith(f"dualstruct: cannot listen on port {port} of 127.0.0.1")
        assert error.count("\n") == 1
    finally:
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    assert "Traceback" not in error


def test_text_is_split_as_the_model_says():
    answer = ask(cases.tagger(), "/api/predict", {"text": "Ada sings, it's late."}).json()
    assert answer["tokens"] == ["Ada", "sings", ",", "it", "'s", "late", "."]
