"""Docstrings for the site: they are written for ``help()`` and become Markdown here."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:attr|class|func|meth|mod):`~?([^`]+)`")
#: Examples up to the blank line behind what they print.
EXAMPLE = re.compile(r"^( *)(>>> .*\n?(?:\1\S.*\n?|\1 .*\n?)*)", flags=re.MULTILINE)


class Markdown(griffe.Extension):
    """Sphinx's cross references become plain code, and examples become blocks of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.is_class and any("documented" in str(each.value) for each in obj.decorators):
            # Its parameters are those of other classes, too: as help() shows them.
            module, _, name = obj.path.rpartition(".")
            shown = inspect.getdoc(getattr(importlib.import_module(module), name))
            obj.docstring = griffe.Docstring(shown or "", parent=obj)
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(_fenced, text)


def _fenced(found: re.Match[str]) -> str:
    indent, example = found[1], found[2].rstrip("\n")
    return f"{indent}```pycon\n{indent}{example}\n{indent}```\n"
