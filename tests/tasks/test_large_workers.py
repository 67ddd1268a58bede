"""More data than memory holds, on several workers: each streams its own files."""

from __future__ import annotations

import dataclasses
import gzip
import json
import sys

import numpy as np
import pytest

from commands import run_command
from dualstruct import InputError, SequenceTagger, read_columns, write_columns
from dualstruct.data.shards import deal, find_shards
from dualstruct.data.sources import Share
from dualstruct.datasets import load_english
from dualstruct.tasks.tagging import large, sentences
from engines_here import mpiexec, needs_ray, run

TREES = load_english()
X = [list(TREES[i].forms) for i in range(150)]
Y = [list(TREES[i].entities) for i in range(150)]
SIZES = [50, 20, 35, 30, 15]
QUICK = {"features": "word[0]\nsuffix(word[0],2)\n", "hash_bits": 10, "passes": 3}


@pytest.fixture
def parts(tmp_path):
    """A folder of five files, one of them compressed."""
    folder = tmp_path / "parts"
    folder.mkdir()
    first = 0
    for k, size in enumerate(SIZES):
        write_columns(folder / f"{k}.txt", X[first : first + size], Y[first : first + size])
        first += size
    packed = gzip.compress((folder / "2.txt").read_bytes())
    (folder / "2.txt.gz").write_bytes(packed)
    (folder / "2.txt").unlink()
    (folder / ".hidden").write_text("x")
    return folder


@dataclasses.dataclass(frozen=True)
class Loaded:
    """The same files as each worker's own, in memory."""

    names: tuple

    def share(self, workers, seed, needed=True):
        mine = deal(find_shards(self.names), workers.size)[workers.rank]
        files = [read_columns(shard.name) for shard in mine]
        x = [list(row) for file in files for row in file.tokens]
        y = [list(row) for file in files for row in file.labels]
        return Share(x, y, np.arange(len(x)))


@pytest.mark.parametrize("settings", [{}, {"scheme": "bilou"}, {"solver": "average"}])
@pytest.mark.parametrize("workers", [1, 2, 3, 5])
def test_files_on_workers_give_the_model_of_the_same_files_in_memory(
    workers, settings, parts, tmp_path, monkeypatch
):
    run = {**QUICK, **settings, "engine": "local", "workers": workers}
    streamed = SequenceTagger(**run).fit_large(str(parts), tmp_path / "disk", dev=(X, Y))
    whole = sentences.source_of
    monkeypatch.setattr(
        "dualstruct.estimators.tagger.source_of",
        lambda x, y: x if isinstance(x, Loaded) else whole(x, y),
    )
    memory = SequenceTagger(**run)._fit(Loaded((str(parts),)), None, (X, Y), ())
    assert streamed.model_.w.array.tobytes() == memory.model_.w.array.tobytes()
    assert streamed.classes_.tolist() == memory.classes_.tolist()
    assert streamed.trained_on_ == (150, sum(map(len, X)))
    assert streamed.predict(X) == memory.predict(X)
    assert not list((tmp_path / "disk").iterdir())


def test_one_large_file_is_divided_by_blocks(tmp_path, monkeypatch):
    write_columns(tmp_path / "all.txt", X, Y)
    run = {**QUICK, "engine": "local", "workers": 3}
    tagger = SequenceTagger(**run).fit_large(tmp_path / "all.txt", tmp_path / "disk")
    assert tagger.trained_on_ == (150, sum(map(len, X)))
    assert tagger.score(X, Y) > 0.5
    one = SequenceTagger(**QUICK).fit_large(tmp_path / "all.txt", tmp_path / "disk")
    assert one.read_ == tagger.trained_on_


def test_a_worker_without_sentences_is_named(tmp_path):
    for k in range(3):
        write_columns(tmp_path / f"{k}.txt", X[:5], Y[:5])
    (tmp_path / "2.txt").write_text("\n")
    tagger = SequenceTagger(**QUICK, engine="local", workers=3)
    with pytest.raises(InputError, match="no sentences to learn from for worker"):
        tagger.fit_large(str(tmp_path / "*.txt"), tmp_path / "disk")


