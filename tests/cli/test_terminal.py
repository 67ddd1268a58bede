"""What a stranger's file holds commands no terminal: words, labels, features, names of files."""

from __future__ import annotations

import json
import re
import sys

import pytest

from command_cases import WAYS, make_files
from command_line import run_command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")

#: Sets the title, clears the screen, and turns the direction of writing around.
EVIL = "\x1b]0;owned\x07\x9b2J\x7f\u202e"
#: Ways that show nothing of the data.
SILENT = {"version", "help", "demo", "experiment", "datasets", "train json", "inspect trees"}
#: Colours and cursors of our own.
OURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("terminal") / f"folder{EVIL}"
    made.mkdir()
    return make_files(made, EVIL, EVIL)


def shown(arguments) -> tuple[int, str, str]:
    """Exit code, output and messages of a command on a terminal."""
    return run_command(arguments, terminal=True)


def commands_of(text: str) -> set[str]:
    """What is left of EVIL once our own colours are taken out."""
    return set(OURS.sub("", text)) & set(EVIL) - set("]0;owned2J")


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("demo", "experiment")])
def test_what_a_file_holds_is_escaped_on_a_terminal(way, folder, monkeypatch):
    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: sockets[0].close())
    arguments = [part.replace("{}", str(folder)) for part in WAYS[way]]
    code, output, messages = shown(arguments)
    assert code == 0, messages
    assert commands_of(output) == set()
    assert commands_of(messages) == set()
    if way not in SILENT:
        assert "owned" in output + messages
    if "json" in way:
        json.loads(output)


@pytest.mark.parametrize("way", [way for way in WAYS if "{}" in "".join(WAYS[way])])
def test_names_of_files_in_messages_are_escaped(way, folder):
    arguments = [part.replace("{}", str(folder / f"no{EVIL}such")) for part in WAYS[way]]
    code, output, messages = shown(arguments)
    assert code in (1, 2)
    assert commands_of(output) == set()
    assert commands_of(messages) == set()


@pytest.mark.parametrize("command", sorted({way[0] for way in WAYS.values()} - {"--version"}))
def test_wrong_options_are_escaped(command):
    for arguments in ([command, f"--no{EVIL}such"], [f"{command}{EVIL}"]):
        code, output, messages = shown(arguments)
        assert code == 2
        assert commands_of(output) | commands_of(messages) == set()
        assert "Traceback" not in messages
