"""The search for what makes the page grow (soak.py) would find it, and all its clients work."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

import soak
from soak import MISCHIEF, Client, Sample, judge

FLAT = Sample(memory=80, descriptors=20, threads=4, log=100)


@pytest.mark.parametrize("name", ["memory", "descriptors", "threads", "log"])
def test_what_grows_is_named_and_what_settles_is_not(name):
    start = getattr(FLAT, name)
    growing = [replace(FLAT, **{name: start + 1000 * k}) for k in range(50)]
    assert [line.partition(" grew")[0] for line in judge(growing, 300)] in ([name], ["the log"])
    settling = [replace(FLAT, **{name: start + 1000 * min(k, 10)}) for k in range(50)]
    assert judge(settling, 300) == []


def test_a_crowd_is_not_growth_unless_it_stays():
    samples = [replace(FLAT, descriptors=260 if k > 20 and k % 3 else 20) for k in range(50)]
    assert judge(samples, 300) == []
    samples = [replace(FLAT, descriptors=260 if k > 20 else 20) for k in range(50)]
    assert judge(samples, 300) != []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs /proc")
def test_every_question_is_answered_while_others_misbehave(tmp_path):
    model, train = soak.train(tmp_path)
    asked = soak.questions(model)
    over = threading.Event()

    def spoil(mischief):
        with suppress(OSError):
            mischief(server, over)

    with soak.serving(model, train, tmp_path) as server:
        before = soak.warmed_up(server, asked)
        others = [threading.Thread(target=spoil, args=(each,)) for each in MISCHIEF.values()]
        for other in others:
            other.start()
        for k in range(4):
            client = Client(server)
            assert [wrong for question in asked[k::2] if (wrong := client.ask(question))] == []
            client.close()
        over.set()
        for other in others:
            other.join()
        assert soak.settled(server, before).descriptors <= before.descriptors
    assert "Traceback" not in server.log.read_text()
