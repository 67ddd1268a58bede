"""Serves a model for half an hour to clients of every kind: the server neither grows nor fails.

    python tests/soak.py --seconds 1800 [--rate 10] [--seed 7]

`dualstruct serve` runs as a process of its own, on the loopback interface. Clients that behave ask
every endpoint, ``--rate`` times a second in all, and compare what they hear with what the model
says in this process. Others do not behave (MISCHIEF): they say nothing, break off, send too much,
take no answer. Every few seconds the server's memory, descriptors, threads and log are looked at.

The exit code is 1 if a client that behaves was not served, or heard something else than the model
says; if it takes more in the last fifth of the time than in the second, by more than ALLOWED (the
first fifth is for warming up); if the log grew faster than LOG_BYTES a minute or has a traceback in
it; if the server, once all clients are gone, has more descriptors than before they came. Linux
alone tells all this of a process (/proc).
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any

PATIENCE = 60.0  # seconds that a client waits for an answer
CROWD = 270  # connections at once, more than the server holds
HEADERS = {"Content-Type": "application/json"}
POST = b"POST /api/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True)
class Sample:
    """What the server takes at one instant."""

    memory: float  # MB
    descriptors: float
    threads: float
    log: float  # bytes


#: How much more the last fifth may take than the second.
ALLOWED = Sample(memory=8, descriptors=16, threads=2, log=float("inf"))
#: What stands for a fifth where it is not the median. Each client that is there has a descriptor,
#: and a busy machine has more of them at once; one that is never given back shows in the minimum.
TYPICAL = {"descriptors": min}
LOG_BYTES = 4000  # a minute: 20 messages, and the one that counts the others


def judge(samples: list[Sample], seconds: float) -> list[str]:
    """What is not flat, in sentences."""
    fifth = len(samples) // 5
    if not fifth:
        return ["there are too few samples to judge by"]
    wrong = []
    for each in fields(Sample):
        second, last, allowed = (getattr(one, each.name) for one in (*fifths(samples), ALLOWED))
        if last > second + allowed:
            wrong.append(f"{each.name} grew from {second:,.0f} to {last:,.0f} between fifths")
    grown = samples[-1].log - samples[-1 - fifth].log
    if grown > LOG_BYTES * max(seconds / 5 / 60, 1):
        wrong.append(f"the log grew by {grown:,.0f} bytes in the last fifth of the time")
    return wrong


def fifths(samples: list[Sample]) -> tuple[Sample, Sample]:
    """What is typical of the second and of the last fifth."""
    fifth = len(samples) // 5
    parts = samples[fifth : 2 * fifth], samples[-fifth:]
    second, last = (
        Sample(**{name: TYPICAL.get(name, median)(of) for name, of in by_name(part)})
        for part in parts
    )
    return second, last


def by_name(samples: list[Sample]) -> Iterator[tuple[str, list[float]]]:
    for each in fields(Sample):
        yield each.name, [getattr(sample, each.name) for sample in samples]


@dataclass
class Server:
    """The process, and where it listens."""

    pid: int
    port: int
    log: Path

    def look(self) -> Sample:
        place = Path(f"/proc/{self.pid}")
        pages = int((place / "statm").read_text().split()[1])
        return Sample(
            pages * os.sysconf("SC_PAGESIZE") / 2**20,
            len(os.listdir(place / "fd")),
            len(os.listdir(place / "task")),
            self.log.stat().st_size,
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)


@contextmanager
def serving(model: Path, train: Path, folder: Path) -> Iterator[Server]:
    command = [sys.executable, "-m", "dualstruct", "serve", str(model), "--train", str(train)]
    log = folder / "log"
    with open(log, "wb") as written:
        process = subprocess.Popen(
            [*command, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, stderr=written
        )
        try:
            said = process.stdout.readline().decode()
            if " is at http://" not in said:
                raise SystemExit(f"the server does not start: {said}{log.read_text()}")
            address = said.partition(" is at ")[2].split()[0]
            yield Server(process.pid, int(address.rstrip("/").rpartition(":")[2]), log)
            if process.poll() is not None:
                raise SystemExit(f"the server ended with {process.returncode}: {log.read_text()}")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
            process.stdout.close()


@dataclass(frozen=True)
class Question:
    """A request, and what it is answered; None where that changes while the server works."""

    method: str
    path: str
    body: Any = None
    answer: Any = None
    status: int = 200


def questions(model: Path) -> list[Question]:
    """Every endpoint of the page, and what this process knows about the answers."""
    from dualstruct.datasets import load_english
    from dualstruct.estimators import load_model
    from dualstruct.serving.answers import serve_model
    from dualstruct.serving.app import STATIC
    from dualstruct.serving.guarding import JSONResponse

    def as_json(answer: Any) -> Any:
        return json.loads(JSONResponse(answer).body)

    served = serve_model(load_model(model), model.name)
    asked = [Question("GET", f"/static/{file.name}") for file in STATIC.iterdir()]
    asked += [Question("GET", path) for path in ("/", "/openapi.json", "/api/suspects")]
    asked += [Question("GET", "/api/model", answer=as_json(served.about()))]
    asked += [Question("GET", "/api/training", answer=as_json(served.training()))]
    for sentence in load_english("test")[:12]:
        words = list(sentence.forms)
        predicted, explained = (
            as_json(served.predict(words, 3)),
            as_json(served.explain(words, 1, served.explains[0])),
        )
        asked += [
            Question("POST", "/api/predict", {"tokens": words, "k": 3}, predicted),
            Question("POST", "/api/explain", {"tokens": words, "token": 1}, explained),
        ]
    asked += [Question("POST", "/api/predict", {"tokens": []}, status=400)]
    asked += [Question("GET", "/nothing", status=404), Question("PUT", "/", status=405)]
    return asked


@dataclass
class Heard:
    """What clients have to tell, from all threads."""

    served: int = 0
    wrong: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)  # seconds of an answer
    mischief: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Client:
    """One that behaves: it asks and compares, now on a new connection, now on the one it has."""

    def __init__(self, server: Server) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        self.kept = False

    def close(self) -> None:
        self.connection.close()
        self.kept = False

    def ask(self, question: Question) -> str | None:
        """None, or what is wrong with the answer."""
        name = f"{question.method} {question.path}"
        try:
            try:
                status, answer = self.exchange(question)
            except ConnectionError:
                if not self.kept:
                    raise
                self.close()  # the server may end a connection on which nothing was asked
                status, answer = self.exchange(question)
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            return f"{name} was not served: {problem!r}"
        self.kept = True
        if status != question.status:
            return f"{name}: {status}, not {question.status}"
        if question.answer is not None and json.loads(answer) != question.answer:
            return f"{name}: another answer than the model's"
        return None

    def exchange(self, question: Question) -> tuple[int, bytes]:
        body = None if question.body is None else json.dumps(question.body)
        headers = {} if body is None else HEADERS
        self.connection.request(question.method, question.path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read()


def behave(
    server: Server, asked: list[Question], heard: Heard, over: threading.Event, pause: float,
    rng: random.Random,
) -> None:  # fmt: skip
    client = Client(server)
    while not over.wait(pause):
        if rng.random() < 0.5:
            client.close()
        began = time.monotonic()
        wrong = client.ask(rng.choice(asked))
        with heard.lock:
            heard.wrong += [wrong] if wrong else []
            heard.served += not wrong
            heard.took.append(time.monotonic() - began)
    client.close()


def sends(data: bytes, then: float = 0.0, reset: bool = False) -> Callable[..., None]:
    """A client that sends some bytes, waits and goes away."""

    def client(server: Server, over: threading.Event) -> None:
        with server.connect() as connection:
            connection.sendall(data)
            over.wait(then)
            if reset:
                now = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)

    return client


def crowd(server: Server, over: threading.Event) -> None:
    """More connections than the server holds, that say nothing, for a while."""
    with ExitStack() as stack:
        for _ in range(CROWD):
            stack.enter_context(server.connect())
            if over.wait(0.01):
                return
        over.wait(5)


def waits(data: bytes) -> Callable[..., None]:
    """A few clients that begin a request and wait until the server ends it."""

    def clients(server: Server, over: threading.Event) -> None:
        with ExitStack() as stack:
            some = [stack.enter_context(server.connect()) for _ in range(8)]
            for each in some:
                each.sendall(data)
            for each in some:
                each.settimeout(1)
                while not over.is_set():
                    try:
                        if not each.recv(65536):
                            break
                    except TimeoutError:
                        continue

    return clients


def pours(server: Server, over: threading.Event) -> None:
    """A body without an end."""
    with server.connect() as connection:
        connection.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(1000):
            connection.sendall(b"4000\r\n" + b" " * 0x4000 + b"\r\n")


def deaf(server: Server, over: threading.Event) -> None:
    """Asks again and again and takes no answer."""
    with server.connect() as connection:
        connection.settimeout(2)
        for _ in range(200):
            connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        over.wait(3)


def complete(body: bytes) -> bytes:
    return POST + b"Content-Length: %d\r\n\r\n" % len(body) + body


MISCHIEF: dict[str, Callable[..., None]] = {
    "crowd": crowd,
    "idle": waits(b""),
    "half a request line": waits(b"GET /api"),
    "half of the headers": waits(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-More: "),
    "half of a body": waits(POST + b'Content-Length: 40\r\n\r\n{"text'),
    "half of a chunk": waits(POST + b"Transfer-Encoding: chunked\r\n\r\n20\r\nabc"),
    "broken upload": sends(POST + b"Content-Length: 60000\r\n\r\n" + b"x" * 30000),
    "reset upload": sends(POST + b"Content-Length: 60000\r\n\r\n" + b"x" * 30000, reset=True),
    "gone before the answer": sends(complete(b'{"text": "Ada sings"}'), reset=True),
    "large body": sends(complete(b"[" * (1 << 20)), then=1),
    "endless body": pours,
    "deep JSON": sends(complete(b"[" * 60000), then=1),
    "wrong JSON": sends(complete(b'{"tokens": [[1], null, {}], "k": 1e400}'), then=1),
    "no HTTP": sends(b"\x16\x03\x01\0\xff\r\n\r\n", then=1),
    "large headers": sends(b"GET / HTTP/1.1\r\nX: " + b"x" * (1 << 20), then=1),
    "another name": sends(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", then=1),
    "traversal": sends(b"GET /static/../../app.py HTTP/1.1\r\nHost: localhost\r\n\r\n", then=1),
    "takes no answer": deaf,
}


def misbehave(
    server: Server, heard: Heard, over: threading.Event, pause: float, rng: random.Random
) -> None:
    while not over.wait(rng.uniform(0, 2 * pause)):
        name = rng.choice(list(MISCHIEF))
        with suppress(OSError):  # the server may well end it
            MISCHIEF[name](server, over)
        with heard.lock:
            heard.mischief[name] += 1


def train(folder: Path) -> tuple[Path, Path]:
    from dualstruct import SequenceTagger, write_columns
    from dualstruct.datasets import load_english

    few = load_english("train")[:100]
    X, Y = [list(s.forms) for s in few], [list(s.entities) for s in few]
    SequenceTagger(features="ner", loss="crf", passes=4).fit(X, Y).save(folder / "model.dstruct")
    write_columns(folder / "train.txt", X, Y)
    return folder / "model.dstruct", folder / "train.txt"


def warmed_up(server: Server, asked: list[Question]) -> Sample:
    """The server once it has answered every question."""
    client = Client(server)
    wrong = [problem for question in asked if (problem := client.ask(question))]
    client.close()
    if wrong:
        raise SystemExit("\n".join(wrong))
    time.sleep(1)
    return server.look()


def settled(server: Server, before: Sample) -> Sample:
    """The server after all clients have gone; a connection may last some seconds more."""
    end = time.monotonic() + PATIENCE
    while (now := server.look()).descriptors > before.descriptors and time.monotonic() < end:
        time.sleep(0.5)
    return now


def run(seconds: float, rate: float, seed: int, good: int = 3, bad: int = 4) -> int:
    """Serve and look; the exit code."""
    if not Path("/proc/self/statm").exists():
        print("there is no /proc to tell what a process takes")
        return 1
    heard, over, samples = Heard(), threading.Event(), []
    every = min(5.0, seconds / 25)
    with tempfile.TemporaryDirectory() as name:
        model, data = train(Path(name))
        asked = questions(model)
        with serving(model, data, Path(name)) as server:
            before = warmed_up(server, asked)
            ask = behave, server, asked, heard, over, good / rate
            spoil = misbehave, server, heard, over, 1.0
            clients = [
                threading.Thread(target=work, args=(*arguments, random.Random(f"{seed} {k}")))
                for k, (work, *arguments) in enumerate([ask] * good + [spoil] * bad)
            ]
            for client in clients:
                client.start()
            began = time.monotonic()
            while time.monotonic() - began < seconds:
                time.sleep(every)
                samples.append(server.look())
            over.set()
            for client in clients:
                client.join()
            after = settled(server, before)
        written = server.log.read_text(errors="replace")
    wrong = judge(samples, seconds) + [f"{n}x {what}" for what, n in Counter(heard.wrong).items()]
    if after.descriptors > before.descriptors:
        wrong.append(
            f"without clients it has {after.descriptors} descriptors, {before.descriptors} before"
        )
    if "Traceback" in written:
        wrong.append(f"its log has a traceback:\n{written[:4000]}")
    show(before, samples, after, heard)
    for line in wrong:
        print(line)
    print(f"{len(wrong)} wrong" if wrong else "all was served, and the server did not grow")
    return 1 if wrong else 0


def show(before: Sample, samples: list[Sample], after: Sample, heard: Heard) -> None:
    second, last = fifths(samples)
    heads = "before", "second fifth", "last fifth", "most", "after"
    most = Sample(*map(max, zip(*map(astuple, samples), strict=True)))
    print(f"{'':12}" + "".join(f"{head:>14}" for head in heads))
    units = {"memory": "memory (MB)", "log": "log (bytes)"}
    for each in fields(Sample):
        row = [getattr(one, each.name) for one in (before, second, last, most, after)]
        print(f"{units.get(each.name, each.name):12}" + "".join(f"{x:14,.0f}" for x in row))
    took = sorted(heard.took)
    if took:
        at = [1000 * took[min(int(len(took) * q), len(took) - 1)] for q in (0.5, 0.99, 1.0)]
        print(f"{heard.served:,} requests served in {at[0]:.0f} ms (median), ", end="")
        print(f"{at[1]:.0f} ms (99 %), {at[2]:.0f} ms (all)")
    many = ", ".join(f"{n} {what}" for what, n in heard.mischief.most_common())
    print(f"{heard.mischief.total():,} times something else: {many}")


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("--seconds", type=float, default=1800)
    asked.add_argument("--rate", type=float, default=10, help="questions a second, of all clients")
    asked.add_argument("--seed", type=int, default=0)
    options = asked.parse_args()
    return run(options.seconds, options.rate, options.seed)


if __name__ == "__main__":
    sys.exit(main())
