"""How long an answer takes on the page of ``dualstruct label`` while a model trains behind it.

    python benchmarks/label_latency.py [--answered N] [--more N] [--data DIR]

A project with so many answers (sentences of CoNLL-2000, chunks) is served by the command, in a
process of its own that trains anew on all answers without a pause. A client answers more sentences,
one after the other: given are the seconds until an answer is saved, and until suggestions are there
of a model that has learned from it; and, where there is Chromium, the seconds until a browser that
opens the page shows the first sentence with its labels.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dualstruct.labelling.learning import is_measured
from dualstruct.texts.documents import joined
from dualstruct.texts.formats.columns import with_spans
from labelling import as_begun, project_of, sentences_of
from measuring import DATA

#: The command as it is, but for one thing: one more answer is enough to train anew.
SERVER = """
import dualstruct.labelling.learning as learning
from dualstruct.cli import main
learning.GROWTH = 1
main()
"""
#: Sentences that are there for the browser at the end.
LEFT = 50


class Client:
    """Talks to the server as the page does."""

    def __init__(self, address: str) -> None:
        self._connection = HTTPConnection(urlsplit(address).netloc, timeout=600)

    def post(self, path: str, **body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", f"/api/{path}", json.dumps(body), headers)
        return json.load(self._connection.getresponse())

    def state(self) -> Any:
        self._connection.request("GET", "/api/state")
        return json.load(self._connection.getresponse())


def first_views(address: str, times: int) -> list[float]:
    """Seconds until the page shows a sentence to a browser that is new to it; [] without one."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if found is None:
        return []
    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for _ in range(times):
            page = browser.new_context().new_page()
            began = time.perf_counter()
            page.goto(address)
            page.locator("#sentence .token").first.wait_for()
            seconds.append(time.perf_counter() - began)
            page.close()
        browser.close()
    return seconds


def told(name: str, seconds: list[float]) -> None:
    at = sorted(seconds)
    p50, p99 = (1000 * at[min(int(p * len(at)), len(at) - 1)] for p in (0.5, 0.99))
    most = 1000 * at[-1]
    print(f"{name:24} median {p50:6.1f} ms, 99 % {p99:6.1f}, slowest {most:6.1f} of {len(at)}")


def waited() -> float | None:
    """Seconds in which some process of the machine waited for a core, where Linux counts them."""
    try:
        some = Path("/proc/pressure/cpu").read_text().partition("\n")[0]
    except OSError:
        return None
    return int(some.rpartition("=")[2]) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--answered", type=int, default=5000, help="answers that are there already")
    parser.add_argument("--more", type=int, default=200, help="answers that are given")
    parser.add_argument("--data", type=Path, default=DATA)
    asked = parser.parse_args()
    total = asked.answered + asked.more
    X, y, _, _ = sentences_of("conll2000", asked.data, total + LEFT, 0)
    y = [as_begun(row) for row in y]
    with tempfile.TemporaryDirectory() as folder:
        with project_of(folder, [], y) as project:
            rows = list(zip(X, y, strict=True))
            count = asked.answered
            project.add(with_spans(joined([words], [labels])) for words, labels in rows[:count])
            project.add(joined([words]) for words, _ in rows[count:])
            path = project.path
        command = [sys.executable, "-c", SERVER, "label", path, "--port", "0", "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            address = next(w for w in server.stdout.readline().split() if w.startswith("http"))
            measured(address, y, range(count + 1, total + 1))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def measured(address: str, y: list[list[str]], numbers: range) -> None:
    client = Client(address)
    while client.state()["model"] < 1:
        time.sleep(0.1)
    busy, start = waited(), time.perf_counter()
    saved: list[float] = []
    known: list[float] = []
    trained = answered = 0
    for number in numbers:
        began = time.perf_counter()
        client.post("answer", sentence=number, labels=y[number - 1], version=0, annotator="a")
        saved.append(time.perf_counter() - began)
        state = client.state()
        trained += state["training"]
        answered += 1
        if is_measured(number):  # nothing is learned from it
            continue
        while state["behind"]:
            time.sleep(0.005)
            state = client.state()
        client.post("suggest", sentences=[number])
        known.append(time.perf_counter() - began)
    told("answer to saved", saved)
    told("answer to suggestions", known)
    if views := first_views(address, 5):
        told("first view of the page", views)
    print(f"trained anew during {100 * trained / answered:.0f} % of the answers")
    if busy is not None:
        share = (waited() - busy) / (time.perf_counter() - start)
        print(f"some process of the machine waited for a core {100 * share:.0f} % of the time")


if __name__ == "__main__":
    main()
