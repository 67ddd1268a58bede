"""How commands declare what they take, and how words of the command line become values.

A command is a function. Each of its parameters is annotated with its type and with an ``Option`` or
an ``Argument``; one without a default is required.
"""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from dualstruct.errors import InputError

#: Characters of a word that a message repeats.
SHOWN = 60
#: The title of options that belong to no other part of the help.
OPTIONS = "Options"


class UsageError(InputError):
    """The command line is wrong."""


@dataclass(frozen=True)
class Argument:
    """A parameter that is known by its place."""

    help: str
    metavar: str = ""


@dataclass(frozen=True)
class Option:
    """A parameter that is known by its name: ``--`` and the parameter's, unless given.

    ``"--names/--no-names"`` are the two names of a flag.
    """

    name: str = ""
    help: str = field(kw_only=True)
    metavar: str = field(default="", kw_only=True)
    #: What a shell completes, if ``metavar`` does not list it (``yes|no``).
    choices: tuple[str, ...] = field(default=(), kw_only=True)
    min: float | None = field(default=None, kw_only=True)
    max: float | None = field(default=None, kw_only=True)
    #: The title of the part of the help that it is in.
    panel: str = field(default=OPTIONS, kw_only=True)
    #: What the help calls the default, if the function's says too little.
    default: str = field(default="", kw_only=True)
    environment: str = field(
        default="", kw_only=True
    )  #: a variable that is used if it is not given
    #: The value of the option without one.
    alone: str | None = field(default=None, kw_only=True)


def shown(word: str) -> str:
    """A word of the command line in a message.

    >>> shown("9" * 100)
    "'999999999999999999999999999999999999999999999999999999999999…'"
    """
    return repr(word if len(word) <= SHOWN else f"{word[:SHOWN]}…")


@dataclass(frozen=True)
class Parameter:
    """One of a command's parameters."""

    key: str  #: in the function
    type: type  #: of one value: bool, int, float, str or Path
    many: bool
    default: Any  #: ``inspect.Signature.empty`` if it is required
    declared: Argument | Option

    @property
    def required(self) -> bool:
        return self.default is inspect.Signature.empty

    @property
    def alone(self) -> str | None:
        """The value of an option that is given without one, if that may be."""
        return self.declared.alone if isinstance(self.declared, Option) else None

    @property
    def panel(self) -> str:
        return self.declared.panel if isinstance(self.declared, Option) else "Arguments"

    @property
    def metavar(self) -> str:
        if self.declared.metavar:
            return self.declared.metavar
        if isinstance(self.declared, Argument):
            return self.key.upper()
        return {bool: "", int: "N", float: "NUMBER", Path: "FILE"}.get(self.type, "TEXT")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that an option may be, if they are known; in ``yes|FILE`` it is ``yes``."""
        if isinstance(self.declared, Option) and self.declared.choices:
            return self.declared.choices
        words = self.metavar.split("|") if "|" in self.metavar else []
        return tuple(word for word in words if word == word.lower())

    @property
    def names(self) -> dict[str, bool]:
        """The names of an option; of a flag with the value that each stands for."""
        if isinstance(self.declared, Argument):
            return {}
        words = self.key.replace("_", "-")
        usual = f"--{words}/--no-{words}" if self.type is bool else f"--{words}"
        on, _, off = (self.declared.name or usual).partition("/")
        return {on: True} | ({off: False} if off else {})

    @property
    def title(self) -> str:
        """What messages call it."""
        return next(iter(self.names), self.metavar)

    def value(self, word: str) -> Any:
        """What a word stands for."""
        try:
            found = self.type(word)
        except ValueError:
            kind = "a whole number" if self.type is int else "a number"
            raise UsageError(f"{self.title} is {shown(word)}; it must be {kind}") from None
        bounds = self._range()
        if bounds and not self._in_range(found):
            raise UsageError(f"{self.title} is {shown(word)}; it must be {bounds}")
        return found

    def _in_range(self, number: float) -> bool:
        declared = self.declared
        assert isinstance(declared, Option)
        above = declared.min is None or number >= declared.min
        return above and (declared.max is None or number <= declared.max)

    def _range(self) -> str:
        if isinstance(self.declared, Argument):
            return ""
        low, high = self.declared.min, self.declared.max
        if low is not None and high is not None:
            return f"{low} to {high}"
        if low is not None:
            return f"at least {low}"
        return "" if high is None else f"at most {high}"

    def from_outside(self) -> Any:
        """The value where no word gives one."""
        if isinstance(self.declared, Option) and self.declared.environment:
            word = os.environ.get(self.declared.environment)
            if word:
                return self.value(word)
        return self.default

    def help(self) -> tuple[str, str]:
        """How it is written, and what it is."""
        if isinstance(self.declared, Argument):
            return self.metavar, self.declared.help + ("  [required]" if self.required else "")
        name = " / ".join(self.names) + (f" {self.metavar}" if self.metavar else "")
        facts = [fact for fact in (self._shown_default(), self._range()) if fact]
        if self.declared.environment:
            facts.insert(0, f"environment: {self.declared.environment}")
        if self.required:
            facts.append("required")
        return name, self.declared.help + (f"  [{'; '.join(facts)}]" if facts else "")

    def _shown_default(self) -> str:
        assert isinstance(self.declared, Option)
        if self.declared.default:
            return f"default: {self.declared.default}"
        if self.required or self.default is None:
            return ""
        if self.type is bool:
            by_value = {value: name for name, value in self.names.items()}
            return f"default: {by_value[self.default][2:]}" if len(by_value) == 2 else ""
        return f"default: {self.default}"


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """What a function declares, in its order."""
    found = []
    for each in inspect.signature(function, eval_str=True).parameters.values():
        annotation, declared = get_args(each.annotation)[:2]
        kind, many = _one(annotation)
        found.append(Parameter(each.name, kind, many, each.default, declared))
    return found


def _one(annotation: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be several.

    >>> _one(list[int] | None), _one(str)
    ((<class 'int'>, True), (<class 'str'>, False))
    """
    if get_origin(annotation) in (Union, types.UnionType):
        [annotation] = [each for each in get_args(annotation) if each is not type(None)]
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False
