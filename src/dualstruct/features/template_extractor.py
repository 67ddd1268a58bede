"""Features made by templates from sentences of words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.schema import fit_type, inner_arrays, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    FingerprintBits,
    State,
    TruthOf,
    as_ids,
    check_names,
    check_settings,
    keep_flags,
    number_in,
)
from dualstruct.features.clusters import read_clusters
from dualstruct.features.gazetteers import GazetteerFile, make_gazetteer, read_phrases
from dualstruct.features.groups import groups_in
from dualstruct.features.learned import LEARNED, Cells, LearnedColumn
from dualstruct.features.naming import values_in
from dualstruct.features.patterns import Pattern, parse_patterns
from dualstruct.features.templates import Template, Templates, Term, parse_templates
from dualstruct.lazy import Once

__all__ = ["CorePlan", "TemplateExtractor", "lists_of"]


class TemplateExtractor(FeatureExtractor):
    """Templates over sentences of words, or of tuples with one entry per column."""

    def __init__(
        self,
        templates: Templates,
        clusters: _core.Clusters | None = None,
        gazetteers: Mapping[str, _core.Gazetteer] | None = None,
        *,
        hash_bits: int | None = None,
        min_count: int = 1,
        pair_bits: int | None = None,
        of_pairs: bool = False,
        learned: Sequence[LearnedColumn] | None = None,
    ) -> None:
        check_settings(hash_bits, min_count)
        self.templates = templates
        self.hash_bits = hash_bits
        self._of_pairs = of_pairs
        self.min_count = int(min_count)
        self.clusters = clusters
        self._gazetteers = dict(gazetteers or {})
        numbers = {key: number for number, key in enumerate(self._gazetteers)}
        plan = CorePlan.of(templates, numbers)
        self._kept_columns = plan.columns
        self._learned = list(learned or plan.learned(clusters))
        self._training: list[Cells] | None = None  # what the next fit sees
        self._restored = Once()
        self._fingerprint_bits: int | None = None  # if the names of features were left out
        self._features = _core.TemplateFeatures(
            [plan.as_tuple(template) for template in templates.templates],
            clusters,
            list(self._gazetteers.values()),
            hash_bits or 0,
            templates.dialect,
            of_pairs,
        )
        self._pairs: TemplateExtractor | None = None
        if templates.pairs:
            self._pairs = TemplateExtractor(
                replace(templates, templates=templates.pairs, pairs=()),
                hash_bits=hash_bits and (pair_bits or hash_bits),
                min_count=min_count,
                of_pairs=True,
            )

    @classmethod
    def load(
        cls,
        templates: Templates,
        folder: Path,
        *,
        hash_bits: int | None,
        min_count: int,
        pair_bits: int | None,
    ) -> TemplateExtractor:
        """Read the files that the templates name, and make the extractor."""
        clusters = read_clusters(folder / templates.clusters) if templates.clusters else None
        lists = {
            name: GazetteerFile.parse(text, "gazetteer").inside(folder)
            for name, text in templates.gazetteers.items()
        }
        phrases = {name: read_phrases(each.file, each.column) for name, each in lists.items()}
        gazetteers = {
            key: make_gazetteer(phrases[name], exact=lists[name].exact, part=part)
            for key, (name, part) in lists_of(templates).items()
        }
        return cls(
            templates,
            clusters,
            gazetteers,
            hash_bits=hash_bits,
            min_count=min_count,
            pair_bits=pair_bits,
        )

    def coverage(self, X: Any) -> dict[str, float]:
        table = self._plain_table(X)
        plan = CorePlan.of(self.templates, {key: n for n, key in enumerate(self._gazetteers)})
        terms: dict[str, Term] = {}
        for term in (term for template in self.templates.templates for term in template.terms):
            names = [name for name, _ in term.functions]
            if term.gazetteer is not None:
                terms.setdefault(f"gazetteer {term.list_key}", term)
            elif "cluster" in names:
                of_words = term.functions[: names.index("cluster") + 1]
                terms.setdefault(
                    f"clusters {Path(self.templates.clusters or '').name}",
                    replace(term, functions=of_words),
                )
        shares = {}
        for name, term in terms.items():
            template = plan.as_tuple(Template((replace(term, offset=0),)))
            lists = list(self._gazetteers.values())
            features = _core.TemplateFeatures([template], self.clusters, lists, 16)
            offsets, _ = features.transform(table)
            shares[name] = float((np.diff(offsets) > 0).mean()) if table.n_tokens else 0.0
        return shares

    def groups(self) -> list[str]:
        return groups_in(self.templates)

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.templates.columns

    @property
    def pairs(self) -> TemplateExtractor | None:
        return self._pairs

    @property
    def learns_from_labels(self) -> bool:
        return bool(self._learned)

    @property
    def learned_columns(self) -> tuple[LearnedColumn, ...]:
        """What training says of words, in the order in which templates ask for it first."""
        return tuple(self._learned)

    def learn(self, X: Any, truth: TruthOf, names: Sequence[str]) -> None:
        if self._learned:
            table = self._plain_table(X)
            numbers = truth(np.array(table.sentences))
            self._training = [each.learn(table, numbers, names) for each in self._learned]

    def transform_training(self, X: Any, truth: TruthOf) -> FeatureRows:
        if not self._learned:
            return self.transform(X)
        table = self._plain_table(X)
        numbers = truth(np.array(table.sentences))
        cells = [each.held_out(table, numbers) for each in self._learned]
        return self._transform(_core.with_columns(table, self._kept_columns, cells))

    def fit(self, X: Any, *, threads: int = 1) -> FeatureRows:
        training, self._training = self._training, None
        table = self._table(X, training)
        if table.n_tokens == 0:
            raise InputError("there are no tokens to learn features from")
        return self._fit(table, threads)

    def _fit(self, table: _core.TokenTable, threads: int) -> FeatureRows:
        pairs = None if self._pairs is None else self._pairs._fit(table, threads)
        return self._rows(table, *self._known.fit(table, self.min_count, threads), pairs)

    def transform(self, X: Any, *, threads: int = 1) -> FeatureRows:
        return self._transform(self._table(X), threads)

    def _transform(self, table: _core.TokenTable, threads: int = 1) -> FeatureRows:
        pairs = None if self._pairs is None else self._pairs._transform(table, threads)
        if table.n_tokens == 0:
            return self._rows(table, np.zeros(1, np.int64), np.zeros(0, np.int32), pairs)
        return self._rows(table, *self._known.transform(table, threads), pairs)

    def _table(self, X: Any, cells: list[Cells] | None = None) -> _core.TokenTable:
        """The sentences, with what training says of them behind their columns."""
        table = self._plain_table(X)
        if not self._learned or table.n_tokens == 0:
            return table
        if cells is None:
            cells = [each.look_up(table) for each in self._learned]
        return _core.with_columns(table, self._kept_columns, cells)

    def _plain_table(self, X: Any) -> _core.TokenTable:
        lazy = isinstance(X, ColumnSentences)
        table = X.table() if lazy else _core.TokenTable.from_sentences(X)
        if table.n_tokens > 0:
            self._check_columns(table.n_columns)
        return table

    def _check_columns(self, count: int) -> None:
        for template in (*self.templates.templates, *self.templates.pairs):
            for term in template.terms:
                if term.column >= count:
                    raise InputError(
                        f'the template "{template}" needs column {term.column + 1}'
                        f' ("{term.column_name}"), but the tokens have'
                        f" {count} column{'s' if count > 1 else ''}"
                    )

    def _rows(
        self,
        table: _core.TokenTable,
        offsets: NDArray[np.int64],
        ids: NDArray[np.int32],
        pairs: FeatureRows | None,
    ) -> FeatureRows:
        sentences = np.array(table.sentences)
        return FeatureRows(offsets, ids, None, sentences, self.dimension, pairs)

    @property
    def dimension(self) -> int:
        return self._size if self._restored.pending else self._features.dimension

    def names(self, ids: ArrayLike) -> list[str]:
        return self._known.names(as_ids(ids, self.dimension))

    def names_in(self, X: Any) -> list[str]:
        if not self.hash_bits:
            return super().names_in(X)
        by_name = TemplateExtractor(
            self.templates,
            self.clusters,
            self._gazetteers,
            of_pairs=self._of_pairs,
            learned=self._learned,
        )
        return by_name.names(by_name.fit(X).ids) if self._table(X).n_tokens else []

    def find(self, name: str) -> int | None:
        for number, template in enumerate(self.templates.templates):
            for values in values_in(name, template.literals):
                id = self._known.find(number, values)
                if id >= 0:
                    return id
        hashed = number_in(name) if self.hash_bits else None
        return hashed if hashed is not None and hashed < self.dimension else None

    def hashes_of(self, name: str) -> list[int]:
        """All that a feature of this name may be known by: one for each way to read it."""
        found: dict[int, None] = {}
        for number, template in enumerate(self.templates.templates):
            for values in values_in(name, template.literals):
                found[_core.feature_hash(self._known, number, values)] = None
                if len(found) > _MOST_READINGS:
                    raise InputError(f"the feature {name[:60]!r} can be read in too many ways")
        return list(found)

    def select(self, keep: ArrayLike) -> None:
        if self.hash_bits:
            raise InputError("hashed features cannot be dropped: their ids are fixed")
        self._known.select(keep_flags(keep, self.dimension))

    def state(self) -> State:
        settings: dict[str, Any] = {
            "kind": "templates",
            "templates": str(self.templates),
            "hash_bits": self.hash_bits,
            "min_count": self.min_count,
        }
        if self.templates.dialect != "dualstruct":
            settings["dialect"] = self.templates.dialect
        arrays: dict[str, NDArray[Any]] = {}
        if self._fingerprint_bits:
            settings["fingerprint_bits"] = self._fingerprint_bits
            arrays["fingerprints"] = self._known.hashes().astype(np.int64)
        elif not self.hash_bits:
            arrays["hashes"] = self._known.hashes()
            arrays["name_bytes"], arrays["name_offsets"] = self._known.all_names()
        if self._pairs is not None:
            settings["pair_bits"] = self._pairs.hash_bits
            settings |= (
                {"pair_fingerprint_bits": self._pairs._fingerprint_bits}
                if self._pairs._fingerprint_bits
                else {}
            )
            arrays |= {f"pair_{key}": array for key, array in self._pairs.state()[1].items()}
        if self.clusters is not None:
            arrays |= zip(CLUSTER_ARRAYS, self.clusters.arrays(), strict=True)
        for number, gazetteer in enumerate(self._gazetteers.values()):
            arrays |= zip(_gazetteer_arrays(number), gazetteer.arrays(), strict=True)
        for number, each in enumerate(self._learned):
            state, own = each.state()
            settings.setdefault("learned", []).append(state)
            arrays |= {f"learned_{number}.{name}": array for name, array in own.items()}
        return settings, arrays

    def compact(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Hashes follow from names; the few that do not are kept beside them."""
        found = dict(arrays)
        if self._pairs is not None:
            inner = {name.removeprefix("pair_"): array for name, array in arrays.items()}
            found |= {f"pair_{key}": array for key, array in self._pairs.compact(inner).items()}
            found.pop("pair_hashes", None)
        if "hashes" not in found:
            return found
        hashes = found.pop("hashes")
        templates = _core.templates_of_names(
            self._known, found["name_bytes"], found["name_offsets"], hashes
        )
        odd = np.flatnonzero(templates == _NO_TEMPLATE).astype(np.uint32)
        return found | {"template_of": templates, "odd": odd, "odd_hashes": hashes[odd]}

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> TemplateExtractor:
        stored = fit_type(_Settings, dict(settings), "features")
        where = "templates of the model"
        if stored.dialect == "dualstruct":
            templates = parse_templates(stored.templates, where, folder=None)
        else:
            templates = parse_patterns(stored.templates, where, stored.dialect)
        clusters = None
        if templates.clusters is not None:
            clusters = clusters_from(arrays)
        gazetteers = {}
        for number, (key, (name, _)) in enumerate(lists_of(templates).items()):
            prefixes, is_phrase = (
                stored_array(arrays, each, dtype)
                for each, dtype in _gazetteer_arrays(number).items()
            )
            exact = GazetteerFile.parse(templates.gazetteers[name], "gazetteer").exact
            gazetteers[key] = _core.Gazetteer.from_arrays(prefixes, is_phrase, not exact)
        made = cls(
            templates,
            clusters,
            gazetteers,
            hash_bits=stored.hash_bits,
            min_count=stored.min_count,
            pair_bits=stored.pair_bits,
        )
        if len(stored.learned) != len(made._learned):
            raise InputError("features.learned: the templates ask for others")
        for number, each in enumerate(made._learned):
            each.restore(stored.learned[number], inner_arrays(arrays, f"learned_{number}"))
        made._restore(arrays, "", stored.fingerprint_bits)
        if made._pairs is not None:
            made._pairs._restore(arrays, "pair_", stored.pair_fingerprint_bits)
        return made

    @property
    def _known(self) -> _core.TemplateFeatures:
        """The features, with those of the file that they come from once they are asked for."""
        self._restored()
        return self._features

    @property
    def has_names(self) -> bool:
        return not self._fingerprint_bits and (self._pairs is None or self._pairs.has_names)

    def _restore(self, arrays: Mapping[str, NDArray[Any]], prefix: str, bits: int | None) -> None:
        """Bring back hashes and names, when they are first used."""
        if self.hash_bits:
            return
        if bits is not None:
            known = stored_array(arrays, f"{prefix}fingerprints", np.int64).astype(np.uint64)
            self._fingerprint_bits, self._size = bits, len(known)
            self._restored = Once(lambda: self._features.restore_fingerprints(known, bits))
            return
        names = (
            stored_array(arrays, f"{prefix}name_bytes", np.uint8),
            stored_array(arrays, f"{prefix}name_offsets", np.int64),
        )
        if f"{prefix}hashes" in arrays:
            known = stored_array(arrays, f"{prefix}hashes", np.uint64)
            self._defer(len(known), names, lambda: known)
            return
        templates = stored_array(arrays, f"{prefix}template_of", np.uint16)
        odd = stored_array(arrays, f"{prefix}odd", np.uint32)
        others = stored_array(arrays, f"{prefix}odd_hashes", np.uint64)
        if len(odd) != len(others) or (len(odd) and int(odd.max()) >= len(templates)):
            raise InputError("features: a hash belongs to no name")

        def hashes() -> NDArray[np.uint64]:
            found = _core.hashes_of_names(self._features, *names, templates)
            found[odd] = others
            return found

        self._defer(len(templates), names, hashes)

    def _defer(
        self, size: int, names: tuple[Any, ...], hashes: Callable[[], NDArray[np.uint64]]
    ) -> None:
        data, offsets = names
        check_names(data, offsets)
        if len(offsets) != size + 1:
            raise InputError("features: as many names as hashes are expected")
        self._size = size
        self._restored = Once(lambda: self._features.restore(hashes(), data, offsets))


