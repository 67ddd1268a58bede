"""dualstruct.compat.pycrfsuite does what python-crfsuite does."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dualstruct.compat.pycrfsuite as ours
from dualstruct.crfsuite.conversion import tagger_from_crfsuite
from dualstruct.crfsuite.files import parse_crfsuite
from dualstruct.crfsuite.items import attributes_of
from dualstruct.crfsuite.log import LabelScore, TrainLogParser
from dualstruct.errors import InputError
from random_cases import cases

theirs = pytest.importorskip("pycrfsuite", reason="missing: pip install python-crfsuite")

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
VALUES = st.recursive(
    st.one_of(
        NAMES,
        NAMES.map(str.encode),
        st.booleans(),
        st.integers(-5, 5),
        st.floats(-1e6, 1e6),
        st.lists(NAMES, max_size=3),
        st.sets(NAMES, max_size=3),
    ),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KEYS = st.one_of(NAMES, NAMES.map(lambda name: f"b{name}".encode()))
ITEMS = st.one_of(
    st.dictionaries(KEYS, VALUES, max_size=4),
    st.lists(KEYS, max_size=4),
    st.sets(NAMES, max_size=4),
    NAMES,
)


def made_up(seed, sentences=15):
    random = np.random.default_rng(seed)

    def item():
        near = {"left": [f"x{random.integers(4)}"], "odd": bool(random.integers(2))}
        return {"word": str(random.integers(9)), "size": float(random.random()), "near": near}

    X = [[item() for _ in range(random.integers(1, 8))] for _ in range(sentences)]
    # Labels that the words half explain.
    Y = [[str((int(i["word"]) + int(random.integers(2))) // 3) for i in x] for x in X]
    return X, Y


def trained(library, path, algorithm, X, Y, params=None, group=None, holdout=-1):
    lines = []

    class Listener(library.Trainer):
        def message(self, message):
            lines.append(message)
            super().message(message)

    trainer = Listener(algorithm, params, verbose=False)
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        trainer.append(x, y, 0 if group is None else group[i])
    trainer.train(str(path), holdout)
    return trainer, "".join(lines)


def weights_of(path):
    tagger = ours.Tagger()
    with tagger.open(path):
        info = tagger.info()
    return {**info.transitions, **info.state_features}


def assert_same_weights(ours_path, their_path, atol):
    a, b = weights_of(ours_path), weights_of(their_path)
    for key in a.keys() | b.keys():
        assert a.get(key, 0.0) == pytest.approx(b.get(key, 0.0), abs=atol), key


@given(st.lists(ITEMS, max_size=4))
def test_items_are_those_of_python_crfsuite(items):
    assert ours.ItemSequence(items).items() == theirs.ItemSequence(items).items()
    assert repr(ours.ItemSequence(items)) == repr(theirs.ItemSequence(items))


@given(st.lists(st.one_of(ITEMS), min_size=1, max_size=3))
@cases(50)
def test_sequences_mean_the_same_whether_the_core_or_python_reads_them(items):
    trainer = ours.Trainer("ap", {"max_iterations": 1}, verbose=False)
    read_by_python = [list(attributes_of(item)) for item in items]
    prepared = pickle.loads(pickle.dumps(ours.ItemSequence(items)))
    by_python = ours.ItemSequence.__new__(ours.ItemSequence)
    by_python.__setstate__({"_pairs": read_by_python})
    for sequence in (items, prepared, by_python):
        trainer.append(sequence, ["X"] * len(items))
    (offsets, ids, values), *others = trainer._data.rows
    values = np.ones(len(ids)) if values is None else values
    for offsets_2, ids_2, values_2 in others:
        assert offsets.tolist() == offsets_2.tolist()
        values_2 = np.ones(len(ids)) if values_2 is None else values_2
        for a, b in pairwise(offsets.tolist()):  # sets have no order
            row = zip(ids[a:b], values[a:b], strict=True)
            assert sorted(row) == sorted(zip(ids_2[a:b], values_2[a:b], strict=True))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_tagger_answers_as_theirs_does(tmp_path, algorithm, capsys):
    X, Y = made_up(seed=0)
    trained(theirs, tmp_path / "model", algorithm, X, Y, {"max_iterations": 10})
    taggers = []
    for library in (ours, theirs):
        taggers.append(library.Tagger())
        taggers[-1].open(str(tmp_path / "model"))
    a, b = taggers
    assert a.labels() == b.labels()
    for x in [*made_up(seed=1)[0], []]:
        labels = a.tag(x)
        assert labels == b.tag(x)
        assert a.probability(labels) == pytest.approx(b.probability(labels), abs=1e-9)
        for t in range(len(x)):
            for label in a.labels():
                assert a.marginal(label, t) == pytest.approx(b.marginal(label, t), abs=1e-9)
    for name, tagger in (("a", a), ("b", b)):
        tagger.dump(str(tmp_path / name))
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    info, info_2 = a.info(), b.info()
    assert info.header == info_2.header
    assert (info.labels, info.attributes) == (info_2.labels, info_2.attributes)
    assert info.transitions == pytest.approx(info_2.transitions, abs=1e-6)
    assert info.state_features == pytest.approx(info_2.state_features, abs=1e-6)
    a.dump()
    assert capsys.readouterr().out == (tmp_path / "a").read_text()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_models_trained_here_are_tagged_the_same_there(tmp_path, algorithm):
    X, Y = made_up(seed=2)
    trained(ours, tmp_path / "model", algorithm, X, Y, {"max_iterations": 10})
    a, b = ours.Tagger(), theirs.Tagger()
    a.open_inmemory((tmp_path / "model").read_bytes())
    b.open(str(tmp_path / "model"))
    for x in made_up(seed=3)[0]:
        assert a.tag(x) == b.tag(x)
        for label in a.labels():
            assert a.marginal(label, 0) == pytest.approx(b.marginal(label, 0), abs=1e-6)


ONLINE = [
    *(("ap", {"max_iterations": n}) for n in (1, 7)),
    *(
        ("pa", {"max_iterations": 6, "type": kind, "c": 0.1, "error_sensitive": e, "averaging": a})
        for kind in (0, 1, 2)
        for e in (False, True)
        for a in (False, True)
    ),
    *(("arow", {"max_iterations": n, "gamma": 0.5, "variance": 2}) for n in (1, 100)),
    ("l2sgd", {"max_iterations": 30, "c2": 0.1}),
    ("pa", {"max_iterations": 100, "epsilon": 0.01}),
    ("ap", {"feature.possible_states": True, "feature.possible_transitions": True}),
    ("ap", {"feature.minfreq": 2, "max_iterations": 5}),
]


@pytest.mark.parametrize(("algorithm", "params"), ONLINE, ids=str)
def test_online_steps_are_theirs(tmp_path, algorithm, params):
    """One sequence leaves nothing to shuffle: then weights and log have to be the same."""
    X, Y = made_up(seed=4, sentences=40)
    x, y = (list(chain.from_iterable(part[:4])) for part in (X, Y))
    logs = []
    for library, name in ((ours, "a"), (theirs, "b")):
        held_out = ([x, *X[4:8]], [y, *Y[4:8]])
        groups = [0, 1, 1, 1, 1]
        _, log = trained(library, tmp_path / name, algorithm, *held_out, params, groups, holdout=1)
        logs.append(re.sub(r"(?i)(seconds required.*: )[\d.]+", r"\1…", log))
    assert_same_weights(tmp_path / "a", tmp_path / "b", atol=1e-9)
    assert logs[0] == logs[1]


@pytest.mark.parametrize(
    "params", [{}, {"c2": 0.1}, {"c1": 0.2, "c2": 0.05}, {"c1": 0.5, "c2": 0}], ids=str
)
def test_lbfgs_arrives_at_their_optimum(tmp_path, params):
    X, Y = made_up(seed=5, sentences=30)
    exact = {"epsilon": 1e-7, "delta": 1e-9, **params}
    a, _ = trained(ours, tmp_path / "a", "lbfgs", X, Y, exact)
    b, _ = trained(theirs, tmp_path / "b", "lbfgs", X, Y, exact)
    assert a.logparser.last_iteration["loss"] == pytest.approx(
        b.logparser.last_iteration["loss"], rel=1e-5
    )
    assert_same_weights(tmp_path / "a", tmp_path / "b", atol=2e-2)
    assert a.logparser.featgen_num_features == b.logparser.featgen_num_features


def test_lbfgs_stops_where_it_is_told_to(tmp_path):
    X, Y = made_up(seed=5)
    stopped, log = trained(ours, tmp_path / "m", "lbfgs", X, Y, {"max_iterations": 3})
    assert [i["num"] for i in stopped.logparser.iterations] == [1, 2, 3]
    assert "L-BFGS terminated with the maximum number of iterations\n" in log
    _, log = trained(ours, tmp_path / "m", "lbfgs", X, Y, {"delta": 0.05, "period": 2})
    assert "L-BFGS terminated with the stopping criteria\n" in log
    _, log = trained(ours, tmp_path / "m", "lbfgs", X, Y)
    assert "L-BFGS resulted in convergence\n" in log


def test_l2sgd_comes_near_the_optimum_of_lbfgs(tmp_path):
    X, Y = made_up(seed=6, sentences=60)
    params = {"c2": 0.5}
    exact, _ = trained(ours, tmp_path / "a", "lbfgs", X, Y, params)
    rough, _ = trained(ours, tmp_path / "b", "l2sgd", X, Y, {**params, "max_iterations": 60})
    loss = exact.logparser.last_iteration["loss"]
    assert loss <= rough.logparser.last_iteration["loss"] <= 1.02 * loss


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_their_parser_reads_our_log(tmp_path, algorithm):
    X, Y = made_up(seed=7)
    groups = [i % 3 for i in range(len(X))]
    params = {"max_iterations": 4}
    trainer, log = trained(ours, tmp_path / "m", algorithm, X, Y, params, groups, holdout=2)
    from pycrfsuite._logparser import TrainLogParser

    parser = TrainLogParser()
    for line in trainer.logparser.log:
        parser.feed(line)
    assert "".join(trainer.logparser.log) == log
    assert parser.featgen_num_features == trainer.logparser.featgen_num_features
    assert len(parser.iterations) == len(trainer.logparser.iterations) == 4
    for a, b in zip(trainer.logparser.iterations, parser.iterations, strict=True):
        scores, their_scores = a["scores"], b["scores"]
        # Theirs overlooks labels that were predicted but are not in the held-out group.
        assert {k: tuple(scores[k]) for k in their_scores} == their_scores
        rest = {key for key in b if key != "scores"}
        assert {key: a[key] for key in rest} == {key: b[key] for key in rest}


def test_events_reach_the_methods_that_clients_override(tmp_path):
    seen = []

    def listening(library):
        class Listener(library.Trainer):
            def on_start(self, log):
                seen.append("start")

            def on_featgen_end(self, log):
                seen.append("featgen_end")

            def on_prepared(self, log):
                seen.append(("prepared", log.count("\n")))

            def on_iteration(self, log, info):
                seen.append(("iteration", info["num"], log.count("\n")))

            def on_optimization_end(self, log):
                seen.append("optimization_end")

            def on_end(self, log):
                seen.append("end")

        trainer = Listener("ap", {"max_iterations": 2})
        trainer.append([["a"], ["b"]], ["X", "Y"])
        trainer.train(str(tmp_path / "m"))
        found = list(seen)
        seen.clear()
        return found

    assert listening(ours) == listening(theirs)


def test_verbose_prints_what_theirs_prints(tmp_path, capfd):
    printed = []
    for library in (ours, theirs):
        for kind in (library.Trainer, library.BaseTrainer):
            trainer = kind("ap", {"max_iterations": 2})
            trainer.append([["a"], ["b"]], ("X", "Y"))
            trainer.train(str(tmp_path / "m"))
            printed.append(re.sub(r"\d\.\d{3}\n", "…\n", capfd.readouterr().out))
    assert printed[0] == printed[1] == printed[2] == printed[3]


@pytest.mark.parametrize("algorithm", [None, *ALGORITHMS, "averaged-perceptron"])
def test_parameters_are_theirs(algorithm):
    a, b = ours.Trainer(algorithm), theirs.Trainer(algorithm)
    assert a.get_params() == b.get_params()
    assert a.params() == b.params()
    for name in a.params():
        assert len(a.help(name)) > 10
        assert a.get(name) == b.get(name)
    for trainer in (a, b):
        trainer.set_params({"feature.minfreq": "2", "feature.possible_states": 1})
        trainer.set("max_iterations", 7)
    assert a.get_params() == b.get_params()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.set("foo", 1), "Parameter not found: foo = 1"),
        (lambda t: t.help("foo"), "Parameter not found: foo"),
        (lambda t: t.select("foo"), "Bad arguments: algorithm='foo', type='crf1d'"),
        (lambda t: t.append([["a"]], ["x", "y"]), r"\|x\| = 1, \|y\| = 2"),
    ],
)
def test_a_trainers_errors_are_theirs(call, message):
    for library in (ours, theirs):
        with pytest.raises(ValueError, match=message):
            call(library.Trainer())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.set("c2", "much"), "the parameter c2 cannot be 'much'"),
        (lambda t: t.append([{"a": None}], ["x"]), 'attribute "a": the value is a NoneType'),
        (lambda t: t.append([{"a": float("nan")}], ["x"]), 'attribute "a": the value is nan'),
        (lambda t: t.append([["a"]], [3]), "a label is a int, not a str"),
        (lambda t: t.append([[3]], ["x"]), "an attribute's name is a int"),
        (lambda t: t.append([[b"\xe9"]], ["x"]), "is not UTF-8 text"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call(ours.Trainer(verbose=False))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("appended", ["nothing", "an empty sequence", "what is held out"])
def test_training_on_nothing_writes_the_file_that_theirs_does(tmp_path, algorithm, appended):
    for library in (ours, theirs):
        trainer = library.Trainer(algorithm, verbose=False)
        if appended == "an empty sequence":
            trainer.append([], [])
        if appended == "what is held out":
            trainer.append([{"a": 1}], ["X"], 1)
        path, holdout = tmp_path / library.__name__, 1 if appended == "what is held out" else -1
        if library is ours:
            with pytest.warns(UserWarning, match="append some first"):
                trainer.train(str(path), holdout)
        else:
            trainer.train(str(path), holdout)
        assert trainer.logparser.events[-1][0] == "end"
    data = (tmp_path / theirs.__name__).read_bytes()
    assert (tmp_path / ours.__name__).read_bytes() == data
    tagger = ours.Tagger()
    tagger.open_inmemory(data)
    if appended == "what is held out":
        assert tagger.tag([{"a": 1}]) == ["X"]
    else:
        assert (tagger.labels(), tagger.info().attributes) == ([], {})
        with pytest.raises(InputError, match="trained on nothing"):  # theirs ends the process
            tagger.tag([{"a": 1}])
        with pytest.raises(InputError, match="trained on nothing"):
            tagger_from_crfsuite(parse_crfsuite(data))


def test_a_subclass_need_not_call_the_constructor(tmp_path):
    X, Y = made_up(seed=11)
    for library in (ours, theirs):

        class Listener(library.Trainer):
            def __init__(self, messages):
                self.messages = messages

            def message(self, message):
                self.messages.append(message)

        trainer = Listener([])
        assert (trainer.get("c2"), trainer.verbose) == (1.0, None)
        trainer.select("ap")
        for x, y in zip(X, Y, strict=True):
            trainer.append(x, y)
        trainer.train(str(tmp_path / "model"))
        assert "type: CRF1d\n" in trainer.messages
        assert (tmp_path / "model").stat().st_size > 4236


def test_modules_have_the_names_that_clients_import():
    from dualstruct.compat.pycrfsuite import _logparser, _pycrfsuite

    assert _logparser.TrainLogParser is TrainLogParser
    assert _logparser.LabelScore._fields == LabelScore._fields == (
        "match", "model", "ref", "precision", "recall", "f1"
    )  # fmt: skip
    classes = {name for name in dir(theirs) if name[0].isupper()}
    assert classes <= set(ours.__all__)
    assert _pycrfsuite.Tagger is ours.Tagger


def test_an_append_that_failed_leaves_no_trace(tmp_path):
    trainer = ours.Trainer(verbose=False)
    with pytest.raises(InputError):
        trainer.append([["a"]], ["x", "y"])
    trainer.append([["b"], ["c"]], ["x", "z"])
    trainer.train(tmp_path / "m")
    tagger = ours.Tagger()
    tagger.open(tmp_path / "m")
    assert tagger.labels() == ["x", "z"]
    assert set(tagger.info().attributes) == {"b", "c"}


def test_clear_forgets_all_sequences(tmp_path):
    trainer = ours.Trainer(verbose=False)
    trainer.append([["a"]], ["x"])
    trainer.clear()
    trainer.append([["b"], ["c"]], ["y", "z"])
    trainer.train(tmp_path / "m")
    tagger = ours.Tagger()
    tagger.open(tmp_path / "m")
    assert tagger.labels() == ["y", "z"]


def test_opening_closing_and_opening_again(tmp_path):
    X, Y = made_up(seed=8)
    trained(ours, tmp_path / "a", "ap", X, Y)
    trained(ours, tmp_path / "b", "ap", [[["a"]], [["b"]]], [["P"], ["Q"]])
    tagger = ours.Tagger()
    with pytest.raises(ValueError, match="not opened"):
        tagger.tag(X[0])
    with pytest.raises(RuntimeError, match="closed"):
        tagger.info()
    with tagger.open(str(tmp_path / "a")):
        assert len(tagger.tag(X[0])) == len(X[0])
    with pytest.raises(ValueError, match="not opened"):
        tagger.labels()
    tagger.open(str(tmp_path / "a"))
    tagger.open(str(tmp_path / "b"))
    assert tagger.tag([["b"]]) == ["Q"]
    tagger.close()
    tagger.close()


def test_a_taggers_errors_can_be_caught_as_theirs(tmp_path):
    trained(ours, tmp_path / "m", "ap", [[["a"], ["b"]]], [["P", "Q"]])
    (tmp_path / "notes").write_text("notes")
    for library in (ours, theirs):
        tagger = library.Tagger()
        with pytest.raises(FileNotFoundError):
            tagger.open(str(tmp_path / "nothing"))
        with pytest.raises(ValueError, match="model"):
            tagger.open(str(tmp_path / "notes"))
        with pytest.raises(ValueError, match="model"):
            tagger.open_inmemory(b"notes")
        tagger.open(str(tmp_path / "m"))
        assert tagger.tag() == []
        tagger.set([["a"], ["b"]])
        assert tagger.tag() == ["P", "Q"]
        with pytest.raises(ValueError, match=r"\|x\| = 2, \|y\| = 1"):
            tagger.probability(["P"])
        with pytest.raises(RuntimeError, match="Z"):
            tagger.probability(["P", "Z"])
        with pytest.raises(RuntimeError, match="Z"):
            tagger.marginal("Z", 0)
        with pytest.raises(ValueError, match="out of range of 2"):
            tagger.marginal("P", 2)


def test_threads_may_share_a_tagger(tmp_path):
    X, Y = made_up(seed=9, sentences=40)
    trained(ours, tmp_path / "m", "ap", X, Y)
    tagger = ours.Tagger()
    tagger.open(tmp_path / "m")
    alone = [tagger.tag(x) for x in X]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tagger.tag, X * 10)) == alone * 10


def test_the_same_data_give_the_same_file(tmp_path):
    X, Y = made_up(seed=10)
    for algorithm in ALGORITHMS:
        for name in "ab":
            trained(ours, tmp_path / name, algorithm, X, Y, {"max_iterations": 5})
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_one_label_is_a_model_too(tmp_path, algorithm):
    trained(ours, tmp_path / "m", algorithm, [[["a"], ["b"]]], [["X", "X"]])
    for library in (ours, theirs):
        tagger = library.Tagger()
        tagger.open(str(tmp_path / "m"))
        assert tagger.tag([["b"], ["c"]]) == ["X", "X"]
