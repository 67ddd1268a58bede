"""The list of commands is true, and what is shown of them can be run."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from shutil import which

import pytest

from command_cases import PLAIN, make_files
from command_line import called, run_command
from dualstruct.cli.command import Command
from dualstruct.cli.commands import COMMANDS, COMPLETING
from dualstruct.cli.parameters import UsageError
from patience import HANGS


def function_of(name):
    module, _, function = COMMANDS[name].place.partition(":")
    return getattr(import_module(f"dualstruct.cli.{module}"), function)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_in_the_list_what_it_says_itself(name):
    assert inspect.getdoc(function_of(name)).split("\n")[0] == COMMANDS[name].does


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_the_command_takes_and_no_types_of_python(name):
    code, shown, _ = run_command([name, "--help"])
    assert code == 0
    assert "Options:\n" in shown
    assert not re.search(r"<[a-z\[\] ]+>|x>=|<=x", shown)  # a program's types
    for example in COMMANDS[name].examples:
        assert f"\n  dualstruct {example}\n" in shown
        words = shlex.split(example.partition(" < ")[0])
        assert words[0] == name
        Command.named(name).parse(words[1:])  # refuses what it does not know


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json(name):
    assert Command.named(name).options["--json"].type is bool


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("json"))


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("calibrate", {"temperature", "model"}),
        ("label", {"target", "format", "sentences"}),
        ("explain", {"sentences"}),
        ("suspects", {"suspects"}),
        ("draw", {"sentences"}),
        ("convert", {"target", "format", "labels", "attributes"}),
        ("compare", {"scores", "different"}),
        ("experiment", {"experiments"}),
        ("datasets", {"corpora"}),
    ],
)
def test_json_is_one_object_and_nothing_else(name, keys, files):
    arguments = [part.replace("{}", str(files)) for part in PLAIN[name]]
    code, shown, messages = run_command([*arguments, "--json"])
    assert (code, messages) == (0, "")
    assert keys <= set(json.loads(shown))


def test_all_commands_are_in_the_overview():
    code, shown, _ = run_command(["--help"])
    assert code == 0
    for name, known in COMMANDS.items():
        assert f"  {name:11}{known.does}\n" in shown
    assert max(map(len, shown.splitlines())) <= 80  # a narrow terminal breaks no line


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join
)
def test_help_and_version_do_not_import_numpy(arguments):
    assert b"dualstruct" in shown_without_numpy(arguments)


@pytest.mark.parametrize(
    ("words", "wanted"), [("train --l", b"--loss"), ("tune --loss h", b"hinge")]
)
def test_completion_does_not_import_numpy(words, wanted, monkeypatch):
    monkeypatch.setenv(COMPLETING, "1")
    assert wanted in shown_without_numpy(words.split())


def shown_without_numpy(arguments):
    program = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('numpy' in sys.modules, file=sys.stderr))\n"
        f"sys.argv = ['dualstruct', *{arguments!r}]\n"
        "from dualstruct.cli import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=HANGS)
    assert done.stderr.decode().strip() == "False"
    return done.stdout


def test_the_shell_completes_commands_options_and_choices():
    for shell, typed in (("bash", "${COMPREPLY[@]}"), ("zsh", "$found")):
        if which(shell) is None:
            continue
        function = called("--show-completion", shell)
        for words, wanted in (
            ("ev", "evaluate"),
            ("evaluate --conf", "--confidence --confusion"),
            ("train --task t", "tag tag+parse tokenize"),
            ("train --loss sq", "squared_hinge"),
        ):
            given = ["dualstruct", *words.split()]
            program = (
                f'dualstruct() {{ "{sys.executable}" -m dualstruct "$@"; }}\n'
                f"compdef() {{ :; }}; compadd() {{ :; }}\n{function}\n"
                f"COMP_WORDS=({shlex.join(given)}); COMP_CWORD={len(given) - 1}\n"
                f"words=({shlex.join(given)}); CURRENT={len(given)}\n"
                f'_dualstruct; printf "%s\\n" "{typed}"'
            )
            done = subprocess.run([shell, "-c", program], capture_output=True, timeout=HANGS)
            assert sorted(done.stdout.decode().split()) == wanted.split(), done.stderr


def test_completion_is_installed_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    (tmp_path / ".bashrc").write_text("alias a=b")
    for said in ("is installed in", "has it already"):
        assert said in called("--install-completion")
    text = (tmp_path / ".bashrc").read_text()
    assert text == f"alias a=b\n{called('--show-completion', 'bash').rstrip()}\n"
    assert "completion" in called("--install-completion", "fish")
    with pytest.raises(UsageError, match="no completion for the shell 'tcsh', only for bash, zsh"):
        called("--install-completion", "tcsh")