@dataclass(eq=False, repr=False)
class _Settings:
    """What a file says of templates, besides arrays."""

    templates: str
    hash_bits: int | None = None
    min_count: int = 1
    pair_bits: int | None = None
    fingerprint_bits: FingerprintBits | None = None
    pair_fingerprint_bits: FingerprintBits | None = None
    dialect: str = "dualstruct"
    learned: list[dict[str, Any]] = field(default_factory=list)


#: Ways to read a name that are told apart.
_MOST_READINGS = 10_000
#: Stands for a template where a name is none's.
_NO_TEMPLATE = 0xFFFF

CLUSTER_ARRAYS = {
    "cluster_words": np.uint64,
    "cluster_path_of": np.int32,
    "cluster_path_bytes": np.uint8,
    "cluster_path_offsets": np.int64,
}


def clusters_from(arrays: Mapping[str, NDArray[Any]]) -> _core.Clusters:
    """Clusters from the arrays of a model file."""
    return _core.Clusters.from_arrays(
        *(stored_array(arrays, name, dtype) for name, dtype in CLUSTER_ARRAYS.items())
    )


def _gazetteer_arrays(number: int) -> dict[str, Any]:
    return {
        f"gazetteer_{number}_prefixes": np.uint64,
        f"gazetteer_{number}_is_phrase": np.uint8,
    }


