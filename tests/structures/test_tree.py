"""Trees: what they refuse, lift and report. Their arithmetic is in test_structures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualstruct import InputError, Problem, Stopping, _core, fit
from dualstruct.solvers import SOLVERS
from dualstruct.structures import Tree, TreeColumns
from dualstruct.structures.tree import projectivised, tree_problem
from naive_trees import all_trees, is_projective, is_tree
from random_cases import cases
from structure_cases import CASES

SMALL = {"line_bits": 8, "label_bits": 6}


def tree(sentences, heads=None, labels=None, **options) -> Tree:
    table = _core.TokenTable.from_sentences([[(word, "X") for word in s] for s in sentences])
    as_array = [None if x is None else np.array(x, dtype=np.int32) for x in (heads, labels)]
    return Tree(table, TreeColumns(form=0, coarse=1), 2, *as_array, **SMALL, **options)


@cases(200)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6))
def test_only_trees_have_no_problem(heads):
    heads = [min(h, len(heads)) for h in heads]
    assert (tree_problem(heads) is None) == is_tree(tuple(heads))


@pytest.mark.parametrize("words", [3, 4])
def test_lifting_gives_projective_trees_and_leaves_those_alone(words):
    sentences = np.array([0, words])
    for heads in all_trees(words, projective=False, single_root=False):
        result, lifted = projectivised(np.array(heads, dtype=np.int32), sentences)
        assert is_tree(tuple(result))
        assert is_projective(tuple(result))
        assert (lifted == 0) == is_projective(heads)
        assert (result != heads).sum() <= lifted


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ([2, 1, 0], "sentence 1: words 1 and 2 are in a cycle"),
        ([4, 0, 2], "sentence 1: word 1 has the head 4"),
        ([1, 0, 2], "sentence 1: word 1 is its own head"),
        ([0, 0, 2], "sentence 1: words 1 and 2 both hang from the root"),
    ],
)
def test_heads_that_are_no_tree_are_refused(heads, message):
    with pytest.raises(InputError, match=message):
        tree([["a", "b", "c"]], heads, [0, 0, 0])


def test_bad_labels_sizes_and_settings_are_refused():
    with pytest.raises(InputError, match="a label is not among the 2"):
        tree([["a"]], [0], [2])
    with pytest.raises(InputError, match="1 word, but 2 heads"):
        tree([["a"]], [0, 1], [0, 0])
    with pytest.raises(InputError, match="heads and labels"):
        tree([["a"]], [0])
    with pytest.raises(InputError, match="label_cost is -1"):
        tree([["a"]], [0], [0], label_cost=-1.0)
    table = _core.TokenTable.from_sentences([[("a", "X")]])
    with pytest.raises(InputError, match="300 relations: a tree takes 1 to 256"):
        Tree(table, TreeColumns(form=0, coarse=1), 300)
    with pytest.raises(InputError, match="line_bits is 2"):
        Tree(table, TreeColumns(form=0, coarse=1), 3, line_bits=2)
    with pytest.raises(InputError, match="sentence 1 has 1 head and 1 label"):
        tree([["a"]]).score(tree([["a"]]).new_weights(), 0, [0])


def test_sentences_that_are_too_long_are_refused_and_long_ones_are_parsed():
    with pytest.raises(InputError, match="sentence 2 has 5,000 words; trees take at most 4095"):
        tree([["a"], ["b"] * 5000])
    for projective in (True, False):
        long = tree([[f"w{k % 7}" for k in range(500)]], projective=projective)
        w = long.new_weights()
        rng = np.random.default_rng(0)
        w.assign(long.core, rng.normal(size=w.array.shape).astype(np.float32))
        heads, labels = long.split(long.decode_all(w))
        assert is_tree(tuple(heads))
        assert (heads == 0).sum() == 1
        assert set(labels) <= {0, 1}
        if projective:
            assert tree_problem(heads.tolist(), single_root=True) is None
            assert projectivised(heads, long.sentences)[1] == 0


def test_outputs_split_into_heads_and_labels():
    three = tree([["a", "b"], [], ["c"]])
    heads, labels = three.split(np.array([2, 0, 1, 0, 0, 1], dtype=np.int32))
    assert heads.tolist() == [2, 0, 0]
    assert labels.tolist() == [1, 0, 1]


def test_marginals_of_arcs_are_those_of_labelled_arcs_summed():
    case = CASES["tree"](np.random.default_rng(1))
    w = case.structure.new_weights()
    rng = np.random.default_rng(0)
    w.assign(case.structure.core, rng.normal(size=w.array.shape).astype(np.float32))
    for i in range(len(case.structure)):
        found = case.structure.expectation(w, i, beta=0.5, gamma=1.0)
        np.testing.assert_allclose(found.labels.sum(axis=2), found.arcs, atol=1e-6)
        np.testing.assert_allclose(found.arcs[:, 1:].sum(axis=0), 1, atol=1e-5)
        outputs = case.outputs(i)
        values = [
            0.5 * (case.structure.score(w, i, y) + case.structure.cost(i, y)) for y in outputs
        ]
        assert found.log_partition == pytest.approx(2 * np.logaddexp.reduce(values), abs=1e-3)


@pytest.mark.parametrize("name", SOLVERS)
def test_every_solver_learns_trees(name):
    words = [["the", "cat", "sleeps"], ["the", "dog", "sees", "the", "cat"], ["it", "sleeps"]]
    heads = [2, 3, 0, 2, 3, 0, 5, 3, 2, 0]
    labels = [0, 1, 1, 0, 1, 1, 0, 1, 1, 1]
    structure = tree(words, heads, labels, label_cost=1.0)
    solver = SOLVERS[name]()
    result = fit(Problem(structure, solver.losses[0], 1.0), solver, Stopping(passes=100))
    found_heads, found_labels = structure.split(structure.decode_all(result.w))
    assert found_heads.tolist() == heads
    assert found_labels.tolist() == labels
