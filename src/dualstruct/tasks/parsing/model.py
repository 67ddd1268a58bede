"""A trained parser: everything that parsing new sentences takes, in one immutable piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualstruct import _core
from dualstruct.confidence.temperature import checked_temperature
from dualstruct.data.schema import Range, fit_type, stored_array
from dualstruct.data.treebank import TABLE_COLUMN, Treebank
from dualstruct.errors import InputError
from dualstruct.features.template_extractor import CLUSTER_ARRAYS, clusters_from
from dualstruct.labels.names import Labels
from dualstruct.structures import Tree, TreeColumns
from dualstruct.structures.second_order_tree import PrunedArcs, SecondOrderTree, prune_arcs
from dualstruct.structures.tree import MAX_BETWEEN
from dualstruct.tasks.base import UnnamedFeatures

#: What the features look at, and the column of a treebank that holds it.
SOURCES = {
    "form": "forms",
    "lemma": "lemmas",
    "coarse": "upos",
    "fine": "xpos",
    "morphology": "feats",
}
#: And what it is called in messages.
NAMES = {"lemma": "lemmas", "coarse": "UPOS tags", "fine": "XPOS tags", "morphology": "FEATS"}


#: 2 to the power of this is a number of cache lines or rows.
Bits = Annotated[int, Range(4, 28)]

#: And how to train without it.
WITHOUT = {
    "lemma": " (lemma=False, --no-lemma)",
    "fine": " (xpos=False, --no-xpos)",
    "morphology": " (morphology=False, --no-morphology)",
}
#: A column that less than this share of the words have something in counts as empty.
NEARLY_EMPTY = 0.01


@dataclass(frozen=True)
class TreeShape:
    """What the trees of a model look like and how their features are hashed."""

    projective: bool
    single_root: bool
    line_bits: Bits
    label_bits: Bits
    label_cost: float


@dataclass(frozen=True)
class SecondOrder:
    """How pairs of arcs are looked at, and which arcs a first-order model leaves for it."""

    grandparents: bool
    bits: Bits
    most_heads: Annotated[int, Range(1, 10**6)]
    threshold: float
    sharpness: float  #: what the scores of the first-order model are multiplied by

    def sharpened(self, tree: Tree, w: _core.Weights) -> _core.Weights:
        """Weights of a first-order model as the pruner's."""
        return tree.new_weights(w.array * np.float32(self.sharpness))

    def prune(self, tree: Tree, pruner: _core.Weights, keep_truth: bool = False) -> PrunedArcs:
        """The arcs worth a second look; in training the true ones among them."""
        return prune_arcs(
            tree,
            pruner,
            most_heads=self.most_heads,
            threshold=self.threshold,
            keep_truth=keep_truth,
        )

    def structure(self, tree: Tree, arcs: PrunedArcs) -> SecondOrderTree:
        return SecondOrderTree(tree, arcs, grandparents=self.grandparents, bits=self.bits)


@dataclass(frozen=True)
class _Metadata:
    """What a file says of trees, besides arrays."""

    labels: Annotated[list[str], Range(1, _core.Tree.max_labels)]
    sources: list[Literal["form", "lemma", "coarse", "fine", "morphology"]]
    between: Annotated[list[str], Range(0, MAX_BETWEEN)]
    shape: TreeShape
    second_order: SecondOrder | None
    temperature: float | None = None
    relation_temperature: float | None = None


