"""Features made by templates from sentences of words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.data.columns import ColumnSentences
from dualstruct.data.schema import fit_type, stored_array
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    State,
    as_ids,
    check_settings,
    keep_flags,
    number_in,
)
from dualstruct.features.clusters import read_clusters
from dualstruct.features.gazetteers import read_gazetteer
from dualstruct.features.patterns import Pattern, parse_patterns
from dualstruct.features.templates import Template, Templates, parse_templates

__all__ = ["TemplateExtractor"]


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
    ) -> None:
        check_settings(hash_bits, min_count)
        self.templates = templates
        self.hash_bits = hash_bits
        self._of_pairs = of_pairs
        self.min_count = int(min_count)
        self._clusters = clusters
        self._gazetteers = dict(gazetteers or {})
        numbers = {name: number for number, name in enumerate(self._gazetteers)}
        self._core = _core.TemplateFeatures(
            [_as_tuple(template, numbers) for template in templates.templates],
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
        gazetteers = {name: read_gazetteer(folder / f) for name, f in templates.gazetteers.items()}
        return cls(
            templates,
            clusters,
            gazetteers,
            hash_bits=hash_bits,
            min_count=min_count,
            pair_bits=pair_bits,
        )

    @property
    def column_names(self) -> tuple[str, ...]:
        return self.templates.columns

    @property
    def pairs(self) -> TemplateExtractor | None:
        return self._pairs

    def fit(self, X: Any) -> FeatureRows:
        table = self._table(X)
        if table.n_tokens == 0:
            raise InputError("there are no tokens to learn features from")
        return self._fit(table)

    def _fit(self, table: _core.TokenTable) -> FeatureRows:
        pairs = None if self._pairs is None else self._pairs._fit(table)
        return self._rows(table, *self._core.fit(table, self.min_count), pairs)

    def transform(self, X: Any) -> FeatureRows:
        return self._transform(self._table(X))

    def _transform(self, table: _core.TokenTable) -> FeatureRows:
        pairs = None if self._pairs is None else self._pairs._transform(table)
        if table.n_tokens == 0:
            return self._rows(table, np.zeros(1, np.int64), np.zeros(0, np.int32), pairs)
        return self._rows(table, *self._core.transform(table), pairs)

    def _table(self, X: Any) -> _core.TokenTable:
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
                        f'the template "{template}" wants column {term.column + 1}'
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
        return self._core.dimension

    def names(self, ids: ArrayLike) -> list[str]:
        return self._core.names(as_ids(ids, self.dimension))

    def names_in(self, X: Any) -> list[str]:
        if not self.hash_bits:
            return super().names_in(X)
        by_name = TemplateExtractor(
            self.templates, self._clusters, self._gazetteers, of_pairs=self._of_pairs
        )
        return by_name.names(by_name.fit(X).ids) if self._table(X).n_tokens else []

    def find(self, name: str) -> int | None:
        for number, template in enumerate(self.templates.templates):
            for values in _values_in(name, template.literals):
                id = self._core.find(number, values)
                if id >= 0:
                    return id
        hashed = number_in(name) if self.hash_bits else None
        return hashed if hashed is not None and hashed < self.dimension else None

    def select(self, keep: ArrayLike) -> None:
        if self.hash_bits:
            raise InputError("hashed features cannot be dropped: their ids are fixed")
        self._core.select(keep_flags(keep, self.dimension))

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
        if not self.hash_bits:
            arrays["hashes"] = self._core.hashes()
            arrays["name_bytes"], arrays["name_offsets"] = self._core.all_names()
        if self._pairs is not None:
            settings["pair_bits"] = self._pairs.hash_bits
            arrays |= {f"pair_{key}": array for key, array in self._pairs.state()[1].items()}
        if self._clusters is not None:
            arrays |= zip(CLUSTER_ARRAYS, self._clusters.arrays(), strict=True)
        for number, gazetteer in enumerate(self._gazetteers.values()):
            arrays |= zip(_gazetteer_arrays(number), gazetteer.arrays(), strict=True)
        return settings, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> TemplateExtractor:
        stored = fit_type(_Settings, dict(settings), "features")
        name = "templates of the model"
        if stored.dialect == "dualstruct":
            templates = parse_templates(stored.templates, name, folder=None)
        else:
            templates = parse_patterns(stored.templates, name, stored.dialect)
        clusters = None
        if templates.clusters is not None:
            clusters = clusters_from(arrays)
        gazetteers = {
            name: _core.Gazetteer.from_arrays(
                *(stored_array(arrays, key, t) for key, t in _gazetteer_arrays(number).items())
            )
            for number, name in enumerate(templates.gazetteers)
        }
        made = cls(
            templates,
            clusters,
            gazetteers,
            hash_bits=stored.hash_bits,
            min_count=stored.min_count,
            pair_bits=stored.pair_bits,
        )
        made._restore(arrays, "")
        if made._pairs is not None:
            made._pairs._restore(arrays, "pair_")
        return made

    def _restore(self, arrays: Mapping[str, NDArray[Any]], prefix: str) -> None:
        if not self.hash_bits:
            self._core.restore(
                stored_array(arrays, f"{prefix}hashes", np.uint64),
                stored_array(arrays, f"{prefix}name_bytes", np.uint8),
                stored_array(arrays, f"{prefix}name_offsets", np.int64),
            )


@dataclass(frozen=True)
class _Settings:
    """What a file says of templates, besides arrays."""

    templates: str
    hash_bits: int | None = None
    min_count: int = 1
    pair_bits: int | None = None
    dialect: str = "dualstruct"


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


def _as_tuple(template: Template | Pattern, gazetteers: Mapping[str, int]) -> _core.TemplateTuple:
    terms = [
        (
            term.column,
            term.offset,
            term.absolute,
            -1 if term.gazetteer is None else gazetteers[term.gazetteer],
            list(term.functions),
        )
        for term in template.terms
    ]
    return template.identity, list(template.literals), terms


def _values_in(name: str, literals: tuple[str, ...]) -> Iterator[list[str]]:
    """All values of a template's terms with which a feature gets this name."""
    if not name.startswith(literals[0]):
        return
    rest = name[len(literals[0]) :]
    if len(literals) == 1:
        if not rest:
            yield []
        return
    if len(literals) == 2:
        if rest.endswith(literals[1]):
            yield [rest[: len(rest) - len(literals[1])]]
        return
    at = rest.find(literals[1])
    while at >= 0:
        for others in _values_in(rest[at:], literals[1:]):
            yield [rest[:at], *others]
        at = rest.find(literals[1], at + 1)
