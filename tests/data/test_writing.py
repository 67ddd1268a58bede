"""Files are written all or nothing, whoever else is at work, and nothing is left behind."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import dualstruct
from dualstruct import SequenceTagger
from dualstruct.compat.sklearn_crfsuite import CRF
from dualstruct.data import leftovers
from dualstruct.data.leftovers import own_folder, own_path
from dualstruct.data.writing import OutputError, replace_file, replacing

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes, links and signals are Unix's")

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"]]


def names(folder) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"half" * (1 // 0))
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_the_mode_of_the_old_file_stays(tmp_path):
    for mode in (0o600, 0o640, 0o444, 0o755):
        path = tmp_path / f"{mode:o}"
        path.write_bytes(b"old")
        path.chmod(mode)
        replace_file(path, b"new")
        assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)


def test_a_models_mode_stays_when_it_is_trained_on(tmp_path):
    path = tmp_path / "m.dstruct"
    tagger = SequenceTagger(passes=1).fit(X, Y)
    tagger.save(path)
    path.chmod(0o600)
    tagger.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_new_files_have_the_mode_that_the_user_wants(tmp_path):
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with replacing(path) as file:
        [beside] = set(names(tmp_path)) - {"a"}
        file.write(b"secret")
        assert stat.S_IMODE((tmp_path / beside).stat().st_mode) == 0o600


def test_threads_that_write_one_file_give_one_of_their_versions(tmp_path):
    path = tmp_path / "a"
    versions = [bytes([65 + k]) * 200_000 for k in range(4)]
    replace_file(path, versions[0])
    torn, done = [], threading.Event()

    def write(version: bytes) -> None:
        for _ in range(25):
            replace_file(path, version)

    def read() -> None:
        while not done.is_set():
            found = path.read_bytes()
            if found not in versions:
                torn.append(len(found))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(version,)) for version in versions]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join()
    assert torn == []
    assert names(tmp_path) == ["a"]


def test_temporary_names_cannot_be_guessed_and_are_not_reused(tmp_path, monkeypatch):
    with replacing(tmp_path / "a"), replacing(tmp_path / "a"):
        first, second = names(tmp_path)
    assert first != second
    # Whoever guessed it all the same has planted a link there.
    monkeypatch.setattr("dualstruct.data.leftovers.os.urandom", bytes)
    with own_path(tmp_path, "a") as path:
        guessed = path
    (tmp_path / "precious").write_bytes(b"old")
    guessed.symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match="could not be written: File exists"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_bytes() == b"old"


def test_a_link_of_ones_own_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "b"
    target.write_bytes(b"old")
    (tmp_path / "middle").symlink_to("there/b")
    (tmp_path / "a").symlink_to(tmp_path / "middle")
    replace_file(tmp_path / "a", b"new")
    assert target.read_bytes() == b"new"
    assert (tmp_path / "a").is_symlink()
    assert names(tmp_path / "there") == ["b"]


def test_a_link_to_nothing_makes_the_file(tmp_path):
    (tmp_path / "a").symlink_to("b")
    replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "b").read_bytes() == b"new"


def test_a_link_of_another_user_is_refused(tmp_path, monkeypatch):
    (tmp_path / "precious").write_bytes(b"old")
    (tmp_path / "a").symlink_to("precious")
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    monkeypatch.setattr(
        Path, "lstat", lambda path: os.stat_result((0o120777, 0, 0, 1, 99, *[0] * 5))
    )
    with pytest.raises(OutputError, match="a link that another user made"):
        replace_file(tmp_path / "a", b"new")
    assert (tmp_path / "precious").read_bytes() == b"old"


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("a")
    with pytest.raises(OutputError, match="a link to itself"):
        replace_file(tmp_path / "a", b"new")
    with pytest.raises(OutputError, match="a link to itself"):
        SequenceTagger(passes=1).fit(X, Y).save(tmp_path / "a")


def test_pipes_are_written_to_and_stay(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    replace_file(pipe, b"new")
    reader.join()
    assert found == [b"new"]
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 127)  # 254 bytes, of 255
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


@contextmanager
def child(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process that said "ready" and waits to be killed."""
    code = f"import sys, time\n{code}\n"
    source = str(Path(dualstruct.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


WRITES = """
from dualstruct.data.writing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(600)
"""
FOLDER = """
from dualstruct.data.leftovers import own_folder, tidy_on_sigterm
if len(sys.argv) > 2:
    tidy_on_sigterm()
with own_folder(sys.argv[1]) as folder:
    (folder / "large").write_bytes(b"1234")
    print("ready", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_goes_with_the_next_writing(tmp_path):
    with child(WRITES, tmp_path / "b"), child(FOLDER, tmp_path):
        pass
    with child(WRITES, tmp_path / "a") as live:  # which has removed the others'
        [of_the_live] = names(tmp_path)
        replace_file(tmp_path / "c", b"")
        assert of_the_live.startswith(f".a.ds-{leftovers._machine()}-{live.pid}-")
        assert names(tmp_path) == [of_the_live, "c"]
    assert names(tmp_path) == [of_the_live, "c"]


def test_a_folder_for_temporary_files_removes_those_of_the_dead(tmp_path):
    with child(FOLDER, tmp_path):
        pass
    [left] = names(tmp_path)
    with own_folder(tmp_path) as mine:
        assert names(tmp_path) == [mine.name]
    assert left != mine.name
    assert names(tmp_path) == []


def test_sigterm_removes_temporary_files_and_ends_the_process_as_ever(tmp_path):
    with child(FOLDER, tmp_path, "tidy") as process:
        process.terminate()
        assert process.wait() == -signal.SIGTERM
    assert names(tmp_path) == []


def test_a_fork_does_not_remove_what_its_parent_writes(tmp_path):
    with own_folder(tmp_path) as mine:
        pid = os.fork()
        if not pid:  # pragma: no cover: another process
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            leftovers.tidy_on_sigterm()
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(600)
        _, status = os.waitpid(pid, 0)
        assert os.WTERMSIG(status) == signal.SIGTERM
        assert mine.is_dir()


@pytest.mark.parametrize(
    ("changed", "stays"),
    [
        ({}, False),
        ({"machine": "00000000"}, True),  # shared with another machine
        ({"started": 1}, False),  # the number of the process was given to another one
        ({"pid": 1, "started": None}, True),
        ({"name": "notes"}, False),
        ({"end": ".txt"}, True),
    ],
    ids=str,
)
def test_only_what_is_nobodys_is_removed(changed, stays, tmp_path):
    if leftovers._started(1) is None:
        pytest.skip("this system does not tell when processes started")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    about = {"machine": leftovers._machine(), "pid": dead.pid, "name": "a", "end": ".part"}
    about |= {"started": leftovers._started(dead.pid)} | changed
    dead.wait()
    started = leftovers._started(1) if about["started"] is None else about["started"]
    owner = f"ds-{about['machine']}-{about['pid']}-{started}-{'0' * 16}"
    left = tmp_path / f".{about['name']}.{owner}{about['end']}"
    left.write_bytes(b"")
    replace_file(tmp_path / "b", b"")
    assert left.exists() == stays


def test_models_of_crfsuite_that_nobody_keeps_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    crf = CRF(max_iterations=2).fit([[{"w": w} for w in x] for x in X], Y)
    path = Path(crf.modelfile.name)
    assert path.read_bytes() == crf.modelfile.bytes
    del crf
    assert not path.exists()
    assert names(tmp_path) == []
    kept = CRF(max_iterations=2, keep_tempfiles=True).fit([[{"w": w} for w in x] for x in X], Y)
    path = Path(kept.modelfile.name)
    del kept
    assert path.exists()


def test_all_of_the_program_writes_files_in_this_way():
    """But for files inside temporary folders of its own, and those that only grow."""
    allowed = {
        "cli/completing.py": 1,
        "data/writing.py": 1,
        "experiments/store.py": 1,
        "features/mapped.py": 1,
        "plugins/spacy_component.py": 1,
    }
    writes = re.compile(r"\bopen\(.*[\"'][wax]b?[\"']|\.write_(?:text|bytes)\(|\bmkstemp\(")
    source = Path(dualstruct.__file__).parent
    found = {}
    for path in sorted(source.rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        code = [line for line in lines if not line.strip().startswith((">>>", "..."))]
        if count := len(writes.findall("\n".join(code))):
            found[str(path.relative_to(source))] = count
    assert found == allowed
