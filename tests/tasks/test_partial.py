"""Sentences some of whose labels are unknown: the best completion stands for the truth."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from dualstruct import InputError, Problem, SequenceTagger, Stopping, fit
from dualstruct.datasets import load_english
from dualstruct.metrics import evaluate_ids
from dualstruct.solvers import (
    DCD,
    LBFGS,
    MIRA,
    SDM,
    Completing,
    CuttingPlane,
    ExponentiatedGradient,
    RampSDM,
)
from dualstruct.structures import Chain
from dualstruct.tasks.tagging.partial import UnknownLabelWarning
from naive import NaiveChain, random_chain, solve_hinge
from random_cases import cases

seeds = st.integers(0, 2**32 - 1)


class Partial:
    """A naive chain, and which of its tokens nobody knows."""

    def __init__(self, seed: int, **shape) -> None:
        rng = np.random.default_rng(seed)
        shape = {"sentences": 3, "tokens": 3, "labels": 3, "features": 4, "real": True} | shape
        self.naive = random_chain(rng, **shape)
        self.unknown = [rng.random(len(y)) < 0.5 for y in self.naive.truth]
        if not any(row.any() for row in self.unknown):
            self.naive.truth[0], self.naive.X[0] = (0,), np.ones((1, 4))
            self.unknown[0] = np.array([True])
            if self.naive.transitions is not None:
                self.naive.transitions[3, 0] = self.naive.transitions[0, 3] = True
        # What is unknown costs nothing.
        self.naive.token_weights = [1.0 - row for row in self.unknown]
        self.naive.allowed = None

    def fast(self) -> Chain:
        whole = replace(self.naive, token_weights=None).fast()
        return Chain(
            whole.rows,
            whole.labels,
            whole.truth,
            cost=whole.cost_matrix,
            unknown=np.concatenate(self.unknown),
            transitions=self.naive.transitions,
        )

    def completions(self, i: int) -> list[tuple[int, ...]]:
        known = [
            None if free else k
            for k, free in zip(self.naive.truth[i], self.unknown[i], strict=True)
        ]
        return [
            y
            for y in self.naive.outputs(i)
            if all(k is None or k == label for k, label in zip(known, y, strict=True))
        ]

    def objective(self, w: np.ndarray, loss: str, C: float) -> float:
        """½‖w‖² + C Σ_i min_h ℓ_i(w; h), every labelling written out."""
        naive, total = self.naive, 0.5 * w @ w
        for i in range(len(naive.X)):
            outputs = naive.outputs(i)
            scores = np.array([w @ naive.phi(i, y) for y in outputs])
            truth = max(w @ naive.phi(i, h) for h in self.completions(i))
            worst = (scores + [naive.loss(i, y) for y in outputs]).max() - truth
            if loss == "crf":
                worst = logsumexp(scores) - truth
            total += C * (worst**2 if loss == "squared_hinge" else worst)
        return float(total)


def flat(chain: Chain, w) -> np.ndarray:
    parts = chain.emission_weights(w), chain.transition_weights(w)
    return np.concatenate([part.ravel() for part in parts]).astype(float)


@cases(60)
@given(seeds, st.booleans())
def test_the_best_completion_is_that_of_enumeration(seed, constrained):
    partial = Partial(seed, constrained=constrained)
    chain = partial.fast()
    w = np.random.default_rng(seed).normal(size=partial.naive.dimension)
    completed = chain.best_completion(chain.pack(*partial.naive.split(w)))
    for i in range(len(chain)):
        found = tuple(completed[chain.sentences[i] : chain.sentences[i + 1]].tolist())
        choices = partial.completions(i)
        best = max(w @ partial.naive.phi(i, h) for h in choices)
        assert found in choices
        assert w @ partial.naive.phi(i, found) == pytest.approx(best, abs=1e-5)


EXACT = [
    (SDM(), "hinge"),
    (DCD(admission=1e-9), "squared_hinge"),
    (LBFGS(), "crf"),
    (ExponentiatedGradient(), "crf"),
    (CuttingPlane(slack="n", tolerance=1e-8), "hinge"),
]


@pytest.mark.parametrize(("solver", "loss"), EXACT, ids=lambda row: getattr(row, "name", row))
@cases(6)
@given(seeds)
def test_no_round_raises_the_objective(solver, loss, seed):
    partial = Partial(seed)
    chain = partial.fast()
    problem = Problem(chain, loss, 0.5)
    per_round = 150
    completing = Completing(solver, per_round)
    iterate = completing.start(problem, 1)
    last = np.inf
    for _ in range(4):
        for _ in range(per_round):
            completing.run_pass(iterate)
        iterate.rebuild()
        value = partial.objective(flat(chain, iterate.w), loss, 0.5)
        assert value <= problem.primal(iterate.w) + 1e-4  # the best completion costs least
        assert value <= last + 2e-3 * max(1, value)
        last = value


@cases(12)
@given(seeds)
def test_the_end_is_the_optimum_of_its_own_completion(seed):
    partial = Partial(seed)
    chain = partial.fast()
    result = fit(Problem(chain, "hinge", 0.5), Completing(SDM(), 200), Stopping(passes=1800))
    again = chain.best_completion(result.w)
    completed = [
        tuple(again[a:b].tolist())
        for a, b in zip(chain.sentences[:-1], chain.sentences[1:], strict=True)
    ]
    naive: NaiveChain = replace(partial.naive, truth=completed)
    best = solve_hinge(naive, 0.5)[0]
    value = partial.objective(flat(chain, result.w), "hinge", 0.5)
    assert value == pytest.approx(best, rel=5e-3, abs=5e-3)
    assert result.gap is None
    assert result.dual is None


@cases(25)
@given(seeds, st.sampled_from([DCD(), SDM()]))
def test_cuts_stay_the_same_outputs_when_the_truth_changes(seed, solver):
    partial = Partial(seed)
    chain = partial.fast()
    iterate = solver.start(Problem(chain, solver.losses[0], 0.5), 1)

    def held() -> tuple[dict, np.ndarray]:
        outputs, w = {}, np.zeros(partial.naive.dimension)
        for i in range(len(chain)):
            truth = chain.truth[chain.sentences[i] : chain.sentences[i + 1]]
            now = replace(partial.naive, truth=[*partial.naive.truth])
            now.truth[i] = tuple(truth.tolist())
            for alpha, _, norm2, words in iterate.duals.cuts_of(i):
                y = truth.copy()
                for word in words:
                    y[word >> 12] = word & 4095
                outputs[i, tuple(y.tolist())] = alpha
                delta = now.delta(i, tuple(y.tolist()))
                assert norm2 == pytest.approx(delta @ delta, rel=1e-5)
                w += alpha * delta
        return outputs, w

    for _ in range(3):
        solver.run_pass(iterate)
    before, _ = held()
    random = np.random.default_rng(seed).normal(size=partial.naive.dimension)
    truth = chain.best_completion(chain.pack(*partial.naive.split(random)))
    iterate.change_truth(np.arange(len(chain)), lambda: chain.set_truth(truth))
    after, w = held()
    assert after.items() <= before.items()
    for i, y in before.keys() - after.keys():  # it is the truth now
        assert y == tuple(truth[chain.sentences[i] : chain.sentences[i + 1]].tolist())
    np.testing.assert_allclose(flat(chain, iterate.w), w, atol=1e-4)


def test_a_ramp_completes_by_its_own_rounds():
    partial = Partial(3, sentences=6, tokens=4)
    chain = partial.fast()
    result = fit(Problem(chain, "ramp", 0.5), RampSDM(), Stopping(passes=100))
    assert np.isfinite(result.primal)


def test_completions_are_inference_and_are_counted_as_such():
    chain = Partial(3, sentences=6, tokens=4).fast()
    assert len(chain.incomplete)
    solver = Completing(DCD(), passes_per_round=2)
    result = fit(Problem(chain, "squared_hinge", 0.5), solver, Stopping(passes=5))  # 2 completions
    assert result.inference_calls == 5 * len(chain) + 2 * len(chain.incomplete)


def test_planes_of_all_examples_cannot_follow_a_changing_truth():
    chain = Partial(1, sentences=6).fast()
    with pytest.raises(InputError, match="slack='n'"):
        fit(Problem(chain, "hinge", 1.0), Completing(CuttingPlane(), 1), Stopping(passes=5))


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("solver", ["dcd", "sdm", "lbfgs", "eg", "mira"])
def test_training_resumes_bit_for_bit(solver, averaged, tmp_path):
    if solver == "lbfgs" and averaged:
        return
    X, Y = hidden(40)
    loss = {"dcd": "squared_hinge", "sdm": "hinge", "mira": "hinge"}.get(solver, "crf")

    def run(passes: int, **how) -> bytes:
        settings_of = {"loss": loss, "solver": solver, "averaged": averaged, "passes": passes}
        tagger = SequenceTagger("pos", unknown_label="?", **settings_of, **how)
        return tagger.fit(X, Y).model_.w.array.tobytes()

    whole = run(7)
    run(3, checkpoint=tmp_path / "run")
    assert run(7, checkpoint=tmp_path / "run", resume=True) == whole


def hidden(sentences: int, share: float = 0.7) -> tuple[list, list]:
    trees = load_english()
    rng = np.random.default_rng(0)
    X = [list(trees[i].forms) for i in range(sentences)]
    Y = [["?" if rng.random() < share else tag for tag in trees[i].upos] for i in range(sentences)]
    return X, Y


def test_completing_beats_leaving_out_what_is_not_complete():
    X, Y = hidden(300, 0.2)
    trees = load_english()
    test = [list(trees[i].forms) for i in range(300, 500)]
    truth = [list(trees[i].upos) for i in range(300, 500)]
    complete = [i for i, y in enumerate(Y) if "?" not in y]
    kept = SequenceTagger("pos", unseen_labels="count").fit(
        [X[i] for i in complete], [Y[i] for i in complete]
    )
    tagger = SequenceTagger("pos", unknown_label="?").fit(X, Y)
    assert tagger.score(test, truth) > kept.score(test, truth) + 0.02
    assert "?" not in tagger.classes_


def test_without_unknown_labels_nothing_changes():
    trees = load_english()
    X, Y = [list(trees[i].forms) for i in range(30)], [list(trees[i].upos) for i in range(30)]
    plain = SequenceTagger("pos").fit(X, Y)
    same = SequenceTagger("pos", unknown_label="?").fit(X, Y)
    assert same.model_.w.array.tobytes() == plain.model_.w.array.tobytes()
    assert same.result_.gap == plain.result_.gap


def test_a_question_mark_is_an_ordinary_label_unless_told_otherwise():
    X, Y = [["what", "now"]] * 3, [["A", "?"]] * 3
    with pytest.warns(UnknownLabelWarning, match="unknown_label="):
        tagger = SequenceTagger("word[0]\n").fit(X, Y)
    assert tagger.predict(X[:1]) == [["A", "?"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tagger = SequenceTagger("word[0]\n", unknown_label=False).fit(X, Y)
    assert tagger.predict(X[:1]) == [["A", "?"]]


def test_scores_leave_unknown_labels_out():
    X = [["a", "b", "c"], ["a", "c"]]
    tagger = SequenceTagger("word[0]\n", C=1.0, unknown_label="?").fit(
        X, [["B-X", "I-X", "O"], ["B-X", "?"]]
    )
    scores = tagger.evaluate(X, [["B-X", "?", "O"], ["O", "?"]])
    assert (scores.tokens, scores.correct_tokens) == (3, 2)
    assert (scores.sentences, scores.correct_sentences) == (2, 1)
    assert (scores.support, scores.correct) == (1, 1)
    assert tagger.evaluate(X, [["?", "?", "?"], ["?", "?"]]).tokens == 0


@cases(50)
@given(seeds)
def test_scores_are_those_of_the_sentences_cut_where_labels_are_unknown(seed):
    rng = np.random.default_rng(seed)
    names = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    truth, predicted = rng.integers(-1, 5, 12), rng.integers(0, 5, 12)
    pieces: list[list[tuple[int, int]]] = []
    for first, last in ((0, 5), (5, 12)):
        piece: list[tuple[int, int]] = []
        for t in range(first, last):
            if truth[t] < 0:
                pieces.append(piece)
                piece = []
            else:
                piece.append((truth[t], predicted[t]))
        pieces.append(piece)
    known = [pair for piece in pieces for pair in piece]
    ends = np.cumsum([0, *map(len, pieces)])
    a, b = (np.array(side, dtype=int) for side in ([p[0] for p in known], [p[1] for p in known]))
    expected = evaluate_ids(a, b, ends, names)
    found = evaluate_ids(truth, predicted, np.array([0, 5, 12]), names)
    for name in ("precision", "recall", "f1", "accuracy", "tokens", "support", "predicted"):
        assert getattr(found, name) == getattr(expected, name)


def test_spans_stay_valid_where_labels_were_unknown():
    X = [["Ada", "Lovelace", "sings"], ["in", "New", "York"]] * 3
    Y = [["B-PER", "?", "O"], ["?", "B-LOC", "?"], ["B-PER", "I-PER", "O"], ["O", "?", "I-LOC"]]
    tagger = SequenceTagger("word[0]\n", C=1.0, unknown_label="?").fit(X, [*Y, *Y[2:]])
    assert tagger.predict(X[:2]) == [["B-PER", "I-PER", "O"], ["O", "B-LOC", "I-LOC"]]


@pytest.mark.parametrize(
    ("how", "labels", "message"),
    [
        ({}, [["?", "?"]], "all labels are unknown"),
        ({"scheme": "bilou"}, [["B-X", "?"]], "scheme cannot be combined"),
        ({"constraints": "iob2"}, [["B-X", "?"], ["I-X", "O"]], "sentence 2, token 1"),
        (
            {"constraints": "iob2"},
            [["B-X", "O"], ["?", "I-X"], ["I-X", "?"]],
            "sentence 3, token 1",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused(how, labels, message):
    with pytest.raises(InputError, match=message):
        SequenceTagger("word[0]\n", unknown_label="?", **how).fit(
            [["a", "b"]] * len(labels), labels
        )


def test_observations_of_pairs_of_labels_learn_from_what_is_known():
    X = [["a", "b", "c"], ["b", "c", "a"], ["a", "b", "a"]] * 3
    Y = [["P", "?", "R"], ["Q", "R", "?"], ["?", "Q", "P"]] * 3
    tagger = SequenceTagger("U:%x[0,0]\nB:%x[0,0]\n", C=1.0, unknown_label="?").fit(X, Y)
    assert tagger.predict(X[:3]) == [["P", "Q", "R"], ["Q", "R", "P"], ["P", "Q", "P"]]


def test_mira_learns_from_what_is_known():
    X, Y = hidden(60)
    chosen = {"loss": "hinge", "solver": MIRA(), "unknown_label": "?"}
    assert SequenceTagger("pos", **chosen).fit(X, Y).score(X, Y) > 0.95
