"""The core itself, compiled to WebAssembly, with a module that loads it and the model's data.

``core.wasm`` is the same for all models and comes with the package (core/wasm/build.cmake). What it
opens is one array of the packed model: what core/wasm/reader.hpp reads.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dualstruct
from dualstruct import _core
from dualstruct.data.treebank import TABLE_COLUMN
from dualstruct.errors import InputError
from dualstruct.estimators import DependencyParser, SequenceTagger
from dualstruct.exporting.characters import character_arrays
from dualstruct.exporting.javascript import joined_modules
from dualstruct.exporting.packing import Packed, pack
from dualstruct.exporting.templates import BOUNDARIES, Arrays, parsed, plan_of
from dualstruct.features.template_extractor import CorePlan, TemplateExtractor, lists_of
from dualstruct.structures import TreeColumns
from dualstruct.tasks.parsing.model import SOURCES, TreeModel

__all__ = ["core_bytes", "wasm_parser_files", "wasm_tagger_files"]

_RUNTIME = "dualstruct.exporting.runtime"
#: Compiled when dualstruct is built.
_CORE = "core.wasm.xz"
_MARK = "// {what} exported by dualstruct {version}; index.d.ts says what there is.\n"
#: As core/text/attributes.hpp counts them.
_FUNCTIONS = (
    "lower", "digits", "prefix", "suffix", "shape", "shortshape", "kind", "cluster", "match",
    "test",
)  # fmt: skip
_SENTENCES = ("rules", "lines", "whole")


def core_bytes() -> bytes:
    """The compiled core, or a sentence that says how it is made."""
    path = resources.files(_RUNTIME) / _CORE
    if not path.is_file():
        raise InputError(
            "this installation has no core.wasm: no compiler for WebAssembly was there when it was "
            "built; install clang 16 or later with its wasm32 libraries (Debian: clang-19 lld-19 "
            "wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32) and "
            "install dualstruct from its sources, or export to the target js"
        )
    import lzma

    return lzma.decompress(path.read_bytes())


class _Writer:
    """Numbers, texts and arrays, each at a multiple of 8 bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, value: int) -> None:
        self._parts.append(int(value).to_bytes(8, "little", signed=True))

    def numbers(self, *values: int) -> None:
        for value in values:
            self.number(value)

    def array(self, values: Any, dtype: str) -> None:
        data = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()
        self.number(len(values))
        self._parts.append(data + bytes(-len(data) % 8))

    def text(self, text: str) -> None:
        self.array(np.frombuffer(text.encode(), np.uint8), "u1")

    def each(self, values: Sequence[Any], write: Callable[[Any], None]) -> None:
        """How many there are, and all of them."""
        self.number(len(values))
        for value in values:
            write(value)

    def characters(self) -> None:
        arrays = character_arrays()
        for name in ("upper", "lower", "digit", "letter", "space"):
            self.array(arrays[f"{name}_characters"], "u4")
        self.array(arrays["lower_from"], "u4")
        self.array(arrays["lower_to"], "u4")

    def clusters(self, clusters: _core.Clusters | None) -> None:
        self.number(clusters is not None)
        if clusters is not None:
            for values, dtype in zip(clusters.arrays(), ("u8", "i4", "u1", "i8"), strict=True):
                self.array(values, dtype)

    def templates(self, tuples: Sequence[_core.TemplateTuple]) -> None:
        """Templates without what stands around their terms in names."""

        def function(one: tuple[str, int | str]) -> None:
            name, argument = one
            self.number(_FUNCTIONS.index(name))
            self.number(argument if isinstance(argument, int) else 0)
            self.text(argument if isinstance(argument, str) else "")

        def term(one: Any) -> None:
            column, offset, absolute, gazetteer, functions = one
            self.numbers(column, offset, absolute, gazetteer)
            self.each(functions, function)

        def template(one: _core.TemplateTuple) -> None:
            self.text(one[0])
            self.each(one[2], term)

        self.each(tuples, template)

    def boundaries(self, dialect: str) -> None:
        before, after, close, counted, applied = BOUNDARIES[dialect]
        for text in (before, after, close):
            self.text(text)
        self.numbers(counted, applied)

    def keys(self, bits: int | None, keys: NDArray[Any]) -> None:
        self.number(bits or 0)
        self.array(keys, "u4" if bits else "u8")

    def rows(self, name: str, arrays: dict[str, NDArray[Any]]) -> None:
        self.array(arrays.pop(f"{name}_begins"), "u4")
        self.array(arrays.pop(f"{name}_labels"), "u4")
        self.array(arrays.pop(f"{name}_values"), "f4")

    def places(self, w: NDArray[np.float32]) -> None:
        """Weights that are not 0, and where they are."""
        places = np.flatnonzero(w)
        self.array(places, "u4")
        self.array(w[places], "f4")

    def packed(self) -> NDArray[np.uint8]:
        return np.frombuffer(b"".join(self._parts), np.uint8)


