"""One command: its words become the arguments of a function, and its help is made of them.

Options and arguments may come in any order; ``--name value`` and ``--name=value`` are the same, and
what follows ``--`` is no option.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from inspect import Signature, cleandoc
from typing import Any

from dualstruct.cli.commands import COMMANDS, examples
from dualstruct.cli.parameters import OPTIONS, Argument, Parameter, UsageError, parameters_of, shown
from dualstruct.printable import plural

#: The widest that a help is, and the widest that its names of options are.
WIDTH, NAMES = 80, 30
HELP = ("--help", "-h")


def meant(word: str, known: Sequence[str]) -> str:
    """The question that comes with an unknown word."""
    close = get_close_matches(word, known, n=1)
    return f"; do you mean {close[0]}?" if close else ""


@dataclass(frozen=True)
class Command:
    """A function that the command line calls."""

    name: str
    function: Callable[..., None]

    @classmethod
    def named(cls, name: str) -> Command:
        module, _, function = COMMANDS[name].place.partition(":")
        return cls(name, getattr(import_module(f"dualstruct.cli.{module}"), function))

    @cached_property
    def parameters(self) -> list[Parameter]:
        return parameters_of(self.function)

    @cached_property
    def options(self) -> dict[str, Parameter]:
        """By each of their names."""
        return {name: each for each in self.parameters for name in each.names}

    @property
    def arguments(self) -> list[Parameter]:
        return [each for each in self.parameters if isinstance(each.declared, Argument)]

    def parse(self, words: Sequence[str]) -> dict[str, Any]:
        """The arguments of the function."""
        given: dict[str, Any] = {}
        places: list[str] = []
        for option, name, word in self._split(words, places):
            if option.type is bool:
                given[option.key] = option.names[name]
            elif option.many:
                given.setdefault(option.key, []).append(option.value(word))
            else:
                given[option.key] = option.value(word)
        given |= self._by_place(places)
        for each in self.parameters:
            if each.key not in given:
                given[each.key] = each.from_outside()
            if given[each.key] is Signature.empty:
                raise UsageError(f"{each.title} is missing")
        return given

    def _split(
        self, words: Sequence[str], places: list[str]
    ) -> Iterator[tuple[Parameter, str, str]]:
        """Every option that is given, by which name, and its value; ``places`` gets the rest."""
        rest = list(reversed(words))
        while rest:
            word = rest.pop()
            if word == "--":
                places.extend(reversed(rest))
                return
            if not word.startswith("-") or word == "-":
                places.append(word)
                continue
            name, equals, value = self._name_and_value(word)
            option = self.options.get(name)
            if option is None:
                raise UsageError(f"there is no option {shown(name)}{meant(name, [*self.options])}")
            if option.type is bool:
                if equals:
                    raise UsageError(f"{name} takes no value; there is {shown(value)}")
            elif not equals:
                value = self._next_word(option, name, rest)
            yield option, name, value

    def _name_and_value(self, word: str) -> tuple[str, str, str]:
        """``--name=value``, or ``-Cvalue``, apart."""
        if word.startswith("--"):
            return word.partition("=")
        return word[:2], word[2:3], word[2:]

    def _next_word(self, option: Parameter, name: str, rest: list[str]) -> str:
        if option.alone is not None and not (rest and _is_number(rest[-1])):
            return option.alone
        if not rest or rest[-1].partition("=")[0] in (*self.options, *HELP):
            raise UsageError(f"{name} needs a value: {name} {option.metavar}")
        return rest.pop()

    def _by_place(self, words: list[str]) -> dict[str, Any]:
        """Arguments take a word each, in order; one that takes many takes what others leave."""
        arguments, given = self.arguments, {}
        for number, each in enumerate(arguments):
            if each.many:
                kept = len(arguments) - number - 1
                taken, words = words[: len(words) - kept], words[len(words) - kept :]
                if taken:
                    given[each.key] = [each.value(word) for word in taken]
            elif words:
                given[each.key] = each.value(words[0])
                words = words[1:]
        if words:
            raise UsageError(
                f"{self.name} takes {plural(len(arguments), 'argument')}; "
                f"{shown(words[0])} is one too many"
            )
        return given

    def run(self, words: Sequence[str]) -> None:
        """Do it, or show the help if that is asked for."""
        try:
            if self._wants_help(words):
                from dualstruct.cli.output import say

                say(self.help())
                return
            given = self.parse(words)
        except UsageError as problem:
            raise UsageError(f"{problem} (dualstruct {self.name} --help shows how)") from None
        self.function(**given)

    def _wants_help(self, words: Sequence[str]) -> bool:
        before = words[: words.index("--")] if "--" in words else words
        return any(word in HELP for word in before)

    def panels(self) -> dict[str, list[tuple[str, str]]]:
        """Arguments and options with their help, by the title that they stand under."""
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], OPTIONS: []}
        for each in self.parameters:
            panels.setdefault(each.panel, []).append(each.help())
        panels[OPTIONS].append(("--help", "Show this message and exit."))
        return {title: records for title, records in panels.items() if records}

    def help(self) -> str:
        width = min(shutil.get_terminal_size().columns, WIDTH)
        usage = ["dualstruct", self.name, *(self._place(each) for each in self.arguments)]
        parts = [f"Usage: {' '.join(usage)} [OPTIONS]"]
        for paragraph in cleandoc(self.function.__doc__ or "").split("\n\n"):
            parts.append(_filled(" ".join(paragraph.split()), width, "  "))
        for title, records in self.panels().items():
            parts.append("\n".join([f"{title}:", *_table(records, width)]))
        return "\n\n".join([*parts, examples(self.name)])

    def _place(self, argument: Parameter) -> str:
        several = "..." if argument.many and " " not in argument.metavar else ""
        name = f"{argument.metavar}{several}"
        return name if argument.required else f"[{name}]"


def _is_number(text: str) -> bool:
    with suppress(ValueError):
        float(text)
        return True
    return False


def _filled(text: str, width: int, indent: str) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _table(records: list[tuple[str, str]], width: int) -> list[str]:
    """Names at the left and help at the right; a long name has a line of its own."""
    left = min(max(len(name) for name, _ in records), NAMES) + 4
    lines = []
    for name, text in records:
        filled = _filled(text, max(width, left + 20), " " * left)
        start = f"  {name}"
        if len(start) + 2 > left:
            lines += [start, filled]
        else:
            lines.append(start + filled[len(start) :])
    return lines
