"""Which code of the package reaches into what is not its own, found in its syntax trees.

A name that begins with an underscore belongs to the class that has it, and to those that inherit
it. A question for the kind of an estimator (``isinstance(model, SequenceTagger)``) belongs into a
method of the estimators, or into a table by ``model_format``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

#: Names that Python or scikit-learn made, for everybody to use.
THEIRS = {"_asdict", "_fields", "_replace", "_metadata_request"}
ESTIMATORS = {
    "AnyModel",
    "CalibratedEstimator",
    "DependencyParser",
    "Estimator",
    "ParsingPipeline",
    "SequenceTagger",
    "StructuredSVM",
}


class Classes:
    """What each class of some modules calls its own."""

    def __init__(self, trees: list[ast.Module]) -> None:
        self._bases: dict[str, set[str]] = {}
        self._own: dict[str, set[str]] = {}
        for node in (node for tree in trees for node in ast.walk(tree)):
            if isinstance(node, ast.ClassDef):
                bases = {each.id for base in node.bases for each in _names_in(base)}
                self._bases.setdefault(node.name, set()).update(bases)
                self._own.setdefault(node.name, set()).update(_defined_in(node))

    def owns(self, name: str, attribute: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a class has an attribute of its own, or inherits it."""
        if name in seen or name not in self._own:
            return False
        inherited = (self.owns(base, attribute, seen | {name}) for base in self._bases[name])
        return attribute in self._own[name] or any(inherited)


def _names_in(node: ast.AST) -> Iterator[ast.Name]:
    return (each for each in ast.walk(node) if isinstance(each, ast.Name))


def _defined_in(kind: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(kind):
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _with_class(node: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str]]:
    """All nodes below, with the name of the class around them."""
    for child in ast.iter_child_nodes(node):
        yield child, inside
        yield from _with_class(child, child.name if isinstance(child, ast.ClassDef) else inside)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in THEIRS


def _is_own(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _asks_for_estimators(node: ast.AST) -> bool:
    """Any of ``isinstance(x, Tagger)``, ``type(x) is Tagger`` and ``case Tagger()``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        kinds = node.args[1:] if node.func.id in ("isinstance", "issubclass") else []
    elif isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        kinds = [each for each in sides if isinstance(each, ast.Name)]
        kinds = kinds if any(map(_is_type_of, sides)) else []
    elif isinstance(node, ast.MatchClass):
        kinds = [node.cls]
    else:
        kinds = []
    return any(name.id in ESTIMATORS for kind in kinds for name in _names_in(kind))


def _is_type_of(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "type"
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


def trespasses(sources: dict[str, str]) -> list[str]:
    """A line for each private name used from outside, and each question for an estimator's kind."""
    trees = {name: ast.parse(text) for name, text in sources.items()}
    classes = Classes(list(trees.values()))
    found = []
    for name, tree in trees.items():
        for node, inside in _with_class(tree, ""):
            if isinstance(node, ast.Attribute) and _is_private(node.attr):
                if not _is_own(node.value) and not classes.owns(inside, node.attr):
                    found.append(f"{name}:{node.lineno}: {ast.unparse(node)} is private")
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("_"):
                names = (each.name for each in node.names if each.name != "_core")
                private = filter(_is_private, names)
                found += [f"{name}:{node.lineno}: {each} is private" for each in private]
            elif _asks_for_estimators(node):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)} asks for a kind of model")
    return found


def sources_in(folder: Path) -> dict[str, str]:
    """The Python files below a folder; ``experiments`` are a package beside it."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*.py"))
        if "experiments" not in path.relative_to(folder).parts[:1]
    }
