"""One file of plain Python: the runtime's modules, and the packed model inside or beside it."""

from __future__ import annotations

import ast
import base64
import zlib
from importlib import resources
from typing import Any

import dualstruct
from dualstruct.exporting.packing import Packed, pack

__all__ = ["python_files", "runtime_source"]

#: In the order in which they need each other.
MODULES = ("hashing", "words", "spans", "features", "chain", "splitting", "tagger")
_OWN = "dualstruct.exporting"
_WIDTH = 100

_ABOUT = '''"""A tagger of {labels} labels, exported by dualstruct {version}. It needs no library.

    import {module}
    {module}.tag({example})        # a label for each token
    {module}.spans({example})      # spans of tokens, with probabilities if the model has any
    {module}.find("a text")          # the same in a text, in characters
    {module}.probabilities({example})

On the command line it labels a sentence of blank-separated words per line, or with --text finds
spans in a text per line.
"""
'''
_INSIDE = """

MODEL = Tagger(zlib.decompress(base64.b85decode(_DATA.replace("\\n", ""))))
"""
_BESIDE = """

MODEL = Tagger(zlib.decompress(Path(__file__).with_suffix(".weights").read_bytes()))
"""
_END = """tag = MODEL.tag
spans = MODEL.spans
split = MODEL.split
find = MODEL.find
probabilities = MODEL.probabilities

if __name__ == "__main__":
    main(MODEL)
"""


def runtime_source() -> tuple[list[str], str]:
    """The import lines of the runtime's modules, and the rest of them, one after the other."""
    folder = resources.files("dualstruct.exporting.runtime")
    imports: dict[str, None] = {}
    bodies = []
    for name in MODULES:
        text = (folder / f"{name}.py").read_text("utf-8")
        lines = text.splitlines(keepends=True)
        kept = set(range(len(lines)))
        for node in ast.parse(text).body:
            is_import = isinstance(node, ast.Import | ast.ImportFrom)
            is_docstring = isinstance(node, ast.Expr) and node.lineno == 1
            if not is_import and not is_docstring:
                continue
            assert node.end_lineno is not None
            kept -= set(range(node.lineno - 1, node.end_lineno))
            own = isinstance(node, ast.ImportFrom) and str(node.module).startswith(_OWN)
            if is_import and not own:
                imports[ast.unparse(node)] = None
        bodies.append("".join(line for n, line in enumerate(lines) if n in kept).strip("\n"))
    return list(imports), "\n\n\n".join(bodies) + "\n"


def python_files(model: Any, name: str, beside: bool) -> dict[str, bytes]:
    """A module, and the packed model if it is to lie beside it."""
    packed = pack(model)
    data = zlib.compress(packed.to_bytes(), 9)
    source = _source(packed, name, beside)
    if beside:
        return {f"{name}.py": (source + _BESIDE + _END).encode(), f"{name}.weights": data}
    text = base64.b85encode(data).decode()
    lines = [text[i : i + _WIDTH] for i in range(0, len(text), _WIDTH)]
    inside = "\n".join(['\n_DATA = """', *lines, '"""'])
    return {f"{name}.py": (source + inside + _INSIDE + _END).encode()}


def _source(packed: Packed, module: str, beside: bool) -> str:
    imports, body = runtime_source()
    extra = ["import zlib", "from pathlib import Path" if beside else "import base64"]
    first = "from __future__ import annotations"
    others = sorted({*imports, *extra} - {first}, key=lambda line: (line.startswith("from"), line))
    columns = packed.header["columns"]
    example = '["some", "words"]' if columns == 1 else "[(…), (…)]" if columns else "[{…}, {…}]"
    about = _ABOUT.format(
        labels=len(packed.header["labels"]),
        version=dualstruct.__version__,
        module=module,
        example=example,
    )
    return about + "\n".join(["", first, "", *others, "", "", body])