@pytest.mark.parametrize("workers", [None, 2])
def test_a_file_that_changes_meanwhile_is_named(workers, parts, tmp_path, monkeypatch):
    read = large.read_blocks

    def changing(file, **how):
        yield from read(file, **how)
        with open(file, "ab") as appended:
            appended.write(b"\n")

    monkeypatch.setattr(large, "read_blocks", changing)
    engine = {} if workers is None else {"engine": "local", "workers": workers}
    with pytest.raises(InputError, match=r"\d\.txt.*: the file changed while it was read"):
        SequenceTagger(**QUICK, **engine).fit_large(parts, tmp_path / "disk")


def test_a_file_that_ends_too_early_is_named(parts, tmp_path):
    packed = (parts / "2.txt.gz").read_bytes()
    (parts / "2.txt.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"2\.txt\.gz: it cannot be unpacked"):
        SequenceTagger(**QUICK).fit_large(parts, tmp_path / "disk")


def test_weights_from_disk_count_as_those_from_memory(tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, len(X))
    tokens = [rng.uniform(0.5, 2, len(row)).tolist() for row in X]
    how = {"sample_weight": weights, "token_weight": tokens}
    memory = SequenceTagger(**QUICK).fit(X, Y, **how)
    streamed = SequenceTagger(**QUICK).fit_large(zip(X, Y, strict=True), tmp_path, **how)
    assert streamed.model_.w.array.tobytes() == memory.model_.w.array.tobytes()
    plain = SequenceTagger(**QUICK).fit(X, Y)
    assert plain.model_.w.array.tobytes() != memory.model_.w.array.tobytes()
    with pytest.raises(InputError, match="1 weight for 150 examples"):
        SequenceTagger(**QUICK).fit_large(zip(X, Y, strict=True), tmp_path, sample_weight=[1.0])


def test_the_command_takes_patterns_and_workers(parts, tmp_path):
    model = tmp_path / "m.dstruct"
    options = ["--features", "pos", "--passes", "2", "--hash-bits", "12", "--json"]
    options += ["--out-of-core", str(tmp_path / "disk"), "--model", str(model)]
    options += ["--engine", "local", "--workers", "2"]
    trained = run_command("train", str(parts / "*.txt*"), *options)
    assert trained.returncode == 0, trained.stderr
    report = json.loads(trained.stdout)
    assert (report["sentences"], report["workers"]) == (150, 2)
    nothing = run_command("train", str(parts / "*.csv"), *options)
    assert nothing.returncode != 0
    assert "no file has such a name" in nothing.stderr


def test_shards_are_dealt_by_size_and_each_once():
    shards = find_shards([__file__, __file__])
    assert len(shards) == 1
    rng = np.random.default_rng(1)
    many = [
        dataclasses.replace(shards[0], name=str(k), size=int(rng.integers(1, 99)))
        for k in range(40)
    ]
    for hands in (1, 3, 7):
        dealt = deal(many, hands)
        assert sorted(int(s.name) for hand in dealt for s in hand) == list(range(40))
        sums = [sum(s.size for s in hand) for hand in dealt]
        assert max(sums) - min(sums) <= 99


@pytest.mark.parametrize("engine", [pytest.param("ray", marks=needs_ray), "mpi"])
def test_processes_give_the_model_of_threads(engine, parts, tmp_path):
    """Ray's actors and MPI's processes stream from disk as threads do."""
    threads = SequenceTagger(**QUICK, engine="local", workers=2).fit_large(parts, tmp_path / "a")
    (tmp_path / "templates.txt").write_text(QUICK["features"])
    model = tmp_path / f"{engine}.dstruct"
    command = [sys.executable, "-m", "dualstruct", "train", str(parts), "--model", str(model)]
    command += ["--features", str(tmp_path / "templates.txt"), "--hash-bits", "10"]
    command += ["--passes", "3", "--engine", engine, "--out-of-core", str(tmp_path / "disk")]
    command += ["--workers", "2"] if engine == "ray" else []
    ran = run(*([mpiexec(), "-n", "2"] if engine == "mpi" else []), *command)
    assert ran.returncode == 0, ran.stderr
    found = SequenceTagger.load(model)
    assert found.model_.w.array.tobytes() == threads.model_.w.array.tobytes()
    assert not list((tmp_path / "disk").iterdir())
