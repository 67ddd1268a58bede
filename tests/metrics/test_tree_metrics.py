"""UAS, LAS and related scores equal slow counting, and mismatched files are explained."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_tree_metrics as naive
from dualstruct import InputError
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.metrics import evaluate_trees

RELATIONS = ["nsubj", "nmod", "nmod:poss", "det", "case", "aux:pass", "punct", "root", "strange"]
FORMS = ["cat", "...", "$", "«", "o'clock", "12", "-"]
FEATS = ["_", "Number=Sing", "Number=Plur", "Number=Sing|Odd=Yes", "Case=Nom|Number=Sing"]


@st.composite
def random_trees(draw, n):
    """Heads of a tree over n words: each word hangs from one that was placed before it."""
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    return heads


@st.composite
def treebanks(draw):
    lengths = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))

    def column(choices):
        return [[draw(st.sampled_from(choices)) for _ in range(n)] for n in lengths]

    forms = column(FORMS)

    def one():
        return Treebank.from_columns(
            forms,
            heads=[draw(random_trees(n)) for n in lengths],
            relations=column(RELATIONS),
            upos=column(["NOUN", "DET"]),
            feats=column(FEATS),
            lemmas=column(["_", "a", "b"]),
        )

    return one(), one()


@given(treebanks())
def test_all_scores_equal_slow_counting(pair):
    truth, predicted = pair
    scores = evaluate_trees(truth, predicted)
    assert scores.uas == pytest.approx(naive.unlabelled(truth, predicted))
    assert scores.las == pytest.approx(naive.labelled(truth, predicted))
    bare = naive.not_punctuation
    assert scores.without_punctuation.uas == pytest.approx(naive.unlabelled(*pair, bare))
    assert scores.without_punctuation.las == pytest.approx(naive.labelled(*pair, bare))
    assert scores.conll18_las == pytest.approx(naive.labelled(*pair, change=naive.universal))
    assert scores.exact == pytest.approx(naive.exact(*pair, with_relations=False))
    assert scores.exact_labelled == pytest.approx(naive.exact(*pair, with_relations=True))
    for name in ("clas", "mlas", "blex"):
        assert getattr(scores, name) == pytest.approx(naive.content_f1(*pair, name))


@given(treebanks())
def test_scores_by_relation_and_distance_equal_slow_counting(pair):
    scores = evaluate_trees(*pair)

    def same_head(a, b, t):
        return a.heads[t] == b.heads[t]

    def same_arc(a, b, t):
        return same_head(a, b, t) and a.relations[t] == b.relations[t]

    expected = naive.by_type(*pair, lambda s, t: s.relations[t], same_arc)
    found = scores.per_relation
    assert {k: (v.support, v.predicted, v.correct) for k, v in found.items()} == expected
    expected = naive.by_type(*pair, naive.distance, same_head)
    found = scores.per_distance
    assert {k: (v.support, v.predicted, v.correct) for k, v in found.items()} == expected


def test_the_truth_scores_one_against_itself():
    english = load_english("test")
    scores = evaluate_trees(english, english)
    assert scores.uas == scores.las == scores.clas == scores.mlas == scores.blex == 1
    assert scores.exact_labelled == scores.without_punctuation.las == 1
    assert scores.without_punctuation.words < scores.words == len(english.heads)
    assert "100.00" in scores.table()


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([["a", "b"]], "truth has 2 sentences, but guess has 1"),
        ([["a", "b"], ["c", "d"]], "truth, line 4: the sentence has 1 word, but 2 in guess, line"),
        ([["a", "x"], ["c"]], "truth, line 2: the word is 'b', but 'x' in guess, line 2"),
    ],
)
def test_files_over_other_words_are_refused_with_their_place(predicted, message):
    def tree(words):
        return [[0] + [1] * (len(sentence) - 1) for sentence in words]

    words = [["a", "b"], ["c"]]
    truth = Treebank.from_columns(words, heads=tree(words), name="truth")
    guess = Treebank.from_columns(predicted, heads=tree(predicted), name="guess")
    with pytest.raises(InputError, match=message):
        evaluate_trees(truth, guess)


def test_predictions_that_are_no_trees_are_refused():
    truth = Treebank.from_columns([["a", "b"]], heads=[[0, 1]], name="truth")
    with pytest.raises(InputError, match=r"line 1: the heads go round in a cycle: 1 → 2 → 1"):
        evaluate_trees(truth, truth.replace(heads=[[2, 1]]))
    with pytest.raises(InputError, match="word 2 has no head"):
        evaluate_trees(truth, truth.replace(heads=[[0, -1]]))
