"""The mutants of a Python source: one small change each, which some test ought to notice.

    >>> [str(mutant) for mutant in mutants_of("def gap(P, D):\\n    return P - D\\n", "problem.py")]
    ['problem.py:2 gap: return P - D → return None', 'problem.py:2 gap: P - D → P + D']

A mutant is skipped only for a reason that holds for all of its kind: see SKIPPED.
"""

from __future__ import annotations

import ast
import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType

#: What is not changed, and why no test could, or should, notice.
SKIPPED = {
    "strings": "messages and help are for people; names are changed where they are compared",
    "annotations": "they are for the type checker, and so is code under TYPE_CHECKING",
    "protocols": "their bodies, and those of overloads, never run",
    "raise": "which words an error has: the condition that leads to it is changed",
    "repr": "__repr__ is for the debugger",
    "decorators": "they run at import, and most mean something to the type checker alone",
    "names": "__all__ says what a star import gives",
    "threads": "the number of threads changes how long an answer takes, not the answer",
    "stacklevel": "which line a warning shows",
    "strict": "of zip: an assertion about lists that always have the same length",
}
WITHOUT_EFFECT = {"threads", "stacklevel", "strict"}  # keywords
NOT_RUN = {"annotation", "returns", "decorator_list", "bases", "format_spec"}  # fields of nodes

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}

Slot = tuple[ast.AST, str, "int | None"]  # parent, field, place in a list


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    where: str  #: the function or class it is in; empty at the module's level
    before: str
    after: str
    module: ast.Module = field(repr=False, compare=False)
    slot: Slot = field(repr=False, compare=False)
    replacement: ast.AST = field(repr=False, compare=False)
    #: Lines whose tests judge it: its own; where that runs at import, those that may depend on it.
    judged_by: frozenset[int] = field(repr=False, compare=False)

    def __str__(self) -> str:
        where = f" {self.where}" if self.where else ""
        return f"{self.path}:{self.line}{where}: {self.before} → {self.after}"

    def compiled(self, filename: str) -> CodeType:
        """The changed module."""
        parent, name, place = self.slot
        old = getattr(parent, name)
        if place is None:
            setattr(parent, name, self.replacement)
        else:
            setattr(parent, name, [*old[:place], self.replacement, *old[place + 1 :]])
        try:
            return compile(ast.fix_missing_locations(self.module), filename, "exec")
        finally:
            setattr(parent, name, old)


def mutants_of(source: str, path: str) -> list[Mutant]:
    """All mutants of a source, in its order."""
    return list(_Mutants(source, path).of_module())


def sampled(mutants: list[Mutant], number: int | None, seed: int = 0) -> list[Mutant]:
    """As many of them, chosen by what they are: the same ones as long as they exist."""
    if number is None:
        return mutants
    met: dict[str, int] = {}
    keyed = []
    for mutant in mutants:
        text = f"{seed} {mutant.path} {mutant.where} {mutant.before} {mutant.after}"
        met[text] = met.get(text, 0) + 1
        keyed.append((hashlib.sha256(f"{text} {met[text]}".encode()).digest(), mutant))
    chosen = sorted(keyed, key=lambda pair: pair[0])[:number]
    return sorted((mutant for _, mutant in chosen), key=lambda mutant: mutant.line)


