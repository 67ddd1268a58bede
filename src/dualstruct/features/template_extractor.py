"""Features made by templates from sentences of words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.features.base import (
    FeatureExtractor,
    FeatureRows,
    State,
    as_ids,
    check_settings,
    keep_flags,
    number_in,
    stored_array,
)
from dualstruct.features.clusters import read_clusters
from dualstruct.features.gazetteers import read_gazetteer
from dualstruct.features.templates import Template, Templates, parse_templates
from dualstruct.files.columns import ColumnSentences

__all__ = ["TemplateExtractor"]


class TemplateExtractor(FeatureExtractor):
    """Templates over sentences of words, or of tuples with one entry a column."""

    def __init__(
        self,
        templates: Templates,
        clusters: _core.Clusters | None = None,
        gazetteers: Mapping[str, _core.Gazetteer] | None = None,
        *,
        hash_bits: int | None = None,
        min_count: int = 1,
    ) -> None:
        check_settings(hash_bits, min_count)
        self.templates = templates
        self.hash_bits = hash_bits
        self.min_count = int(min_count)
        self._clusters = clusters
        self._gazetteers = dict(gazetteers or {})
        numbers = {name: number for number, name in enumerate(self._gazetteers)}
        self._core = _core.TemplateFeatures(
            [_as_tuple(template, numbers) for template in templates.templates],
            clusters,
            list(self._gazetteers.values()),
            hash_bits or 0,
        )

    @classmethod
    def load(
        cls, templates: Templates, folder: Path, *, hash_bits: int | None, min_count: int
    ) -> TemplateExtractor:
        """Read the files that the templates name, and make the extractor."""
        clusters = read_clusters(folder / templates.clusters) if templates.clusters else None
        gazetteers = {name: read_gazetteer(folder / f) for name, f in templates.gazetteers.items()}
        return cls(templates, clusters, gazetteers, hash_bits=hash_bits, min_count=min_count)

    def fit(self, X: Any) -> FeatureRows:
        table = self._table(X)
        if table.n_tokens == 0:
            raise InputError("there are no tokens to learn features from")
        return self._rows(table, *self._core.fit(table, self.min_count))

    def transform(self, X: Any) -> FeatureRows:
        table = self._table(X)
        if table.n_tokens == 0:
            return self._rows(table, np.zeros(1, np.int64), np.zeros(0, np.int32))
        return self._rows(table, *self._core.transform(table))

    def _table(self, X: Any) -> _core.TokenTable:
        lazy = isinstance(X, ColumnSentences)
        table = X.table() if lazy else _core.TokenTable.from_sentences(X)
        if table.n_tokens > 0:
            self._check_columns(table.n_columns)
        return table

    def _check_columns(self, count: int) -> None:
        for template in self.templates.templates:
            for term in template.terms:
                if term.column >= count:
                    raise InputError(
                        f'the template "{template}" wants column {term.column + 1}'
                        f' ("{term.column_name}"), but the tokens have'
                        f" {count} column{'s' if count > 1 else ''}"
                    )

    def _rows(
        self, table: _core.TokenTable, offsets: NDArray[np.int64], ids: NDArray[np.int32]
    ) -> FeatureRows:
        return FeatureRows(offsets, ids, None, np.array(table.sentences), self.dimension)

    @property
    def dimension(self) -> int:
        return self._core.dimension

    def names(self, ids: ArrayLike) -> list[str]:
        return self._core.names(as_ids(ids, self.dimension))

    def names_in(self, X: Any) -> list[str]:
        if not self.hash_bits:
            return super().names_in(X)
        by_name = TemplateExtractor(self.templates, self._clusters, self._gazetteers)
        return by_name.names(by_name.fit(X).ids) if self._table(X).n_tokens else []

    def find(self, name: str) -> int | None:
        for number, template in enumerate(self.templates.templates):
            values = _values_in(name, template)
            if values is not None:
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
        arrays: dict[str, NDArray[Any]] = {}
        if not self.hash_bits:
            arrays["hashes"] = self._core.hashes()
            arrays["name_bytes"], arrays["name_offsets"] = self._core.all_names()
        if self._clusters is not None:
            arrays |= zip(CLUSTER_ARRAYS, self._clusters.arrays(), strict=True)
        for number, gazetteer in enumerate(self._gazetteers.values()):
            arrays |= zip(_gazetteer_arrays(number), gazetteer.arrays(), strict=True)
        return settings, arrays

    @classmethod
    def from_state(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> TemplateExtractor:
        text = settings.get("templates")
        if not isinstance(text, str):
            raise InputError("the templates are missing from the model's settings")
        templates = parse_templates(text, "templates of the model")
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
            hash_bits=settings.get("hash_bits"),
            min_count=settings.get("min_count", 1),
        )
        if not made.hash_bits:
            made._core.restore(
                stored_array(arrays, "hashes", np.uint64),
                stored_array(arrays, "name_bytes", np.uint8),
                stored_array(arrays, "name_offsets", np.int64),
            )
        return made


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


def _as_tuple(template: Template, gazetteers: Mapping[str, int]) -> _core.TemplateTuple:
    terms = [
        (
            str(term),
            term.column,
            term.offset,
            -1 if term.gazetteer is None else gazetteers[term.gazetteer],
            list(term.functions),
        )
        for term in template.terms
    ]
    return str(template), terms


def _values_in(name: str, template: Template) -> list[str] | None:
    """The values of a template's terms in a feature's name; None if it is of another template."""
    if not template.terms:
        return [] if name == str(template) else None
    values = []
    rest = name
    for number, term in enumerate(template.terms):
        start = f"{term}="
        if not rest.startswith(start):
            return None
        rest = rest[len(start) :]
        if number + 1 < len(template.terms):
            value, found, _ = rest.partition(f" & {template.terms[number + 1]}=")
            if not found:
                return None
            values.append(value)
            rest = rest[len(value) + len(" & ") :]
    return [*values, rest]
