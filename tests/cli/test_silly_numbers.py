"""Every numeric option of every command refuses numbers that make no sense, in a sentence."""

from __future__ import annotations

import sys

import pytest

from command_cases import COMMANDS, make_files
from command_line import numeric_options, run_command

OPTIONS = numeric_options()
HUGE = "99999999999"
BEYOND = "9" * 25  # more than 64 bits hold
#: Nobody means these.
NONSENSE = ("9" * 5000, "nan", "-inf", "1e400", "")
#: Some options take these.
SILLY = ("-1", "0", HUGE, BEYOND, f"-{BEYOND}")
#: What goes with an option, so that it is looked at; {} is the folder of the files.
TREES = [
    "train",
    "{}/trees.conllu",
    "--model",
    "{}/new.dstruct",
    "--passes",
    "1",
    "--hash-bits",
    "10",
]
WITH = {
    ("train", "--passes"): [*COMMANDS["train"][:3], "--seconds", "0.2"],
    ("train", "--beta"): [*COMMANDS["train"], "--loss", "softmax_margin"],
    ("train", "--gamma"): [*COMMANDS["train"], "--loss", "softmax_margin"],
    ("train", "--order"): [*TREES, "--task", "parse"],
    ("train", "--folds"): [*TREES, "--task", "tag+parse"],
    ("train", "--workers"): [*COMMANDS["train"], "--engine", "local"],
    ("train", "--patience"): [*COMMANDS["train"], "--dev", "{}/names.txt"],
    ("train", "--gap"): [*COMMANDS["train"], "--seconds", "0.2"],
    ("draw", "--most"): COMMANDS["draw"][:1],
    ("inspect", "--top"): [*COMMANDS["inspect"], "--json"],
    ("experiment", "*"): ["lee-2015", "--quick"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("numbers"))


def outcome(folder, command, option, value):
    """The exit code and the messages; nothing else may happen."""
    chosen = WITH.get((command, option)) or WITH.get((command, "*")) or COMMANDS[command]
    arguments = [part.replace("{}", str(folder)) for part in chosen]
    before = peak()
    code, output, messages = run_command([command, *arguments, option, value])
    assert code in (0, 1, 2), messages[-2000:]
    assert "Traceback" not in output + messages
    assert len(messages) < 3000
    assert bool(messages) or not code
    assert peak() - before < 200, "megabytes"
    return code, messages


def peak() -> float:
    """The most memory that this process had, in MB."""
    if sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@pytest.fixture(autouse=True)
def nothing_long(monkeypatch):
    """The server does not serve, and experiments are refused once their options were looked at."""
    import dualstruct.experiments
    from dualstruct import InputError

    def refused(*_):
        raise InputError("experiments are for others")

    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: sockets[0].close())
    monkeypatch.setattr(dualstruct.experiments, "run_experiment", refused)


def test_there_are_options():
    assert len(OPTIONS) > 30
    assert ("train", "-C", float) in OPTIONS


@pytest.mark.parametrize(("command", "option", "kind"), OPTIONS)
def test_nonsense_is_refused(command, option, kind, folder):
    for value in NONSENSE:
        code, messages = outcome(folder, command, option, value)
        assert code, (value[:20], messages)
        assert "No such option" not in messages
        assert code == 2 or option in messages or option.strip("-").replace("-", "_") in messages


@pytest.mark.parametrize(("command", "option", "kind"), OPTIONS)
def test_silly_numbers_are_refused_or_bounded(command, option, kind, folder):
    for value in SILLY:
        if (option, value) == ("--label-column", "0"):
            continue  # there is such a column
        outcome(folder, command, option, value)
