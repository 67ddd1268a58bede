"""Promises that small changes of the code broke unnoticed (`make mutants`)."""

from __future__ import annotations

import numpy as np
import pytest

from dualstruct import (
    CustomStructure,
    DependencyParser,
    InputError,
    SequenceTagger,
    StructuredSVM,
    Treebank,
    evaluate_trees,
)
from dualstruct.datasets import load_english
from dualstruct.suspecting.search import FLOOR, SHARPER, SURE

SOME = load_english("train")[:80]
X, Y = [s.forms for s in SOME], [s.entities for s in SOME]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_seed_of_an_estimator_reaches_its_solver(loss):
    def weights(seed: int) -> bytes:
        model = SequenceTagger("pos", loss=loss, passes=2, seed=seed).fit(X, Y)
        return model.result_.w.array.tobytes()

    assert weights(1) == weights(1) != weights(2)


def test_transitions_come_strongest_first():
    table = SequenceTagger("pos", passes=3).fit(X, Y).weights_
    found = [abs(weight) for _, _, weight in table.transitions()]
    assert len(found) > 5
    assert found == sorted(found, reverse=True)
    assert table.transitions(3) == table.transitions()[:3]


class Signs(CustomStructure):
    """+1 or −1, with features by name, or as an array."""

    def __init__(self, named: bool) -> None:
        self.named = named

    def features(self, x, y):
        if self.named:
            return {f"{'plus' if y > 0 else 'minus'} {k}": value for k, value in enumerate(x)}
        values = np.zeros(4)
        values[0 if y > 0 else 2 : 2 if y > 0 else 4] = x
        return values

    def cost(self, truth, y):
        return float(truth != y)

    def decode(self, w, x, truth=None, cost_weight=0.0):
        def value(y):
            cost = 0.0 if truth is None else self.cost(truth, y)
            return self.score(w, x, y) + cost_weight * cost

        return max((1, -1), key=value)


@pytest.mark.parametrize("named", [True, False])
def test_explanations_of_structures_name_what_each_output_has(named):
    inputs = [np.array([1.0, 2.0]), np.array([-1.0, -3.0]), np.array([2.0, 1.0])]
    svm = StructuredSVM(Signs(named), C=1.0, passes=20).fit(inputs, [1, -1, 1])
    found = svm.explain(inputs[0], -1)
    assert len(found.contributions) == 4
    chosen = {"plus 0", "plus 1"} if named else {"0", "1"}
    for each in found.contributions:
        mine = each.name in chosen
        assert (each.chosen_part, each.other_part) == (("1", "") if mine else ("", "-1"))
        assert (each.chosen == 0) != mine
        assert (each.other == 0) == mine
    total = sum(each.chosen - each.other for each in found.contributions)
    assert found.difference == pytest.approx(total)


def test_other_words_are_refused_where_the_first_one_is():
    words = [["a", "b"], ["c", "d", "e"], ["f"]]
    trees = {"heads": [[2, 0], [2, 0, 2], [0]], "relations": [["x"] * len(s) for s in words]}
    truth = Treebank.from_columns(words, **trees)
    for sentence, token in ((0, 0), (0, 1), (1, 0), (1, 2), (2, 0)):
        others = [list(each) for each in words]
        others[sentence][token] = "z"
        other = Treebank.from_columns(others, **trees)
        with pytest.raises(InputError) as caught:
            evaluate_trees(truth, other)
        assert str(caught.value).startswith(f"{truth.where(sentence, token)}: the word is")
        assert repr(words[sentence][token]) in str(caught.value)


def test_evidence_against_trees_is_the_sum_over_what_might_be_true():
    """Head, relation or both may be slips: each a sum over all arcs of a word, term by term."""
    trees = load_english("train").select(range(12))
    parser = DependencyParser(hash_bits=10, passes=1).fit(trees)
    case = parser.suspect_case(trees)
    examples = np.arange(len(trees))
    beta = 2.0
    found = case.reading(case.own_weights(), examples).evidence(beta)
    shares, rows, at_random = case.shares, [], []
    for i in examples.tolist():
        labels = case.tree.expectation(case.own_weights(), i, SHARPER * beta).labels
        arcs = np.moveaxis(labels[:, 1:].astype(float), 1, 0)  # [words, heads, relations]
        heads, relations = case.given(i)
        surprise = 0.0
        for t, (head, relation) in enumerate(zip(heads, relations, strict=True)):
            p = arcs[t]
            surprise -= np.log(max(p[head, relation], 1e-12)) + np.log(arcs[0].size)
            if p[head, relation] >= SURE:
                continue
            slips = np.zeros(3)
            for other in range(p.shape[0]):
                for name in range(p.shape[1]):
                    drawn = shares[relation] / (1 - shares[name])
                    if other != head and name == relation:
                        slips[0] += p[other, name] / max(len(heads) - 1, 1)
                    elif other == head and name != relation:
                        slips[1] += p[other, name] * drawn
                    elif other != head:
                        slips[2] += p[other, name] * shares[relation] / max(len(heads) - 1, 1)
            rows.append((i, max(p[head, relation], FLOOR), slips))
        at_random.append(surprise)
    evidence = found.evidence
    assert len(rows) > 50
    assert evidence.sentence.tolist() == [row[0] for row in rows]
    assert evidence.given == pytest.approx([row[1] for row in rows])
    np.testing.assert_allclose(evidence.slips, [row[2] for row in rows], atol=1e-6)
    assert evidence.chances.tolist() == [float(len(trees.heads))] * 3
    assert found.at_random == pytest.approx(at_random, rel=1e-5)
