"""An ES module with its types and the packed model, for Node and browsers.

The module is put together from runtime/*.mjs: only the parts that the model needs, without comments
and blanks, and with short names.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import dualstruct
from dualstruct.estimators import SequenceTagger
from dualstruct.exporting.characters import character_arrays
from dualstruct.exporting.packing import Packed, pack
from dualstruct.exporting.runtime import splitting

__all__ = ["javascript_files", "joined_modules", "module_of"]


def _has_regex(header: dict[str, Any]) -> bool:
    plans = [plan for plan in (header["templates"], header["pairs"]) if plan is not None]
    functions = [f for plan in plans for *_, listed in plan["streams"] for f, _ in listed]
    return not {"match", "test"}.isdisjoint(functions)


#: In the order in which they need each other, and for which models.
MODULES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "hashing": lambda header: True,
    "words": lambda header: True,
    "regex": _has_regex,
    "features": lambda header: True,
    "attributes": lambda header: header["templates"] is None,
    "chain": lambda header: True,
    "beliefs": lambda header: True,
    "spans": lambda header: True,
    "splitting": lambda header: header["tokenizer"] is not None,
    "packed": lambda header: True,
    "loading": lambda header: True,
    "interface": lambda header: True,
    "tagger": lambda header: True,
}
#: What users of the module see.
_PUBLIC = ("Tagger", "Parser", "load")
_MARK = "// A tagger exported by dualstruct {version}; index.d.ts says what there is.\n"

#: Names that become short ones: neither JavaScript's own, nor public, nor of the packed data.
_LONG = """
    begin chars place tokens found header weights places isUpper value before identity argument
    inside inWord splitter first emissions hashText backward joined next prefixes absolute last
    classes splitLabels oneOf multiply value_hi value_lo steps SHIFT_INTERVAL isDigit beliefs
    forward after NEVER parts areSpanLabels functionOf column slot combine isLetter base sources
    terms high begins Templates padded logSum findSpans closer step here isLower Numbers matched
    Characters clusters isPhrase visit Attributes difference LETTER behindAddress low fromStart
    smallWord escaped Weights firsts rows single byCodePoints maxima ranges endsSentence
    behindPeriod behindSymbol opened belongs cased addEdges row best Splitter contraction
    behindMarks top MOST_WORDS bits room made clustersOf SINGLE behindWord second starts isSpace
    toLower isBlank times scratch convert DIGIT reads apart decoder ends todo functions columnsOf
    findClass behindUrl behindTag isAcronym middle isWord items fits halves forget grown plan
    others stated PREFIXES field MARK SYMBOL units wanted opener ending isFlag word_hi word_lo
    encoder make counted applied Beliefs closing outside classOf openers negated nextEnd bytesOf
    sum regex toEnd tried Chain total among inner outer A_HI A_LO B_HI B_LO isMark change wide
    Source kept each masked cell unpack paired packed hash settings table scores shape other
    sentence answer plain learned prefix lines digits token emission pair list marks
    Labeller Engine engine unpacked features chain path joint entry isField fields
"""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHORT = {
    name: f"${_LETTERS[n % 52]}" + ("" if n < 52 else _LETTERS[n // 52 - 1])
    for n, name in enumerate(_LONG.split())
}

#: A comment, a string, a regular expression or blanks.
_PIECE = re.compile(
    r"""(?P<comment>//[^\n]*)
    | (?P<text>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' | `(?:[^`\\]|\\.)*`)
    | (?P<regex>(?<=[(]) /(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])+/[a-z]*
      | (?<=[=:!?]\ ) /(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])+/[a-z]*
      | (?<=return\ ) /(?:[^/\\\n\[]|\\.|\[[^\]\n]*\])+/[a-z]*)
    | (?P<blank>\s+)""",
    re.VERBOSE,
)
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_SIGNS = frozenset("{}()[];,:?=<>+-*/&|!^~%")


def javascript_files(tagger: SequenceTagger, name: str, beside: bool) -> dict[str, bytes]:
    """The module, its types and the model's data, which always lie beside it."""
    packed = _packed(tagger)
    mark = _MARK.format(version=dualstruct.__version__)
    types = (resources.files("dualstruct.exporting.runtime") / "index.d.ts").read_text("utf-8")
    return {
        "index.mjs": (mark + module_of(packed.header)).encode(),
        "index.d.ts": (mark + types).encode(),
        "model.bin": zlib.compress(packed.to_bytes(), 9),
    }


def _packed(tagger: SequenceTagger) -> Packed:
    """A tagger with tables of characters, and the lists of words by which texts are split."""
    packed = pack(tagger)
    rules = {
        "titles": sorted(splitting.TITLES),
        "abbreviations": sorted(splitting.ABBREVIATIONS),
        "numbers": sorted(splitting.BEFORE_NUMBERS),
        "starters": sorted(splitting.STARTERS),
        "closers": "".join(sorted(splitting.CLOSERS)),
        "fullStops": "".join(sorted(splitting.FULL_STOPS)),
        "stops": "".join(sorted(splitting.STOPS)),
        "lineEnds": "".join(sorted(splitting.LINE_ENDS)),
        "unseen": splitting.UNSEEN,
        "singles": splitting.SINGLES,
    }
    header = {**packed.header, "rules": rules if packed.header["tokenizer"] else None}
    return replace(packed, header=header, arrays={**packed.arrays, **character_arrays()})


def module_of(header: dict[str, Any]) -> str:
    """The source of a module for a model."""
    return joined_modules([name for name, needs in MODULES.items() if needs(header)])


def joined_modules(names: Sequence[str]) -> str:
    """Some modules of the runtime as one, in an order in which they need each other."""
    folder = resources.files("dualstruct.exporting.runtime")
    sources = [(folder / f"{name}.mjs").read_text("utf-8") for name in names]
    public = "|".join(_PUBLIC)
    private = rf"^export (?!(?:async )?(?:class|function) (?:{public})\b)"
    source = re.sub(r"^import [^;]*;\n", "", "".join(sources), flags=re.MULTILINE)
    return shortened(re.sub(private, "", source, flags=re.MULTILINE))


def shortened(source: str) -> str:
    """A script without comments and needless blanks, and with short names.

    >>> shortened('const a = 1; // one\\nfoo( "begin  c" );\\n')
    'const a=1;foo("begin  c");'
    """
    source = _PIECE.sub(lambda found: "" if found["comment"] else found[0], source)
    pieces: list[str] = []
    end = 0
    for found in [*_PIECE.finditer(source), None]:
        code = source[end : found.start()] if found else source[end:]
        if code:
            pieces.append(_NAME.sub(lambda name: _SHORT.get(name[0], name[0]), code))
        if found:
            blank = "\n" if "\n" in found[0] else " "
            pieces.append(blank if found["blank"] else found[0])
            end = found.end()
    out: list[str] = []
    for piece, following in zip(pieces, [*pieces[1:], ";"], strict=True):
        before, after = out[-1][-1] if out else ";", following[0]
        if piece == " ":
            needed = before not in _SIGNS and after not in _SIGNS
        elif piece == "\n":  # an end of line may end a statement
            needed = before not in _SIGNS - set("})]") and after not in _SIGNS - set("{([")
        else:
            needed = True
        if needed:
            out.append(piece)
    return "".join(out)
