"""Files that go away while workers learn from them, disks that are full: all is named, and a
checkpoint that is there stays as it is."""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import run_command
from dualstruct import InputError, SequenceTagger, write_columns
from dualstruct.data.shards import find_shards
from dualstruct.datasets import load_english
from dualstruct.tasks.tagging import large
from patience import HANGS

TREES = load_english()
X = [list(TREES[i].forms) for i in range(120)]
Y = [list(TREES[i].entities) for i in range(120)]
RUN = {"features": "word[0]\nsuffix(word[0],2)\n", "hash_bits": 10, "engine": "local", "workers": 2}


@pytest.fixture
def parts(tmp_path) -> Path:
    """Four files of 30 sentences, the last one compressed."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(4):
        write_columns(folder / f"{k}.txt", X[k::4], Y[k::4])
    (folder / "3.txt.gz").write_bytes(gzip.compress((folder / "3.txt").read_bytes()))
    (folder / "3.txt").unlink()
    return folder


def train(parts: Path, folder: Path, passes: int = 3, source=None) -> SequenceTagger:
    run = {**RUN, "passes": passes, "checkpoint": folder / "run", "resume": True}
    return SequenceTagger(**run).fit_large(source or str(parts), folder / "disk")


def contents(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def while_written(monkeypatch, happens) -> None:
    """Let something happen after the first block of every worker is on the disk."""
    add = large.RowsOnDisk.add

    def adding(disk, rows, truth):
        add(disk, rows, truth)
        happens()

    monkeypatch.setattr(large.RowsOnDisk, "add", adding)


def remove(parts: Path) -> None:
    for path in parts.iterdir():
        path.unlink(missing_ok=True)  # every worker does it


def cut(parts: Path) -> None:
    path = parts / "3.txt.gz"
    path.write_bytes(path.read_bytes()[:100])


def change(parts: Path) -> None:
    with open(parts / "2.txt", "a") as file:
        file.write("\nAda B-PER\n\n")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (remove, r"parts/\d\.txt(\.gz)?: No such file"),
        (cut, r"parts/3\.txt\.gz: (it cannot be unpacked|the file changed while it was read)"),
        (change, r"parts/2\.txt: the file changed while it was read"),
    ],
)
def test_files_that_go_or_change_while_they_are_read_are_named(
    fault, message, parts, tmp_path, monkeypatch
):
    whole = train(parts, tmp_path)
    kept, before = contents(tmp_path / "run"), {p: p.read_bytes() for p in parts.iterdir()}
    with monkeypatch.context() as patch:
        while_written(patch, lambda: fault(parts))
        with pytest.raises(InputError, match=message):
            train(parts, tmp_path, passes=6)
    assert contents(tmp_path / "run") == kept
    assert not list((tmp_path / "disk").iterdir())
    for path, data in before.items():
        path.write_bytes(data)
    assert train(parts, tmp_path).model_.w.array.tobytes() == whole.model_.w.array.tobytes()


def test_a_disk_that_is_full_while_features_are_written_is_named(parts, tmp_path):
    """The limit of the system on files stands for the disk."""
    train(parts, tmp_path)
    kept = contents(tmp_path / "run")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        with pytest.raises(
            InputError, match=r"dualstruct\.ds.*: the features cannot be written \(File too large"
        ):
            train(parts, tmp_path, passes=6)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert contents(tmp_path / "run") == kept
    assert not list((tmp_path / "disk").iterdir())
    assert train(parts, tmp_path, passes=6).result_.passes == 6


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_store_that_goes_away_is_named(tmp_path, monkeypatch):
    """A server of S3 that stops after the files were found."""
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server").ThreadedMotoServer
    import fsspec
    from fsspec.config import conf

    server = server_of(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    once = {"connect_timeout": 2, "retries": {"max_attempts": 1}}
    store = {"key": "k", "secret": "s", "endpoint_url": f"http://{host}:{port}"}
    monkeypatch.setitem(conf, "s3", {**store, "config_kwargs": once})
    files = fsspec.filesystem("s3")
    files.mkdir("lost")
    for k in range(4):
        write_columns(tmp_path / "part.txt", X[k::4], Y[k::4])
        files.pipe(f"lost/{k}.txt", (tmp_path / "part.txt").read_bytes())
    train(Path(), tmp_path, source="s3://lost")
    kept = contents(tmp_path / "run")
    shards = find_shards(["s3://lost"])
    server.stop()
    monkeypatch.setattr(large, "find_shards", lambda names: shards)
    with pytest.raises(InputError, match=r"s3://lost/\d\.txt: it cannot be (looked at|opened)"):
        train(Path(), tmp_path, passes=6, source="s3://lost")
    assert contents(tmp_path / "run") == kept
    assert not list((tmp_path / "disk").iterdir())


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    """A model, and sixteen files to label."""
    place = tmp_path_factory.mktemp("texts")
    SequenceTagger("ner", passes=2).fit(X, Y).save(place / "ner.dstruct")
    (place / "in").mkdir()
    for k in range(16):
        write_columns(place / "in" / f"{k:02}.txt", X[k::16], Y[k::16])
    return place


def label(texts: Path, out: Path, engine: str) -> list[str]:
    pattern = str(texts / "in" / "*.txt")
    return ["predict", str(texts / "ner.dstruct"), pattern, "--out", str(out), *engine.split()]


@pytest.mark.parametrize("engine", ["--engine local --workers 2", "--workers 1 --engine local"])
def test_labelling_that_is_killed_at_any_instant_ends_with_every_file_once(engine, texts, tmp_path):
    whole = tmp_path / "whole"
    assert run_command(*label(texts, whole, engine)).returncode == 0
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    out, rng, finished = tmp_path / "out", random.Random(3), {}
    for _ in range(6):
        running = subprocess.Popen(
            [sys.executable, "-m", "dualstruct", *label(texts, out, engine)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(rng.uniform(0.2, 1.5))
        stop = os.killpg if rng.random() < 0.7 else os.kill  # with what it started, or alone
        stop(running.pid, signal.SIGKILL)
        running.wait(HANGS)
        for path in out.glob("*.txt"):
            assert path.read_bytes() == expected[path.name]  # what has its name is whole
            assert finished.setdefault(path.name, path.stat().st_mtime_ns) == (
                path.stat().st_mtime_ns
            )  # and is not written again
    done = run_command(*label(texts, out, engine))
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir()} == expected
    assert all((out / name).stat().st_mtime_ns == time for name, time in finished.items())


def test_training_out_of_core_that_is_killed_is_that_which_was_not(tmp_path):
    """At random instants: while features are written, in passes, while checkpoints are."""
    script = Path(__file__).parents[1] / "kills.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", "8", "--seed", "5", "workers"],
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 wrong" in done.stdout
