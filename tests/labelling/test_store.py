"""A project keeps every answer, whoever else answers and whenever the process ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from urllib.request import Request, urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_labelling as naive
from command_line import run_command
from dualstruct import InputError, SequenceTagger, read_columns
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.labelling import Project, schema
from dualstruct.labelling.importing import documents_in
from dualstruct.labelling.rules import Rules
from dualstruct.texts import Document, TextSpan, iter_documents, read_texts
from label_kills import killed_once, make, missing
from patience import HANGS
from random_cases import cases

TEXT = "Ada sings in Rome. Bo left."
FIRST, SECOND = ["B-PER", "O", "O", "B-LOC", "O"], ["B-PER", "O", "O"]


@pytest.fixture
def project(tmp_path):
    with Project(tmp_path / "p.db") as made:
        made.add([Document(TEXT)])
        yield made


def say(project, sentence, labels, who="a", seen=None, **more):
    seen = project.sentences[sentence].version if seen is None else seen
    return project.answer(sentence, labels, annotator=who, seen=seen, **more)


def test_an_answer_replaces_what_its_annotator_has_seen_and_nothing_else(project):
    one = say(project, 2, SECOND)
    two = say(project, 2, ["O"] * 3, who="b", seen=0)
    sentence = project.sentences[2]
    assert sentence.in_conflict
    assert sentence.labels is None
    assert [each.id for each in sentence.counting] == [one.id, two.id]
    say(project, 2, SECOND, who="b")
    assert not sentence.in_conflict
    assert sentence.labels == tuple(SECOND)
    assert [row["annotator"] for row in project.history(2)] == ["a", "b", "b"]


def test_answers_keep_which_tokens_they_are_about(project):
    sentence = project.sentences[1]
    say(project, 1, FIRST, checked=[0, 3])
    assert sentence.checked == (True, False, False, True, False)
    say(project, 1, FIRST, checked=[3, 4])  # with what was checked before
    assert sentence.checked == (True, False, False, True, True)
    say(project, 2, SECOND, checked=[0, 1, 2])
    assert project.sentences[2].checked is None
    say(project, 2, SECOND, checked=[1])
    assert project.sentences[2].checked is None
    with pytest.raises(InputError, match="sentence 1 has no such tokens as were checked"):
        say(project, 1, FIRST, checked=[5])
    project.close()
    with Project(project.path) as again:
        assert again.sentences[1].checked == (True, False, False, True, True)
        assert again.sentences[2].checked is None
        say(again, 1, FIRST)
        assert again.sentences[1].checked is None


def test_two_who_say_the_same_are_in_no_conflict(project):
    say(project, 2, SECOND)
    say(project, 2, SECOND, who="b", seen=0)
    assert project.sentences[2].labels == tuple(SECOND)
    assert len(project.sentences[2].counting) == 2


def test_an_answer_taken_back_is_as_if_never_given(project):
    first = say(project, 2, SECOND)
    other = say(project, 2, ["O"] * 3)
    with pytest.raises(InputError, match="not yours"):
        project.withdraw(other.id, "b")
    project.withdraw(other.id, "a")
    assert project.sentences[2].labels == first.labels
    project.withdraw(other.id, "a")  # once is enough
    assert len(project.history(2)) == 3


def test_an_answer_sent_twice_is_there_once(project):
    one = say(project, 2, SECOND, key="k")
    assert say(project, 2, SECOND, key="k", seen=0) == one
    assert len(project.history(2)) == 1
    with pytest.raises(InputError, match="belongs to another answer"):
        say(project, 1, FIRST, key="k")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["O"], "has 3 tokens, but 1 label"),
        (["I-PER", "O", "O"], "token 1: 'I-PER' cannot stand here"),
        (["B-PER", "I-LOC", "O"], "token 2: 'I-LOC' cannot stand here"),
        (["PER", "O", "O"], "token 1: 'PER' cannot stand here"),
        (["B-a b", "O", "O"], "'a b' is not a label"),
        (["B-" + "x" * 101, "O", "O"], "is not a label"),
        (["B-<x>", "O", "O"], "no angle brackets"),
    ],
)
def test_labels_that_mark_no_spans_are_refused(project, labels, message):
    with pytest.raises(InputError, match=message):
        say(project, 2, labels)
    assert project.history(2) == []


EVENTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 1), st.booleans()),
    max_size=12,
)


@cases(12)
@given(EVENTS)
def test_what_counts_is_what_the_whole_history_says(tmp_path_factory, events):
    path = tmp_path_factory.mktemp("events") / "p.db"
    with Project(path) as project:
        project.add([Document("Bo left")])
        sentence = project.sentences[1]
        for who, back, choice, undo in events:
            own = [each for each in sentence.answers if each.annotator == who]
            if undo and own:
                project.withdraw(own[-1].id, who)
                continue
            versions = [0, *(each.id for each in sentence.answers)]
            seen = versions[max(len(versions) - 1 - back, 0)]
            say(project, 1, [("O", "B-PER")[choice], "O"], who=who, seen=seen)
        history = project.history(1)
        wanted = [row["id"] for row in naive.counting(history)]
        assert [each.id for each in sentence.counting] == wanted
        assert (sentence.labels and list(sentence.labels)) == naive.labels(history)
    with Project(path) as again:
        assert [each.id for each in again.sentences[1].counting] == wanted
    read = [each.spans for each in iter_documents(path)]
    said = naive.labels(history)
    assert read == ([] if said is None else [[TextSpan(0, 2, "PER")] if said[0] != "O" else []])


def test_a_project_is_open_once_and_read_meanwhile(project):
    with pytest.raises(InputError, match="is open in another dualstruct label"):
        Project(project.path)
    say(project, 1, FIRST)
    [found] = iter_documents(project.path)
    assert found.spans == [TextSpan(0, 3, "PER"), TextSpan(13, 17, "LOC")]


def test_nothing_lies_beside_a_project_that_was_closed(tmp_path):
    with Project(tmp_path / "p.db") as project:
        project.add([Document(TEXT)])
    assert os.listdir(tmp_path) == ["p.db"]


def test_what_is_acknowledged_survives_kills(tmp_path):
    path = tmp_path / "p.db"
    make(path)
    acknowledged = []
    for seed in range(3):
        acknowledged += killed_once(path, seed, 0.05)
        assert missing(path, acknowledged) == []
    assert len(acknowledged) >= 3
    with Project(path) as project:  # the check itself notices what is not there
        number = max(row["id"] for n in project.sentences for row in project.history(n))
    assert missing(path, [[number + 1, 1, ["O"] * 5, None]]) != []


def test_older_files_are_migrated_and_a_copy_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "p.db"
    with Project(path) as project:
        project.add([Document(TEXT)])
        say(project, 2, SECOND)
    monkeypatch.setitem(schema.MIGRATIONS, 3, "ALTER TABLE sentences ADD COLUMN note TEXT;")
    with closing(schema.connect(path, version=4)) as base:
        assert base.execute("PRAGMA user_version").fetchone() == (4,)
        assert base.execute("SELECT count(note), count(*) FROM sentences").fetchone() == (0, 2)
    with Project(tmp_path / "p.db.version3") as old:
        assert old.sentences[2].labels == tuple(SECOND)
    with pytest.raises(InputError, match="it is of version 4; this program knows 3"):
        Project(path)
    with pytest.raises(InputError, match="it is of version 4; this program knows 3"):
        list(iter_documents(path))


def test_files_of_version_1_are_read_and_opened(tmp_path):
    path = tmp_path / "p.db"
    with Project(path) as project:
        project.add([Document(TEXT)])
        say(project, 2, SECOND)
    with closing(sqlite3.connect(path)) as base:
        base.execute("ALTER TABLE sentences DROP COLUMN tags")
        base.execute("ALTER TABLE answers DROP COLUMN checked")
        base.execute("PRAGMA user_version = 1")
        base.commit()
    [document] = iter_documents(path)
    assert document.words() == [project.sentences[2].words]
    with Project(path) as project:
        assert project.sentences[2].labels == tuple(SECOND)
    assert (tmp_path / "p.db.version1").exists()


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "p.db"
    with Project(path) as project:
        project.add([Document(TEXT)])
    monkeypatch.setitem(schema.MIGRATIONS, 3, "DROP TABLE answers; SELECT * FROM absent;")
    with pytest.raises(InputError, match="no such table: absent"):
        schema.connect(path, version=4)
    with Project(path) as project:
        assert say(project, 2, SECOND).id == 1


def test_other_files_of_sqlite_are_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as base:
        base.execute("CREATE TABLE a (b)")
        base.commit()
    for attempt in (Project, lambda path: list(iter_documents(path, "project"))):
        with pytest.raises(InputError, match="not a project of dualstruct label"):
            attempt(tmp_path / "other.db")


def test_documents_with_spans_are_answers_and_drafts_are_none(tmp_path):
    with Project(tmp_path / "p.db") as project:
        gold = Document("Ada left.", [TextSpan(0, 3, "PER")])
        assert project.add([gold, Document("Bo sings.")]) == (1, 2)
        seeds = [Document("Bo sings.", [TextSpan(0, 2, "PER", 0.7)]), Document("Cy is.", [])]
        assert project.add(seeds, drafts=True) == (2, 2)
        assert [each.labels is not None for each in project.sentences.values()] == [1, 0, 0]
        draft = project.sentences[2].draft
        assert draft.labels == ("B-PER", "O", "O")
        assert draft.weights == (0.7, 1.0, 1.0)
        with pytest.raises(InputError, match="is a project of spans, and these are labels"):
            project.add([Document("a", None, [(0, 1)], [0, 1], ["X"])])
    with Project(tmp_path / "p.db") as project:
        assert project.sentences[2].draft == draft


def test_labels_of_tokens_are_kept_as_they_are(tmp_path):
    (tmp_path / "a.conll").write_text("a DET\ndog NOUN\n\nthe DET\ncat NOUN\n")
    with Project(tmp_path / "p.db") as project:
        project.add(documents_in(tmp_path / "a.conll"))
        assert (project.kind.name, project.types) == ("labels", ["DET", "NOUN"])
    assert [each.labels for each in iter_documents(tmp_path / "p.db")] == [["DET", "NOUN"]] * 2
    assert read_texts(tmp_path / "p.db").labels == [["DET", "NOUN"]] * 2


def test_plain_text_is_told_from_columns_and_folders_are_read(tmp_path):
    inner = tmp_path / "texts"
    inner.mkdir()
    (inner / "a.txt").write_text("Ada sings in Rome.\nBo left.\n")
    (inner / "b.txt").write_text("Ada B-PER\nleft O\n")
    (inner / "c.jsonl").write_text('{"text": "Cy"}\n')
    found = list(documents_in(inner))
    assert [each.text for each in found] == ["Ada sings in Rome.", "Bo left.", "Ada left", "Cy"]
    assert [each.metadata["id"] for each in found] == ["a.txt", "a.txt", "b.txt", "c.jsonl"]
    (tmp_path / "one.txt").write_text("One line alone, it is.\n")
    assert [each.text for each in documents_in(tmp_path / "one.txt")] == ["One line alone, it is."]
    (inner / "a.ann").write_text("T1\tPER 0 3\tAda\n")
    assert next(each.spans for each in documents_in(inner)) == [TextSpan(0, 3, "PER")]


def run(*arguments):
    return run_command([str(each) for each in arguments])


def test_the_command_imports_exports_and_trains(tmp_path):
    db = tmp_path / "p.db"
    (tmp_path / "gold.jsonl").write_text(
        '{"text": "Ada-Lee sings", "spans": [{"start": 0, "end": 7, "label": "PER"}]}\n'
        '{"text": "Bo left", "spans": [{"start": 0, "end": 2, "label": "PER"}]}\n'
    )
    (tmp_path / "raw.txt").write_text("Cy and Di sing. They left.\n")
    added = run("label", db, "--text", tmp_path / "gold.jsonl", "--text", tmp_path / "raw.txt",
                "--labels", "LOC", "--tokenizer", "hyphens=keep", "--no-serve",
                "--json")  # fmt: skip
    assert added[0] == 0, added
    assert json.loads(added[1])["sentences"] == 4
    assert json.loads(added[1])["labels"] == ["LOC", "PER"]
    assert run("label", db, "--export", tmp_path / "out.conll")[0] == 0
    assert list(read_columns(tmp_path / "out.conll").labels) == [["B-PER", "O"]] * 2
    assert run("train", db, "--model", tmp_path / "m.dstruct")[0] == 0
    model = SequenceTagger.load(tmp_path / "m.dstruct")
    assert model.tokenizer_ == Tokenizer(hyphens="keep")
    assert model.predict([["Bo", "left"]]) == [["B-PER", "O"]]
    assert run("evaluate", tmp_path / "m.dstruct", db)[0] == 0
    for name in ("a.jsonl", "a.conllu", "a.labelstudio.json", "a.csv", "a.brat"):
        assert run("convert", db, tmp_path / name)[0] == 0
        again = read_texts(tmp_path / name, tokenizer=Tokenizer(hyphens="keep"))
        assert again.labels == [["B-PER", "O"]] * 2, name


def test_the_command_says_where_the_page_is_and_ends_on_ctrl_c(tmp_path):
    (tmp_path / "raw.txt").write_text("Ada sings.\n")
    command = [sys.executable, "-m", "dualstruct", "label", str(tmp_path / "p.db"), "--text",
               str(tmp_path / "raw.txt"), "--port", "0", "--no-browser", "--token",
               "se cret"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith(f"{tmp_path / 'p.db'} is at http://127.0.0.1:")
        address = line.split()[3]
        assert address.endswith("/?token=se%20cret")
        asked = Request(address.partition("?")[0] + "api/project")
        asked.add_header("Authorization", "Bearer se cret")
        with urlopen(asked, timeout=HANGS) as response:
            assert json.load(response)["sentences"] == 1
    finally:
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=HANGS)
    assert process.returncode == 0
    assert "Traceback" not in messages
    assert sorted(os.listdir(tmp_path)) == ["p.db", "raw.txt"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{}/raw.txt"], "raw.txt exists and is not a labelling project"),
        (["{}/p.db", "--text", "{}/none"], "none does not exist"),
        (
            ["{}/p.db", "--kind", "graphs"],
            "--kind is 'graphs'; it must be one of spans, labels, trees",
        ),
        (["{}/p.db", "--export", "{}/a.jsonl"], "p.db: there is no such file"),
        (["{}/p.db", "--labels", "A B"], "'A B' is not a label"),
        (["{}/p.db", "--host", "0.0.0.0", "--port", "0"], "add --token SECRET"),
        (["{}/p.db", "--model", "{}/columns.dstruct"], "looks at more than words"),
        (["{}/p.db", "--model", "{}/bilou.dstruct"], "labels of another scheme than B-, I- and O"),
        (["{}/raw.txt", "--export", "{}/raw.txt"], "raw.txt exists and is not a labelling project"),
    ],
)
def test_mistakes_are_sentences(tmp_path, arguments, message):
    (tmp_path / "raw.txt").write_text("Ada\n")
    two = [[("Ada", "N")]], [["B-PER"]]
    SequenceTagger(features="ner-pos", passes=1).fit(*two).save(tmp_path / "columns.dstruct")
    SequenceTagger(passes=1).fit([["Ada"]], [["U-PER"]]).save(tmp_path / "bilou.dstruct")
    code, _, messages = run("label", *(each.replace("{}", str(tmp_path)) for each in arguments))
    assert code != 0
    assert message in messages


def test_a_line_of_text_is_no_columns(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("Please send 20 kilograms to Harbour Foods by Friday.\n", encoding="utf-8")
    [document] = documents_in(path)
    assert document.text.startswith("Please send")
    path.write_text("Ada B-PER\nsings O\n", encoding="utf-8")
    assert next(documents_in(path)).tokens


def test_lists_and_patterns_are_first_suggestions(tmp_path):
    (tmp_path / "cities.txt").write_text("New York\nyork\n")
    texts = ["she left new york in 1815", "nothing here", "York 1815"]
    with Project(tmp_path / "p.db", "spans", Tokenizer("blanks", "lines")) as project:
        project.add(Document(text) for text in texts)
        project.add_types(["LOC", "DATE"])
        project.answer(3, ["O", "O"], annotator="a", seen=0)
        rules = Rules.parse([f"LOC={tmp_path / 'cities.txt'}"], [r"DATE=\d{4}"], project.types)
        assert project.draft(rules) == 1
        assert project.draft(rules) == 0  # it has one
    with Project(tmp_path / "p.db") as project:
        draft = project.sentences[1].draft
        assert draft.labels == ("O", "O", "B-LOC", "I-LOC", "O", "B-DATE")
        assert draft.weights == (0.5, 0.5, 1.0, 1.0, 0.5, 1.0)
        assert project.sentences[2].draft is None
        assert project.sentences[3].draft is None


@pytest.mark.parametrize(
    ("option", "given", "message"),
    [
        ("--pattern", "LOC=[", "--pattern LOC=[: no regular expression"),
        ("--pattern", "LOK=a", "--pattern LOK=a: the project has no label LOK (LOC)"),
        ("--gazetteer", "LOC=no.txt", "no.txt does not exist"),
        ("--gazetteer", "LOC", "LABEL=FILE is expected"),
    ],
)
def test_lists_and_patterns_that_cannot_be_are_refused_in_a_sentence(
    tmp_path, option, given, message
):
    command = ["label", str(tmp_path / "p.db"), "--labels", "LOC", "--no-serve", option, given]
    code, _, said = run_command(command)
    assert code == 1
    assert message in said
    assert said.count("\n") == 1
