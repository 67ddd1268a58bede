"""The command on streams that misbehave: one sentence, a proper exit code, never a traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_cases import COMMANDS, PLAIN, READING, WAYS, make_files
from commands import run_command
from dualstruct import SequenceTagger
from dualstruct.cli import commands

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs fork and /dev/full")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Models and files with letters that ASCII lacks."""
    return make_files(tmp_path_factory.mktemp("streams"))


def outcomes(
    folder: Path, ways: dict[str, list[str]], **streams
) -> dict[str, tuple[int, str, str]]:
    """Exit code, output and messages of each way."""
    found = {}
    for name, way in ways.items():
        arguments = (part.replace("{}", str(folder)) for part in way)
        done = run_command(*arguments, short_demo=True, **streams)
        found[name] = (done.returncode, done.stdout, done.stderr)
    return found


def without_server(ways: dict[str, list[str]]) -> dict[str, list[str]]:
    """The server continues forever where nothing is wrong."""
    return {name: way for name, way in ways.items() if name != "serve"}


def test_every_command_is_tried():
    assert set(COMMANDS) == set(commands.COMMANDS)


@pytest.mark.parametrize(
    ("device", "code", "sentence"),
    [
        ("/dev/full", 1, "dualstruct: standard output: No space left on device\n"),
        ("closed", 1, "dualstruct: standard output: Bad file descriptor\n"),
        ("broken", 0, ""),
    ],
)
def test_output_that_cannot_be_written_is_one_sentence(folder, device, code, sentence):
    ways = WAYS if device == "/dev/full" else PLAIN
    found = outcomes(folder, ways, stdout=device)
    assert {name: (each[0], each[2]) for name, each in found.items()} == dict.fromkeys(
        ways, (code, sentence)
    )


@pytest.mark.parametrize("device", ["/dev/full", "closed", "broken"])
def test_without_standard_error_commands_work_and_fail_as_with_it(folder, device):
    ways = without_server(PLAIN) | {"missing file": ["inspect", "{}/nosuch"], "usage": ["train"]}
    expected = {"missing file": 1, "usage": 2}
    found = outcomes(folder, ways, stderr=device)
    assert {name: each[0] for name, each in found.items()} == {
        name: expected.get(name, 0) for name in ways
    }
    assert all(each[1] for name, each in found.items() if name not in expected)


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("closed", "dualstruct: standard input is closed; name a file instead\n"),
        ("/proc/self/mem", "dualstruct: standard input: Input/output error\n"),
    ],
)
def test_input_that_cannot_be_read_is_one_sentence(folder, device, sentence):
    found = outcomes(folder, READING, stdin=device)
    assert found == dict.fromkeys(READING, (1, "", sentence))


def test_without_standard_input_commands_that_need_none_work(folder):
    ways = without_server(PLAIN)
    found = outcomes(folder, ways, stdin="closed")
    assert {name: each[0] for name, each in found.items()} == dict.fromkeys(ways, 0)


def test_with_no_streams_at_all_commands_neither_hang_nor_write_into_files(folder):
    before = (folder / "names.txt").read_bytes()
    closed = dict.fromkeys(("stdin", "stdout", "stderr"), "closed")
    found = outcomes(folder, PLAIN, **closed)
    assert {name: each[0] for name, each in found.items()} == dict.fromkeys(PLAIN, 1)
    assert (folder / "names.txt").read_bytes() == before
    assert SequenceTagger.load(folder / "new.dstruct").result_.passes == 1


def test_a_folder_that_may_not_be_searched_is_one_sentence(folder):
    """Root may search all folders, unless that is taken from it."""
    ways = {name: way for name, way in WAYS.items() if "{}" in "".join(way)}
    locked = folder / "locked"
    inner = locked / "inner"
    inner.mkdir(parents=True)
    ways = {name: [part.replace("{}", str(inner)) for part in way] for name, way in ways.items()}
    locked.chmod(0o600)
    try:
        found = outcomes(folder, ways, unprivileged=os.geteuid() == 0)
    finally:
        locked.chmod(0o700)
    for name, (code, output, messages) in found.items():
        assert (code, output, messages.count("\n")) == (1, "", 1), (name, messages)
        assert "ermission denied" in messages, (name, messages)
        assert "mistake of dualstruct" not in messages


def test_an_encoding_without_the_letters_gets_escapes(folder):
    ways = without_server(WAYS)
    ascii_ones, others = outcomes(folder, ways, encoding="ascii"), outcomes(folder, ways)
    assert {name: each[0] for name, each in ascii_ones.items()} == dict.fromkeys(ways, 0)
    for name, (_, output, messages) in ascii_ones.items():
        if name.startswith("predict trees") or name == "predict words":
            continue  # CoNLL-U is UTF-8 whatever the terminal takes
        assert output.isascii(), name
        if "json" in name:
            continue  # it has escapes of its own
        assert ("written as escapes" in messages) == ("\\x" in output or "\\u" in output), name
    for name in ("predict json", "evaluate json", "explain json", "suspects json", "inspect json"):
        assert _without_times(ascii_ones[name][1]) == _without_times(others[name][1]), name
    assert "é\t" in others["predict"][1]
    assert "\\xe9\t" in ascii_ones["predict"][1]


def test_streams_without_a_buffer_behave_as_others(folder):
    """PYTHONUNBUFFERED, which images of containers set."""
    some = {name: WAYS[name] for name in ("predict", "explain", "inspect", "evaluate json")}
    for streams in ({"encoding": "ascii"}, {"stdout": "/dev/full"}, {"stderr": "/dev/full"}):
        found = [outcomes(folder, some, unbuffered=unbuffered, **streams) for unbuffered in (0, 1)]
        assert _without_speed(found[0]) == _without_speed(found[1]), streams
        code = 1 if "stdout" in streams else 0
        assert {each[0] for each in found[1].values()} == {code}


def _without_speed(found: dict[str, tuple[int, str, str]]):
    return {
        name: (code, _without_times(output) if "json" in name and output else output, messages)
        for name, (code, output, messages) in found.items()
    }


def _without_times(text: str):
    found = json.loads(text)
    for name in ("seconds", "tokens_per_second"):
        found.pop(name, None)
    return found
