"""Trees on the page: they are read, learned from, checked, measured and written as CoNLL-U."""

from __future__ import annotations

import json

import pytest

from command_line import run_command
from dualstruct import DependencyParser, InputError, ParsingPipeline, read_conllu
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.labelling import Project
from dualstruct.labelling.importing import documents_in
from dualstruct.labelling.kinds import KINDS
from dualstruct.labelling.measuring import measure
from dualstruct.labelling.models import Example
from dualstruct.labelling.session import Session
from dualstruct.labels.arcs import Arc
from dualstruct.texts import Document, iter_documents, write_documents

TREES = load_english("train")
TREE = KINDS["trees"]


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("trees") / "some.conllu"
    path.write_bytes(bytes(Treebank.from_sentences([TREES[i] for i in range(120)])))
    return path


def arcs_of(sentence):
    pairs = zip(sentence.heads, sentence.relations, strict=True)
    return tuple(str(Arc(int(h), r)) for h, r in pairs)


def test_trees_come_in_with_their_tags_and_go_out_as_they_were(treebank, tmp_path):
    with Project(tmp_path / "p.db", "trees") as project:
        assert project.add(documents_in(treebank, None, TREE.column)) == (120, 120)
        first = project.sentences[1]
        assert first.labels == arcs_of(TREES[0])
        assert first.tags == list(TREES[0].upos)
        assert "nsubj" in project.types
    with (tmp_path / "out.conllu").open("wb") as out:
        write_documents(out, iter_documents(tmp_path / "p.db"), "conllu")
    written, given = read_conllu(tmp_path / "out.conllu"), read_conllu(treebank)
    for name in ("forms", "upos", "relations"):
        assert list(getattr(written, name)) == list(getattr(given, name))
    assert (written.heads == given.heads).all()


def test_a_parser_learns_from_answers_and_is_measured(treebank, tmp_path):
    with Project(tmp_path / "p.db", "trees") as project:
        project.add(documents_in(treebank, None, TREE.column))
        session = Session(project)
        session.learner.catch_up()
        [point] = session.learner.points
        assert 0.3 < point.score < 1
        assert point.by_label["det"][0] > 0.5
        sentence = project.sentences[2]
        [said] = session.learner.suggest([sentence])
        TREE.check(said.labels, "what the parser says")
        assert sum(a == b for a, b in zip(said.labels, sentence.labels, strict=True)) > 0.8 * len(
            said.labels
        )
        assert session.about()["score"] == "LAS"
        session.learner.model.save(tmp_path / "m.dstruct")
    again = DependencyParser.load(tmp_path / "m.dstruct")
    assert arcs_of(again.predict([TREES[1]])[0]) == said.labels


def test_learning_on_changes_the_weights_in_place_and_is_remembered(treebank, tmp_path):
    with Project(tmp_path / "p.db", "trees") as project:
        project.add(documents_in(treebank, None, TREE.column))
        maker = TREE.maker(None)
        known = [Example(each, each.labels) for each in project.sentences.values()]
        model = maker.make(known[:60], [], lambda: False)
        names = {name for each in known[:60] for name in TREE.types_of(each.labels)}
        wrong = next(
            each
            for each in known[60:]
            if model.suggest([each.sentence])[0].labels != each.labels
            and names.issuperset(TREE.types_of(each.labels))
        )
        right = lambda: sum(  # noqa: E731
            a == b
            for a, b in zip(model.suggest([wrong.sentence])[0].labels, wrong.labels, strict=True)
        )
        before = right()
        for _ in range(3):
            assert model.learn([wrong]) is model
        assert right() > before
        renamed = tuple(label.replace(":det", ":article") for label in known[0].labels)
        other = model.learn([Example(known[0].sentence, renamed)])  # a relation that is new
        assert other is not model
        assert model.learn([Example(wrong.sentence, ("0:root",) * len(wrong.labels))]) is model


def test_a_pipeline_tags_plain_text_before_it_is_parsed(tmp_path):
    pipeline = ParsingPipeline().fit([TREES[i] for i in range(100)])
    pipeline.save(tmp_path / "m.dstruct")
    with Project(tmp_path / "p.db", "trees") as project:
        project.add([Document("The dog sleeps here.")])
        session = Session(project, tmp_path / "m.dstruct")
        [question] = session.next("me", 1, [])
        TREE.check(question["suggestion"]["labels"], "the suggestion")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["2:det", "x"], "token 2: 'x' is not an arc"),
        (["2:det", "3:root"], "token 2: '3:root' is not an arc"),
        (["1:det", "0:root"], "token 1: '1:det' is not an arc"),
        (["2:det", "1:root"], "no tree"),
        (["2:det"], "2 tokens, but 1 label"),
    ],
)
def test_what_is_no_tree_is_refused(tmp_path, labels, message):
    with Project(tmp_path / "p.db", "trees") as project:
        project.add([Document("Dogs sleep")])
        with pytest.raises(InputError, match=message):
            project.answer(1, labels, annotator="a", seen=0)
        project.answer(1, ["2:nsubj", "0:root"], annotator="a", seen=0)
        assert project.types == ["nsubj", "root"]


def test_a_file_with_a_cycle_is_refused_by_its_name(tmp_path):
    (tmp_path / "a.conllu").write_text(
        "1\ta\t_\t_\t_\t_\t2\tdet\t_\t_\n2\tb\t_\t_\t_\t_\t1\troot\t_\t_\n\n"
    )
    with (
        Project(tmp_path / "p.db", "trees") as project,
        pytest.raises(InputError, match=r"a\.conllu.*no tree"),
    ):
        project.add(documents_in(tmp_path / "a.conllu", None, TREE.column))


def test_las_is_the_share_of_right_arcs():
    truth, said = [["2:det", "0:root"]] * 10, [["2:nmod", "0:root"]] * 10
    assert measure(TREE, truth, said, 1, 1).score == 0.5


def test_train_and_evaluate_take_a_project_of_trees_for_what_it_is(treebank, tmp_path):
    path, model = str(tmp_path / "p.db"), str(tmp_path / "m.dstruct")
    with Project(path, "trees") as project:
        project.add([Document("Dogs sleep")])
    code, _, said = run_command(["train", path, "--model", model])
    assert (code, said) == (1, "dualstruct: p.db: no sentence has an answer yet\n")
    with Project(path) as project:
        project.add(documents_in(treebank, None, TREE.column))
    code, _, said = run_command(["train", path, "--model", model, "--passes", "2", "--json"])
    assert code == 0, said
    exported = tmp_path / "out.conllu"
    assert run_command(["label", path, "--export", str(exported)])[0] == 0
    same = DependencyParser(passes=2).fit(read_conllu(exported))
    again = DependencyParser.load(model)
    assert (again.predict(TREES[:20]).heads == same.predict(TREES[:20]).heads).all()
    of_project = run_command(["evaluate", model, path, "--json"])
    of_file = run_command(["evaluate", model, str(exported), "--json"])
    assert json.loads(of_project[1])["las"] == json.loads(of_file[1])["las"]
    code, _, said = run_command(["train", path, str(treebank), "--model", model])
    assert code == 1
    assert "p.db is a project of trees" in said
