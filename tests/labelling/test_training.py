"""Training anew in another process: the same model, and whoever answers never waits for it."""

from __future__ import annotations

import time

import pytest

from dualstruct.data.conllu import Treebank
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.datasets import load_english
from dualstruct.labelling import Project, learning
from dualstruct.labelling.importing import documents_in
from dualstruct.labelling.models import Example
from dualstruct.labelling.session import Session
from dualstruct.labelling.training import InProcess, InThread, Task
from dualstruct.texts import Document
from patience import HANGS

CORPUS = load_english("train")


@pytest.fixture(params=["spans", "trees"])
def project(request, tmp_path):
    path = tmp_path / "some.conllu"
    with Project(tmp_path / "p.db", request.param, Tokenizer("blanks", "lines")) as made:
        if request.param == "trees":
            path.write_bytes(bytes(Treebank.from_sentences([CORPUS[i] for i in range(90)])))
            made.add(documents_in(path, None, "tree"))
        else:
            for number, sentence in enumerate(CORPUS[:90], 1):
                made.add([Document(" ".join(sentence.forms))])
                made.answer(number, sentence.entities, annotator="a", seen=0)
        yield made


def examples(project, first, last):
    return [Example(project.sentences[n], project.sentences[n].labels) for n in range(first, last)]


def wait_for(condition):
    until = time.monotonic() + HANGS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_another_process_makes_the_same_model_and_finds_the_same_suspects(project):
    known = examples(project, 1, 61)
    known[3] = Example(known[3].sentence, known[3].labels, (0.5,) * len(known[3].labels))
    task = Task(known, examples(project, 61, 85), known)
    maker = project.kind.maker(None)
    here = InThread(maker, task, lambda: False)
    there = InProcess(project.kind, None, maker, task)
    try:
        asked = [project.sentences[n] for n in range(1, 91)]
        one, other = here.model(), there.model()
        assert one.suggest(asked) == other.suggest(asked)
        assert there.suspects() == here.suspects()
    finally:
        there.end()


def test_a_project_is_trained_on_by_another_process(project, monkeypatch):
    monkeypatch.setattr(learning, "MANY_ANSWERS", 10)
    monkeypatch.setattr(learning, "InThread", None)  # nobody trains here
    with Session(project) as session:
        wait_for(lambda: session.learner.version > 0 and not session.learner.training)
        assert session.learner.problem is None
        assert session.learner.points


def test_where_no_process_can_be_started_a_thread_trains(project, monkeypatch):
    monkeypatch.setattr(learning, "MANY_ANSWERS", 10)
    monkeypatch.setattr("dualstruct.labelling.training.sys.executable", "/bin/false")
    with Session(project) as session:
        wait_for(lambda: session.learner.version > 0 and not session.learner.training)
        assert session.learner.problem is None


def test_who_stops_does_not_wait_for_a_training(project, monkeypatch):
    monkeypatch.setattr(learning, "MANY_ANSWERS", 10)
    begun = []

    class Endless(InProcess):
        def __init__(self, *asked):
            super().__init__(*asked)
            begun.append(self)

        def model(self):
            return self._said()  # the process waits for its task for ever

    monkeypatch.setattr(learning, "InProcess", Endless)
    with Session(project) as session:
        wait_for(lambda: begun)
        assert session.learner.training
    assert begun[0]._process.poll() is not None
