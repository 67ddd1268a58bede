"""Mistakes are those that one sees by comparing span by span and word by word."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_metrics
import naive_mistakes
from dualstruct import DependencyParser, InputError, ParsingPipeline, SequenceTagger, Treebank
from dualstruct.data.documents import document_names
from dualstruct.datasets import load_english
from dualstruct.metrics import evaluate, evaluate_trees
from dualstruct.metrics.comparing import compared, exchange_test
from dualstruct.metrics.counts import Ratio
from dualstruct.mistakes import compare, label_mistakes, tree_mistakes
from dualstruct.mistakes.kinds import kinds_of
from random_cases import cases

LABELS = ["O", "B-A", "I-A", "B-B", "I-B"]
SCHEMES = [*LABELS, "E-A", "S-B"]
TAGS = ["N", "V", "O", "S"]


@st.composite
def two_labellings(draw, labels, sentences=4, most=7):
    lengths = draw(st.lists(st.integers(0, most), min_size=1, max_size=sentences))
    return [[[draw(st.sampled_from(labels)) for _ in range(n)] for n in lengths] for _ in range(2)]


def words_for(labels):
    return [[f"w{t % 3}" for t in range(len(row))] for row in labels]


@given(two_labellings(SCHEMES))
@cases(150)
def test_mistakes_of_spans_are_those_that_a_slow_search_finds(pair):
    gold, predicted = pair
    found = label_mistakes(words_for(gold), gold, predicted, labels=SCHEMES)
    for i, (true, said) in enumerate(zip(gold, predicted, strict=True), 1):
        mine = [each for each in found if each.sentence == i]
        expected = naive_mistakes.span_mistakes(true, said)
        assert len(mine) == len(expected)
        for each in mine:
            key = each.kind, set(each.gold_spans), set(each.predicted_spans)
            assert key in expected
    assert sum(found.kinds.values()) == len(found)
    assert list(found.kinds.values()) == sorted(found.kinds.values(), reverse=True)


@given(two_labellings(SCHEMES))
@cases(100)
def test_the_kind_of_a_mistake_is_one_that_its_tokens_have(pair):
    """Suspects are told by token, mistakes by span: the kinds are the same."""
    for true, said in zip(*pair, strict=True):
        kinds = kinds_of(said, true, mark_spans=True)
        for each in label_mistakes([true], [true], [said], labels=SCHEMES):
            covered = [kinds[t] for span in each.spans for t in range(span.start, span.end)]
            assert each.kind in covered
            if each.kind in ("missed", "invented"):
                assert set(covered) == {each.kind}
            elif each.kind == "boundary":
                assert set(covered) <= {"boundary", ""}


@given(two_labellings(LABELS))
@cases(100)
def test_scores_and_confusions_of_spans_add_up_to_the_usual_counts(pair):
    gold, predicted = pair
    found = label_mistakes(words_for(gold), gold, predicted, labels=LABELS)
    usual = evaluate(gold, predicted, LABELS)
    ours = (found.scores["precision"], found.scores["recall"], found.scores["F1"])
    assert ours == pytest.approx((usual.precision, usual.recall, usual.f1))
    table = found.confusion()
    rows = dict(zip(table.labels, map(sum, table.counts), strict=True))
    columns = dict(zip(table.labels, map(sum, zip(*table.counts, strict=True)), strict=True))
    for type_ in ("A", "B"):
        scores = usual.per_type.get(type_)
        assert rows.get(type_, 0) == (scores.support if scores else 0)
        assert columns.get(type_, 0) == (scores.predicted if scores else 0)
    wrong = {span for each in found for span in each.gold_spans}
    true = sum(len(naive_metrics.spans(row)) for row in gold)
    assert sum(len(each.gold_spans) for each in found) == true - usual.correct
    assert bool(wrong) == (true > usual.correct)


@given(two_labellings(TAGS))
@cases(60)
def test_labels_that_mark_no_spans_are_compared_token_by_token(pair):
    gold, predicted = pair
    found = label_mistakes(words_for(gold), gold, predicted, labels=TAGS)
    pairs = [p for a, b in zip(gold, predicted, strict=True) for p in zip(a, b, strict=True)]
    wrong = [p for p in pairs if p[0] != p[1]]
    assert [(each.gold, each.predicted) for each in found] == wrong
    assert {each.kind for each in found} <= {"label"}
    counts = Counter(pairs)
    table = found.confusion()
    for i, a in enumerate(table.labels):
        for j, b in enumerate(table.labels):
            assert table.counts[i][j] == counts[a, b]
    assert found.scores["accuracy"] == pytest.approx(evaluate(gold, predicted, TAGS).accuracy)


@st.composite
def two_treebanks(draw):
    sentences, trees = draw(st.integers(1, 4)), []
    lengths = [draw(st.integers(1, 6)) for _ in range(sentences)]
    for _ in range(2):
        heads, relations = [], []
        for n in lengths:
            order = draw(st.permutations(range(1, n + 1)))
            mine = [0] * n
            for place, word in enumerate(order):
                mine[word - 1] = draw(st.sampled_from([0, *order[:place]]))
            heads.append(mine)
            relations.append([draw(st.sampled_from(["a", "b"])) for _ in range(n)])
        trees.append((heads, relations))
    forms = [[f"w{t % 3}" for t in range(n)] for n in lengths]
    return [Treebank.from_columns(forms, heads=h, relations=r) for h, r in trees]


@given(two_treebanks())
@cases(60)
def test_mistakes_of_trees_are_the_words_with_another_arc(treebanks):
    gold, predicted = treebanks
    found = tree_mistakes(gold, predicted)
    expected = []
    for i, (a, b) in enumerate(zip(gold, predicted, strict=True), 1):
        arcs = [zip(x.heads, x.relations, strict=True) for x in (a, b)]
        for t, (ours, theirs) in enumerate(zip(*arcs, strict=True)):
            if ours[0] != theirs[0]:
                expected.append((i, t, "head", ours[1], theirs[1]))
            elif ours != theirs:
                expected.append((i, t, "relation", ours[1], theirs[1]))
    mine = [
        (each.sentence, each.gold_spans[0].start, each.kind, each.gold, each.predicted)
        for each in found
    ]
    assert mine == expected
    usual = evaluate_trees(gold, predicted)
    assert found.scores == pytest.approx({"UAS": usual.uas, "LAS": usual.las})


def test_tags_and_lemmas_that_differ_are_mistakes_of_their_own_kinds():
    words = {"heads": [[2, 0]], "relations": [["nsubj", "root"]], "upos": [["PROPN", "VERB"]]}
    gold = Treebank.from_columns(
        [["Ada", "sings"]],
        **words,
        xpos=[["NNP", "VBZ"]],
        lemmas=[["Ada", "sing"]],
        feats=[["Number=Sing", "Person=3|Number=Sing"]],
    )
    feats = [["Number=Plur", "Number=Sing|Person=3"]]  # the second in another order
    predicted = gold.replace(upos=[["NOUN", "VERB"]], lemmas=[["ada", "sing"]], feats=feats)
    found = tree_mistakes(gold, predicted)
    said = [(each.kind, each.pattern, each.gold_spans[0].start) for each in found]
    assert said == [
        ("UPOS", "PROPN → NOUN", 0),
        ("FEATS", "Number=Sing → Number=Plur", 0),
        ("LEMMA", "Ada → ada", 0),
    ]
    assert found.scores == {"UAS": 1, "LAS": 1}
    one_side = tree_mistakes(gold, predicted.replace(lemmas=[["_", "_"]], upos=[["_", "_"]]))
    assert list(one_side.kinds) == ["FEATS"]  # a column that a file does not have is not judged
    none = tree_mistakes(gold, gold.replace(feats=[["_", "Person=3|Number=Sing"]]))
    assert [each.pattern for each in none] == ["Number=Sing → _"]


@given(two_labellings(LABELS), st.sampled_from(["length", "seen", "document"]))
@cases(60)
def test_parts_add_up_to_the_whole(pair, by):
    gold, predicted = pair
    documents = [f"d{i % 2}" for i in range(len(gold))]
    words = words_for(gold)
    found = label_mistakes(words, gold, predicted, labels=LABELS, documents=documents)
    parts = found.by(by, {"w0"})
    assert sum(part.support for part in parts) == sum(len(naive_metrics.spans(x)) for x in gold)
    if by != "seen":
        assert sum(part.sentences for part in parts) == len(gold)
    for part in parts:
        if by == "document":
            mine = [i for i, name in enumerate(documents) if name == part.name]
            chosen = [gold[i] for i in mine], [predicted[i] for i in mine]
            assert part.scores["F1"] == pytest.approx(evaluate(*chosen, LABELS).f1)
    if by == "seen":
        [seen, unseen] = parts
        new = [
            any(words[i][t] != "w0" for t in range(span.start, span.end))
            for i, row in enumerate(gold)
            for span in naive_metrics.spans(row)
        ]
        assert (seen.support, unseen.support) == (new.count(False), new.count(True))


def test_sentences_are_divided_by_length():
    gold = [["N"] * n for n in (1, 10, 11, 20, 50, 51, 0)]
    parts = label_mistakes(gold, gold, gold).by("length")
    assert [(part.name, part.sentences) for part in parts] == [
        ("1–10", 3),
        ("11–20", 2),
        ("31–50", 1),
        ("over 50", 1),
    ]


def test_documents_come_with_the_most_mistakes_first_and_are_needed():
    X, y = [["a"], ["b"], ["c"]], [["N"], ["N"], ["N"]]
    found = label_mistakes(X, y, [["N"], ["V"], ["N"]], documents=["one", "two", "one"])
    assert [part.name for part in found.by("document")] == ["two", "one"]
    with pytest.raises(InputError, match="which documents"):
        label_mistakes(X, y, y).by("document")
    with pytest.raises(InputError, match="training data"):
        found.by("seen")
    with pytest.raises(InputError, match="not by 'colour'"):
        found.by("colour")


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([["# newdoc"], [], ["# newdoc id = x"]], ["document 1", "document 1", "x"]),
        ([[], ["-DOCSTART- O"]], ["before the first document", "document 1"]),
        ([["# newdocument id = x"], ["# text = newdoc"]], []),
        ([], []),
    ],
)
def test_documents_begin_where_a_line_says_so(lines, names):
    assert document_names(lines) == names


def test_tokens_whose_label_nobody_knows_are_left_out():
    gold = [["B-A", "?", "O", "B-A"]]
    found = label_mistakes([list("abcd")], gold, [["B-A", "I-A", "I-A", "B-A"]], unknown_label="?")
    assert [(each.kind, each.predicted_spans[0][1:]) for each in found] == [("invented", (2, 3))]
    assert found.scores["recall"] == 1.0


def test_examples_show_each_pattern_before_a_second_of_one():
    gold = [["N"], ["N"], ["N"], ["D"]]
    found = label_mistakes([["a"]] * 4, gold, [["V"], ["V"], ["V"], ["V"]])
    assert [each.sentence for each in found.examples("label", 3)] == [1, 4, 2]
    assert found.patterns("label") == {"N → V": 3, "D → V": 1}
    assert len(found.to_dict(2)["kinds"][0]["examples"]) == 2
    assert len(found.to_dict()["kinds"][0]["examples"]) == 4


counts = st.integers(2, 7).flatmap(
    lambda n: st.tuples(
        *[
            st.lists(
                st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)),
                min_size=n,
                max_size=n,
            )
        ]
        * 2
    )
)
F1 = Ratio("F1", (0, 0, 2), (1, 1, 0))


@given(counts)
@cases(60)
def test_few_exchanges_are_all_tried(pair):
    one, other = (np.array(side, dtype=float) for side in pair)
    expected = naive_mistakes.exchange_probability(*pair, F1)
    assert exchange_test(one, other, F1) == pytest.approx(expected)
    assert exchange_test(other, one, F1) == pytest.approx(expected)


def test_many_exchanges_are_drawn_and_come_close_to_all_of_them():
    rng = np.random.default_rng(2)
    one = rng.integers(3, 6, (13, 3)).astype(float)
    other = one + rng.choice([-2, -1, 1, 2], (13, 1)) * [0, 0, 1]
    exact = naive_mistakes.exchange_probability(one.tolist(), other.tolist(), F1)
    assert 0.05 < exact < 0.95
    assert exchange_test(one, other, F1) == pytest.approx(exact, abs=0.02)
    assert exchange_test(one, other, F1, seed=1) != exchange_test(one, other, F1)


def test_two_predictions_are_compared_sentence_by_sentence():
    X = [["Ada", "left"], ["Bo", "Li", "sings"], ["Turin"], ["it", "rains"]]
    y = [["B-PER", "O"], ["B-PER", "I-PER", "O"], ["B-LOC"], ["O", "O"]]
    one = label_mistakes(X, y, [["B-PER", "O"], ["B-PER", "O", "O"], ["B-ORG"], ["O", "O"]])
    other = label_mistakes(X, y, [["O", "O"], ["B-PER", "I-PER", "O"], ["B-PER"], ["O", "O"]])
    found = compare(one, other, ("old", "new"))
    assert [(each.sentence, each.gain) for each in found.sentences] == [(1, -1), (2, 1), (3, 0)]
    assert found.better == (1, 1, 1)
    [bo] = next(each for each in found.sentences if each.sentence == 2).differences
    assert (bo.start, bo.end, bo.gold, bo.one, bo.other) == (0, 2, "PER", "PER (Bo)", "PER")
    f1 = found.scores[-1]
    assert (f1.name, f1.one, f1.other) == ("F1", one.scores["F1"], other.scores["F1"])
    gain, error = compared(other.counts, one.counts, F1)
    assert (f1.difference, f1.error) == pytest.approx((gain, error))
    assert "old has fewer mistakes in 1, new in 1, and both have as many in 1" in str(found)
    assert [each["sentence"] for each in found.to_dict(1)["different"]] == [1]


def test_only_predictions_for_the_same_thing_are_compared():
    X = [["a", "b"]]
    one = label_mistakes(X, [["N", "V"]], [["N", "N"]])
    with pytest.raises(InputError, match="sentence 1 has other true labels"):
        compare(one, label_mistakes(X, [["N", "N"]], [["N", "N"]]))
    with pytest.raises(InputError, match="predicts labels, but new types"):
        compare(one, label_mistakes(X, [["B-A", "O"]], [["O", "O"]]), ("old", "new"))
    tree = Treebank.from_columns(X, heads=[[0, 1]], relations=[["r", "d"]])
    other = Treebank.from_columns(X, heads=[[2, 0]], relations=[["d", "r"]])
    with pytest.raises(InputError, match="different trees"):
        compare(tree_mistakes(tree, tree), tree_mistakes(other, tree))


def test_models_say_what_they_get_wrong():
    train, test = load_english("train")[:80], load_english("test")[:20]
    X, y = [s.forms for s in test], [s.entities for s in test]
    tagger = SequenceTagger(features="ner", passes=2)
    tagger.fit([s.forms for s in train], [s.entities for s in train])
    found = tagger.mistakes(X, y)
    assert found.scores["F1"] == pytest.approx(tagger.evaluate(X, y).f1)
    assert "gold" in str(found)
    parser = DependencyParser(hash_bits=12, passes=1).fit(train)
    trees = parser.mistakes(test)
    assert trees.scores["LAS"] == pytest.approx(parser.evaluate(test).las)
    assert set(trees.kinds) == {"head", "relation"}
    quick = ParsingPipeline(parser=DependencyParser(hash_bits=12, passes=1), folds=2).fit(train)
    assert quick.mistakes(test).scores["LAS"] == pytest.approx(quick.evaluate(test).score)
    assert compare(trees, quick.mistakes(test)).sentences


def test_pages_hold_what_is_said_and_no_markup_of_the_data():
    X, y = [["<b>", "x&y"]], [["B-<i>", "O"]]
    found = label_mistakes(X, y, [["O", "B-<i>"]], documents=["<u>"])
    page = found.html("a < b", seen={"x&y"})
    for text in ("&lt;b&gt;", "&lt;i&gt;", "&lt;u&gt;", "x&amp;y"):
        assert text in page
    for text in ("<b></", "<i>", "<u>", "x&y"):
        assert text not in page
    assert page.count("class='example'") == 2
    assert "By document" in page
    assert "By seen" in page
    assert "<b>" not in compare(found, label_mistakes(X, y, y)).html("a < b")
    assert "<b> " not in page


def test_text_shows_gold_beside_predicted():
    words = ["w"] * 60
    gold = ["O"] * 30 + ["B-A", "I-A"] + ["O"] * 28
    found = label_mistakes([words], [gold], [["O"] * 30 + ["B-B", "O"] + ["O"] * 28])
    lines = str(found).split("\n")
    assert lines[0] == "1 mistake in 1 of 1 sentence"
    assert any("[w w]A" in line and line.strip().startswith("gold") for line in lines)
    assert any("[w]B w" in line and line.strip().startswith("predicted") for line in lines)
    assert max(map(len, lines)) <= 100
    assert str(label_mistakes([words], [gold], [gold])) == "0 mistakes in 0 of 1 sentence"