def wasm_tagger_files(tagger: SequenceTagger, name: str, beside: bool) -> dict[str, bytes]:
    """The module, its types, the core and the model's data."""
    core = core_bytes()
    packed = pack(tagger)
    settings = tagger.model_.state()[0]["features"]
    out, arrays = _Writer(), dict(packed.arrays)
    out.characters()
    out.numbers(0, len(packed.header["labels"]), packed.header["templates"] is not None)
    if packed.header["templates"] is not None:
        extractor = tagger.model_.extractor
        assert isinstance(extractor, TemplateExtractor)
        _write_templates(out, extractor, settings, arrays)
    else:
        out.keys(settings["hash_bits"], arrays["emission_keys"])
    has_pairs = packed.header["pairs"] is not None
    out.number(has_pairs)
    out.rows("emission", arrays)
    if has_pairs:
        out.rows("pair", arrays)
    out.array(arrays["transition"], "f4")
    out.array(arrays.get("allowed", np.zeros(0, np.uint8)), "u1")
    rules = packed.header["tokenizer"]
    out.number(rules is not None)
    if rules is not None:
        out.numbers(
            rules["words"] == "blanks",
            _SENTENCES.index(rules["sentences"]),
            rules["contractions"] == "split",
            rules["hyphens"] == "split",
        )
        out.each(rules["abbreviations"], out.text)
    plans = [plan for plan in (packed.header["templates"], packed.header["pairs"]) if plan]
    columns = [column for plan in plans for column, *_ in plan["streams"]]
    header = {
        "labels": packed.header["labels"],
        "columns": packed.header["columns"],
        "schemes": packed.header["schemes"],
        "beta": packed.header["beta"],
        "tokenizer": rules is not None,
        "pairs": has_pairs,
        "width": 1 + max(columns, default=0) if plans else None,
    }
    kept: Arrays = {name: arrays[name] for name in ("transition", "allowed") if name in arrays}
    own = ["attributes", "chain", "beliefs", "spans", "interface", "wasm_core", "wasm_tagger"]
    return _files(Packed(header, {**kept, "core": out.packed()}), core, "tagger", own)


def _files(packed: Packed, core: bytes, what: str, own: list[str]) -> dict[str, bytes]:
    mark = _MARK.format(what=f"A {what}", version=dualstruct.__version__)
    types = resources.files(_RUNTIME) / ("index.d.ts" if what == "tagger" else f"{what}.d.ts")
    return {
        "index.mjs": (mark + joined_modules(["packed", "loading", *own])).encode(),
        "index.d.ts": (mark + types.read_text("utf-8")).encode(),
        "core.wasm": core,
        "model.bin": zlib.compress(packed.to_bytes(), 9),
    }


def _write_templates(
    out: _Writer, extractor: TemplateExtractor, settings: Any, arrays: dict[str, NDArray[Any]]
) -> None:
    templates = parsed(settings)
    lists = {key: n for n, key in enumerate(lists_of(templates))}
    plan = CorePlan.of(templates, lists)
    out.boundaries(templates.dialect)
    out.clusters(extractor.clusters)

    def gazetteer(one: tuple[int, bool]) -> None:
        number, folds = one
        out.array(arrays[f"list{number}_prefixes"], "u8")
        out.array(arrays[f"list{number}_phrases"], "u1")
        out.number(folds)

    out.each(list(enumerate(plan_of(templates, ())[0]["lists"])), gazetteer)
    out.number(plan.columns)
    out.number(len(plan.terms))
    for term, column in zip(plan.terms, extractor.learned_columns, strict=True):
        out.templates([plan.inner_tuple(term)])
        out.boundaries("dualstruct")
        keys, said = column.answers()
        strings = list(dict.fromkeys(said))
        places = {text: place for place, text in enumerate(strings)}
        out.array(keys, "u8")
        out.array([places[text] for text in said], "i4")
        out.each(strings, out.text)
    out.templates([plan.as_tuple(template) for template in templates.templates])
    out.keys(settings["hash_bits"], arrays["emission_keys"])
    out.number(bool(templates.pairs))
    if templates.pairs:
        out.templates([plan.as_tuple(template) for template in templates.pairs])
        out.keys(settings.get("pair_bits"), arrays["pair_keys"])


#: What a word is given by.
_FIELDS = {"forms": "form", "lemmas": "lemma", "upos": "upos", "xpos": "xpos", "feats": "feats"}


def wasm_parser_files(parser: DependencyParser, name: str, beside: bool) -> dict[str, bytes]:
    """The same for a parser, which takes words with their columns."""
    if parser.minimum_risk is not None:
        raise InputError(
            "this model cannot be exported: it chooses trees by minimum risk (minimum_risk)"
        )
    core = core_bytes()
    model: TreeModel = parser.model_
    columns = [SOURCES[source] for source in model.sources]
    resolved = TreeColumns(**{s: TABLE_COLUMN[SOURCES[s]] for s in model.sources}).resolved()
    if resolved[2] not in [TABLE_COLUMN[column] for column in columns]:
        columns = ["forms", *columns]
    places = {TABLE_COLUMN[column]: place for place, column in enumerate(columns)}
    out = _Writer()
    out.characters()
    out.number(1)
    out.number(len(columns))
    out.numbers(*(places.get(column, -1) for column in resolved[:5]))
    out.number(len(columns) if model.clusters is not None else -1)
    out.clusters(model.clusters)
    out.each(model.between, out.text)
    shape = model.shape
    out.numbers(len(model.labels), shape.line_bits, shape.label_bits)
    out.numbers(shape.projective, shape.single_root)
    out.number(model.second is not None)
    if model.second is not None and model.pruner is not None:
        out.numbers(model.second.grandparents, model.second.bits, model.second.most_heads)
        out.array([model.second.threshold], "f4")
        out.places(np.asarray(model.pruner.array))
    out.places(np.asarray(model.w.array))
    header = {"relations": model.labels.names, "columns": [_FIELDS[each] for each in columns]}
    own = ["wasm_core", "wasm_parser"]
    return _files(Packed(header, {"core": out.packed()}), core, "parser", own)
