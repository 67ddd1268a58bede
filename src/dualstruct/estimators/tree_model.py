"""A trained parser: everything that parsing new sentences takes, in one immutable piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.errors import InputError
from dualstruct.estimators.labels import Labels
from dualstruct.features.template_extractor import CLUSTER_ARRAYS, clusters_from
from dualstruct.files.conllu import TABLE_COLUMN, Treebank
from dualstruct.structures import Tree, TreeColumns

#: What the features look at, and the column of a treebank that holds it.
SOURCES = {
    "form": "forms",
    "lemma": "lemmas",
    "coarse": "upos",
    "fine": "xpos",
    "morphology": "feats",
}


@dataclass(frozen=True)
class TreeShape:
    """What the trees of a model look like and how their features are hashed."""

    projective: bool
    single_root: bool
    line_bits: int
    label_bits: int
    label_cost: float


@dataclass(frozen=True, eq=False)
class TreeModel:
    """Weights with what they mean."""

    labels: Labels
    sources: tuple[str, ...]  #: the keys of SOURCES that the features look at
    clusters: _core.Clusters | None
    between: list[str]
    shape: TreeShape
    w: _core.Weights

    def tree(self, treebank: Treebank) -> Tree:
        """The sentences as a structure without truth."""
        return make_tree(
            treebank, self.sources, self.clusters, len(self.labels), self.shape, self.between
        )

    def grown_weights(self, structure: Tree) -> _core.Weights:
        """The weights with room for the relations that the structure has in addition."""
        old = self.w.array
        layout = self.tree(Treebank(b""))
        label_weights = layout.core.stride << self.shape.label_bits
        shared = len(old) - label_weights
        grown = np.zeros(structure.core.dimension, dtype=np.float32)
        grown[:shared] = old[:shared]
        rows = grown[shared:].reshape(-1, structure.core.stride)
        rows[:, : layout.core.stride] = old[shared:].reshape(-1, layout.core.stride)
        return structure.new_weights(grown)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON and arrays; weights that are 0 are left out where that saves room."""
        facts = {
            "labels": self.labels.names,
            "sources": list(self.sources),
            "between": self.between,
            "shape": asdict(self.shape),
        }
        w = np.array(self.w.array)
        places = np.flatnonzero(w)
        tensors: dict[str, NDArray[Any]] = {"weights": w}
        if 2 * len(places) < len(w):
            tensors = {"weights": w[places], "places": places.astype(np.uint32)}
        if self.clusters is not None:
            tensors |= zip(CLUSTER_ARRAYS, self.clusters.arrays(), strict=True)
        return facts, tensors

    @classmethod
    def from_state(cls, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> TreeModel:
        """The counterpart of :meth:`state`."""
        labels = Labels([str(name) for name in facts["labels"]])
        shape = TreeShape(**facts["shape"])
        sources = tuple(facts["sources"])
        clusters = clusters_from(arrays) if "cluster_words" in arrays else None
        between = [str(name) for name in facts["between"]]
        empty = make_tree(Treebank(b""), sources, clusters, len(labels), shape, between)
        w = np.asarray(arrays["weights"])
        if "places" in arrays:
            w = np.zeros(empty.core.dimension, dtype=np.float32)
            w[arrays["places"]] = arrays["weights"]
        return cls(labels, sources, clusters, between, shape, empty.new_weights(w))


def make_tree(
    treebank: Treebank,
    sources: tuple[str, ...],
    clusters: _core.Clusters | None,
    n_labels: int,
    shape: TreeShape,
    between: list[str] | None = None,
    heads: NDArray[np.int32] | None = None,
    labels: NDArray[np.int32] | None = None,
) -> Tree:
    """The sentences of a treebank as a structure."""
    columns = {name: TABLE_COLUMN[SOURCES[name]] for name in sources}
    table = treebank.table
    if clusters is not None:
        # Paths take the place of a column that no feature looks at.
        forms, strings = treebank.forms.encoded()
        paths = [clusters.path(form) or "_" for form in strings]
        table = treebank.replace(misc=(forms, paths)).table
        columns["cluster"] = TABLE_COLUMN["misc"]
    return Tree(
        table,
        TreeColumns(**columns),
        n_labels,
        heads,
        labels,
        between=between,
        **asdict(shape),
    )


def present_sources(treebank: Treebank, wanted: Mapping[str, bool]) -> tuple[str, ...]:
    """What there is to look at: columns that are wanted and not empty (``_``) throughout."""
    return tuple(
        name
        for name, column in SOURCES.items()
        if wanted.get(name, True) and set(treebank.table.strings(TABLE_COLUMN[column])) - {"_"}
    )


def check_sources(treebank: Treebank, sources: tuple[str, ...]) -> None:
    """Refuse sentences without something that the model was trained to look at."""
    for name in sources:
        strings = treebank.table.strings(TABLE_COLUMN[SOURCES[name]])
        if name != "form" and len(treebank) and not set(strings) - {"_"}:
            raise InputError(
                f"{treebank.name}: the column {SOURCES[name].upper()} is empty, but the parser was "
                "trained with it; fill it (a tag+parse model does), or train without it"
            )
