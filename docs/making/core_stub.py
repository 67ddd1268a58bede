"""Stands in for the compiled core while the site is built: ``_core.pyi`` is run as a module.

So the package can be imported from its source, with its docstrings and its command line, on a
machine without a compiler. Nothing can be trained with it.
"""

from __future__ import annotations
import __future__

import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def import_source() -> ModuleType:
    """``dualstruct`` from src/, whose core has names and signatures alone."""
    sys.path.insert(0, str(ROOT / "src"))
    import dualstruct

    stub = ROOT / "src" / "dualstruct" / "_core.pyi"
    if "dualstruct._core" not in sys.modules:
        core = ModuleType("dualstruct._core")
        flags = __future__.annotations.compiler_flag
        exec(compile(stub.read_text(encoding="utf-8"), stub, "exec", flags=flags), vars(core))
        sys.modules["dualstruct._core"] = dualstruct._core = core  # type: ignore[attr-defined]
    return dualstruct
