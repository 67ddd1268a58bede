"""Clients that misbehave, on real sockets: the page stays there for the others."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

import serving_cases as cases
from dualstruct import SequenceTagger
from dualstruct.serving import log
from dualstruct.serving.answers import serve_model
from dualstruct.serving.connections import Limits, most_connections
from dualstruct.serving.log import BoundedLog, logged
from patience import HANGS


def connected(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=HANGS)


def ends(connection: socket.socket) -> bytes:
    """All that the server still has to say, until it closes the connection."""
    heard = b""
    with suppress(ConnectionError):
        while more := connection.recv(65536):
            heard += more
    return heard


def answers(address: str) -> bool:
    """Whether a client that behaves is served."""
    place = urlsplit(address)
    client = HTTPConnection(place.hostname, place.port, timeout=HANGS)
    body = json.dumps({"text": cases.SENTENCE})
    client.request("POST", "/api/predict", body, {"Content-Type": "application/json"})
    answer = client.getresponse()
    found = json.loads(answer.read())
    client.close()
    return answer.status == 200 and len(found["labels"]) == len(cases.SENTENCE.split())


def page(**limits):
    """One limit at a time is short: on a busy machine nobody knows which of two is over first."""
    chosen = replace(cases.PATIENT, **limits)
    return cases.running(cases.app(cases.served(cases.tagger()), limits=chosen), chosen)


@pytest.fixture(scope="module")
def patient():
    with page() as address:
        yield address


REQUEST = b"POST /api/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
UNFINISHED = {
    "nothing": (b"", "header"),
    "half a request line": (b"GET /api", "header"),
    "half of the headers": (b"GET / HTTP/1.1\r\nHost: x\r\nX-More: ", "header"),
    "half of a body": (REQUEST + b'Content-Length: 40\r\n\r\n{"text', "body"),
    "half of a chunk": (REQUEST + b"Transfer-Encoding: chunked\r\n\r\n20\r\nabc", "body"),
    "half of a body, for long": (REQUEST + b'Content-Length: 40\r\n\r\n{"text', "request"),
    "a body that nobody asked for": (
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nabc",
        "header",
    ),
}


@pytest.mark.parametrize(("beginning", "limit"), UNFINISHED.values(), ids=UNFINISHED.keys())
def test_a_request_that_does_not_arrive_ends_the_connection(beginning, limit):
    with page(**{limit: 0.3}) as address, ExitStack() as stack:
        clients = [stack.enter_context(connected(address)) for _ in range(3)]
        for client in clients:
            with suppress(ConnectionError):  # it may have ended before anything was sent
                client.sendall(beginning)
        heard = [ends(client) for client in clients]
    if limit == "body":
        assert all(b" 408 " in each for each in heard)
    if limit == "request":
        assert heard == [b""] * 3


def test_bytes_now_and_then_do_not_make_a_request_arrive():
    ended = threading.Event()
    heard = []
    with page(header=0.3) as address, connected(address) as client:

        def hear():
            heard.append(ends(client))
            ended.set()

        listener = threading.Thread(target=hear)
        listener.start()
        with suppress(ConnectionError):
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            while not ended.wait(0.02):
                client.sendall(b"X-More: 1\r\n")
        listener.join(HANGS)
    assert heard == [b""]


def test_a_page_with_clients_that_send_nothing_serves_the_others(patient):
    with ExitStack() as stack:
        for beginning, _ in UNFINISHED.values():
            stack.enter_context(connected(patient)).sendall(beginning)
        assert answers(patient)
    assert answers(patient)


def test_a_connection_serves_one_request_after_the_other_also_when_they_come_at_once(patient):
    request = b"GET /api/model HTTP/1.1\r\nHost: x\r\n"
    with connected(patient) as client:
        client.sendall(request + b"\r\n" + request + b"Connection: close\r\n\r\n")
        heard = ends(client)
    assert heard.count(b"HTTP/1.1 200 OK") == 2
    place = urlsplit(patient)
    client = HTTPConnection(place.hostname, place.port, timeout=HANGS)
    for _ in range(3):
        client.request("GET", "/api/model")
        assert json.loads(client.getresponse().read())["kind"] == "labels"
    client.close()


def test_a_client_that_does_not_take_its_answer_loses_the_connection():
    gone = threading.Event()

    async def application(scope, receive, send):
        async def answer():
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:  # larger than all buffers
                body = {"type": "http.response.body", "body": bytes(1 << 16), "more_body": True}
                await send(body)

        task = asyncio.create_task(answer())
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        task.cancel()

    short = replace(cases.PATIENT, request=0.3)
    with cases.running(application, short) as address, connected(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert gone.wait(HANGS)


def test_idle_connections_make_room_for_those_that_ask():
    with page(connections=6) as address, ExitStack() as stack:
        idle = [stack.enter_context(connected(address)) for _ in range(40)]
        assert answers(address)
        # All but the last few were ended, though their time was not over.
        assert [ends(each) for each in idle[:30]] == [b""] * 30
        assert answers(address)


def test_when_all_are_at_work_the_next_one_is_turned_down():
    busy, go = threading.Semaphore(0), threading.Event()

    async def application(scope, receive, send):
        busy.release()
        await asyncio.to_thread(go.wait, HANGS)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    request = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with (
        cases.running(application, replace(cases.PATIENT, connections=4)) as address,
        ExitStack() as stack,
    ):
        clients = [stack.enter_context(connected(address)) for _ in range(4)]
        for client in clients:
            client.sendall(request)
        for _ in clients:
            assert busy.acquire(timeout=HANGS)
        with connected(address) as late:
            heard = ends(late)
        go.set()
        assert b" 503 " in heard
        assert b"too many requests" in heard
        assert all(b"done" in ends(client) for client in clients)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_the_server_keeps_below_the_descriptors_that_it_may_have(monkeypatch):
    import resource

    for descriptors, expected in ((200, 68), (1 << 20, 256), (70, 4)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=descriptors: (n, n))
        assert most_connections(Limits()) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_more_connections_than_descriptors_neither_block_the_server_nor_fill_its_log(tmp_path):
    cases.tagger().save(tmp_path / "m.dstruct")
    program = (
        "import resource, sys; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)); "
        "from dualstruct.cli import main; main()"
    )
    model = tmp_path / "m.dstruct"
    command = [sys.executable, "-c", program, "serve", str(model), "--port", "0", "--no-browser"]
    with open(tmp_path / "log", "w+") as written:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written, text=True)
        try:
            address = server.stdout.readline().split()[3]
            with ExitStack() as stack:
                for k in range(600):
                    client = stack.enter_context(connected(address))
                    with suppress(ConnectionError):
                        client.sendall((b"", b"GET / HT", b"\0\xff\r\n\r\n")[k % 3])
                    if k % 100 == 99:
                        assert answers(address)
        finally:
            server.terminate()
            server.wait(HANGS)
            server.stdout.close()
        written.seek(0)
        text = written.read()
    assert len(text) < 10_000
    assert "Traceback" not in text


@pytest.mark.parametrize("sent", [0, 7, 39])
def test_a_broken_upload_is_not_worth_a_word(patient, sent):
    heard = io.StringIO()
    with logged(BoundedLog(heard)):
        for _ in range(5):
            with connected(patient) as client:
                client.sendall(REQUEST + b"Content-Length: 40\r\n\r\n" + b"x" * sent)
        assert answers(patient)
    assert heard.getvalue() == ""


def test_labels_that_are_no_unicode_text_are_answered():
    half = "\ud800"
    tagger = SequenceTagger(loss="crf", passes=3).fit(
        [["Ada", "sings"], ["Bo", "runs"]] * 3, [[f"N{half}", "V"], [f"N{half}", "V"]] * 3
    )
    with cases.running(cases.app(serve_model(tagger, "m"))) as address:
        place = urlsplit(address)
        for path, body in (
            ("/api/model", None),
            ("/openapi.json", None),
            ("/api/predict", {"text": "Ada runs"}),
            ("/api/explain", {"text": "Ada runs", "token": 1}),
        ):
            client = HTTPConnection(place.hostname, place.port, timeout=HANGS)
            headers = {"Content-Type": "application/json"}
            if body is None:
                client.request("GET", path)
            else:
                client.request("POST", path, json.dumps(body), headers)
            answer = client.getresponse()
            found = answer.read()
            client.close()
            assert answer.status == 200
            if path != "/openapi.json":
                assert f"N{half}" in json.dumps(json.loads(found), ensure_ascii=False)


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("uvicorn.error", logging.WARNING, "", 0, message, (), None)


def test_the_log_has_a_few_messages_a_minute_and_counts_the_others(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(log, "time", SimpleNamespace(monotonic=lambda: now[0]))
    stream = io.StringIO()
    handler = BoundedLog(stream)
    for _ in range(5000):
        handler.emit(record("a client misbehaves"))
    assert stream.getvalue() == "dualstruct: a client misbehaves\n" * log.MOST
    now[0] += log.MINUTE
    stream.truncate(0)
    stream.seek(0)
    handler.emit(record("and again"))
    assert stream.getvalue() == (
        "dualstruct: 4,980 more messages in a minute were left out\ndualstruct: and again\n"
    )


def test_a_message_of_the_log_is_short_and_commands_no_terminal():
    stream = io.StringIO()
    handler = BoundedLog(stream)
    handler.emit(record("\x1b[31m\r" + "x" * 100_000))
    assert len(stream.getvalue()) < log.LONGEST + 100
    assert stream.getvalue().startswith("dualstruct: \\x1b[31m\\rxxx")


def test_a_log_that_cannot_be_written_ends_nothing():
    closed = io.StringIO()
    closed.close()
    BoundedLog(closed).emit(record("nobody hears"))
    handlers = logging.getLogger("uvicorn").handlers[:]
    with logged(BoundedLog(closed)):
        logging.getLogger("uvicorn.error").warning("nobody hears")
    assert logging.getLogger("uvicorn").handlers == handlers
