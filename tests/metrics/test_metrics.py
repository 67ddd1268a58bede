"""Scores: equal to conlleval's, worked by hand and compared with the slow version."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_metrics as naive
from dualstruct.errors import InputError
from dualstruct.metrics import (
    UNSEEN,
    Scores,
    TypeScores,
    evaluate,
    evaluate_ids,
    score_name,
    span_counts,
)

SPAN_LABELS = ["O", *(f"{p}-{type_}" for p in "BIESLU" for type_ in "XY"), "B", "I"]
PLAIN_LABELS = ["NN", "VB", "O", "B-X", "I-X", "S"]


def pairs_of(labels: list[str]) -> st.SearchStrategy[list[list[tuple[str, str]]]]:
    """Sentences of (true label, predicted label), the prediction right more often than not."""
    label = st.sampled_from(labels)
    token = st.one_of(label.map(lambda name: (name, name)), st.tuples(label, label))
    return st.lists(st.lists(token, max_size=8), max_size=5)


def unzip(sentences: list[list[tuple[str, str]]]) -> tuple[list[list[str]], list[list[str]]]:
    truth = [[true for true, _ in sentence] for sentence in sentences]
    predicted = [[guess for _, guess in sentence] for sentence in sentences]
    return truth, predicted


def counts(scores: Scores | TypeScores) -> tuple[int, int, int]:
    return scores.support, scores.predicted, scores.correct


@given(pairs_of(SPAN_LABELS))
def test_span_scores_equal_conllevals_running_count(
    sentences: list[list[tuple[str, str]]],
) -> None:
    truth, predicted = unzip(sentences)
    support, guessed, correct = naive.chunk_counts(truth, predicted)
    scores = evaluate(truth, predicted, labels=SPAN_LABELS)
    assert counts(scores) == (support.total(), guessed.total(), correct.total())
    assert {type_: counts(each) for type_, each in scores.per_type.items()} == {
        type_: (support[type_], guessed[type_], correct[type_]) for type_ in support | guessed
    }
    P = correct.total() / guessed.total() if guessed else 0
    R = correct.total() / support.total() if support else 0
    F1 = 2 * P * R / (P + R) if P + R else 0
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((P, R, F1))


@given(pairs_of(PLAIN_LABELS))
def test_plain_labels_are_scored_token_by_token(sentences: list[list[tuple[str, str]]]) -> None:
    truth, predicted = unzip(sentences)
    support, guessed, correct = naive.token_counts(truth, predicted)
    scores = evaluate(truth, predicted, labels=PLAIN_LABELS)
    assert {label: counts(each) for label, each in scores.per_type.items()} == {
        label: (support[label], guessed[label], correct[label]) for label in support | guessed
    }
    accuracy = correct.total() / support.total() if support else 0
    assert scores.accuracy == pytest.approx(accuracy)
    assert scores.precision == scores.recall == scores.f1 == scores.accuracy == scores.score
    assert scores.score_name == "accuracy"


@given(pairs_of(SPAN_LABELS))
def test_tokens_and_sentences_are_counted(sentences: list[list[tuple[str, str]]]) -> None:
    scores = evaluate(*unzip(sentences), labels=SPAN_LABELS)
    right = [[true == guess for true, guess in sentence] for sentence in sentences]
    assert scores.tokens == sum(map(len, right))
    assert scores.correct_tokens == sum(map(sum, right))
    assert scores.sentences == len(right)
    assert scores.correct_sentences == sum(map(all, right))


def test_longer_span_is_wrong_once_on_each_side() -> None:
    # True X[0,2); predicted X[0,3). Neither start alone nor overlap counts.
    # Tokens: 2 of 3 right. P = 0/1, R = 0/1.
    scores = evaluate([["B-X", "I-X", "O"]], [["B-X", "I-X", "I-X"]])
    assert counts(scores) == (1, 1, 0)
    assert (scores.accuracy, scores.precision, scores.recall, scores.f1) == (2 / 3, 0, 0, 0)


def test_inside_without_begin_finds_the_same_span() -> None:
    # conlleval lets I-X after O start a span, so both sides hold X[1,3): P = R = F1 = 1,
    # although only 2 of 3 tokens have the same label.
    scores = evaluate([["O", "B-X", "I-X"]], [["O", "I-X", "I-X"]])
    assert counts(scores) == (1, 1, 1)
    assert (scores.accuracy, scores.f1) == (2 / 3, 1)


def test_change_of_type_inside_splits_the_prediction() -> None:
    # True X[0,3). Predicted B-X I-Y I-X = X[0,1) Y[1,2) X[2,3): three spans, none right.
    # X: support 1, predicted 2. Y: support 0, predicted 1. P = 0/3, R = 0/1.
    scores = evaluate([["B-X", "I-X", "I-X"]], [["B-X", "I-Y", "I-X"]])
    assert counts(scores) == (1, 3, 0)
    assert counts(scores.per_type["X"]) == (1, 2, 0)
    assert counts(scores.per_type["Y"]) == (0, 1, 0)
    assert scores.per_type["Y"].recall == 0


def test_span_does_not_cross_sentences() -> None:
    # True X[0,1) in each of two sentences. Predicted B-X | I-X: the I-X opens a span of its own,
    # so both are right. In one sentence the same labels are one span of two tokens: none is.
    apart = evaluate([["B-X"], ["B-X"]], [["B-X"], ["I-X"]])
    assert counts(apart) == (2, 2, 2)
    assert (apart.accuracy, apart.f1, apart.correct_sentences) == (1 / 2, 1, 1)
    together = evaluate([["B-X", "B-X"]], [["B-X", "I-X"]])
    assert counts(together) == (2, 1, 0)


def test_unclosed_and_unopened_bioes_spans_count_as_conlleval_reads_them() -> None:
    # True  B-X E-X O S-Y  = X[0,2) Y[3,4).
    # Guess B-X I-X O E-Y  = X[0,2) (ended by O) and Y[3,4) (E- after O starts): both right.
    scores = evaluate([["B-X", "E-X", "O", "S-Y"]], [["B-X", "I-X", "O", "E-Y"]])
    assert counts(scores) == (2, 2, 2)
    assert scores.accuracy == 1 / 2
    # Guess E-X E-X = X[0,1) X[1,2): two spans where there is one.
    assert counts(evaluate([["B-X", "E-X"]], [["E-X", "E-X"]])) == (1, 2, 0)


def test_precision_recall_and_f1_by_hand() -> None:
    # True:    X[0,2) Y[3,4) | X[0,1) X[1,2)         4 spans
    # Guess:   X[0,2) X[3,4) | X[0,1) X[1,2) Y[2,3)  5 spans
    # Right:   X[0,2)        | X[0,1) X[1,2)         3 spans
    # P = 3/5, R = 3/4, F1 = 6/9. X: support 3, predicted 4, right 3: P 3/4, R 1, F1 6/7.
    # Tokens: 7 in all, wrong at B-Y/B-X and O/B-Y: 5/7.
    truth = [["B-X", "I-X", "O", "B-Y"], ["B-X", "B-X", "O"]]
    predicted = [["B-X", "I-X", "O", "B-X"], ["B-X", "B-X", "B-Y"]]
    scores = evaluate(truth, predicted)
    assert (scores.precision, scores.recall) == (3 / 5, 3 / 4)
    assert scores.f1 == scores.score == pytest.approx(2 / 3)
    assert scores.accuracy == 5 / 7
    assert scores.per_type == {
        "X": TypeScores(3 / 4, 1.0, 6 / 7, support=3, predicted=4, correct=3),
        "Y": TypeScores(0.0, 0.0, 0.0, support=1, predicted=1, correct=0),
    }


def test_scores_without_any_span_are_zero() -> None:
    # Nothing true and nothing predicted: conlleval prints 0, not 100.
    scores = evaluate([["O", "O"]], [["O", "O"]], labels=["O", "B-X"])
    assert (scores.accuracy, scores.precision, scores.recall, scores.f1) == (1, 0, 0, 0)
    assert scores.per_type == {}
    assert scores.score_name == "f1"
    nothing = evaluate([], [])
    assert (nothing.accuracy, nothing.tokens, nothing.sentences) == (0, 0, 0)


def test_bilou_and_bioes_letters_mean_the_same() -> None:
    # X[0,2) X[2,3) on both sides; every letter but B differs, so 1 of 3 tokens is right.
    scores = evaluate([["B-X", "L-X", "U-X"]], [["B-X", "E-X", "S-X"]])
    assert counts(scores) == (2, 2, 2)
    assert scores.accuracy == 1 / 3


def test_unseen_true_label_is_a_span_that_nobody_finds() -> None:
    # True X[0,1) unseen[1,2) unseen[2,3) X[3,4); guess X[0,1) X[1,2) X[3,4): 2 right.
    labels = ["O", "B-X", "I-X"]
    truth, predicted = np.array([1, -1, -1, 2]), np.array([1, 1, 0, 1])
    found = span_counts(truth, predicted, np.array([0, 4]), labels)
    assert found.types == ["X", UNSEEN]
    assert [c.tolist() for c in found[1:]] == [[2, 2], [3, 0], [2, 0]]


def test_tokens_whose_label_nobody_knows_are_left_out() -> None:
    # Known: X[0,1) and X[3,4), both found, one of the two with the same label.
    truth, predicted = np.array([1, -1, -1, 2]), np.array([1, 1, 0, 1])
    scores = evaluate_ids(truth, predicted, np.array([0, 4]), ["O", "B-X", "I-X"])
    assert (scores.recall, scores.precision, scores.accuracy) == (1, 1, 1 / 2)


def test_ids_may_have_any_integer_type() -> None:
    labels = ["O", "B-X", "I-X"]
    dtypes: list[type[np.integer]] = [np.int8, np.int32, np.int64, np.uint16]
    for dtype in dtypes:
        ids = np.array([1, 2, 0, 2], dtype)
        found = span_counts(ids, ids, np.array([0, 1, 1, 4, 4], dtype), labels)
        # X[0,1) | (empty) | X[1,2) X[3,4) | (empty)
        assert found.correct.tolist() == [3, 0]


def test_table_reads_like_conllevals() -> None:
    truth = [["B-LOC", "I-LOC", "O"], ["B-PER", "B-PER"]]
    predicted = [["B-LOC", "I-LOC", "B-creative-work"], ["B-PER", "I-PER"]]
    # True LOC PER PER, found LOC creative-work PER(2 tokens), right LOC: P = R = F1 = 1/3.
    assert str(evaluate(truth, predicted)).split("\n") == [
        "processed 5 tokens with 3 phrases; found: 3 phrases; correct: 1.",
        "accuracy:  60.00%; precision:  33.33%; recall:  33.33%; FB1:  33.33",
        "              LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1",
        "              PER: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
        "    creative-work: precision:   0.00%; recall:   0.00%; FB1:   0.00  1",
    ]


def test_table_of_plain_labels_shows_accuracy_and_aligns_long_names() -> None:
    truth, predicted = [["StreetNamePostDirectional", "NN"]], [["NN", "NN"]]
    # NN: support 1, predicted 2, right 1: P 1/2, R 1, F1 2/3.
    assert evaluate(truth, predicted).table().split("\n") == [
        "processed 2 tokens; correct: 1.",
        "accuracy:  50.00%",
        "                       NN: precision:  50.00%; recall: 100.00%; FB1:  66.67  2",
        "StreetNamePostDirectional: precision:   0.00%; recall:   0.00%; FB1:   0.00  0",
    ]


def test_one_plain_label_makes_accuracy_the_judge() -> None:
    assert score_name(["O", "B-X", "I-X"]) == "f1"
    assert score_name(["O", "B-X", "NN"]) == "accuracy"
    assert score_name(["O"]) == "accuracy"


@pytest.mark.parametrize(
    ("truth", "predicted", "message"),
    [
        ([["O"], ["O"]], [["O"]], "true labels of 2 sentences, but predicted ones of 1"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "sentence 2 .* has 2 true labels but 1 predicted"),
        ([["O"], "OO"], [["O"], ["O", "O"]], "sentence 2 .* is text"),
    ],
)
def test_sentences_that_do_not_match_are_named(
    truth: list[list[str]], predicted: list[list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(truth, predicted)


@pytest.mark.parametrize(
    ("truth", "predicted", "offsets", "message"),
    [
        ([0, 1], [0], [0, 2], "2 true labels but 1 predicted"),
        ([0, 3], [0, 1], [0, 2], "truth_ids must lie between -1 and 2.* from 0 to 3"),
        ([0, -2], [0, 1], [0, 2], "truth_ids must lie between -1 and 2.* from -2 to 0"),
        ([0, 1], [0, 3], [0, 2], "predicted_ids must lie between 0 and 2.* from 0 to 3"),
        ([0, 1], [0, -1], [0, 2], "predicted_ids must lie between 0 and 2.* from -1 to 0"),
        ([0, 1], [0, 1], [0, 1], "must rise from 0 to the number of tokens, 2"),
        ([0, 1], [0, 1], [1, 2], "must rise from 0"),
        ([0, 1], [0, 1], [0, 2, 1, 2], "must rise from 0"),
        ([0, 1], [0, 1], [], "must rise from 0"),
    ],
)
def test_ids_and_offsets_out_of_range_are_refused(
    truth: list[int], predicted: list[int], offsets: list[int], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        span_counts(
            np.array(truth), np.array(predicted), np.array(offsets, int), ["O", "B-X", "I-X"]
        )
