"""What a shell completes: commands, options and the words that options take; all else is a file.

A function in the shell calls ``dualstruct`` with the words so far and the variable COMPLETING set,
and gets a line for each word that may come.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dualstruct.cli.command import Command
from dualstruct.cli.commands import COMMANDS, COMPLETING
from dualstruct.cli.parameters import UsageError, shown

BASH = f"""\
_dualstruct() {{
    local IFS=$'\\n'
    COMPREPLY=($({COMPLETING}=1 dualstruct "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o default -F _dualstruct dualstruct
"""
ZSH = f"""\
#compdef dualstruct
_dualstruct() {{
    local -a found
    found=(${{(f)"$({COMPLETING}=1 dualstruct "${{(@)words[2,CURRENT]}}" 2>/dev/null)"}})
    if (( $#found )); then compadd -- $found; else _files; fi
}}
compdef _dualstruct dualstruct
"""
FISH = f"""\
function __dualstruct
    {COMPLETING}=1 dualstruct (commandline -opc)[2..] (commandline -ct) 2>/dev/null
end
complete -c dualstruct -a '(__dualstruct)'
"""
#: By shell: the function, and the file that the shell reads when it starts.
SHELLS = {
    "bash": (BASH, ".bashrc"),
    "zsh": (ZSH, ".zshrc"),
    "fish": (FISH, ".config/fish/completions/dualstruct.fish"),
}


def candidates(words: Sequence[str]) -> list[str]:
    """What the last word may become."""
    *before, last = words or [""]
    if not before:
        return [name for name in COMMANDS if name.startswith(last)]
    if before[0] not in COMMANDS:
        return []
    options = Command.named(before[0]).options
    possible: Sequence[str] = ()
    if last.startswith("-"):
        possible = (*options, "--help")
    elif before[-1] in options:
        possible = options[before[-1]].choices
    return [word for word in possible if word.startswith(last)]


def script(shell: str | None) -> tuple[str, str, str]:
    """The shell (this user's by default), its function and the file for it."""
    shell = shell or Path(os.environ.get("SHELL", "")).name
    if shell not in SHELLS:
        known = ", ".join(SHELLS)
        raise UsageError(f"there is no completion for the shell {shown(shell)}, only for {known}")
    return shell, *SHELLS[shell]


def install(shell: str | None) -> str:
    """Let the shell complete from its next start on; says what was done."""
    shell, function, name = script(shell)
    file = Path.home() / name
    there = file.read_text(encoding="utf-8") if file.exists() else ""
    if function in there:
        return f"{file} has it already"
    file.parent.mkdir(parents=True, exist_ok=True)
    gap = "\n" if there and not there.endswith("\n") else ""
    with file.open("a", encoding="utf-8") as appended:
        appended.write(gap + function)
    return f"completion is installed in {file}; it works from the next start of {shell} on"
