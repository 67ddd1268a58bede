"""Writes src/dualstruct/_core.pyi, the types of the compiled core, from the core that is installed.

    python core/python/stubs.py            # writes it; `make format` runs this
    python core/python/stubs.py --check    # fails if it is stale; `make lint` runs this

nanobind's stubgen reads the signatures of all bindings. Where a binding's answer is a plain tuple,
list or object, RETURNS says what it holds; ARGUMENTS says what a type of numpy cannot.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

STUB = Path(__file__).parents[2] / "src" / "dualstruct" / "_core.pyi"

HEADER = '''"""The compiled core. Arrays are C-contiguous; nothing here is public.

Written by core/python/stubs.py.
"""'''

# Names for types that the package uses; they stand only here.
ALIASES = """
Rule = DCDRule | SMORule | FrankWolfeRule
GatheringRule = GatherRule | SMOGatherRule
Step = (
    PerceptronStep
    | PassiveAggressiveStep
    | ExpectedPassiveAggressiveStep
    | SubgradientStep
    | ExpectedGradientStep
    | RiskBoundStep
    | PegasosStep
)
TermTuple = tuple[int, int, bool, int, list[tuple[str, int | str]]]
TemplateTuple = tuple[str, list[str], list[TermTuple]]
"""

floats, doubles = "NDArray[np.float32]", "NDArray[np.float64]"
ints, longs, words = "NDArray[np.int32]", "NDArray[np.int64]", "NDArray[np.uint32]"
named = "list[tuple[str, list[int]]]"

RETURNS = {
    "TokenTable.strings": "list[str]",
    "TokenTable.cells": "list[str]",
    "Tokenizer.tokenize": f"tuple[TokenTable, {longs}, {longs}, {longs}]",
    "character_table": f"tuple[TokenTable, {longs}, {longs}]",
    "parse_columns": "tuple[TokenTable, list[tuple[int, int, str]]]",
    "Items.pairs": "list[list[tuple[str, float]]]",
    "AttributeFeatures.names": "list[str]",
    "SparseAdder.take": f"tuple[{words}, {floats}]",
    "DualState.exact_moves": f"tuple[{words}, {floats}]",
    "SharedLines.moved": "NDArray[np.uint8]",
    "SharedLines.take_moves": f"tuple[{words}, {floats}]",
    "Excerpt.decode": f"tuple[float, float, {words}]",
    "Structure.k_best": f"list[tuple[float, {ints}]]",
    "Structure.difference": f"tuple[float, {words}]",
    "Structure.log_loss": "tuple[float, float]",
    "Structure.part_marginals": f"tuple[float, {floats}]",
    "Chain.marginals_all": floats,
    "Chain.expectation": f"tuple[float, float, {floats}, {floats}]",
    "PreciseChain.emissions": doubles,
    "PreciseChain.sum": f"tuple[float, {doubles}]",
    "CRFsuiteFile.labels": "list[str]",
    "CRFsuiteFile.attributes": "list[str]",
    "CRFsuiteFile.emissions": doubles,
    "Graph.best": f"tuple[{ints}, float, float, bool, int, int]",
    "Graph.k_best": f"list[tuple[float, {ints}]]",
    "Graph.marginals": f"tuple[{doubles}, {doubles}, float, bool, bool, int]",
    "FactorGraph.best": f"tuple[{ints}, float, float, bool, int, int]",
    "FactorGraph.marginals": f"tuple[{doubles}, {doubles}, float, bool, bool, int]",
    "Multiclass.scores": floats,
    "Tree.name_arc": f"tuple[{named}, {named}]",
    "Tree.expectation": f"tuple[float, float, {floats}, {floats}]",
    "prune_arcs": f"tuple[{longs}, NDArray[np.uint16], NDArray[np.uint16], int, int, int]",
    "SecondOrderTree.name_parts": f"list[tuple[int, int, int, int, {named}]]",
    "SecondOrderTree.take_effort": "tuple[int, int, int]",
    "SecondOrderTree.marginals": f"tuple[float, {floats}, bool, int]",
    "Average.save": f"tuple[{floats}, float, int]",
    "DualState.cuts_of": f"list[tuple[float, float, float, {words}]]",
    "DualState.save": f"tuple[{words}, {longs}, {doubles}]",
    "PlaneStore.save": f"tuple[{longs}, {floats}, {words}, {longs}, {longs}, {longs}, {doubles}]",
    "ExponentiatedGradient.save": f"tuple[{floats}, {doubles}]",
    "dots": doubles,
    "Packing.pack": "tuple[float, float, float]",
    "SecondOrderParts.decode": f"tuple[{ints}, float, float, bool, int]",
    "SecondOrderParts.marginals": f"tuple[float, {doubles}, {doubles}, bool, int]",
    "tree_prune": "tuple[NDArray[np.uint8], int]",
    "tree_marginals": f"tuple[float, {floats}]",
    "tree_k_best": f"list[tuple[float, {ints}, {ints}]]",
    "Custom.run_compiled": f"tuple[int, {ints}]",
    "Custom.true_features": f"tuple[{longs}, {words}, {floats}]",
}
ARGUMENTS = {
    "Chain.__init__.transitions": "NDArray[np.bool_] | None",
    "PlaneStore.load.arrays": "Any",  # as many as save gave, in one list
    "write_crfsuite_names.names": "list[str]",
}
PLAIN = {"tuple", "list", "object"}


def annotation(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class Refined(ast.NodeTransformer):
    """The stub with arrays as NDArray[np.…], any object as Any, and answers as RETURNS says."""

    def __init__(self) -> None:
        self.place: list[str] = []
        self.unused = {*RETURNS, *ARGUMENTS}

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.place.append(node.name)
        self.generic_visit(node)
        self.place.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        name = ".".join([*self.place, node.name])
        self.generic_visit(node)
        if name in RETURNS:
            node.returns = annotation(RETURNS[name])
            self.unused.discard(name)
        elif isinstance(node.returns, ast.Name) and node.returns.id in PLAIN | {"Any"}:
            raise SystemExit(f"stubs.py: say in RETURNS what {name} returns")
        arguments = node.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            if (known := f"{name}.{argument.arg}") in ARGUMENTS:
                argument.annotation = annotation(ARGUMENTS[known])
                self.unused.discard(known)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "Annotated":
            assert isinstance(node.slice, ast.Tuple)
            return node.slice.elts[0]
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name({"numpy": "np", "object": "Any"}.get(node.id, node.id))


def generate() -> str:
    module = importlib.import_module("dualstruct._core")
    generator = StubGen(module, quiet=True)
    generator.put(module)
    tree = ast.parse(generator.get())
    tree.body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    refined = Refined()
    body = ast.unparse(ast.fix_missing_locations(refined.visit(tree)))
    if refined.unused:
        raise SystemExit(f"stubs.py: the core has no {', '.join(sorted(refined.unused))}")
    imports = [
        "from collections.abc import Sequence",
        "from typing import Any, Final, overload",
        "import numpy as np",
        "from numpy.typing import NDArray",
    ]
    return formatted("\n".join([HEADER, *imports, body, ALIASES]))


def formatted(source: str) -> str:
    for command in (["check", "--fix-only", "--select=F,I"], ["format"]):
        run = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(STUB), "-"],
            input=source,
            capture_output=True,
            text=True,
            check=True,
        )
        source = run.stdout
    return source


def main() -> None:
    stub = generate()
    if "--check" not in sys.argv:
        STUB.write_text(stub, encoding="utf-8")
    elif STUB.read_text(encoding="utf-8") != stub:
        raise SystemExit(f"{STUB.name} is stale: run make format")


if __name__ == "__main__":
    main()
