"""Estimators and the command on several workers: each reads its own part, all make one model."""

from __future__ import annotations

import gzip
import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worker_jobs
from command_line import called
from dualstruct import (
    DCD,
    DependencyParser,
    InputError,
    Multiclass,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    read_conllu,
    write_columns,
)
from dualstruct.data.sources import ColumnFiles, InMemory, TreeFiles
from dualstruct.datasets import load_english
from dualstruct.distributed import BQO, partition, run_local, training
from dualstruct.distributed.strategies import find_strategy
from dualstruct.features import CSRSequences, make_extractor
from dualstruct.features.merging import fit_features
from dualstruct.workers.merging import agree
from dualstruct.workers.ray import start_ray
from engines_here import mpiexec, needs_ray, run
from random_cases import cases

WORDS = ["Ada", "sings", "the", "old", "song", "in", "Turin", "and", "Bo", "waits", "."]
TREES = load_english("train").select(range(24))
DEV_TREES = load_english("test").select(range(9))


def sentences(count: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [list(rng.choice(WORDS, size=rng.integers(1, 7))) for _ in range(count)]


def labels_of(X: list[list[str]]) -> list[list[str]]:
    return [["B-NAME" if word[0].isupper() else "O" for word in words] for words in X]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three files with 7, 1 and 5 sentences, the second one packed, the last without a line end."""
    X = sentences(13)
    paths = [tmp_path / "a.txt", tmp_path / "b.txt.gz", tmp_path / "c.txt"]
    write_columns(paths[0], X[:7], labels_of(X)[:7])
    write_columns(tmp_path / "b.txt", X[7:8], labels_of(X)[7:8])
    paths[1].write_bytes(gzip.compress((tmp_path / "b.txt").read_bytes()))
    write_columns(paths[2], X[8:], labels_of(X)[8:])
    paths[2].write_bytes(
        b"\n \n" + paths[2].read_bytes().rstrip(b"\n").replace(b"\n\n", b"\n\t\n\n")
    )
    return paths


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_files_are_divided_as_sentences_in_memory_are(files, workers):
    X = sentences(13)
    parts = run_local(
        workers, lambda communicator: ColumnFiles(tuple(files)).share(communicator, 3)
    )
    for part, numbers in zip(parts, partition(13, workers, 3), strict=True):
        assert part.numbers.tolist() == numbers.tolist()
        assert list(part.X) == [X[i] for i in numbers]
        assert list(part.y) == [labels_of(X)[i] for i in numbers]
        assert part.tokens == sum(len(X[i]) for i in numbers)


def test_a_part_of_a_treebank_has_all_that_belongs_to_its_sentences(tmp_path):
    path = tmp_path / "trees.conllu"
    path.write_bytes(b"\xef\xbb\xbf# newdoc\n\n" + bytes(TREES))
    parts = run_local(3, lambda workers: TreeFiles((path,)).share(workers, 0))
    whole = read_conllu(path)
    for part in parts:
        for i, number in enumerate(part.numbers.tolist()):
            assert part.X[i].forms == whole[number].forms
            assert part.X.where(i, 0) == whole.where(number, 0)
            assert part.X.sent_id(i) == whole.sent_id(number)


def test_mistakes_in_a_part_are_told_with_the_lines_of_the_file(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("a O\n\nb O\nb O\n\nc O O\n\nd O\nd O O\n")
    with pytest.raises(InputError, match=r"train.txt, line (6|9): 3 columns, but "):
        run_local(2, lambda workers: ColumnFiles((path,)).share(workers, 0))
    with pytest.raises(InputError, match=r"train.txt, line 6: 3 columns, but line \d of train.txt"):
        run_local(1, lambda workers: ColumnFiles((path,)).share(workers, 0))


def test_the_first_line_of_the_file_tells_what_separates_columns(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("a\tO\n\nb c\tO\n\nd\tO\n")
    parts = run_local(3, lambda workers: ColumnFiles((path,)).share(workers, 0))
    assert sorted(word for part in parts for [word] in part.X) == ["a", "b c", "d"]


@pytest.mark.parametrize(
    "X",
    [
        np.arange(12).reshape(6, 2),
        CSRSequences(np.arange(18).reshape(9, 2), [1, 2, 1, 2, 1, 2]),
        [[[word] for word in "ab"] for _ in range(6)],
    ],
    ids=["array", "matrices", "lists"],
)
def test_examples_in_memory_are_divided_whatever_holds_them(X):
    [whole] = run_local(1, lambda workers: InMemory(X).share(workers, 0))
    for part in run_local(2, lambda workers: InMemory(X).share(workers, 0)):
        for i, number in enumerate(part.numbers.tolist()):
            mine, theirs = part.X[i], whole.X[number]
            if isinstance(X, CSRSequences):
                mine, theirs = mine.toarray(), theirs.toarray()
            np.testing.assert_array_equal(mine, theirs)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.booleans())
@cases(25)
def test_merged_features_are_those_of_one_machine(seed, workers, min_count, templates):
    """Every token has the same features by name; their numbers are the same on all workers, and
    on any number of them."""
    X = sentences(workers + seed % 9, seed)
    if not templates:
        X = [[{"word": word, "length": len(word)} for word in words] for words in X]
    features = "word[0]\nword[-1] & word[0]\nsuffix(word[0],2)" if templates else "attributes"

    def extractor():
        return make_extractor(features, min_count=min_count)

    alone = extractor()
    rows = alone.fit(X)

    def names(extractor, rows, token):
        return extractor.names(rows.ids[rows.offsets[token] : rows.offsets[token + 1]])

    def work(communicator):
        part = InMemory(X).share(communicator, seed)
        return part, *fit_features(communicator, extractor(), part.X, part.numbers)

    found = run_local(workers, work)
    [(_, other, _)] = run_local(1, work)
    for part, made, own in found:
        assert made.names(np.arange(made.dimension)) == other.names(np.arange(made.dimension))
        assert made.dimension == own.dimension == alone.dimension
        for i, number in enumerate(part.numbers.tolist()):
            for t in range(len(X[number])):
                assert sorted(names(made, own, own.sentences[i] + t)) == sorted(
                    names(alone, rows, rows.sentences[number] + t)
                )


def test_a_tagger_on_workers_reaches_the_optimum_and_the_labels_of_one_machine():
    X = sentences(40, seed=5)
    y = labels_of(X)
    y[3] = ["B-RARE"] * len(y[3])  # a label that only one worker sees
    one = SequenceTagger(gap=1e-5, C=0.3, min_count=2).fit(X, y)
    for workers, hash_bits in ((1, None), (3, None)):
        tagger = SequenceTagger(
            gap=1e-5, C=0.3, min_count=2, hash_bits=hash_bits, engine="local", workers=workers
        ).fit(X, y)
        assert tagger.result_.stopped_by == "gap"
        assert tagger.result_.primal == pytest.approx(one.result_.primal, rel=1e-4)
        assert tagger.classes_.tolist() == one.classes_.tolist()
        assert tagger.n_features_ == one.n_features_
        np.testing.assert_array_equal(tagger.model_.transitions, one.model_.transitions)
        assert tagger.predict(X) == one.predict(X)
        assert tagger.trained_on_ == (40, sum(map(len, X)))


def test_a_parser_on_workers_reaches_the_optimum_and_the_shape_of_one_machine():
    options = {"gap": 3e-3, "C": 0.001, "hash_bits": 10, "averaged": False}
    trees = TREES.select(range(8))
    one = DependencyParser(**options).fit(trees)
    for workers in (1, 3):
        parser = DependencyParser(**options, engine="local", workers=workers).fit(trees)
        assert parser.result_.stopped_by == "gap"
        # The order of equally frequent tags moves a few hashed features.
        assert parser.result_.primal == pytest.approx(one.result_.primal, abs=6e-3)
        assert parser.sources_ == one.sources_
        assert parser.classes_.tolist() == one.classes_.tolist()
        assert parser.model_.shape == one.model_.shape
        assert parser.lifted_ == one.lifted_


def test_a_second_order_parser_trains_on_workers():
    parser = DependencyParser(
        order=2, hash_bits=12, passes=2, C=0.001, engine="local", workers=2
    ).fit(TREES, dev=DEV_TREES)
    assert 0.5 < parser.pruning_recall_ <= 1
    assert parser.result_.dev_score == parser.score(DEV_TREES)


def test_a_structured_svm_trains_on_workers_and_counts_what_all_skipped():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)).astype(np.float32)
    Y = ["a" if x[0] > 0 else "b" if x[1] > 0 else "c" for x in X]
    one = StructuredSVM(Multiclass(), gap=1e-4).fit(X, Y)
    svm = StructuredSVM(Multiclass(), gap=1e-4, engine="local", workers=3).fit(
        X, Y, dev=(X[:2], Y[:2])
    )
    assert svm.result_.dev_score == 1
    svm = StructuredSVM(Multiclass(), gap=1e-4, engine="local", workers=3).fit(X, Y)
    assert svm.result_.primal == pytest.approx(one.result_.primal, rel=3e-4)
    assert svm.predict(X) == one.predict(X)
    assert svm.skipped_ == {}


@pytest.mark.parametrize("dev", [2, 9])
def test_the_development_score_is_that_of_one_machine(dev):
    X = sentences(20, seed=1)
    held_out = sentences(dev, seed=2)
    truth = labels_of(held_out)
    truth[0][0] = "B-NEVER"
    tagger = SequenceTagger(
        passes=3, engine="local", workers=3, C=0.001, features="word[-1]\n", unseen_labels="count"
    ).fit(X, labels_of(X), dev=(held_out, truth))
    best = tagger.result_.trace[tagger.result_.best_pass - 1]
    assert best.dev_score == tagger.score(held_out, truth)
    assert tagger.result_.dev_score == best.dev_score

    parser = DependencyParser(passes=2, hash_bits=12, engine="local", workers=3)
    some = DEV_TREES.select(range(dev))
    parser.fit(TREES, dev=some)
    assert parser.result_.dev_score == parser.score(some)


def test_weights_are_divided_with_their_sentences_and_labels_are_balanced_over_all():
    X = sentences(20, seed=6)
    y = labels_of(X)
    weights = {
        "sample_weight": [1 + i % 3 for i in range(20)],
        "token_weight": [[1 + len(word) % 2 for word in words] for words in X],
    }
    options = {"gap": 1e-4, "C": 0.2, "class_weight": "balanced"}
    one = SequenceTagger(**options).fit(X, y, **weights)
    tagger = SequenceTagger(**options, engine="local", workers=3).fit(X, y, **weights)
    plain = SequenceTagger(gap=1e-4, C=0.2).fit(X, y)
    assert tagger.result_.primal == pytest.approx(one.result_.primal, abs=2e-4)
    assert abs(plain.result_.primal - one.result_.primal) > 0.01
    with pytest.raises(InputError, match="sample_weight has 2 entries for 20 examples"):
        tagger.fit(X, y, sample_weight=[1, 2])


def test_weights_are_not_for_files(files):
    with pytest.raises(InputError, match="sample_weight is for sentences in memory"):
        SequenceTagger(engine="local", workers=2).fit(files, sample_weight=[1.0] * 13)


def test_files_and_memory_make_the_same_model_bit_for_bit(files):
    X = sentences(13)
    options = {"passes": 4, "C": 0.5, "engine": "local", "workers": 3, "scheme": "bilou"}
    held = SequenceTagger(**options).fit(X, labels_of(X), dev=(X[:8], labels_of(X)[:8]))
    read = SequenceTagger(**options).fit(files, dev=files[:2])
    np.testing.assert_array_equal(held.model_.w.array, read.model_.w.array)
    assert held.result_.dev_score == read.result_.dev_score
    alone = SequenceTagger(passes=4, C=0.5).fit(files)
    again = SequenceTagger(passes=4, C=0.5).fit(X, labels_of(X))
    np.testing.assert_array_equal(alone.model_.w.array, again.model_.w.array)


def test_workers_go_on_from_a_model(files):
    X = sentences(13)
    tagger = SequenceTagger(gap=1e-4, engine="local", workers=2).fit(files[0])
    one = SequenceTagger(gap=1e-4).fit(X[:7], labels_of(X)[:7])
    more = [["Cy", "waits"], ["Bo", "hums"]]
    tagger.partial_fit(more, [["B-NAME", "O"], ["B-NAME", "I-NEW"]])
    one.partial_fit(more, [["B-NAME", "O"], ["B-NAME", "I-NEW"]])
    assert tagger.result_.primal == pytest.approx(one.result_.primal, abs=2e-4)
    assert tagger.classes_.tolist() == one.classes_.tolist()


def test_a_run_on_workers_is_saved_resumed_and_loaded(files, tmp_path):
    options = {"engine": "local", "workers": 2, "solver": BQO(DCD(revisits=2)), "seed": 3}
    whole = SequenceTagger(passes=5, **options).fit(files)
    SequenceTagger(passes=2, checkpoint=tmp_path / "run", **options).fit(files)
    going = SequenceTagger(passes=5, checkpoint=tmp_path / "run", resume=True, **options)
    going.fit(files)
    np.testing.assert_array_equal(going.model_.w.array, whole.model_.w.array)
    going.save(tmp_path / "m.dstruct")
    loaded = SequenceTagger.load(tmp_path / "m.dstruct")
    assert loaded.engine is None
    assert loaded.solver.settings() == options["solver"].settings()
    assert loaded.predict(sentences(3)) == whole.predict(sentences(3))


@pytest.mark.parametrize(
    ("solver", "loss", "found"),
    [
        ("auto", "squared_hinge", "bqo"),
        ("auto", "hinge", "bqo"),
        ("auto", "perceptron", "iterative-mixing"),
        ("mixing", "hinge", "iterative-mixing"),
        ("average", "crf", "simple-average"),
        ("admm", "hinge", "admm"),
        ("sdm", "hinge", "bqo"),
        ("mira", "hinge", "iterative-mixing"),
        ("auto", "ramp", "ramp-bqo"),
        ("ramp-sdm", "ramp_uncosted", "ramp-bqo"),
        ("ramp-bqo", "ramp", "ramp-bqo"),
    ],
)
def test_the_solvers_name_tells_the_strategy(solver, loss, found):
    assert find_strategy(solver, loss).name == found


NAMES = ["auto", "bqo", "admm", "mixing", "average"]


@pytest.mark.parametrize(
    ("solver", "loss"),
    [*((name, "hinge") for name in NAMES), *((n, "squared_hinge") for n in NAMES if n != "mixing")],
)
def test_one_worker_is_one_machine(solver, loss):
    """Every strategy on one worker arrives where the solver inside it does on one machine."""
    X = sentences(15, seed=4)
    options = {"loss": loss, "C": 0.2}
    exact = solver in ("mixing", "average")
    stop = {"passes": 6} if exact else {"gap": 1e-4}
    inner = {"mixing": "mira"}.get(solver, "auto")
    together = SequenceTagger(solver=solver, engine="local", workers=1, **options, **stop)
    together.fit(X, labels_of(X))
    alone = SequenceTagger(solver=inner, **options, **stop).fit(X, labels_of(X))
    if exact:  # one machine computes its last w anew from its duals
        np.testing.assert_allclose(
            together.model_.w.array, alone.model_.w.array, rtol=1e-4, atol=1e-6
        )
    else:
        assert together.result_.primal == pytest.approx(alone.result_.primal, abs=2e-4)


def fit_tagger(**options):
    X = sentences(6)
    return SequenceTagger(passes=2, **options).fit(X, labels_of(X))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: fit_tagger(workers=2), "but there is no engine: give one"),
        (lambda: fit_tagger(engine="ray"), "the number of workers is missing"),
        (lambda: fit_tagger(engine="spark", workers=2), "it must be local, ray or mpi"),
        (lambda: fit_tagger(engine="local", workers=0), "whole number of at least 1"),
        (lambda: fit_tagger(engine="local", workers=2, address="auto"), "only the engine ray"),
        (lambda: fit_tagger(engine="local", workers=7), "6 examples for 7 workers"),
        (lambda: fit_tagger(engine="local", workers=2, loss="risk-bound"), "is not solved on sev"),
        (lambda: fit_tagger(engine="local", workers=2, solver="sgd", loss="crf"), "one machine"),
        (lambda: fit_tagger(solver="bqo"), "solver bqo is for several workers"),
        (lambda: fit_tagger(solver=BQO()), "solver bqo is for several workers"),
        (
            lambda: fit_tagger(engine="local", workers=2, solver="mixing"),
            "iterative-mixing does not take the loss squared_hinge",
        ),
    ],
)
def test_what_workers_cannot_do_is_refused_with_a_sentence(act, message):
    with pytest.raises(InputError, match=message):
        act()


def test_fewer_sentences_in_files_than_workers_are_refused(files):
    with pytest.raises(InputError, match="1 example for 2 workers"):
        SequenceTagger(engine="local", workers=2).fit(files[1])
    files[0].write_text("\n\n")
    with pytest.raises(InputError, match=r"a\.txt: it has no words"):
        SequenceTagger(engine="local", workers=2).fit(files[0])
    with pytest.raises(InputError, match="there is no such file"):
        SequenceTagger(engine="local", workers=2).fit("nowhere.txt")


def test_a_worker_whose_trees_are_all_bad_is_named():
    heads = [sentence.heads for sentence in TREES.select(range(4))]
    mine = partition(4, 2, 0)[1]
    for i in mine:
        heads[i] = [2, *[1] * (len(heads[i]) - 1)]
    bad = TREES.select(range(4)).replace(heads=heads)
    parser = DependencyParser(engine="local", workers=2, hash_bits=12, bad_trees="skip")
    with pytest.raises(InputError, match="worker 1 has no trees left to learn from"):
        parser.fit(bad)
    heads[mine[0]] = TREES[int(mine[0])].heads
    parser.set_params(passes=1)
    with pytest.warns(UserWarning, match="1 of 4 sentences were left out"):
        parser.fit(TREES.select(range(4)).replace(heads=heads))
    assert parser.skipped_ == 1


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"dualstruct's version": "9"}, "dualstruct's version is 9 on worker 2, but 0 on worker 0"),
        ({"templates": "t" * 100}, "worker 2 has other templates than worker 0"),
        ({"labels": ["A", "B"]}, "labels is .*'A', 'B'.* on worker 2, but 0 on worker 0"),
    ],
)
def test_workers_that_differ_are_named(metadata, message):
    [(name, value)] = metadata.items()
    with pytest.raises(InputError, match=message):
        run_local(3, lambda workers: agree(workers, {name: value if workers.rank == 2 else "0"}))
    run_local(3, lambda workers: agree(workers, metadata))


def test_workers_that_see_other_files_templates_or_versions_are_named(tmp_path, monkeypatch):
    folders = [tmp_path / "0", tmp_path / "1"]
    for folder in folders:
        folder.mkdir()
        (folder / "train.txt").write_text("a O\n\nb O\n\nc B-X\n")
    (folders[1] / "train.txt").write_text("a O\n\nb O\n\nc B-Y\n")

    def read(workers):
        return ColumnFiles((folders[workers.rank] / "train.txt",)).share(workers, 0)

    with pytest.raises(InputError, match=r"worker 1 has other content of train\.txt than worker 0"):
        run_local(2, read)

    X = sentences(6)

    def fit_own(workers, **options):
        tagger = SequenceTagger(passes=1, engine="local", workers=2, **options)
        return training.Work(tagger, None, InMemory(X, labels_of(X)), None, [])(workers)

    features = ["word[0]\n", "word[0]\nword[1]\n"]
    with pytest.raises(InputError, match="worker 1 has other templates than worker 0"):
        run_local(2, lambda workers: fit_own(workers, features=features[workers.rank]))
    with pytest.raises(InputError, match="worker 1 has other settings than worker 0"):
        run_local(2, lambda workers: fit_own(workers, C=1.0 + workers.rank))
    versions = iter(["0.1", "0.2"])
    monkeypatch.setattr(training, "_version", lambda: next(versions))
    with pytest.raises(InputError, match=r"version is 0\.\d on worker 1, but 0\.\d on worker 0"):
        run_local(2, fit_own)


def test_unseen_labels_are_told_once_with_their_place(files, tmp_path):
    dev = tmp_path / "dev.txt"
    dev.write_text("Ada B-NAME\n\nBo B-NAME\nwaits I-NEVER\n\n. O\n")
    tagger = SequenceTagger(passes=1, engine="local", workers=3)
    with pytest.warns(UserWarning, match=r"dev.txt, line 4: the label 'I-NEVER' was never") as all_:
        tagger.fit(files, dev=dev)
    assert len(all_) == 1
    tagger.set_params(unseen_labels="error")
    with pytest.raises(InputError, match=r"dev\.txt, line 4"):
        tagger.fit(files, dev=dev)


def command(*arguments: object) -> str:
    return called("train", *arguments)


def test_the_command_trains_on_workers_and_says_what_it_took(files, tmp_path):
    model = tmp_path / "m.dstruct"
    told = command(*files, "--dev", files[0], "--model", model, "--engine", "local", "--workers", 2)
    assert "13 sentences" in told
    assert "2 workers (local), bqo" in told
    assert SequenceTagger.load(model).result_.dev_score is not None
    saved = ["--checkpoint", tmp_path / "run", "--engine", "local", "--workers", 2]
    for passes in (1, 3):
        command(*files, "--model", model, "--passes", passes, *saved, "--resume")
    assert SequenceTagger.load(model).result_.passes == 3
    trees = tmp_path / "trees.conllu"
    trees.write_bytes(bytes(TREES))
    told = command(
        trees, "--task", "parse", "--model", model, "--engine", "local", "--workers", 2,
        "--hash-bits", 12, "--passes", 1, "--json",
    )  # fmt: skip
    found = json.loads(told)
    assert found["workers"] == 2
    assert found["sentences"] == len(TREES)
    assert found["solver"] == "bqo around dcd"


@pytest.mark.parametrize("task", ["tag+parse", "pipeline"])
def test_the_command_trains_taggers_and_a_parser_on_workers(task, tmp_path):
    trees, model = tmp_path / "t.conllu", tmp_path / "m.dstruct"
    trees.write_bytes(bytes(TREES.select(range(20))))
    told = command(
        trees, "--task", task, "--folds", 2, "--model", model, "--engine", "local", "--workers", 2,
        "--hash-bits", 12, "--passes", 1, "--json",
    )  # fmt: skip
    found = json.loads(told)
    assert (found["workers"], found["sentences"], found["solver"]) == (2, 20, "bqo around dcd")
    loaded = ParsingPipeline.load(model)
    assert len(loaded.predict([["She", "sings", "."]])[0].heads) == 3


def test_taggers_and_a_parser_on_workers_are_those_of_one_machine():
    """Up to how far each part is from its optimum."""

    def fitted(**run):
        tagger = SequenceTagger(loss="crf", gap=1e-5, passes=300, **run)
        parser = DependencyParser(hash_bits=14, gap=0.002, passes=400, averaged=False, **run)
        pipeline = ParsingPipeline(["upos"], folds=2, tagger=tagger, parser=parser)
        return pipeline.fit(TREES)

    one, many = fitted(), fitted(engine="local", workers=2)
    assert many.parser_.workers_ == many.taggers_["upos"].workers_ == 2
    tagger = [each.taggers_["upos"].result_ for each in (one, many)]
    assert tagger[1].primal == pytest.approx(tagger[0].primal, rel=2e-5)
    assert many.tag(TREES).upos == one.tag(TREES).upos
    assert many.parser_.result_.primal == pytest.approx(one.parser_.result_.primal, rel=0.004)


def test_the_command_reads_several_files_on_one_machine_too(files, tmp_path):
    model = tmp_path / "m.dstruct"
    assert "13 sentences" in command(*files, "--model", model, "--passes", 1)
    trees = [tmp_path / "1.conllu", tmp_path / "2.conllu"]
    for path in trees:
        path.write_bytes(bytes(TREES))
    told = command(*trees, "--task", "parse", "--model", model, "--hash-bits", 12, "--passes", 1)
    assert f"{2 * len(TREES)} sentences" in told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "2"], "there is no engine"),
        (["--engine", "local"], "the number of workers is missing"),
        (["--engine", "local", "--workers", "2", "--averaged"], "have no average"),
    ],
)
def test_the_command_refuses_what_workers_cannot_do(files, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        command(files[0], "--model", tmp_path / "m.dstruct", *options)
    workers = ["--engine", "local", "--workers", "2"]
    with pytest.raises(InputError, match="is a file; checkpoints of several workers need a folder"):
        command(files[0], "--model", tmp_path / "m.dstruct", *workers, "--checkpoint", files[1])
    with pytest.raises(InputError, match="standard input cannot be divided"):
        command("-", "--model", tmp_path / "m.dstruct", "--engine", "local", "--workers", 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    X = sentences(14, seed=8)
    write_columns(folder / "train.txt", X, labels_of(X))
    (folder / "trees.conllu").write_bytes(bytes(TREES.select(range(8))))
    return folder


@pytest.fixture(scope="module")
def expected(folder) -> dict:
    return json.loads(json.dumps(worker_jobs.train("local", folder)))


@needs_ray
def test_estimators_on_ray_make_the_models_of_one_process(folder, expected):
    done = run(sys.executable, worker_jobs.__file__, "ray", str(folder))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    unreachable = found.pop("unreachable")
    assert found == expected, done.stderr
    assert unreachable.startswith("there is no Ray cluster at '127.0.0.1:1'")


def test_estimators_under_mpi_make_the_models_of_one_process(folder, expected):
    job = [mpiexec(), "-n", "2", sys.executable, worker_jobs.__file__, "mpi", str(folder)]
    done = run(*job)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == expected


def test_the_command_under_mpi_writes_and_tells_once(folder, tmp_path):
    command = [sys.executable, "-m", "dualstruct", "train", folder / "train.txt", "--engine", "mpi"]
    command += ["--model", tmp_path / "m.dstruct", "--passes", "2"]
    done = run(mpiexec(), "-n", "2", *map(str, command))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2 workers (mpi), bqo") == 1
    assert SequenceTagger.load(tmp_path / "m.dstruct").result_.passes == 2
    done = run(mpiexec(), "-n", "2", *map(str, command), "--workers", "3")
    assert done.returncode != 0
    assert "workers is 3, but this MPI job has 2: start it with mpiexec -n 3" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cluster_that_is_too_small_for_the_next_run_is_started_anew(monkeypatch):
    class Ray:
        """As much of Ray as starting it takes."""

        def __init__(self):
            self.__spec__ = ModuleSpec("ray", None)
            self.started = []
            self.late = ["The current node timed out during startup."]
            self.util = SimpleNamespace(get_node_ip_address=lambda: "127.0.0.1")

        def is_initialized(self):
            return bool(self.started) and self.started[-1] is not None

        def init(self, address, num_cpus, **options):
            assert address == "local"  # others may have a cluster here, or name one in RAY_ADDRESS
            if self.late:
                raise Exception(self.late.pop())
            self.started.append(num_cpus)

        def shutdown(self):
            self.started.append(None)

        def get_runtime_context(self):
            return SimpleNamespace(gcs_address=f"127.0.0.1:{len(self.started)}")

    fake = Ray()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr("dualstruct.workers.ray._started", None)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_DEDUP_LOGS_SKIP_REGEX", "")
    for workers in (2, 1, 4, 3):
        start_ray(workers)
    assert fake.started == [2, None, 4]
    fake.started = [8]  # somebody else's
    start_ray(16)
    assert fake.started == [8]
    fake.started, fake.late = [], ["no disk"]
    with pytest.raises(Exception, match="no disk"):
        start_ray(2)
