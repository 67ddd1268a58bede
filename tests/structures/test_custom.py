"""Structures that users write, and StructuredSVM, which learns them."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

from custom_cases import Colours, Compiled, Hasty, make_orders
from dualstruct import (
    CompiledDecoder,
    CustomStructure,
    InputError,
    NotFittedError,
    Problem,
    Stopping,
    StructuredSVM,
    fit,
)
from dualstruct.datasets import make_chains
from dualstruct.estimators.params import Parameters
from dualstruct.losses import LOSSES, SoftmaxMargin
from dualstruct.solvers import DCD, MIRA, SDM, SOLVERS
from naive_custom import Orders

WORDS = ["red round", "yellow long", "green round", "red small", "yellow bent long", "green crisp"]
CLASSES = ["a", "b", "c", "a", "b", "c"]


@pytest.mark.parametrize("form", ["numbers", "names", "csr_matrix", "csr_array", "coo_array"])
def test_every_form_of_features_learns_the_same_weights(form):
    X, Y = make_orders(noise=0.2)
    expected = StructuredSVM(Orders(), C=0.5, passes=5).fit(X, Y).w_
    svm = StructuredSVM(Orders(5 if form == "numbers" else None, form=form), C=0.5, passes=5)
    svm.fit(X, Y)
    np.testing.assert_array_equal(svm.w_[:5], expected)
    assert not svm.w_[5:].any()


# eg needs outputs in parts; the perceptron's loss has its optimum at 0, where dca starts.
PAIRS = [
    (name, loss)
    for name, solver in SOLVERS.items()
    for loss in solver.losses
    if name != "eg" and (name, loss) != ("dca", "perceptron")
]


@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_every_solver_learns_a_custom_structure(solver, loss):
    X, Y = make_orders(n=120)
    svm = StructuredSVM(Orders(expectation=True), loss, solver, C=5.0, passes=20).fit(
        X[:60], Y[:60]
    )
    assert svm.score(X[60:], Y[60:]) > 0.85  # an order at random: 0
    assert np.isfinite(svm.result_.primal)


@pytest.mark.parametrize("loss", LOSSES)
def test_auto_finds_a_solver_for_every_loss(loss):
    X, Y = make_orders(noise=0.1)
    svm = StructuredSVM(Orders(expectation=True), loss, passes=5).fit(X, Y)
    assert svm.score(X, Y) > 0.7


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_exact_solvers_agree_on_the_optimum(loss):
    X, Y = make_orders(noise=0.3)
    primals = []
    for name in ("dcd", "cpd", "sdm", "frank-wolfe", "cutting-plane"):
        if loss in SOLVERS[name].losses:
            svm = StructuredSVM(Orders(), loss, name, C=0.3, gap=1e-4, passes=3000).fit(X, Y)
            assert svm.result_.stopped_by == "gap"
            assert svm.certificate_.gap <= 1e-4
            primals.append(svm.certificate_.primal)
    assert np.ptp(primals) <= 2e-4 * min(primals)


def test_losses_without_expectations_are_refused_with_a_way_out():
    X, Y = make_orders(n=5)
    with pytest.raises(InputError, match="Orders has no method expectation: write one, or take"):
        StructuredSVM(Orders(), "crf").fit(X, Y)
    with pytest.raises(InputError, match="eg does not take a Orders"):
        StructuredSVM(Orders(expectation=True), "crf", "eg").fit(X, Y)
    with pytest.raises(InputError, match="Orders: it has no method k_best"):
        StructuredSVM(Orders(), "hinge", MIRA(k=3)).fit(X, Y)


def test_k_best_mira_and_predictions_use_the_users_k_best():
    X, Y = make_orders()
    svm = StructuredSVM(Orders(k_best=True), "hinge", MIRA(k=3), passes=10).fit(X, Y)
    assert svm.score(X, Y) > 0.9
    best = svm.predict_k_best(X[:2], k=4)
    for (score, y), found in zip((found[0] for found in best), best, strict=True):
        assert len(found) == 4
        assert [s for s, _ in found] == sorted((s for s, _ in found), reverse=True)
        assert isinstance(y, tuple)
        assert score == pytest.approx(svm.structure_.score(svm.w_, X[best.index(found)], y))
    with pytest.raises(InputError, match="no method k_best"):
        StructuredSVM(Orders(), passes=1).fit(X, Y).predict_k_best(X)


def test_known_outputs_cost_no_calls_of_features_and_cost():
    X, Y = make_orders(n=10)
    structure = Orders()
    StructuredSVM(structure, C=1.0, passes=30, solver="frank-wolfe").fit(X, Y)
    outputs = 10 * 6  # all there are
    assert structure.calls["decode"] >= 300
    assert structure.calls["features"] <= outputs + 10 + 1
    assert structure.calls["cost"] <= outputs + 10 + 1


@pytest.mark.parametrize("kind", [list, np.array, tuple])
def test_outputs_may_be_lists_and_arrays(kind):
    class Kind(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            return kind(super().decode(w, x, truth, cost_weight))

    X, Y = make_orders(n=10)
    structure = Kind()
    svm = StructuredSVM(structure, C=1.0, passes=30).fit(X, [kind(y) for y in Y])
    assert isinstance(svm.predict(X[:1])[0], kind if kind is not np.array else np.ndarray)
    assert structure.calls["features"] <= 71


def test_outputs_that_cannot_be_compared_are_learned_all_the_same():
    class Box:
        def __init__(self, y):
            self.y = y

    class Boxed(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            return Box(super().decode(w, x, truth and truth.y, cost_weight))

        def features(self, x, y):
            return super().features(x, y.y)

        def cost(self, truth, y):
            return super().cost(truth.y, y.y)

    X, Y = make_orders(noise=0.2)
    boxed = StructuredSVM(Boxed(), passes=5).fit(X, [Box(y) for y in Y])
    np.testing.assert_array_equal(boxed.w_, StructuredSVM(Orders(), passes=5).fit(X, Y).w_)


# Feature names.


def test_names_are_numbered_as_they_are_met_and_unknown_ones_count_for_nothing():
    svm = StructuredSVM(Colours(), C=10.0).fit(WORDS, CLASSES)
    assert svm.predict(WORDS) == CLASSES
    assert svm.predict(["unheard red thing"]) == ["a"]
    weights = svm.weights_
    assert weights["red/a"] > 0 > weights["yellow/a"]
    assert list(map(abs, weights.values())) == sorted(map(abs, weights.values()), reverse=True)
    assert "unheard/a" not in weights
    assert svm.structure_.weight(svm.w_, "red/a") == pytest.approx(weights["red/a"])


def test_hashed_names_learn_the_same_unless_they_collide():
    class Hashed(Colours):
        hash_bits = 16

    exact = StructuredSVM(Colours(), C=1.0, passes=8).fit(WORDS, CLASSES)
    hashed = StructuredSVM(Hashed(), C=1.0, passes=8).fit(WORDS, CLASSES)
    assert len(hashed.w_) == 2**16
    for name, weight in exact.weights_.items():
        assert hashed.structure_.weight(hashed.w_, name) == pytest.approx(weight, abs=1e-6)


def test_too_many_names_and_numbers_without_dimension_are_refused():
    class Few(Colours):
        max_features = 3

    with pytest.raises(InputError, match="example 2: features brings more than 3 feature names"):
        StructuredSVM(Few()).fit(WORDS, CLASSES)
    X, Y = make_orders(n=3)
    with pytest.raises(InputError, match="set dimension"):
        StructuredSVM(Orders(form="numbers")).fit(X, Y)

    class Mixed(Colours):
        def features(self, x, y):
            return {"bias": 1.0} if x == WORDS[0] else {3: 1.0}

    with pytest.raises(InputError, match=r"example 2: features has the feature 3, .* names"):
        StructuredSVM(Mixed()).fit(WORDS, CLASSES)


# Bad answers.


class Broken(Orders):
    """Goes wrong at example 7 in one of many ways."""

    def __init__(self, wrong, at=None, **settings):
        super().__init__(**settings)
        self.wrong = wrong
        self.at = at

    def is_it(self, x):
        return self.at is not None and x is self.at

    def decode(self, w, x, truth=None, cost_weight=0.0):
        if self.is_it(x):
            if self.wrong == "raises":
                raise KeyError("nothing there")
            if self.wrong == "changes w":
                w[0] = 1
            if self.wrong == "returns None":
                return None
            if self.wrong == "wrong type":
                return "an order"
            if self.wrong == "wrong length":
                return (0, 1, 2, 3, 4, 5)
        return super().decode(w, x, truth, cost_weight)

    def features(self, x, y):
        found = super().features(x, y)
        if self.is_it(x):
            if self.wrong == "NaN feature":
                return found * np.nan
            if self.wrong == "long features":
                return np.concatenate([found, [1.0]])
            if self.wrong == "no features":
                return 3.0
            if self.wrong == "out of range":
                return {99: 1.0}
        return found

    def cost(self, truth, y):
        cost = super().cost(truth, y)
        if self.wrong == "negative cost" and cost and truth == self.truth:
            return -1.0
        if self.wrong == "NaN cost" and truth == self.truth:
            return float("nan")
        if self.wrong == "costly truth" and truth == self.truth:
            return 1.0
        return cost


WRONGS = {
    "raises": (KeyError, "in decode, example 7"),
    "changes w": (ValueError, r"in decode, example 7: w cannot be changed; work on w\.copy\(\)"),
    "returns None": (InputError, "example 7: decode returned None"),
    "wrong type": (Exception, "in features, example 7"),
    "wrong length": (IndexError, "in features, example 7"),
    "NaN feature": (InputError, "example 7: features has the value nan for the feature 0"),
    "long features": (InputError, "example 7: features has 6 features, not 5"),
    "no features": (InputError, "example 7: features returned float; features are a dict"),
    "out of range": (InputError, r"example 7: features has the feature 99, which is not in 0 … 4"),
    "negative cost": (InputError, r"example 7: cost is -1\.0; it must be at least 0"),
    "NaN cost": (InputError, "example 7: cost is nan"),
    "costly truth": (InputError, r"example 7: cost is 1\.0 for the truth itself"),
}


def broken(wrong, **settings):
    X, Y = make_orders(n=12, noise=0.3)
    structure = Broken(wrong, X[6], dimension=5, **settings)
    structure.truth = Y[6] = (2, 0, 1)
    Y = [y if i == 6 or y != (2, 0, 1) else (0, 1, 2) for i, y in enumerate(Y)]
    return structure, X, Y


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("wrong", WRONGS)
def test_bad_answers_stop_training_and_name_example_and_method(wrong, threads):
    structure, X, Y = broken(wrong)
    kind, message = WRONGS[wrong]
    with pytest.raises(kind, match=message):
        StructuredSVM(structure, loss="squared_hinge", threads=threads, passes=3).fit(X, Y)


@pytest.mark.parametrize("wrong", WRONGS)
def test_bad_answers_are_skipped_and_counted_if_asked(wrong):
    structure, X, Y = broken(wrong)
    svm = StructuredSVM(structure, passes=6, C=5.0, on_error="skip").fit(X, Y)
    assert set(svm.skipped_) == {6}
    assert svm.result_.skipped == svm.skipped_[6] >= 1
    assert f"{svm.result_.skipped} skipped" in str(svm.result_)
    others = [i for i in range(12) if i != 6]
    without = StructuredSVM(Orders(5), passes=6, C=5.0)
    without.fit([X[i] for i in others], [Y[i] for i in others])
    assert svm.result_.primal == pytest.approx(without.result_.primal, rel=0.2)


def test_the_id_of_an_example_is_in_the_message():
    class Dicts(Colours):
        def features(self, x, y):
            if x["id"] == "fruit-3":
                raise RuntimeError("unripe")
            return super().features(x["text"], y)

    X = [{"id": f"fruit-{i + 1}", "text": text} for i, text in enumerate(WORDS)]
    with pytest.raises(RuntimeError, match=r"in features, example 3 \(fruit-3\)"):
        StructuredSVM(Dicts()).fit(X, CLASSES)


class FailsLater(Orders):
    """Fails in the third pass."""

    def __init__(self, after):
        super().__init__()
        self.after = after

    def decode(self, w, x, truth=None, cost_weight=0.0):
        if self.calls["decode"] >= self.after:
            raise ConnectionError("the solver's licence has expired")
        return super().decode(w, x, truth, cost_weight)


@pytest.mark.parametrize("solver", ["dcd", "sdm", "cutting-plane", "pegasos", "perceptron"])
def test_what_was_learned_is_kept_when_decoding_fails(solver, tmp_path):
    X, Y = make_orders(n=20)
    loss = SOLVERS[solver].losses[0]
    path = tmp_path / "state"
    svm = StructuredSVM(FailsLater(55), loss, solver, passes=10, checkpoint=path)
    with pytest.raises(ConnectionError, match="licence"):
        svm.fit(X, Y)
    assert svm.result_.stopped_by == "error"
    assert 1 <= svm.result_.passes < 10
    assert np.isfinite(svm.w_).all()
    svm.structure_.after = 10**9
    assert svm.score(X, Y) > 0.35  # an order at random: 0
    # The checkpoint can be gone on from.
    svm = StructuredSVM(Orders(), loss, solver, passes=10, checkpoint=path, resume=True).fit(X, Y)
    assert svm.result_.passes == 10
    assert svm.score(X, Y) > 0.6


def test_a_run_that_learned_nothing_leaves_the_old_checkpoint(tmp_path):
    X, Y = make_orders(n=20)
    path = tmp_path / "state"
    StructuredSVM(Orders(), passes=3, checkpoint=path).fit(X, Y)
    before = path.read_bytes()
    with pytest.raises(ConnectionError):
        StructuredSVM(FailsLater(0), passes=3, checkpoint=path).fit(X, Y)
    assert path.read_bytes() == before


def test_ctrl_c_inside_a_decoder_keeps_what_was_learned():
    class Interrupted(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            if self.calls["decode"] == 70:
                self.calls["decode"] += 1
                raise KeyboardInterrupt
            return super().decode(w, x, truth, cost_weight)

    X, Y = make_orders(n=20)
    svm = StructuredSVM(Interrupted(), passes=50, on_error="skip").fit(X, Y)
    assert svm.result_.stopped_by == "interrupt"
    assert svm.score(X, Y) > 0.8


def test_failures_in_prediction_are_never_skipped():
    structure, X, Y = broken("raises")
    svm = StructuredSVM(structure, on_error="skip", passes=2).fit(X, Y)
    with pytest.raises(KeyError, match="in decode, example 7"):
        svm.predict(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"structure": Orders}, "give an instance"),
        ({"structure": Orders(), "on_error": "ignore"}, "on_error is 'ignore'"),
        ({"structure": Orders(), "C": -1.0}, "C is"),
        ({"structure": Orders(), "loss": "crff"}, "unknown loss"),
        ({"structure": Orders(), "solver": "dcd"}, "does not take the loss hinge"),
        ({"structure": CustomStructure()}, "CustomStructure has no method features"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    X, Y = make_orders(n=3)
    with pytest.raises(InputError, match=message):
        StructuredSVM(**arguments).fit(X, Y)


def test_bad_data_are_refused():
    X, Y = make_orders(n=3)
    with pytest.raises(InputError, match="3 inputs, but 2 true outputs"):
        StructuredSVM(Orders()).fit(X, Y[:2])
    with pytest.raises(InputError, match="no examples"):
        StructuredSVM(Orders()).fit([], [])
    with pytest.raises(NotFittedError):
        StructuredSVM(Orders()).predict(X)
    with pytest.raises(InputError, match="no example has any feature"):
        StructuredSVM(Colours()).fit(["", ""], ["a", "b"])


# Threads and memory.


@pytest.mark.parametrize(("solver", "loss"), [(DCD(), "squared_hinge"), (SDM(), "hinge")])
def test_several_threads_call_python_one_at_a_time(solver, loss):
    class Watched(Orders):
        inside = 0
        threads: set[int] = set()  # noqa: RUF012

        def decode(self, w, x, truth=None, cost_weight=0.0):
            self.threads.add(threading.get_ident())
            return super().decode(w, x, truth, cost_weight)

    X, Y = make_orders(n=60, noise=0.2)
    one = StructuredSVM(Orders(), loss, solver, C=0.3, gap=1e-3, passes=500).fit(X, Y)
    several = StructuredSVM(Watched(), loss, solver, C=0.3, gap=1e-3, passes=500, threads=3)
    several.fit(X, Y)
    assert several.result_.stopped_by == "gap"
    assert several.result_.primal == pytest.approx(one.result_.primal, rel=3e-3)
    assert len(Watched.threads) > 1


def test_weights_that_a_decoder_keeps_stay_readable():
    kept = []

    class Keeps(Orders):
        def decode(self, w, x, truth=None, cost_weight=0.0):
            kept.append(w)
            return super().decode(w, x, truth, cost_weight)

    X, Y = make_orders(n=10)
    StructuredSVM(Keeps(), passes=4).fit(X, Y)
    gc.collect()
    assert all(np.isfinite(w).all() and not w.flags.writeable for w in kept)


def test_examples_are_freed_after_training():
    class Input(np.ndarray):
        """An array that can be watched."""

    X, Y = make_orders(n=5)
    X = [x.view(Input) for x in X]
    watched = weakref.ref(X[0])
    svm = StructuredSVM(Orders(), passes=2).fit(X, Y)
    svm.predict(X)
    bound = Orders().bind(X, Y)
    bound.output_type.remembers = bound  # a cycle through the core
    del X, bound
    gc.collect()
    assert watched() is None


def test_same_seed_same_weights_and_resumes_bit_for_bit_with_names(tmp_path):
    X, Y = WORDS * 3, CLASSES * 3
    Y[4] = "a"
    whole = StructuredSVM(Colours(), C=0.5, passes=9, seed=3).fit(X, Y)
    path = tmp_path / "state"
    for passes in (4, 9):
        part = StructuredSVM(
            Colours(), C=0.5, passes=passes, seed=3, checkpoint=path, resume=True
        ).fit(X, Y)
    assert part.w_.tobytes() == whole.w_.tobytes()
    assert part.weights_ == whole.weights_
    with pytest.raises(InputError, match="other data"):
        StructuredSVM(Colours(), C=0.5, passes=9, seed=3, checkpoint=path, resume=True).fit(
            X[1:], Y[1:]
        )


# Approximate decoders.


@pytest.mark.parametrize(
    ("solver", "loss"),
    [
        ("dcd", "squared_hinge"),
        ("cpd", "squared_hinge"),
        ("sdm", "hinge"),
        ("frank-wolfe", "hinge"),
    ],
)
def test_decodings_beaten_by_a_known_output_are_counted_and_made_up_for(solver, loss):
    X, Y = make_orders(noise=0.3)
    svm = StructuredSVM(Hasty(), loss, solver, C=0.3, passes=30).fit(X, Y)
    assert svm.result_.beaten > 0
    assert f"{svm.result_.beaten} decodings beaten" in str(svm.result_)
    exact = StructuredSVM(Orders(), loss, solver, C=0.3, passes=30).fit(X, Y)
    assert exact.result_.beaten == 0
    # Known outputs stand in for what decoding missed: the dual gets close to the optimum.
    assert svm.result_.dual == pytest.approx(exact.result_.dual, rel=0.1)


def test_chains_have_exact_decoders_and_nothing_is_counted():
    data = make_chains(sentences=30, tokens=6, labels=4, features=40, noise=0.5, seed=2)
    structure = data.structure()
    assert structure.core.exact_decoder
    assert fit(Problem(structure, "hinge", 0.2), SDM(), Stopping(passes=5)).beaten == 0


# Decoders in machine code.


@pytest.mark.parametrize("copies", [1, 200])  # more than fits at first
@pytest.mark.parametrize("threads", [1, 3])
def test_a_c_function_decodes_as_python_does(threads, copies):
    X, Y = make_orders(noise=0.2)
    loss, solver = "hinge", "cutting-plane"
    options = {"C": 0.5, "passes": 8, "threads": threads}  # planes round as threads divide them
    plain = StructuredSVM(Orders(), loss, solver, **options).fit(X, Y)
    compiled = StructuredSVM(Compiled(copies=copies), loss, solver, **options).fit(X, Y)
    np.testing.assert_array_equal(compiled.w_, plain.w_)
    assert compiled.predict(X) == plain.predict(X)
    assert compiled.structure.calls["features"] <= 6 * 30 + 31


def test_a_c_function_that_fails_names_the_example():
    X, Y = make_orders(n=4)
    with pytest.raises(InputError, match=r"example \d: compiled_decoder failed with -3"):
        StructuredSVM(Compiled(length=-3)).fit(X, Y)
    skipped = StructuredSVM(Compiled(length=-3), on_error="skip", passes=2).fit(X, Y)
    assert set(skipped.skipped_) == {0, 1, 2, 3}
    with pytest.raises(InputError, match="example 1: compiled_decoder failed"):
        skipped.predict(X)
    with pytest.raises(InputError, match="an address, a ctypes function or a Numba cfunc"):
        CompiledDecoder("decode")


def test_numba_decoders_run_without_the_gil():
    numba = pytest.importorskip("numba", reason="missing: pip install numba")
    from numba import types

    @numba.cfunc(
        types.int64(
            types.CPointer(types.float32),
            types.int64,
            types.int64,
            types.float32,
            types.CPointer(types.float32),
            types.CPointer(types.int32),
            types.int64,
        )
    )
    def decode(w, dimension, example, cost_weight, data, output, capacity):
        # data: for each example the true class, then its features.
        row = example * (1 + dimension // 3)
        best, best_value = 0, -1e30
        for y in range(3):
            value = 0.0 if y == data[row] else cost_weight
            for k in range(dimension // 3):
                value += data[row + 1 + k] * w[y * (dimension // 3) + k]
            if value > best_value:
                best, best_value = y, value
        output[0] = best
        return 1

    class Classes(CustomStructure):
        def compiled_decoder(self, X, Y):
            truth = np.full(len(X), -1.0) if Y is None else np.array(Y, dtype=float)
            table = np.column_stack([truth, np.array(X)]).astype(np.float32)
            return CompiledDecoder(decode, np.ascontiguousarray(table))

        def from_compiled(self, x, output):
            return int(output[0])

        def features(self, x, y):
            found = np.zeros(3 * len(x))
            found[y * len(x) : (y + 1) * len(x)] = x
            return found

        def cost(self, truth, y):
            return float(truth != y)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    Y = (X @ rng.normal(size=(4, 3))).argmax(axis=1).tolist()
    assert StructuredSVM(Classes(), C=10.0, threads=2).fit(X, Y).score(X, Y) > 0.95


# Scikit-learn's manners, files.


def test_models_are_saved_without_code_and_loaded_with_the_structure(tmp_path):
    svm = StructuredSVM(Colours(), "squared_hinge", DCD(admission=0.001), C=3.0, averaged=True)
    svm.fit(WORDS, CLASSES)
    svm.save(tmp_path / "model")
    loaded = StructuredSVM.load(tmp_path / "model", Colours())
    assert loaded.predict(WORDS) == svm.predict(WORDS)
    assert loaded.weights_ == svm.weights_
    assert loaded.C == 3.0
    assert repr(loaded.solver) == repr(svm.solver)
    assert str(loaded.result_) == str(svm.result_)
    X, Y = make_orders(n=5)
    vector = StructuredSVM(Orders(), passes=2).fit(X, Y)
    vector.save(tmp_path / "vector")
    loaded = StructuredSVM.load(tmp_path / "vector", Orders())
    np.testing.assert_array_equal(loaded.w_, vector.w_)
    with pytest.raises(InputError, match="5 weights, and dimension of the structure is 4"):
        StructuredSVM.load(tmp_path / "vector", Orders(dimension=4))
    smooth = StructuredSVM(
        Orders(expectation=True), SoftmaxMargin(2.0, 0.5), passes=2, averaged=False
    ).fit(X, Y)
    smooth.save(tmp_path / "smooth")
    loaded = StructuredSVM.load(tmp_path / "smooth", Orders(expectation=True))
    assert (loaded.loss, loaded.beta, loaded.gamma) == ("softmax_margin", 2.0, 0.5)
    (tmp_path / "vector").write_bytes((tmp_path / "vector").read_bytes()[:-3])
    with pytest.raises(InputError):
        StructuredSVM.load(tmp_path / "vector", Orders())


def test_inputs_may_be_rows_of_a_sparse_matrix():
    import scipy.sparse

    class Sparse(CustomStructure):
        def decode(self, w, x, truth=None, cost_weight=0):
            return max((0, 1), key=lambda y: self.value(w, x, y, truth, cost_weight))

        def features(self, x, y):
            nothing = scipy.sparse.csr_matrix(x.shape)
            return scipy.sparse.hstack([nothing, x] if y else [x, nothing])

        def cost(self, truth, y):
            return float(truth != y)

    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_matrix(rng.random((40, 6)) * (rng.random((40, 6)) < 0.5))
    Y = (X @ [1.0, -1.0, 0.5, 0.0, 2.0, -2.0] > 0).astype(int)
    svm = StructuredSVM(Sparse(), C=100.0).fit(X, Y)
    assert svm.score(X, Y) > 0.95
    with pytest.raises(InputError, match="40 inputs, but 39 true outputs"):
        svm.score(X, Y[1:])


def test_failures_outside_of_training_say_where():
    X, Y = make_orders(n=8)
    structure = Broken("raises", X[6], dimension=5)
    structure.truth = None
    with pytest.raises(KeyError, match="in decode, example 3\nin the development data"):
        StructuredSVM(structure).fit(X[:4], Y[:4], dev=(X[4:], Y[4:]))
    svm = StructuredSVM(Orders(5), passes=2).fit(X, Y)
    with pytest.raises(ValueError, match="in cost, example 2"):
        svm.score(X[:2], [Y[0], (0, 1)])


def test_development_data_stop_training_and_the_best_weights_are_kept():
    X, Y = make_orders(n=60, noise=0.3)
    svm = StructuredSVM(Orders(), "squared_hinge", C=100.0, patience=2, passes=40)
    svm.fit(X[:30], Y[:30], dev=(X[30:], Y[30:]))
    assert svm.result_.stopped_by in ("dev", "passes")
    assert svm.score(X[30:], Y[30:]) == pytest.approx(svm.result_.dev_score)
    with pytest.raises(InputError, match="development data"):
        svm.fit(X, Y, dev=([], []))


def test_clones_pickles_and_searches():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    svm = StructuredSVM(Colours(), C=0.5, gap=0.01)
    fresh = clone(svm)
    assert fresh.C == 0.5
    assert isinstance(fresh, Parameters)
    assert "C=0.5" in repr(fresh)
    svm.fit(WORDS, CLASSES)
    for other in (copy.deepcopy(svm), pickle.loads(pickle.dumps(svm))):
        assert other.predict(WORDS) == svm.predict(WORDS)
        assert other.weights_ == svm.weights_
    search = GridSearchCV(StructuredSVM(Colours()), {"C": [0.1, 10.0]}, cv=2)
    search.fit(WORDS * 3, CLASSES * 3)
    assert search.best_score_ == 1.0
    assert search.predict(WORDS) == CLASSES


def test_one_structure_serves_several_models():
    structure = Colours()
    first = StructuredSVM(structure, C=10.0).fit(WORDS, CLASSES)
    second = StructuredSVM(structure, C=10.0).fit(WORDS[::-1], CLASSES)
    assert first.predict(WORDS) == CLASSES
    assert second.predict(WORDS[::-1]) == CLASSES