@dataclass(frozen=True, eq=False)
class TreeModel(UnnamedFeatures):
    """Weights with what they mean."""

    labels: Labels
    sources: tuple[str, ...]  #: the keys of SOURCES that the features look at
    clusters: _core.Clusters | None
    between: list[str]
    shape: TreeShape
    second: SecondOrder | None
    pruner: _core.Weights | None  #: of the first-order model that prunes, for second order
    w: _core.Weights
    temperature: float | None = None  #: at which scores are probabilities, if it was fitted
    relation_temperature: float | None = None  #: and those of relations, given the heads

    def tree(self, treebank: Treebank) -> Tree:
        """The sentences as a structure without truth, arc by arc."""
        return make_tree(
            treebank, self.sources, self.clusters, len(self.labels), self.shape, self.between
        )

    def structure(self, treebank: Treebank) -> Tree | SecondOrderTree:
        """The sentences as a structure without truth that the weights belong to."""
        tree = self.tree(treebank)
        if self.second is None or self.pruner is None:
            return tree
        return self.second.structure(tree, self.second.prune(tree, self.pruner))

    def arc_weights(self) -> tuple[Tree, _core.Weights]:
        """The weights of single arcs and their labels, with a structure of no sentences."""
        empty = self.tree(Treebank(b""))
        return empty, empty.new_weights(self.w.array[: empty.core.dimension].copy())

    def grown_weights(self, tree: Tree) -> tuple[NDArray[np.float32], _core.Weights | None]:
        """The weights, and the pruner, with room for the relations that came in addition."""
        old = self.tree(Treebank(b""))

        def grown(w: NDArray[np.float32]) -> NDArray[np.float32]:
            shared = old.core.dimension - (old.core.stride << self.shape.label_bits)
            wider = np.zeros(tree.core.dimension, dtype=np.float32)
            wider[:shared] = w[:shared]
            rows = wider[shared:].reshape(-1, tree.core.stride)
            rows[:, : old.core.stride] = w[shared:].reshape(-1, old.core.stride)
            return wider

        w = np.array(self.w.array)
        arcs, pairs = w[: old.core.dimension], w[old.core.dimension :]
        pruner = None if self.pruner is None else tree.new_weights(grown(self.pruner.array))
        return np.concatenate([grown(arcs), pairs]), pruner

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """JSON and arrays; weights that are 0 are left out where that saves room."""
        metadata = {
            "labels": self.labels.names,
            "sources": list(self.sources),
            "between": self.between,
            "shape": asdict(self.shape),
            "second_order": None if self.second is None else asdict(self.second),
            "temperature": self.temperature,
            "relation_temperature": self.relation_temperature,
        }
        tensors = _packed("weights", self.w)
        if self.pruner is not None:
            tensors |= _packed("pruner", self.pruner)
        if self.clusters is not None:
            tensors |= zip(CLUSTER_ARRAYS, self.clusters.arrays(), strict=True)
        return metadata, tensors

    @classmethod
    def from_state(
        cls, metadata: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> TreeModel:
        """The counterpart of :meth:`state`."""
        stored = fit_type(_Metadata, dict(metadata))
        labels, shape = Labels(stored.labels), stored.shape
        sources, between, second = tuple(stored.sources), stored.between, stored.second_order
        clusters = clusters_from(arrays) if "cluster_words" in arrays else None
        tree = make_tree(Treebank(b""), sources, clusters, len(labels), shape, between)
        pruner: _core.Weights | None = None
        structure: Tree | SecondOrderTree = tree
        if second is not None:
            pruner = _unpacked("pruner", arrays, tree)
            structure = second.structure(tree, second.prune(tree, pruner))
        w = _unpacked("weights", arrays, structure)
        temperatures = (
            checked_temperature(number)
            for number in (stored.temperature, stored.relation_temperature)
        )
        return cls(labels, sources, clusters, between, shape, second, pruner, w, *temperatures)


def _packed(name: str, w: _core.Weights) -> dict[str, NDArray[Any]]:
    values = np.array(w.array)
    places = np.flatnonzero(values)
    if 2 * len(places) >= len(values) or len(values) > most_weights(len(places)):
        return {name: values}
    return {name: values[places], f"{name}_places": places.astype(np.uint32)}


def _unpacked(
    name: str, arrays: Mapping[str, NDArray[Any]], structure: Tree | SecondOrderTree
) -> _core.Weights:
    values = stored_array(arrays, name, np.float32)
    if f"{name}_places" in arrays:
        places = stored_array(arrays, f"{name}_places", np.uint32)
        size = structure.core.dimension
        if size > most_weights(len(places)):
            raise InputError(
                f"{len(places):,} weights of {size:,} are in the file; the bits of its shape may "
                f"ask for {most_weights(len(places)):,} at most"
            )
        if len(places) != len(values) or (len(places) and int(places.max()) >= size):
            raise InputError("there are weights for more relations or features than it has")
        stored, values = values, np.zeros(size, dtype=np.float32)
        values[places] = stored
    return structure.new_weights(values)


def most_weights(stored: int) -> int:
    """How many weights there may be when all but so many are 0 and left out of the file: what a
    file asks for must be in proportion to what it holds."""
    return max(2**27, 64 * stored)


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


def filled_cells(treebank: Treebank, column: str) -> int:
    """How many words have something other than ``_`` in a column of a treebank."""
    at = TABLE_COLUMN[column]
    strings = treebank.table.strings(at)
    if "_" not in strings:
        return len(treebank.heads)
    return int(np.count_nonzero(treebank.table.ids(at) != strings.index("_")))


def is_filled(cells: int, words: int) -> bool:
    """Whether so many cells that are not ``_`` make a column that is worth a look."""
    return cells > 0 and cells >= NEARLY_EMPTY * words


def present_sources(
    treebank: Treebank,
    wanted: Mapping[str, bool],
    total: Callable[..., list[int]] = lambda *counts: list(counts),
) -> tuple[str, ...]:
    """What there is to look at: columns that are asked for and not empty, or nearly so.

    ``total`` adds up counts over all workers.
    """
    cells = [filled_cells(treebank, column) for column in SOURCES.values()]
    words, *cells = total(len(treebank.heads), *cells)
    return tuple(
        name
        for name, filled in zip(SOURCES, cells, strict=True)
        if wanted.get(name, True) and is_filled(filled, words)
    )


def column_names(sources: tuple[str, ...]) -> list[str]:
    """What CoNLL-U calls the columns that features look at; tags stand in for each other."""
    coarse, fine = (
        "upos" if "coarse" in sources else "xpos",
        "xpos" if "fine" in sources else "upos",
    )
    if "coarse" not in sources and "fine" not in sources:
        coarse = fine = "form"
    return ["form", "lemma", coarse, fine, "feats", "cluster"]


def type_counts(treebank: Treebank, sources: tuple[str, ...]) -> dict[str, int]:
    """How often each part of speech occurs that features distinguish between two words."""
    columns = {name: TABLE_COLUMN[SOURCES[name]] for name in sources}
    column = TreeColumns(**columns).resolved()[2]
    names = treebank.table.strings(column)
    counts = np.bincount(treebank.table.ids(column), minlength=len(names))
    return dict(zip(names, counts.tolist(), strict=True))


def check_sources(treebank: Treebank, sources: tuple[str, ...]) -> None:
    """Refuse sentences without something that the model was trained to look at."""
    for name in sources:
        strings = treebank.table.strings(TABLE_COLUMN[SOURCES[name]])
        if name in NAMES and len(treebank) and not set(strings) - {"_"}:
            raise InputError(
                f"{treebank.name}: there are no {NAMES[name]}, but the parser was trained with "
                f"them; train without them{WITHOUT.get(name, '')}, or a model for tag+parse, which "
                "starts from words"
            )
