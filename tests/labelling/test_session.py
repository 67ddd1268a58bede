"""What the page asks for: suggestions that learn, an order that is worth it, honest measures."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter

import httpx
import pytest

from dualstruct import InputError, SequenceTagger
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.datasets import load_english
from dualstruct.labelling import Project
from dualstruct.labelling.app import create_label_app
from dualstruct.labelling.kinds import KINDS
from dualstruct.labelling.learning import is_measured
from dualstruct.labelling.measuring import Point, agreement, forecast, kappa, measure
from dualstruct.labelling.order import diverse
from dualstruct.labelling.session import Session
from dualstruct.texts import Document, TextSpan
from patience import HANGS

CORPUS = load_english("train")
TRUTH = {tuple(s.forms): s.entities for s in CORPUS}


@pytest.fixture
def session(tmp_path):
    with Project(tmp_path / "p.db", "spans", Tokenizer("blanks", "lines")) as project:
        project.add(Document(" ".join(s.forms)) for s in CORPUS[:150])
        project.add_types(["PER", "LOC"])
        with Session(project) as made:
            yield made


def answer(session, question, who="me"):
    labels = TRUTH[tuple(question["words"])]
    return session.answer(question["sentence"], labels, question["version"], who, None)


def wait_for(condition):
    """Until the threads of the learner have done something."""
    tick = threading.Event()
    for _ in range(int(HANGS / 0.02)):
        if condition():
            return
        tick.wait(0.02)
    raise AssertionError("it does not happen")


def label(session, count):
    asked = []
    for _ in range(count):
        [question] = session.next("me", 1, [])
        asked.append(question)
        answer(session, question)
    return asked


def test_suggestions_come_from_the_answers(session):
    [first] = session.next("me", 1, [])
    assert first["suggestion"] is None
    label(session, 40)
    wait_for(lambda: not session.learner.training and len(session.learner._since) < 5)
    wait_for(lambda: session.learner.version > 1 and not session.learner._new)
    known = [each for each in session.project.settled() if not is_measured(each.id)]
    found = session.learner.suggest(known)
    same = sum(one.labels == each.labels for one, each in zip(found, known, strict=True))
    assert same > 0.8 * len(known)
    assert all(0 <= p <= 1 for one in found for p in one.sure)


def test_a_share_is_drawn_at_random_and_never_trained_on(session):
    asked = label(session, 60)
    reasons = Counter(each["reason"] for each in asked)
    measured = [each for each in asked if is_measured(each["sentence"])]
    assert {each["reason"] for each in measured} == {"random"}
    assert reasons["random"] == len(measured) == pytest.approx(12, abs=2)
    assert not any(is_measured(each.id) for each in session.learner._examples())
    wait_for(lambda: session.learner.points)
    point = session.learner.points[-1]
    assert 0 <= point.low <= point.score <= point.high <= 1
    assert point.measured >= 5
    again = [Point.of(each) for each in session.project.curve()]
    assert again[-1].sentences == point.sentences


def test_least_sure_sentences_come_first(session):
    label(session, 30)
    wait_for(lambda: session.learner.version > 1 and not session.learner._new)
    session.order.refresh()
    queue = [session.project.sentences[n] for n in session.order._queue]
    doubts = [one.doubt for one in session.learner.suggest(queue)]
    others = [
        each
        for each in session.project.sentences.values()
        if not each.answers and not is_measured(each.id) and each.id not in session.order._queue
    ]
    rest = [one.doubt for one in session.learner.suggest(others)]
    assert sum(doubts[:10]) / 10 > sum(rest) / len(rest)


def test_two_annotators_are_asked_about_different_sentences(session):
    one = [each["sentence"] for each in session.next("a", 10, [])]
    other = [each["sentence"] for each in session.next("b", 10, [])]
    assert not set(one) & set(other)
    again = [each["sentence"] for each in session.next("a", 10, one)]
    assert not set(again) & set(one)


def test_everything_is_asked_about_once_and_then_nothing(tmp_path):
    with Project(tmp_path / "p.db") as project:
        project.add([Document(f"Word{k} is here.") for k in range(25)])
        with Session(project) as session:
            seen = []
            while questions := session.next("me", 1, []):
                seen.append(questions[0]["sentence"])
                session.answer(seen[-1], ["O"] * 4, 0, "me", None)
    assert sorted(seen) == list(range(1, 26))


def test_alike_sentences_come_later(tmp_path):
    with Project(tmp_path / "p.db", tokenizer=Tokenizer("blanks", "lines")) as project:
        project.add([Document(text) for text in ("a b c d", "a b c e", "x y z", "a b c d")])
        chosen = diverse(list(project.sentences.values()), 3)
    assert [each.id for each in chosen] == [1, 3, 2]


def test_an_answer_taken_back_is_asked_again(session):
    [question] = session.next("me", 1, [])
    saved = answer(session, question)
    assert session.undo(saved["answer"], "me", None)["sentence"] == question["sentence"]
    assert session.project.sentences[question["sentence"]].answers == ()
    asked = []
    while more := session.next("me", 10, asked):
        asked += [each["sentence"] for each in more]
    assert question["sentence"] in asked


def test_conflicts_are_shown_with_both_answers(session):
    [question] = session.next("a", 1, [])
    answer(session, question, "a")
    other = session.answer(question["sentence"], ["O"] * len(question["words"]), 0, "b", None)
    truth = TRUTH[tuple(question["words"])]
    assert other["conflict"] == (set(truth) != {"O"})
    shown = session.open(question["sentence"])
    assert [each["annotator"] for each in shown["answers"]] == ["a", "b"]
    assert len(shown["history"]) == 2


def test_search_finds_words_labels_and_disagreement(session):
    label(session, 20)
    some = next(each for each in session.project.settled() if "B-PER" in each.labels)
    word = some.words[0]
    found = session.search(word.upper(), "PER", "labelled")
    assert some.id in {each["sentence"] for each in found}
    assert all(each["labelled"] for each in found)
    assert not any(each["labelled"] for each in session.search("", "", "unlabelled"))
    assert session.search("", "", "conflict") == []
    wait_for(lambda: session.learner.model is not None)
    wrong = {each["sentence"] for each in session.search("", "", "disagreement")}
    assert wrong <= set(session.project.answered)


def test_a_model_to_begin_with_suggests_before_any_answer(tmp_path):
    model = SequenceTagger(features="ner").fit(
        [s.forms for s in CORPUS], [s.entities for s in CORPUS]
    )
    model.save(tmp_path / "m.dstruct")
    with Project(tmp_path / "p.db", tokenizer=Tokenizer("blanks", "lines")) as project:
        project.add([Document(" ".join(CORPUS[3].forms))])
        with Session(project, tmp_path / "m.dstruct") as session:
            [question] = session.next("me", 1, [])
            assert question["suggestion"]["labels"] == model.predict([CORPUS[3].forms])[0]
            session.answer(question["sentence"], CORPUS[3].entities, 0, "me", None)
            session.learner.learn(question["sentence"])
            assert {"PER", "LOC", "ORG"} <= set(project.types)


def test_drafts_with_probabilities_teach_until_there_are_answers(tmp_path):
    with Project(tmp_path / "p.db") as project:
        texts = [f"Name{k} sings." for k in range(20)]
        project.add([Document(text) for text in texts])
        project.add(
            [Document(t, [TextSpan(0, t.index(" "), "PER", 0.9)]) for t in texts], drafts=True
        )
        assert len(project.sentences) == 20
        with Session(project) as session:
            wait_for(lambda: session.learner.model is not None)
            [question] = session.next("me", 1, [])
            assert question["suggestion"]["labels"] == ["B-PER", "O", "O"]


def test_suspect_answers_come_back_for_a_second_look(session):
    label(session, 40)
    wrong = next(
        each
        for each in session.project.settled()
        if not is_measured(each.id) and set(each.labels) != {"O"}
    )
    session.learner.suspects = [wrong.id]
    asked = [q for _ in range(100) for q in session.next("me", 1, [])]
    again = [each for each in asked if each["reason"] == "second look"]
    assert {each["sentence"] for each in again} == {wrong.id}
    assert 1 <= len(again) <= 25
    session.answer(wrong.id, wrong.labels, wrong.version, "me", None)
    assert all(q["reason"] != "second look" for _ in range(100) for q in session.next("me", 1, []))


def test_kappa_and_agreement_are_of_answers_given_without_seeing_others(tmp_path):
    assert kappa([(["A"] * 3, ["A"] * 3)]) == 1
    with Project(tmp_path / "p.db", tokenizer=Tokenizer("blanks", "lines")) as project:
        project.add([Document("a b c d"), Document("e f")])
        project.answer(1, ["B-X", "O", "O", "O"], annotator="a", seen=0)
        project.answer(1, ["B-X", "O", "B-X", "O"], annotator="b", seen=0)
        project.answer(2, ["O", "O"], annotator="a", seen=0)
        project.answer(2, ["B-X", "O"], annotator="b", seen=project.sentences[2].version)
        found = agreement(project.kind, project.sentences.values())
    assert (found.sentences, found.kappa) == (1, 0.5)
    assert found.f1 == pytest.approx(2 / 3, abs=1e-4)


def test_measures_have_a_band_around_them():
    truth = [["B-X", "O"]] * 10 + [["O", "B-Y"]] * 10
    said = [["B-X", "O"]] * 10 + [["O", "O"]] * 10
    point = measure(KINDS["spans"], truth, said, 7, 70)
    assert point.score == pytest.approx(2 / 3, abs=1e-4)
    assert point.low < point.score < point.high
    assert point.by_label == {"X": [1.0, 10], "Y": [0.0, 10]}
    assert measure(KINDS["labels"], [["A"]], [["A"]], 1, 1).score == 1.0
    assert forecast([point] * 3) is None


# The interface.


def ask(session, method, path, headers=None, token=None, **more):
    async def send():
        app = create_label_app(session, hosts=["localhost"], token=token)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, headers=headers, **more)

    return asyncio.run(send())


def post(session, path, body, **more):
    return ask(session, "POST", path, json=body, **more)


def test_the_interface_asks_saves_and_exports(session):
    [question] = post(session, "/api/next", {"annotator": "a"}).json()["questions"]
    body = {
        "sentence": question["sentence"],
        "labels": TRUTH[tuple(question["words"])],
        "version": 0,
        "annotator": "a",
        "key": "k1",
    }
    saved = post(session, "/api/answer", body).json()
    assert post(session, "/api/answer", body).json() == saved
    assert len(session.project.history(question["sentence"])) == 1
    assert ask(session, "GET", "/api/state").json()["labelled"] == 1
    lines = ask(session, "GET", "/api/export/jsonl").text.splitlines()
    assert len(lines) == 1
    assert ask(session, "GET", "/api/export/exe").status_code == 404
    for name in ("/", "/static/label.js", "/static/label.css", "/shared/elements.js"):
        found = ask(session, "GET", name)
        assert found.status_code == 200
        assert "default-src 'none'" in found.headers["content-security-policy"]


def test_the_trained_model_is_downloaded(session, tmp_path):
    assert ask(session, "GET", "/api/model").status_code == 404
    label(session, 20)
    (tmp_path / "m.dstruct").write_bytes(ask(session, "GET", "/api/model").content)
    assert SequenceTagger.load(tmp_path / "m.dstruct").predict([["Ada"]])


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("answer", {"sentence": 1}, 400, "labels has to be a list of texts"),
        ("answer", {"sentence": 0, "labels": []}, 400, "sentence has to be a whole number"),
        ("answer", {"labels": ["O"] * 9999}, 400, "sentence is missing"),
        ("answer", {"sentence": 1, "labels": ["O"], "version": 0, "annotator": "a"}, 400, "tokens"),
        ("answer", {"sentence": 1, "labels": ["\ud800"], "version": 0}, 400, "surrogate"),
        ("answer", {"sentence": 10**9, "labels": ["O"], "version": 0, "annotator": "a"}, 400,
         "no sentence"),
        ("next", {"annotator": " "}, 400, "who answers?"),
        ("next", {"annotator": "a", "count": 99}, 400, "count has to be"),
        ("next", {"annotator": "a", "without": ["x"]}, 400, "list of numbers"),
        ("next", {"annotator": "a", "more": 1}, 400, "'more' is unknown"),
        ("open", {"sentence": 12345}, 400, "there is no sentence 12345"),
        ("undo", {"answer": 5, "annotator": "a"}, 400, "there is no answer 5"),
        ("types", {"name": "a b"}, 400, "is not a label"),
        ("search", {"among": "nothing"}, 400, "among has to be one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_in_a_sentence(session, path, body, status, message):
    content = json.dumps(body).encode()
    found = ask(session, "POST", f"/api/{path}", content=content,
                headers={"Content-Type": "application/json"})  # fmt: skip
    assert found.status_code == status
    assert message in found.json()["error"]
    assert not session.project.answered


def test_others_and_their_pages_are_refused(session):
    body = {"annotator": "a"}
    assert post(session, "/api/next", body, headers={"Host": "evil.example"}).status_code == 421
    evil = {"Origin": "http://evil.example"}
    assert post(session, "/api/next", body, headers=evil).status_code == 403
    own = {"Origin": "http://localhost"}
    assert post(session, "/api/next", body, headers=own).status_code == 200
    plain = ask(session, "POST", "/api/next", content=b"{}", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    large = ask(session, "POST", "/api/next", content=b" " * (1 << 20) + b"{}",
                headers={"Content-Type": "application/json"})  # fmt: skip
    assert large.status_code == 413
    assert "access-control-allow-origin" not in ask(session, "GET", "/api/state", evil).headers


def test_a_token_is_asked_for_and_kept_in_a_cookie(session):
    assert ask(session, "GET", "/api/state", token="s3cret é").status_code == 401
    assert ask(session, "GET", "/?token=wrong", token="s3cret é").status_code == 401
    found = ask(session, "GET", "/?token=s3cret%20%C3%A9", token="s3cret é")
    assert found.status_code == 303
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    given = {"Cookie": cookie.partition(";")[0]}
    assert ask(session, "GET", "/api/state", given, token="s3cret é").status_code == 200
    bearer = {"Authorization": "Bearer t0ken"}
    assert ask(session, "GET", "/api/state", bearer, token="t0ken").status_code == 200
    assert ask(session, "GET", "/api/state", {"Cookie": "x=;;=\x01"}, token="t").status_code == 401


def test_labels_of_tokens_are_learned_too(tmp_path):
    with Project(tmp_path / "p.db", "labels", Tokenizer("blanks", "lines")) as project:
        project.add(Document(" ".join(s.forms)) for s in CORPUS[:60])
        with Session(project) as session:
            tags = {tuple(s.forms): s.upos for s in CORPUS}
            for _ in range(30):
                [question] = session.next("me", 1, [])
                labels = tags[tuple(question["words"])]
                session.answer(question["sentence"], labels, 0, "me", None)
            wait_for(lambda: session.learner.model is not None)
            [question] = session.next("me", 1, [])
            assert set(question["suggestion"]["labels"]) <= set(project.types)
            with pytest.raises(InputError, match="tokens, but 0 labels"):
                session.answer(question["sentence"], [], 0, "me", None)


def test_only_words_of_which_the_model_is_unsure_are_asked_about(tmp_path):
    with Project(tmp_path / "p.db", "spans", Tokenizer("blanks", "lines")) as project:
        project.add(Document(" ".join(s.forms)) for s in CORPUS[:200])
        session = Session(project, ask="unsure")
        back = asked = words = 0
        for _ in range(400):
            found = session.next("me", 1, [])
            if not found:
                break
            [question] = found
            number, parts = question["sentence"], question["asked"]
            truth = TRUTH[tuple(question["words"])]
            if parts is None:
                assert session.learner.model is None or is_measured(number)
            else:
                assert parts
                known = project.sentences[number].checked or ()
                assert not any(known[t] for t in parts if known)  # nothing is asked twice
                back += bool(question["version"])
                asked, words = asked + len(parts), words + len(truth)
            session.answer(number, truth, question["version"], "me", None, parts)
            assert number not in session.order._waiting()
            if len(project.answered) % 20 == 0:
                session.learner.catch_up()
        assert len(project.answered) == 200
        assert asked < 0.8 * words
        assert session.state()["tokens"] < sum(len(s.tokens) for s in project.sentences.values())
        assert all(project.sentences[n].checked is None for n in project.answered if is_measured(n))


def test_words_that_were_not_asked_about_are_not_learned_from(tmp_path):
    """The model's own mistakes, left as they were shown, do not become its truth."""
    with Project(tmp_path / "p.db", "labels", Tokenizer("blanks", "lines")) as project:
        project.add(Document("a b") for _ in range(60))
        session = Session(project)
        numbers = [n for n in project.sentences if not is_measured(n)]
        for k, number in enumerate(numbers[:45]):
            if k < 15:
                session.answer(number, ["A", "B"], 0, "me", None)
            else:
                session.answer(number, ["A", "WRONG"], 0, "me", None, [0])
        session.answer(numbers[45], ["WRONG", "B"], 0, "me", None, [1])
        model = session.learner.whole()
        [suggestion] = model.suggest([project.sentences[numbers[50]]])
        assert suggestion.labels == ("A", "B")


def test_trees_are_asked_about_as_a_whole(tmp_path):
    with Project(tmp_path / "p.db", "trees") as project:
        with pytest.raises(InputError, match="of trees whole sentences are asked about"):
            Session(project, ask="unsure")
        with pytest.raises(InputError, match="ask is 'some'; it must be all or unsure"):
            Session(project, ask="some")
