"""Threads: bounded, started once, shared by all calls, and an error where there are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dualstruct import CustomStructure, DependencyParser, SequenceTagger, StructuredSVM, _core
from dualstruct.datasets import load_english
from dualstruct.errors import InputError
from dualstruct.structures.multiclass import Multiclass
from dualstruct.threads import ThreadsWarning, usable_threads
from patience import HANGS

MOST = _core.most_threads()
SENTENCES = load_english("train")[::6]
FORMS, LABELS = [s.forms for s in SENTENCES], [s.entities for s in SENTENCES]


def child(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A program of its own: what it does to its process stays there."""
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    # numpy and scipy would start a thread for each core, and threads are counted here.
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=alone)


def answer(program: str, *arguments: object):
    done = child(program, *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def repr_of(value: object) -> str:
    """An id for a case; Python refuses to print numbers of thousands of digits."""
    return "huge" if isinstance(value, int) and abs(value) > 10**100 else repr(value)


@pytest.mark.parametrize("wanted", [1, 2, MOST])
def test_as_many_threads_as_asked_for_up_to_a_few_a_core(wanted):
    assert usable_threads(wanted) == wanted


@pytest.mark.parametrize("wanted", [MOST + 1, 2000, 33000, 99999999999, 10**5000], ids=repr_of)
def test_more_threads_than_that_are_a_warning(wanted):
    with pytest.warns(ThreadsWarning, match=f"{MOST} are started"):
        assert usable_threads(wanted) == MOST


@pytest.mark.parametrize("wrong", [0, -1, -(10**5000), 1.5, "2", None], ids=repr_of)
def test_what_is_no_number_of_threads_is_refused(wrong):
    with pytest.raises(InputError, match="threads is"):
        usable_threads(wrong)
    with pytest.raises(InputError, match="threads is"):
        SequenceTagger(threads=wrong, passes=1).fit(FORMS, LABELS)


SOLVERS = [
    ("dcd", "squared_hinge"),
    ("frank-wolfe", "hinge"),
    ("cutting-plane", "hinge"),
    ("lbfgs", "crf"),
    ("eg", "crf"),
]


@pytest.mark.parametrize(("solver", "loss"), SOLVERS)
def test_any_number_of_threads_trains_one_model_with_a_bounded_number_of_them(solver, loss):
    program = """
        import json, sys, warnings
        import numpy as np
        from dualstruct import SequenceTagger, _core
        from dualstruct.datasets import load_english
        warnings.simplefilter("ignore")
        part = load_english("train")[::6]
        X, Y = [s.forms for s in part], [s.entities for s in part]
        solver, loss, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
        tagger = SequenceTagger(solver=solver, loss=loss, threads=threads, passes=3).fit(X, Y)
        digest = tagger.predict(X)
        running = sum(1 for _ in __import__("pathlib").Path("/proc/self/task").glob("*"))
        print(json.dumps([digest, tagger.result_.primal, _core.pool_size(), running]))
    """
    labels, primal, _, _ = answer(program, solver, loss, 2)
    for threads in (2000, 10**12):
        same_labels, same_primal, started, running = answer(program, solver, loss, threads)
        assert same_labels == labels
        assert same_primal == pytest.approx(primal, rel=1e-5)
        assert started < MOST
        assert running <= started + 8


@pytest.mark.parametrize(
    "model",
    [
        SequenceTagger(passes=1),
        DependencyParser(passes=1, hash_bits=12),
        StructuredSVM(Multiclass(), passes=1),
    ],
    ids=["tagger", "parser", "svm"],
)
def test_every_estimator_warns_in_training_and_in_prediction(model):
    X, Y = (FORMS, LABELS)
    if isinstance(model, DependencyParser):
        X, Y = SENTENCES, None
    elif isinstance(model, StructuredSVM):
        X, Y = np.eye(6), list("aabbcc")
    arguments = (X,) if Y is None else (X, Y)
    model.set_params(threads=2).fit(*arguments)
    model.set_params(threads=5000)
    with pytest.warns(ThreadsWarning):
        model.predict(X)
    with pytest.warns(ThreadsWarning):
        model.fit(*arguments)


def test_threads_are_started_once():
    vector = np.ones(1 << 18, np.float32)
    _core.dots([vector], [vector], 4)
    before = _core.pool_size()
    for threads in (4, 2, 3) * 20:
        assert _core.dots([vector], [vector], threads)[0][0] == 1 << 18
    assert _core.pool_size() == before >= 3


def test_callers_at_the_same_time_have_threads_of_their_own():
    vector = np.arange(1 << 16, dtype=np.float32)
    [[expected]] = _core.dots([vector], [vector], 3)

    def ask(_):
        return _core.dots([vector], [vector], 3)[0][0] == expected

    with ThreadPoolExecutor(6) as callers:
        assert all(callers.map(ask, range(200)))
    assert _core.pool_size() <= MOST + 6 * 2


class Failing(CustomStructure):
    """Predicts parity; one example cannot be decoded."""

    dimension = 2

    def decode(self, w, x, truth=None, cost_weight=0):
        if x == 13:
            raise ArithmeticError("thirteen")
        scores = [w[y] + (cost_weight * (y != truth) if truth is not None else 0) for y in (0, 1)]
        return int(scores[1] > scores[0])

    def features(self, x, y):
        return {y: 1.0}

    def cost(self, truth, y):
        return float(truth != y)


@pytest.mark.parametrize("solver", ["dcd", "cutting-plane", "frank-wolfe"])
def test_an_exception_in_a_thread_reaches_the_caller_and_the_threads_live_on(solver):
    X = list(range(40))
    learner = StructuredSVM(Failing(), loss="hinge", solver=solver, threads=3, passes=2)
    if solver == "dcd":
        learner.set_params(loss="squared_hinge")
    with pytest.raises(ArithmeticError, match="thirteen"):
        learner.fit(X, [x % 2 for x in X])
    fine = [x for x in X if x != 13]
    learner.fit(fine, [x % 2 for x in fine])
    assert set(learner.predict(fine)) <= {0, 1}


class Nested(Failing):
    """A decoder that uses threads itself."""

    def decode(self, w, x, truth=None, cost_weight=0):
        vector = np.ones(1 << 15, np.float32)
        assert _core.dots([vector], [vector], 3)[0][0] == 1 << 15
        return super().decode(w, x, truth, cost_weight)


def test_work_inside_work_has_threads_too():
    X = list(range(12))
    learner = StructuredSVM(Nested(), loss="hinge", solver="frank-wolfe", threads=3, passes=2)
    learner.fit(X, [x % 2 for x in X])
    assert learner.result_.passes == 2


needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork on Windows")


@needs_fork
def test_a_forked_child_starts_its_own_threads():
    program = """
        import json, os, warnings
        import numpy as np
        from dualstruct import _core
        warnings.simplefilter("ignore")  # of threads and fork
        vector = np.ones(1 << 18, np.float32)
        before = _core.dots([vector], [vector], 4)[0][0], _core.pool_size()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            forgotten = _core.pool_size()
            found = _core.dots([vector], [vector], 4)[0][0]
            os.write(write, json.dumps([forgotten, found, _core.pool_size()]).encode())
            os._exit(0)
        os.waitpid(child, 0)
        after = _core.dots([vector], [vector], 4)[0][0], _core.pool_size()
        print(json.dumps([before, json.loads(os.read(read, 1000)), after]))
    """
    total = 1 << 18
    assert answer(program) == [[total, 3], [0, total, 3], [total, 3]]


@needs_fork
def test_forks_while_other_threads_are_at_work_neither_hang_nor_fail():
    program = """
        import os, threading, warnings
        import numpy as np
        from dualstruct import _core
        warnings.simplefilter("ignore")
        vector = np.ones(1 << 16, np.float32)
        done = threading.Event()
        def work():
            while not done.is_set():
                _core.dots([vector], [vector], 3)
        threads = [threading.Thread(target=work) for _ in range(2)]
        for each in threads: each.start()
        for _ in range(40):
            child = os.fork()
            if child == 0:
                os._exit(int(_core.dots([vector], [vector], 3)[0][0] != 1 << 16))
            assert os.waitpid(child, 0)[1] == 0
        done.set()
        for each in threads: each.join()
        print(1)
    """
    assert answer(program) == 1


def test_a_program_ends_while_threads_sleep_or_work():
    program = """
        import sys, threading
        import numpy as np
        from dualstruct import _core
        vector = np.ones(1 << 20, np.float32)
        _core.dots([vector], [vector], 4)
        def work():
            while True:
                _core.dots([vector], [vector], 4)
        if sys.argv[1] == "work":
            threading.Thread(target=work, daemon=True).start()
        print(_core.pool_size() >= 3)
    """
    for state in ("sleep", "work"):
        done = child(program, state)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's here")
def test_a_thread_that_cannot_be_started_is_an_error_and_nothing_is_lost():
    program = """
        import json, resource
        from dualstruct import SequenceTagger, _core
        from dualstruct.datasets import load_english
        from dualstruct.errors import ResourceError
        part = load_english("train")[::6]
        X = [s.forms for s in part]
        tagger = SequenceTagger(passes=1).fit(X, [s.entities for s in part])
        expected = tagger.predict(X)
        tagger.set_params(threads=_core.most_threads())
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        # A thread reserves as much memory as a stack may have.
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (used + (30 << 20), before[1]))
        try:
            tagger.predict(X)
        except ResourceError as problem:
            message = str(problem)
        resource.setrlimit(resource.RLIMIT_AS, before)
        print(json.dumps([message, tagger.predict(X) == expected, _core.pool_size()]))
    """
    message, same, started = answer(program)
    assert message.startswith("the system starts no more threads (")
    assert f"{MOST} are expected here: ask for fewer" in message
    assert (same, started) == (True, MOST - 1)


def test_ranges_are_the_same_however_many_threads_there_are():
    """Sums by range, and which example is where, depend on the number asked for alone."""
    rng = np.random.default_rng(5)
    vectors = [rng.normal(size=100_003).astype(np.float32) for _ in range(2)]
    asked = [_core.dots(vectors, vectors, 3) for _ in range(20)]
    assert all(np.array_equal(each, asked[0]) for each in asked)


def test_chains_of_fewer_sentences_than_threads_decode():
    tagger = SequenceTagger(passes=1, threads=5).fit(FORMS[:2], LABELS[:2])
    assert tagger.predict(FORMS[:1]) == tagger.set_params(threads=1).predict(FORMS[:1])