class _Mutants:
    """Walks over a module and meets its mutants."""

    def __init__(self, source: str, path: str) -> None:
        self.path = path
        self.module = ast.parse(source)
        self.names: list[str] = []
        self.in_function = False
        self.judged_by: frozenset[int] = frozenset()

    def of_module(self) -> Iterator[Mutant]:
        yield from self.below(self.module)

    def below(self, node: ast.AST) -> Iterator[Mutant]:
        for name, value in ast.iter_fields(node):
            if name == "keywords":
                if isinstance(node, ast.Call):
                    yield from self.of_keywords(node)
            elif name not in NOT_RUN:
                children = enumerate(value) if isinstance(value, list) else [(None, value)]
                for place, child in children:
                    if isinstance(child, ast.AST):
                        yield from self.of(child, (node, name, place))

    def of(self, node: ast.AST, slot: Slot) -> Iterator[Mutant]:
        if _skipped(node):
            return
        outside = self.judged_by, self.in_function
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from self.of_definition(node)
        else:
            if isinstance(node, ast.stmt) and self.in_function:
                self.judged_by = _header(node)
            elif isinstance(node, ast.stmt) and not self.names:
                self.judged_by = _users(self.module, node)
            for replacement in _replacements(node):
                yield self.mutant(node, slot, replacement)
            if not (isinstance(node, ast.Expr) and _warns(node.value)):
                yield from self.below(node)
        self.judged_by, self.in_function = outside

    def of_definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    ) -> Iterator[Mutant]:
        self.names.append(node.name)
        if not self.in_function:  # attributes of a class and defaults are computed at import
            self.judged_by = _lines(node)
        self.in_function = self.in_function or not isinstance(node, ast.ClassDef)
        yield from self.below(node)
        self.names.pop()

    def of_keywords(self, call: ast.Call) -> Iterator[Mutant]:
        for place, keyword in enumerate(call.keywords):
            if keyword.arg in WITHOUT_EFFECT:
                continue
            if keyword.arg is not None:
                without = copy.copy(call)
                without.keywords = call.keywords[:place] + call.keywords[place + 1 :]
                # The call itself stays where it is: its list of keywords becomes another one.
                yield self.mutant(
                    call, (call, "keywords", None), without.keywords, shown=ast.unparse(without)
                )
            yield from self.of(keyword.value, (keyword, "value", None))

    def mutant(
        self,
        node: ast.AST,
        slot: Slot,
        replacement: ast.AST | list[ast.keyword],
        shown: str | None = None,
    ) -> Mutant:
        if isinstance(replacement, ast.AST):
            ast.copy_location(replacement, node)
        return Mutant(
            self.path,
            node.lineno,  # type: ignore[attr-defined]
            ".".join(self.names),
            _short(ast.unparse(node)),
            _short(ast.unparse(replacement) if shown is None else shown),  # type: ignore[arg-type]
            self.module,
            slot,
            replacement,  # type: ignore[arg-type]
            self.judged_by,
        )


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARED[type(node.ops[0])]:
            yield _changed(node, ops=[other()])
    elif isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            ops = [*node.ops]
            ops[place] = COMPARED[type(operator)][0]()
            yield _changed(node, ops=ops)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in CALCULATED:
        if not (isinstance(node, ast.BinOp) and _is_text(node)):
            yield _changed(node, op=CALCULATED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield copy.copy(node.operand)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield ast.Constant(2 * node.value if node.value else 1.0)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in SWAPPED:
            yield _changed(node, func=ast.Name(SWAPPED[node.func.id], ast.Load()))
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            yield _changed(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif (
        isinstance(node, ast.Return)
        and node.value is not None
        and not isinstance(node.value, ast.Constant)
    ):
        yield ast.Return(ast.Constant(None))
    if isinstance(node, ast.Assign):
        leaves_out = all(isinstance(part, ast.Attribute | ast.Subscript) for part in node.targets)
    else:
        called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        leaves_out = called or isinstance(node, ast.AugAssign)
    if leaves_out:
        yield ast.Pass()


def _skipped(node: ast.AST) -> bool:
    """See SKIPPED for why."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.ClassDef):
        return any("Protocol" in ast.unparse(base) for base in node.bases)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        return node.name == "__repr__" or bool(decorators & {"overload", "abstractmethod"})
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        named = isinstance(target, ast.Name)
        return named and (ast.unparse(target) == "__all__" or _is_type(node.value))
    return False


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.BinOp) -> bool:
    """Strings put together or filled in."""
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _is_type(node: ast.expr) -> bool:
    """A | B, with capitals, or a TypeVar."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _is_type(node.left) and _is_type(node.right)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "TypeVar"
    if isinstance(node, ast.Subscript):
        return _is_type(node.value)
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node).rpartition(".")[2][:1].isupper()
    return isinstance(node, ast.Constant) and node.value is None


def _warns(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"


def _lines(node: ast.AST) -> frozenset[int]:
    return frozenset(range(node.lineno, node.end_lineno + 1))  # type: ignore[attr-defined]


def _header(node: ast.stmt) -> frozenset[int]:
    """The lines of a statement, without those of the statements in it."""
    inner = [child.lineno for child in ast.walk(node) if isinstance(child, ast.stmt)]
    first_inner = min((line for line in inner if line > node.lineno), default=None)
    if first_inner is None:
        return _lines(node)
    return frozenset(range(node.lineno, first_inner))


def _users(module: ast.Module, node: ast.stmt) -> frozenset[int]:
    """Where the module uses the names assigned here; without such a place, the whole module."""
    names = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    lines = frozenset(
        part.lineno
        for part in ast.walk(module)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in names
    )
    return lines or frozenset().union(*map(_lines, module.body))


def _short(text: str, most: int = 90) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
