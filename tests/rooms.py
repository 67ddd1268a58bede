"""Which room of the core includes which, how it prefetches, how long files are, where tests lie.

`make lint` runs this, and it prints what breaks a rule.

    python tests/rooms.py

Rooms are the folders of core/; what each may include stands in ROOMS. Only core/python knows
Python. No file of core/ and src/ has more than MOST_LINES lines, unless a program wrote it. Tests
lie in folders named after the rooms that they test.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORE = ROOT / "core"
MOST_LINES = 500
WRITTEN = {".py", ".pyi", ".cpp", ".hpp", ".js", ".mjs", ".css"}
GENERATED = {"_core.pyi"}

ROOMS: dict[str, set[str]] = {
    "base": set(),
    "simd": {"base"},
    "text": {"base"},
    "clusters": {"base", "text"},
    "inference": {"base", "simd"},
    "structures": {"base", "simd", "text", "inference"},
    "learning": {"base", "structures"},
    "crfsuite": {"base", "text", "learning"},
    "wasm": {"base", "text", "inference", "structures"},
    "python": {
        "base",
        "simd",
        "text",
        "clusters",
        "inference",
        "structures",
        "learning",
        "crfsuite",
    },
}
PREFETCH = Path("base/prefetch.hpp")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def violations(core: Path) -> list[str]:
    """A line for every include that a room may not have, and every file that is in no room."""
    found = []
    for path in sorted(core.rglob("*.?pp")):
        place = path.relative_to(core)
        room = place.parts[0]
        if room not in ROOMS:
            found.append(f"{place}: not in a room ({', '.join(ROOMS)})")
            continue
        text = path.read_text(encoding="utf-8")
        if "__builtin_prefetch" in text and place != PREFETCH:
            found.append(f"{place}: gcc may remove __builtin_prefetch; {PREFETCH} keeps it")
        for own, system in INCLUDE.findall(text):
            if own and own.split("/")[0] not in ROOMS[room] | {room}:
                found.append(f"{place}: {room}/ may not include {own}")
            if room != "python" and (system == "Python.h" or system.startswith("nanobind/")):
                found.append(f"{place}: only python/ may include {system}")
    return found


def too_long(root: Path) -> list[str]:
    """A line for every file of core/ and src/ that is too long to be read at once."""
    found = []
    for path in sorted([*root.glob("core/**/*"), *root.glob("src/**/*")]):
        if path.suffix in WRITTEN and path.name not in GENERATED:
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > MOST_LINES:
                place = path.relative_to(root)
                found.append(f"{place}: {lines} lines; files have at most {MOST_LINES}")
    return found


def rooms_of_tests(root: Path) -> set[str]:
    """The folders for tests: rooms of the package and of the core, and what is neither."""
    rooms = {path.name for path in [*root.glob("core/*"), *root.glob("src/dualstruct/*")]}
    return {room for room in rooms if room.isidentifier()} | {"core", "experiments", "project"}


def misplaced(root: Path) -> list[str]:
    """A line for every file with tests that is not in the folder of a room."""
    rooms = rooms_of_tests(root)
    return [
        f"{path.relative_to(root)}: put it into a folder of tests/ named after the room it tests"
        for path in sorted(root.glob("tests/**/test_*.py"))
        if path.parent.parent != root / "tests" or path.parent.name not in rooms
    ]


if __name__ == "__main__":
    problems = violations(CORE) + too_long(ROOT) + misplaced(ROOT)
    print("\n".join(problems), end="\n" if problems else "")
    sys.exit(bool(problems))
