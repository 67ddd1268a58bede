"""Docstrings for the site: they are written for ``help()`` and become Markdown here.

An extension of griffe, which reads the source. Defaults of settings are shown as values, and the
parameters of an estimator in groups.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parent))
from core_stub import import_source

ROLE = re.compile(r":(?:attr|class|func|meth|mod):`~?([^`]+)`")
#: Examples up to the blank line behind what they print.
EXAMPLE = re.compile(r"^( *)(>>> .*\n?(?:\1\S.*\n?|\1 .*\n?)*)", flags=re.MULTILINE)
#: Types of parameters that have no other description.
TYPES = {"str": "a string", "int": "a whole number", "float": "a number", "bool": "yes or no"}
#: A term in code, and below it what it means.
DEFINITION = re.compile(r"^( *)(``[^`\n]+``)\n\1    (?=\S)", flags=re.MULTILINE)
#: (12) of docs/mathematics.md, in a docstring.
FORMULA = re.compile(r"\((\d+(?:[,–-] ?\d+)*)\) of docs/mathematics\.md")
#: Parameters that every estimator has; what is in no group is the estimator's own.
GROUPS = {
    "Loss and solver": ("loss", "beta", "gamma", "C", "solver", "averaged"),
    "When training stops": ("gap", "passes", "seconds", "patience", "certify_every"),
    "The run": ("seed", "threads", "verbose", "checkpoint", "resume"),
    "Several workers": ("engine", "workers", "address"),
}


class Markdown(griffe.Extension):
    """Sphinx's cross references become plain code, and examples become blocks of code."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        call = attr.value
        if isinstance(call, griffe.ExprCall) and str(call.function) in ("setting", "field"):
            named = {each.name: each.value for each in call.arguments if hasattr(each, "name")}
            if "default_factory" not in named:
                attr.value = named.get("default", call.arguments[0])

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        grouped = obj.is_class and any("documented" in str(each.value) for each in obj.decorators)
        if grouped:
            # Its parameters are those of other classes, too: as help() shows them.
            import_source()
            module, _, name = obj.path.rpartition(".")
            shown = inspect.getdoc(getattr(importlib.import_module(module), name))
            obj.docstring = griffe.Docstring(shown or "", parent=obj, parser="numpy")
        if obj.docstring is not None:
            text = ROLE.sub(r"`\1`", obj.docstring.value)
            text = FORMULA.sub(_linked, text)
            text = DEFINITION.sub(r"\1- \2: ", text)
            text = re.sub(r" ?::$", ":", text, flags=re.MULTILINE)
            obj.docstring.value = EXAMPLE.sub(_fenced, text)
        if obj.docstring is not None and (obj.is_class or obj.is_function):
            sections = [_joined(each, obj) for each in obj.docstring.parse("numpy")]
            obj.docstring.parsed = list(_in_groups(sections)) if grouped else sections


def _joined(section: Any, obj: Any) -> Any:
    """Parameters that share a description (``beta, gamma``) become one, each with its own default.

    griffe repeats the description, with the default of the first.
    """
    if section.kind is not griffe.DocstringSectionKind.parameters:
        return section
    defaults = {each.name: each.default for each in getattr(obj, "parameters", [])}
    joined: list[Any] = []
    for each in section.value:
        default = defaults.get(each.name, each.default)
        last = joined[-1] if joined else None
        if last and each.description and last.description == each.description:
            last.name += f", {each.name}"
            if default is not None and str(last.value) != str(default):
                last.value = f"{last.value}, {default}"
            continue
        each.value = each.default if default is None else default
        if not each.description:  # the type says it all
            kind = TYPES.get(str(each.annotation), str(each.annotation))
            each.description, each.annotation = f"{kind[:1].upper()}{kind[1:]}.", None
        joined.append(each)
    section.value = joined
    return section


def _in_groups(sections: list[Any]) -> Any:
    for section in sections:
        if section.kind is not griffe.DocstringSectionKind.parameters:
            yield section
            continue
        known = {name for names in GROUPS.values() for name in names}
        groups = {"": [each for each in section.value if _first(each) not in known]}
        for title, names in GROUPS.items():
            groups[title] = [each for each in section.value if _first(each) in names]
        for title, parameters in groups.items():
            if parameters:
                yield griffe.DocstringSectionParameters(
                    parameters, title=f"Parameters: {title}".rstrip(": ")
                )


def _first(parameter: Any) -> str:
    return str(parameter.name).partition(",")[0]


def _linked(found: re.Match[str]) -> str:
    first = re.match(r"\d+", found[1])
    assert first
    return f'<a href="../mathematics.html#eq-{first[0]}">({found[1]}) of the mathematics</a>'


def _fenced(found: re.Match[str]) -> str:
    indent, example = found[1], found[2].rstrip("\n")
    return f"{indent}```pycon\n{indent}{example}\n{indent}```\n"