def lists_of(templates: Templates) -> dict[str, tuple[str, bool]]:
    """The lists that templates look into, in the order in which a model keeps them: their names,
    and whether words of their phrases are looked for."""
    lists = {name: (name, False) for name in templates.gazetteers}
    for template in templates.templates:
        for term in template.terms:
            if term.gazetteer is not None and term.part:
                lists[term.list_key] = term.gazetteer, True
    return lists


@dataclass(frozen=True)
class CorePlan:
    """Which columns the core sees: those of the tokens, and after them what is learned of them."""

    columns: int  # of the tokens, that templates look at
    terms: tuple[Term, ...]  # that are learned, once each, at offset 0
    lists: Mapping[str, int]

    @classmethod
    def of(cls, templates: Templates, lists: Mapping[str, int]) -> CorePlan:
        terms = [term for template in templates.templates for term in template.terms]
        learned = dict.fromkeys(replace(term, offset=0) for term in terms if term.learned)
        columns = 1 + max((term.column for term in terms), default=-1)
        return cls(columns, tuple(learned), lists)

    def learned(self, clusters: _core.Clusters | None) -> Iterator[LearnedColumn]:
        for term in self.terms:
            assert term.learned is not None
            name, argument = term.learned
            yield LEARNED[name](self.inner_tuple(term), clusters, argument)

    def inner_tuple(self, term: Term) -> _core.TemplateTuple:
        """The template of what a learned term asks training about."""
        return self.as_tuple(Template((replace(term, functions=term.functions[:-1]),)))

    def as_tuple(self, template: Template | Pattern) -> _core.TemplateTuple:
        terms = []
        for term in template.terms:
            column, functions = term.column, list(term.functions)
            if term.learned:
                column, functions = self.columns + self.terms.index(replace(term, offset=0)), []
            place = -1 if term.gazetteer is None else self.lists[term.list_key]
            terms.append((column, term.offset, term.absolute, place, functions))
        return template.identity, list(template.literals), terms
