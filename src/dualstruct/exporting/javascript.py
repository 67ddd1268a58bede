"""An ES module with its types and the packed model, for Node and browsers.

The module is made from runtime/*.mjs: only the parts that the model needs, without comments
and blanks, and with short names.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
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


#: Weights of a dense table, at most.
_MOST_WEIGHTS = 2**23


def _streams(header: dict[str, Any]) -> list[list[Any]]:
    plans = [plan for plan in (header["templates"], header["pairs"]) if plan is not None]
    return [stream for plan in plans for stream in plan["streams"]]


def _calls(header: dict[str, Any], *names: str) -> bool:
    return any(name in names for *_, listed in _streams(header) for name, _ in listed)


def _has_lists(header: dict[str, Any]) -> bool:
    learns = any(place >= 0 or learned >= 0 for _, place, learned, _ in _streams(header))
    return learns or _calls(header, "cluster")


#: In the order in which they need each other, and for which models.
MODULES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "hashing": lambda header: True,
    "words": lambda header: True,
    "regex": lambda header: _calls(header, "match", "test"),
    "features": lambda header: True,
    "lists": _has_lists,
    "dense": lambda header: header["dense"],
    "sparse": lambda header: not header["dense"] or header["pairs"] is not None,
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
#: What modules export.
_PUBLIC = ("Tagger", "Parser", "load")
_MARK = "// A tagger exported by dualstruct {version}; index.d.ts says what there is.\n"

#: Names that stay as they are: JavaScript's words, its own functions and fields, keys of the packed
#: data and of the core, and what users see. So do names of one letter, and those in templates.
_NAMES = """
    async await break case catch class const continue do else export extends false for from
    function get if import in instanceof is let meta new null of return set static super switch this
    throw true try typeof undefined while

    Array BigUint64Array Blob DataView DecompressionStream Error Float32Array Float64Array Infinity
    Instance Int32Array JSON Map Math Number Object Response RuntimeError Set String TextDecoder
    TextEncoder URL Uint16Array Uint32Array Uint8Array WebAssembly
    abs add arrayBuffer assign at buffer byteOffset call ceil codePointAt compile constructor decode
    encodeInto endsWith entries every exp exports fetch fill filter find flatMap forEach
    fromCodePoint fromEntries fround getUint32 has imul includes indexOf isArray
    join keys length log log2 map max memory message min next ok parse pipeThrough pop
    protocol push readFile reduce replace size slice some sort split status statusText stream
    subarray test toLowerCase url value values with written

    _initialize fail js open room

    abbreviations allowed arrays beta boundaries closers cluster_ends cluster_numbers cluster_paths
    cluster_words columns contractions core dense digit fullStops hyphens labels
    learned_identities letter lineEnds lists lower lower_from lower_to mark numbers pair_shift pairs
    reach relations rules schemes sentences shift singles space starters stops streams templates
    titles tokenizer transition unseen upper width words

    bilou bioes grobid iob1 iob2

    Parser Tagger columns end find head label labels load parse parseAll probabilities probability
    relation relations spans split start tag tagAll text word
"""
KEPT = frozenset(_NAMES.split())
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

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
_NAME = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]*")
_PART = re.compile(r"[\w$]+|.", re.DOTALL)
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
    size = len(packed.arrays["emission_begins"]) * len(header["labels"])
    header["dense"] = header["templates"] is not None and size <= _MOST_WEIGHTS
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
    """A script without comments and unnecessary spaces, and with short names for those not kept.

    Statements have to end with semicolons.

    >>> shortened('const first = 1; // one\\nif (first) { foo( (x) => "first  c" ); }\\n')
    'let a=1;if(a){b(x=>"first  c")}'
    """
    source = _PIECE.sub(lambda found: "" if found["comment"] else found[0], source)
    pieces: list[tuple[str, bool]] = []  # with whether it is code
    end = 0
    for found in [*_PIECE.finditer(source), None]:
        code = source[end : found.start()] if found else source[end:]
        if code:
            pieces.append((code, True))
        if found:
            pieces.append((" " if found["blank"] else found[0], False))
            end = found.end()
    short = _short_names(pieces)
    out: list[str] = []  # names, signs and texts
    for (piece, is_code), (following, _) in zip(pieces, [*pieces[1:], (";", True)], strict=True):
        before = out[-1][-1] if out else ";"
        if piece == " " and (before in _SIGNS or following[0] in _SIGNS):
            continue
        parts = _PART.findall(piece) if is_code else [piece]
        out.extend(short.get(part, part) for part in parts)
    joined = _declared_together(out).replace(";}", "}")
    return re.sub(r"(?<![\w$])\(([\w$]+)\)=>", r"\1=>", joined)


def _declared_together(parts: list[str]) -> str:
    """A script with one ``let`` for declarations that follow each other."""
    out: list[str] = []
    depth, declaring = 0, set[int]()  # how many brackets are open; at which depths a declaration is
    skip = 0
    for n, part in enumerate(parts):
        if skip:
            skip -= 1
            continue
        if part == "let" and (not out or out[-1] in (";", "{", "}")):
            declaring.add(depth)
        elif part in ("(", "[", "{"):
            depth += 1
        elif part in (")", "]", "}"):
            declaring.discard(depth)
            depth -= 1
        elif part == ";" and depth in declaring:
            if parts[n + 1 : n + 2] == ["let"]:
                skip = 1 + (parts[n + 2] == " ")
                part = ","
            else:
                declaring.discard(depth)
        out.append(part)
    return "".join(out)


def _short_names(pieces: list[tuple[str, bool]]) -> dict[str, str]:
    """What names become, the most frequent the shortest; constants become variables."""
    counts = Counter(name for piece, is_code in pieces if is_code for name in _NAME.findall(piece))
    within = (piece for piece, is_code in pieces if not is_code and "${" in piece)
    stay = {name for piece in within for name in _NAME.findall(piece)}
    stay |= {name for name in counts if len(name) == 1} | KEPT
    free = (first + second for second in ["", *_LETTERS] for first in _LETTERS)
    ranked = [name for name, _ in counts.most_common() if name not in stay]
    return dict(zip(ranked, (name for name in free if name not in stay), strict=False)) | {
        "const": "let"
    }
