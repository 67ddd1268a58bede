"""Weights of examples, tokens and labels: a weight of 2 is the example twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from commands import run_command
from dualstruct import (
    DependencyParser,
    InputError,
    Multiclass,
    Problem,
    SequenceTagger,
    Stopping,
    StructuredSVM,
    fit,
)
from dualstruct.datasets import load_english
from dualstruct.distributed import BQO, partition, run_local
from dualstruct.labels.given_costs import read_costs
from dualstruct.solvers import (
    CPD,
    DCD,
    LBFGS,
    SDM,
    SOLVERS,
    CuttingPlane,
    DCDLight,
    ExponentiatedGradient,
    FrankWolfe,
    RampSDM,
)
from dualstruct.structures import Subset
from naive import NaiveChain, random_chain, solve_hinge
from naive_online import solve_smooth
from random_cases import cases

EXACT = [
    (DCD(admission=1e-9), "squared_hinge"),
    (DCDLight(admission=1e-9), "squared_hinge"),
    (CPD(admission=1e-9), "squared_hinge"),
    (CuttingPlane(tolerance=1e-8), "squared_hinge"),
    (SDM(), "hinge"),
    (FrankWolfe(), "hinge"),
    (CuttingPlane(tolerance=1e-8), "hinge"),
    (CuttingPlane(slack="n", tolerance=1e-8), "hinge"),
    (LBFGS(), "crf"),
    (ExponentiatedGradient(), "crf"),
    (LBFGS(), "softmax_margin"),
    (ExponentiatedGradient(), "softmax_margin"),
]
PASSES = Stopping(passes=6)
names = [f"{solver.name}-{loss}-{k}" for k, (solver, loss) in enumerate(EXACT)]


def repeated(naive: NaiveChain, times: list[int]) -> NaiveChain:
    """Every example as often as its weight says."""
    chosen = [i for i, k in enumerate(times) for _ in range(k)]
    return replace(
        naive,
        X=[naive.X[i] for i in chosen],
        truth=[naive.truth[i] for i in chosen],
        token_weights=[naive.token_weights[i] for i in chosen],
        weights=None,
    )


def optimum(naive: NaiveChain, loss: str, C: float) -> float:
    if loss == "hinge":
        return solve_hinge(naive, C)[0]
    if loss == "squared_hinge":
        return naive.primal(naive.solve_squared_hinge(C), C)
    return solve_smooth(naive, C, 1.0, 0.0 if loss == "crf" else 1.0)


@pytest.mark.parametrize(("solver", "loss"), EXACT, ids=names)
@cases(8)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.05, 1.0]))
def test_a_weight_of_k_is_the_example_k_times_at_the_optimum(solver, loss, seed, C):
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, sentences=3, tokens=2, labels=2, features=3, weighted=True)
    times = [1, *rng.integers(0, 4, 2).tolist()]
    best = optimum(repeated(naive, times), loss, C)
    naive.weights = np.array(times, dtype=float)
    problem = Problem(naive.fast(), loss, C)
    result = fit(problem, solver, Stopping(gap=1e-4, passes=40_000))
    assert result.stopped_by in ("gap", "converged")
    assert result.primal == pytest.approx(best, rel=3e-4, abs=3e-4)
    assert result.dual <= best + 1e-5 * max(1, best)


@pytest.mark.parametrize("name", SOLVERS)
def test_only_the_product_of_c_and_weight_matters(name):
    naive = random_chain(np.random.default_rng(4), sentences=6, tokens=4, real=True)
    plain = fit(Problem(naive.fast(), SOLVERS[name].losses[0], 0.5), SOLVERS[name](), PASSES)
    naive.weights = np.full(6, 0.25)
    weighed = fit(Problem(naive.fast(), SOLVERS[name].losses[0], 2.0), SOLVERS[name](), PASSES)
    if name in ("perceptron", "sgd", "pegasos"):
        # Their steps are those of P/(C n) or of no C: only the objective can be compared.
        heavier = Problem(replace(naive, weights=None).fast(), SOLVERS[name].losses[0], 0.5)
        assert weighed.primal == pytest.approx(heavier.primal(weighed.w))
        return
    np.testing.assert_allclose(weighed.w.array, plain.w.array, atol=1e-4)
    assert weighed.primal == pytest.approx(plain.primal, rel=1e-5)


@pytest.mark.parametrize("name", SOLVERS)
def test_examples_of_weight_0_are_as_if_they_were_not_there(name):
    naive = random_chain(np.random.default_rng(9), sentences=4, tokens=4, real=True)
    naive.weights = np.array([1.0, 0.0, 1.0, 0.0])
    chain = naive.fast()
    result = fit(Problem(chain, SOLVERS[name].losses[0], 0.5), SOLVERS[name](), PASSES)
    present = Problem(Subset(chain, [0, 2]), SOLVERS[name].losses[0], 0.5)
    assert result.primal == pytest.approx(present.primal(result.w))
    wrong = replace(naive, truth=[tuple(2 - k for k in y) if i % 2 else y
                                  for i, y in enumerate(naive.truth)])  # fmt: skip
    other = fit(Problem(wrong.fast(), SOLVERS[name].losses[0], 0.5), SOLVERS[name](), PASSES)
    if name not in ("lbfgs", "sgd"):  # their scales and rates look at all features
        np.testing.assert_allclose(other.w.array, result.w.array, atol=1e-5)


def test_the_ramp_gives_up_weighted_examples_with_their_weight():
    rng = np.random.default_rng(5)
    naive = random_chain(rng, sentences=8, tokens=4, labels=3, features=4, weighted=True)
    times = [1, 2, 1, 3, 1, 1, 2, 1]
    twice = Problem(repeated(naive, times).fast(), "ramp", 1.0)
    naive.weights = np.array(times, dtype=float)
    once = Problem(naive.fast(), "ramp", 1.0)
    solver = RampSDM(passes_per_round=400)
    found = fit(once, solver, Stopping(passes=1600))
    other = fit(twice, solver, Stopping(passes=1600))
    assert found.primal == pytest.approx(other.primal, rel=2e-3)
    assert once.primal(found.w) == pytest.approx(twice.primal(found.w), rel=1e-5)


@pytest.mark.parametrize(("solver", "loss"), [(DCD(), "squared_hinge"), (SDM(), "hinge")])
def test_several_machines_reach_the_optimum_of_weighted_examples(solver, loss):
    naive = random_chain(np.random.default_rng(3), sentences=12, tokens=4, real=True)
    naive.weights = np.random.default_rng(0).choice([0, 0.5, 1, 4], 12).astype(float)
    chain = naive.fast()
    parts = partition(12, 3)

    def work(workers):
        problem = Problem(Subset(chain, parts[workers.rank]), loss, 0.5, communicator=workers)
        return fit(problem, BQO(solver), Stopping(gap=1e-3, passes=2000))

    alone = fit(Problem(chain, loss, 0.5), solver, Stopping(gap=1e-4, passes=4000))
    for result in run_local(3, work):
        assert result.stopped_by == "gap"
        assert result.primal == pytest.approx(alone.primal, rel=2e-3)


@pytest.mark.parametrize("bad", [[1.0], [1.0, -1.0], [1.0, float("nan")], [0.0, 0.0]])
def test_weights_that_make_no_sense_are_refused(bad):
    chain = random_chain(np.random.default_rng(0), sentences=2).fast()
    with pytest.raises(InputError, match="weight"):
        chain.set_example_weights(bad)


def test_a_checkpoint_of_other_weights_is_not_gone_on_from(tmp_path):
    chain = random_chain(np.random.default_rng(0), sentences=3).fast()
    problem = Problem(chain, "hinge", 1.0)
    fit(problem, SDM(), PASSES, checkpoint=tmp_path / "run")
    chain.set_example_weights([1.0, 2.0, 1.0])
    with pytest.raises(InputError, match="other data"):
        fit(problem, SDM(), PASSES, checkpoint=tmp_path / "run", resume=True)


X = [["Ada", "met", "Bo", "in", "Rome"], ["Rome", "is", "old"], ["Bo", "saw", "Ada"]] * 4
Y = [["PER", "O", "PER", "O", "LOC"], ["LOC", "O", "O"], ["PER", "O", "PER"]] * 4
#: The same words with another label.
CONTRADICTION = [["LOC", "O", "LOC"]]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "crf"])
def test_a_taggers_sentence_weights_decide_a_contradiction(loss):
    for weight, label in ((0.2, "PER"), (20.0, "LOC")):
        tagger = SequenceTagger("word[0]\n", loss=loss, C=1.0, gap=1e-3, passes=500)
        tagger.fit(X + X[2:3], Y + CONTRADICTION, sample_weight=[1.0] * len(X) + [weight])
        assert tagger.predict([["Ada"]]) == [[label]]


def test_a_taggers_token_weights_decide_a_contradiction():
    noisy_X, noisy_Y = [["y", "x"]] * 10, [["C", "A"]] * 4 + [["C", "B"]] * 6
    for weight, label in ((1.0, "B"), (2.0, "A")):
        tagger = SequenceTagger("word[0]\n", C=1.0, gap=1e-3, passes=500)
        tagger.fit(noisy_X, noisy_Y, token_weight=[[1.0, weight]] * 4 + [None] * 6)
        assert tagger.predict([["y", "x"]]) == [["C", label]]


def test_class_weights_and_costs_move_the_balance():
    noisy_X, noisy_Y = [["x"]] * 10, [["A"]] * 4 + [["B"]] * 6
    settings_of = {"features": "word[0]\n", "C": 1.0, "gap": 1e-3, "passes": 500}

    def says(**how):
        return SequenceTagger(**settings_of, **how).fit(noisy_X, noisy_Y).predict([["x"]])[0][0]

    assert says() == "B"
    assert says(class_weight={"A": 2.0}) == "A"
    assert says(cost={"A": 2.0}) == "A"
    assert says(cost={("A", "B"): 2.0}) == "A"
    assert says(cost={("B", "A"): 2.0}) == "B"
    assert says(cost=np.array([[0, 2], [1, 0]])) == "A"
    assert says(cost=[["A", "B", 2.0]]) == "A"
    assert says(cost={("A", "B"): 2.0}, class_weight={"B": 2.0}) == "B"


def test_balanced_classes_weigh_the_same_together():
    # 3 of A among 30: balanced, their mistakes weigh 5 and those of B 5/9 each.
    noisy_X, noisy_Y = [["x"]] * 8 + [["z"]] * 22, [["A"]] * 3 + [["B"]] * 27
    tagger = SequenceTagger("word[0]\n", C=1.0, gap=1e-3, passes=500)
    assert tagger.fit(noisy_X, noisy_Y).predict([["x"]]) == [["B"]]
    tagger.set_params(class_weight="balanced")
    assert tagger.fit(noisy_X, noisy_Y).predict([["x"]]) == [["A"]]


@pytest.mark.parametrize(
    "cost", [{("PER", "O"): 2.0}, {"PER": 2.0}, np.array([[0, 1, 1], [1, 0, 1], [1, 2, 0.0]])]
)
def test_costs_survive_in_a_model_file(cost, tmp_path):
    tagger = SequenceTagger("word[0]\n", cost=cost, class_weight="balanced").fit(X, Y)
    tagger.save(tmp_path / "m.dstruct")
    again = SequenceTagger.load(tmp_path / "m.dstruct")
    assert again.class_weight == "balanced"
    again.set_params(features="word[0]\n")
    assert again.fit(X, Y).result_.primal == tagger.result_.primal


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"cost": {("PER", "XYZ"): 1.0}}, "no label 'XYZ'"),
        ({"cost": {("PER", "PER"): 1.0}}, "is not a mistake and must cost 0"),
        ({"cost": {1: 1.0}}, "neither a label nor a pair"),
        ({"cost": np.ones((2, 2))}, r"for 3 labels it must be \(3, 3\)"),
        ({"class_weight": "even"}, "'balanced' or a dict"),
        ({"class_weight": {"PER": -1.0}}, "class weight of PER"),
        ({"class_weight": "balanced", "loss": "crf"}, "crf does not have"),
    ],
)
def test_costs_that_make_no_sense_are_refused(how, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger("word[0]\n", **how).fit(X, Y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[1.0]], "1 sentence, not 12"),
        ([None, [1.0]] + [None] * 10, "sentence 2: 3 tokens, but 1 token weight"),
        ([None, [1.0, -2.0, 1.0]] + [None] * 10, "sentence 2, token 2: the weight is -2"),
    ],
)
def test_token_weights_that_do_not_fit_name_the_sentence(weights, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger("word[0]\n").fit(X, Y, token_weight=weights)


def test_a_file_of_costs_is_read_and_a_bad_line_named(tmp_path):
    path = tmp_path / "costs.txt"
    path.write_text("# true predicted cost\nPER O 2\nLOC 0.5\n")
    assert read_costs(path) == {("PER", "O"): 2.0, "LOC": 0.5}
    path.write_text("PER O 2\nPER O two\n")
    with pytest.raises(InputError, match="line 2"):
        read_costs(path)


def test_the_command_takes_weights_costs_and_unknown_labels(tmp_path):
    (tmp_path / "train.txt").write_text("x A\n\n" * 4 + "x B\n\n" * 6 + "x ?\n")
    (tmp_path / "costs.txt").write_text("A B 2\n")
    model = str(tmp_path / "m.dstruct")

    def says(*options: str) -> str:
        common = ["--model", model, "-C", "1", "--unknown-label", "?", "--passes", "100"]
        done = run_command("train", tmp_path / "train.txt", *common, *options)
        assert done.returncode == 0, done.stderr
        return SequenceTagger.load(model).predict([["x"]])[0][0]

    assert says() == "B"
    assert says("--class-weight", "A=2") == "A"
    assert says("--cost", str(tmp_path / "costs.txt")) == "A"


def test_sample_weights_of_a_structured_svm_decide_a_contradiction():
    X, Y = np.ones((3, 1)), ["a", "a", "b"]
    for weight, label in ((1.0, "a"), (5.0, "b")):
        svm = StructuredSVM(Multiclass(), C=1.0).fit(X, Y, sample_weight=[1.0, 1.0, weight])
        assert svm.predict(X[:1]) == [label]


def test_a_parsers_sentences_can_weigh_nothing_or_more():
    trees = list(load_english())[:6]
    weights = [1.0, 1.0, 2.0, 0.0, 1.0, 0.0]
    parser = DependencyParser(gap=1e-3, passes=300, averaged=False, hash_bits=12)
    weighed = parser.fit(trees, sample_weight=weights).result_
    # The order in which relations get numbers does not matter to the optimum.
    times = [tree for tree, k in zip(trees, weights, strict=True) for _ in range(int(k))]
    once_more = parser.fit([*times, trees[3], trees[5]], sample_weight=[1.0] * 5 + [0.0] * 2)
    assert weighed.primal == pytest.approx(once_more.result_.primal, rel=3e-3)
    with pytest.raises(InputError, match="2 weights for 6 sentences"):
        parser.fit(trees, sample_weight=[1.0, 2.0])
