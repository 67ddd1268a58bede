"""The compiled core. Arrays are C-contiguous; nothing here is public.

Written by core/python/stubs.py.
"""

from collections.abc import Sequence
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

class TokenTable:
    """Sentences of tokens; every cell is the id of an interned string."""

    @staticmethod
    def from_sentences(sentences: Any) -> TokenTable: ...
    def __len__(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_columns(self) -> int: ...
    @property
    def sentences(self) -> NDArray[np.int64]: ...
    def ids(self, column: int) -> NDArray[np.int32]:
        """The id of each token's string."""

    def strings(self, column: int) -> list[str]:
        """The distinct strings of a column, by id."""

    def cells(self, column: int, begin: int, end: int) -> list[str]: ...
    def select(self, sentences: NDArray[np.int64], columns: Sequence[int]) -> TokenTable:
        """A table of its own with some sentences and columns."""

class ColumnFormat:
    """How a column file is to be read, and which of its lines are no tokens."""

    @staticmethod
    def of(data: bytes, separator: str = "", comments: bool | None = None) -> ColumnFormat:
        """
        From the beginning of a file; separator "" means tab or blanks, by the first token.
        """

    @property
    def n_columns(self) -> int: ...
    @property
    def comments(self) -> bool: ...
    @property
    def numbered(self) -> bool: ...
    def __getstate__(self) -> tuple[str, int, bool, bool]: ...
    def __setstate__(self, arg: tuple[str, int, bool, bool], /) -> None: ...
    def token_lines(self, data: bytes) -> NDArray[np.int64]:
        """The lines of a text that are tokens, counted from 1."""

def parse_columns(
    data: bytes, format: ColumnFormat
) -> tuple[TokenTable, list[tuple[int, int, str]]]:
    """
    Read a column file: its tokens, and its other lines with the places before which they stand.
    """

def parse_conllu(
    data: bytes, lines_before: int = 0
) -> tuple[TokenTable, NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """
    The words of a CoNLL-U file: table, heads, lines, bytes of the sentences.
    """

def rewrite_conllu(
    data: bytes, words: int, columns: Sequence[tuple[int, NDArray[np.int32], Sequence[str]]]
) -> bytes:
    """The same file with other cells in some columns of its words."""

def tree_faults(
    heads: NDArray[np.int32], sentences: NDArray[np.int64], single_root: bool
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """For each sentence what is wrong with its tree (0: nothing), and where."""

def crossing_arcs(heads: NDArray[np.int32], sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each sentence how many arcs cross another one."""

class Clusters:
    """Brown clusters: a path of 0s and 1s for each word."""

    @staticmethod
    def parse(data: bytes) -> Clusters: ...
    @staticmethod
    def from_arrays(
        words: NDArray[np.uint64],
        path_of: NDArray[np.int32],
        path_bytes: NDArray[np.uint8],
        path_offsets: NDArray[np.int64],
    ) -> Clusters: ...
    def arrays(
        self,
    ) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]: ...
    def __len__(self) -> int: ...
    def path(self, word: str) -> str:
        """The word's path, "" if it has none."""

class Gazetteer:
    """A list of phrases to find in sentences."""

    def __init__(self, fold_case: bool = True) -> None: ...
    @staticmethod
    def from_arrays(
        prefixes: NDArray[np.uint64], is_phrase: NDArray[np.uint8], fold_case: bool = True
    ) -> Gazetteer: ...
    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]: ...
    def add(self, words: Sequence[str]) -> None: ...

class TemplateFeatures:
    """The features that templates make of tokens."""

    def __init__(
        self,
        templates: Sequence[
            tuple[
                str,
                Sequence[str],
                Sequence[tuple[int, int, bool, int, Sequence[tuple[str, int | str]]]],
            ]
        ],
        clusters: Clusters | None,
        gazetteers: Sequence[Gazetteer],
        hash_bits: int,
        dialect: str = "dualstruct",
        of_pairs: bool = False,
    ) -> None: ...
    def fit(
        self, table: TokenTable, min_count: int, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    def transform(
        self, table: TokenTable, threads: int = 1
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    @property
    def dimension(self) -> int: ...
    def find(self, template_number: int, values: Sequence[str]) -> int: ...
    def names(self, ids: NDArray[np.int32]) -> list[str]: ...
    def hashes(self) -> NDArray[np.uint64]: ...
    def all_names(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
    def restore(
        self,
        hashes: NDArray[np.uint64],
        name_bytes: NDArray[np.uint8],
        name_offsets: NDArray[np.int64],
    ) -> None: ...
    def restore_fingerprints(self, fingerprints: NDArray[np.uint64], bits: int) -> None: ...
    def select(self, keep: NDArray[np.uint8]) -> None: ...

class Items:
    """The attributes of one sentence's tokens by name."""

    @staticmethod
    def read(sentence: Any) -> Items: ...
    @staticmethod
    def from_pairs(tokens: Sequence[Sequence[tuple[str, float]]]) -> Items: ...
    def __len__(self) -> int: ...
    def pairs(self) -> list[list[tuple[str, float]]]: ...

class AttributeFeatures:
    """Features that tokens state themselves, as dicts or strings."""

    def __init__(self, hash_bits: int) -> None: ...
    def fit(
        self, sentences: Any, min_count: int
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @overload
    def extend(
        self, items: Items
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @overload
    def extend(
        self, sentences: Any
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @overload
    def transform(
        self, items: Items
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @overload
    def transform(
        self, sentences: Any
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @property
    def dimension(self) -> int: ...
    def find(self, name: str) -> int: ...
    def name(self, id: int) -> str: ...
    @property
    def names(self) -> list[str]:
        """Of all features by their ids; none of hashed ones."""

    def all_names(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
    def restore(self, name_bytes: NDArray[np.uint8], name_offsets: NDArray[np.int64]) -> None: ...
    def hashes(self) -> NDArray[np.uint64]: ...
    def restore_fingerprints(self, fingerprints: NDArray[np.uint64], bits: int) -> None: ...
    def select(self, keep: NDArray[np.uint8]) -> None: ...

class Tokenizer:
    """Splits texts into tokens and sentences by rules."""

    def __init__(
        self,
        words: str,
        sentences: str,
        split_contractions: bool,
        split_hyphens: bool,
        abbreviations: Sequence[str],
    ) -> None: ...
    def tokenize(
        self, texts: Sequence[str]
    ) -> tuple[TokenTable, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """
        All tokens; where each begins and ends in its text; the first sentence of each text.
        """

def mark_ranges() -> list[tuple[int, int]]:
    """The first and the last code point of each run of combining marks."""

def character_table(
    texts: Sequence[str], window: int
) -> tuple[TokenTable, NDArray[np.int64], NDArray[np.int64]]:
    """
    Characters but for gaps, as tokens with columns; their places; the first of each text.
    """

class Neighbours:
    """Words from the most frequent on, and which stand beside which."""

    def __len__(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def digest(self) -> int: ...
    def occurrences(self) -> NDArray[np.int64]: ...
    def words(self) -> list[str]: ...
    def mutual_information(self, cluster_of: NDArray[np.int32]) -> float:
        """In bits, with the words in these clusters."""

class RawText:
    """Text with a sentence on each line, which may come in several pieces."""

    def __init__(self, lowercase: bool = False) -> None: ...
    def add(self, lines: bytes, first_line: int = 1) -> None: ...
    def restrict_to(self, lines: bytes, first_line: int = 1) -> None: ...
    @property
    def tokens(self) -> int: ...
    @property
    def types(self) -> int: ...
    def neighbours(self, min_count: int = 1, threads: int = 1) -> Neighbours: ...

class Brown:
    """
    Merges words into clusters that lose the least mutual information of neighbours.
    """

    def __init__(
        self, neighbours: Neighbours, clusters: int, merges: NDArray[np.int32], threads: int = 1
    ) -> None: ...
    def advance(self, merges: int, threads: int = 1) -> None:
        """So many more merges, or as many as are left."""

    @property
    def merges_in_all(self) -> int: ...
    @property
    def merges_done(self) -> int: ...
    def merges(self) -> NDArray[np.int32]: ...

def clusters_after(words: int, merges: NDArray[np.int32]) -> NDArray[np.int32]:
    """
    The cluster of each word, by its most frequent word, after these merges.
    """

def with_columns(
    table: TokenTable, keep: int, columns: Sequence[tuple[NDArray[np.int32], Sequence[str]]]
) -> TokenTable:
    """
    A table with the first columns and new ones: the tokens' ids, the strings.
    """

def checksum(bytes: NDArray[np.uint8]) -> int:
    """Of the bytes; it notices damage, and is no signature."""

@overload
def expand_rows(
    counts: NDArray[np.uint8],
    columns: NDArray[np.uint8],
    values: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
@overload
def expand_rows(
    counts: NDArray[np.uint16],
    columns: NDArray[np.uint16],
    values: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
@overload
def expand_rows(
    counts: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None: ...
def front_coded(
    name_bytes: NDArray[np.uint8], name_offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """How many bytes each name shares with the one before it, and the rests."""

def from_front_coded(
    shared: NDArray[np.uint8], rest: NDArray[np.uint8], most: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
def feature_hash(features: TemplateFeatures, template_number: int, values: Sequence[str]) -> int:
    """What a feature is known by."""

def templates_of_names(
    features: TemplateFeatures,
    name_bytes: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
    hashes: NDArray[np.uint64],
) -> NDArray[np.uint16]:
    """
    The number of the template that gives each name its hash, 65535 if none does.
    """

def hashes_of_names(
    features: TemplateFeatures,
    name_bytes: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
    templates: NDArray[np.uint16],
) -> NDArray[np.uint64]:
    """
    The hash of each name as a feature of its template; 0 where it is none.
    """

class InfeasibleError(ValueError):
    pass

class UnsupportedError(NotImplementedError):
    pass

class Excerpt:
    def dot(self, output: int) -> float: ...
    def axpy(self, output: int, step: float) -> None: ...
    def combination_norm2(self, coefficients: Sequence[float]) -> float: ...
    def decode(self) -> tuple[float, float, NDArray[np.uint32]]: ...
    def append(self, codes: NDArray[np.uint32]) -> None: ...
    def write(self, w: Weights) -> None: ...

class Structure:
    @property
    def size(self) -> int: ...
    @property
    def has_truth(self) -> bool: ...
    @property
    def dimension(self) -> int: ...
    @property
    def exact_decoder(self) -> bool: ...
    @property
    def has_expectations(self) -> bool: ...
    @property
    def has_parts(self) -> bool: ...
    def output_size(self, i: int) -> int: ...
    def decode(self, w: Weights, i: int, cost_weight: float = 0.0) -> NDArray[np.int32]: ...
    def k_best(
        self, w: Weights, i: int, k: int, cost_weight: float = 0.0
    ) -> list[tuple[float, NDArray[np.int32]]]: ...
    def cost(self, i: int, output: NDArray[np.int32]) -> float: ...
    def score(self, w: Weights, i: int, output: NDArray[np.int32]) -> float: ...
    def add_features(self, w: Weights, i: int, output: NDArray[np.int32], step: float) -> None: ...
    def difference(self, i: int, output: NDArray[np.int32]) -> tuple[float, NDArray[np.uint32]]: ...
    def is_valid(self, i: int, codes: NDArray[np.uint32]) -> bool: ...
    def dot(self, w: Weights, i: int, codes: NDArray[np.uint32]) -> float: ...
    def axpy(self, w: Weights, i: int, codes: NDArray[np.uint32], step: float) -> None: ...
    def inner(self, i: int, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> float: ...
    def distance2(self, i: int, a: NDArray[np.uint32], b: NDArray[np.uint32]) -> float: ...
    def combination_norm2(
        self, i: int, cuts: Sequence[NDArray[np.uint32]], coefficients: Sequence[float]
    ) -> float: ...
    def excerpt(self, w: Weights, i: int, cuts: Sequence[NDArray[np.uint32]]) -> Excerpt: ...
    def log_loss(
        self,
        w: Weights,
        i: int,
        beta: float,
        gamma: float,
        target: Weights | None = None,
        step: float = 1.0,
    ) -> tuple[float, float]: ...
    def parts(self, i: int) -> int: ...
    def part_scores(self, w: Weights, i: int, gamma: float) -> NDArray[np.float32]: ...
    def part_marginals(
        self, i: int, scores: NDArray[np.float32]
    ) -> tuple[float, NDArray[np.float32]]: ...
    def expected_part_cost(self, i: int, marginals: NDArray[np.float32]) -> float: ...
    def add_parts(
        self, w: Weights, i: int, marginals: NDArray[np.float32], step: float
    ) -> None: ...
    def add_part_difference(
        self, w: Weights, i: int, marginals: NDArray[np.float32], step: float
    ) -> None: ...

class Examples:
    def __init__(self, structure: Structure, chosen: NDArray[np.int64] | None = None) -> None: ...
    @property
    def size(self) -> int: ...
    def set_weights(self, weights: NDArray[np.float64]) -> None: ...
    def decode_all(
        self, w: Weights, cost_weight: float = 0.0, threads: int = 1
    ) -> NDArray[np.int32]: ...

class Weights:
    def __init__(self, structure: Structure) -> None: ...
    @property
    def array(self) -> NDArray[np.float32]: ...
    def assign(self, structure: Structure, values: NDArray[np.float32]) -> None: ...
    def squared_norm(self, threads: int = 1) -> float: ...
    def squared_distance(self, other: Weights, threads: int = 1) -> float: ...
    @overload
    def assign_rows(
        self,
        structure: Structure,
        counts: NDArray[np.uint8],
        columns: NDArray[np.uint8],
        values: NDArray[np.float32],
        stride: int,
        behind: NDArray[np.float32],
    ) -> None: ...
    @overload
    def assign_rows(
        self,
        structure: Structure,
        counts: NDArray[np.uint16],
        columns: NDArray[np.uint16],
        values: NDArray[np.float32],
        stride: int,
        behind: NDArray[np.float32],
    ) -> None: ...
    @overload
    def assign_rows(
        self,
        structure: Structure,
        counts: NDArray[np.uint32],
        columns: NDArray[np.uint32],
        values: NDArray[np.float32],
        stride: int,
        behind: NDArray[np.float32],
    ) -> None: ...

class Chain(Structure):
    def __init__(
        self,
        sentences: NDArray[np.int64],
        offsets: NDArray[np.int64],
        features: NDArray[np.int32],
        values: NDArray[np.float32] | None,
        truth: NDArray[np.int32] | None,
        dimension: int,
        labels: int,
        cost: NDArray[np.float32],
        token_weights: NDArray[np.float32] | None,
        transitions: NDArray[np.bool_] | None,
        allowed_offsets: NDArray[np.int64] | None,
        allowed: NDArray[np.int32] | None,
        pair_offsets: NDArray[np.int64] | None = None,
        pair_features: NDArray[np.int32] | None = None,
        pair_values: NDArray[np.float32] | None = None,
        pair_dimension: int = 0,
    ) -> None: ...
    @property
    def stride(self) -> int: ...
    def set_truth(self, truth: NDArray[np.int32]) -> None: ...
    max_labels: Final[int] = ...
    "(arg: object, /) -> int"
    max_tokens: Final[int] = ...
    "(arg: object, /) -> int"

    def marginals_all(
        self, w: Weights, beta: float, gamma: float, threads: int
    ) -> NDArray[np.float32]: ...
    def expectation(
        self, w: Weights, i: int, beta: float, gamma: float
    ) -> tuple[float, float, NDArray[np.float32], NDArray[np.float32]]: ...

class PreciseChain:
    """A trained chain in double precision, for prediction alone."""

    def __init__(
        self,
        labels: int,
        offsets: NDArray[np.int64],
        targets: NDArray[np.int32],
        weights: NDArray[np.float64],
        transitions: NDArray[np.float64],
    ) -> None: ...
    def emissions(
        self,
        offsets: NDArray[np.int64],
        attributes: NDArray[np.int32],
        values: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]: ...
    def decode(self, emissions: NDArray[np.float64]) -> NDArray[np.int32]: ...
    def sum(self, emissions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]: ...
    def score(self, emissions: NDArray[np.float64], labels: NDArray[np.int32]) -> float: ...

class PreciseLearner:
    """Online learning of chains in double precision."""

    def __init__(
        self,
        labels: int,
        sentences: NDArray[np.int64],
        offsets: NDArray[np.int64],
        attributes: NDArray[np.int32],
        values: NDArray[np.float64] | None,
        truth: NDArray[np.int32],
        feature_offsets: NDArray[np.int64],
        feature_labels: NDArray[np.int32],
        transition_features: NDArray[np.int32],
        features: int,
    ) -> None: ...
    def perceptron(self, order: NDArray[np.int32]) -> float: ...
    def passive_aggressive(
        self, order: NDArray[np.int32], kind: int, c: float, error_sensitive: bool
    ) -> float: ...
    def arow(self, order: NDArray[np.int32], variance: float, gamma: float) -> float: ...
    def gradient(
        self, order: NDArray[np.int32], lambda_: float, t0: float, first: float
    ) -> float: ...
    def log_loss(self, order: NDArray[np.int32]) -> float: ...
    def weights(self) -> NDArray[np.float64]: ...
    def average(self) -> NDArray[np.float64]: ...
    def restart(self) -> None: ...

class CRFsuiteFile:
    """A model file of CRFsuite, read where it lies."""

    def __init__(self, data: bytes, name: str, max_labels: int) -> None: ...
    def check(self) -> None:
        """Raise InputError unless all parts of the file agree."""

    @property
    def labels(self) -> list[str]: ...
    @property
    def attributes(self) -> list[str]: ...
    def state_features(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]: ...
    def transition_features(
        self,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]: ...
    @overload
    def transform(
        self, items: Items
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    @overload
    def transform(
        self, sentences: Any
    ) -> tuple[
        NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None
    ]: ...
    def emissions(
        self,
        offsets: NDArray[np.int64],
        attributes: NDArray[np.int32],
        values: NDArray[np.float64] | None,
    ) -> NDArray[np.float64]: ...
    @property
    def chain(self) -> PreciseChain:
        """Its transitions as something that decodes."""

def write_crfsuite_names(names: list[str], what: str) -> bytes: ...

class Graph:
    def __init__(self) -> None: ...
    @property
    def variables(self) -> int: ...
    @property
    def factors(self) -> int: ...
    @property
    def is_forest(self) -> bool: ...
    def add_variables(self, states: NDArray[np.int32]) -> None: ...
    def add_tables(self, variables: NDArray[np.int32]) -> None: ...
    def add_count(self, literals: NDArray[np.int32], least: int, most: int) -> None: ...
    def add_or_out(self, literals: NDArray[np.int32]) -> None: ...
    def add_python_factor(self, factor: Any, literals: NDArray[np.int32]) -> None: ...
    def add_tree(
        self,
        words: int,
        arcs: NDArray[np.int32],
        literals: NDArray[np.int32],
        projective: bool,
        single_root: bool,
    ) -> None: ...
    def finish(self) -> None: ...
    def score(
        self,
        variables: NDArray[np.float64],
        factors: NDArray[np.float64],
        assignment: NDArray[np.int32],
    ) -> float: ...
    def best(
        self,
        variables: NDArray[np.float64],
        factors: NDArray[np.float64],
        branch: bool,
        max_nodes: int,
        max_iterations: int,
        residual: float,
        tolerance: float,
    ) -> tuple[NDArray[np.int32], float, float, bool, int, int]: ...
    def k_best(
        self, variables: NDArray[np.float64], factors: NDArray[np.float64], k: int
    ) -> list[tuple[float, NDArray[np.int32]]]: ...
    def marginals(
        self,
        variables: NDArray[np.float64],
        factors: NDArray[np.float64],
        max_iterations: int,
        damping: float,
        tolerance: float,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool, bool, int]: ...

class FactorGraph(Structure):
    def __init__(
        self,
        kinds: NDArray[np.int64],
        branch: bool,
        max_iterations: int,
        max_nodes: int,
        damping: float,
        sum_iterations: int,
    ) -> None: ...
    def add_tie(self, tie: NDArray[np.int32]) -> int: ...
    def add_shape(
        self, graph: Graph, blocks: NDArray[np.int32], fixed: NDArray[np.float64]
    ) -> int: ...
    def add_example(
        self,
        shape: int,
        rows: Sequence[
            tuple[NDArray[np.float32], NDArray[np.int32] | None, NDArray[np.int64] | None, int]
        ],
        truth: NDArray[np.int32] | None,
        costs: NDArray[np.float32] | None,
    ) -> None: ...
    @property
    def decoded(self) -> int: ...
    @property
    def inexact(self) -> int: ...
    @property
    def unsettled(self) -> int: ...
    def violated(self, i: int, output: NDArray[np.int32]) -> int: ...
    def best(
        self, w: Weights, i: int, cost_weight: float
    ) -> tuple[NDArray[np.int32], float, float, bool, int, int]: ...
    def marginals(
        self, w: Weights, i: int, beta: float, gamma: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float, bool, bool, int]: ...

class Multiclass(Structure):
    def __init__(
        self,
        examples: int,
        features: int,
        labels: int,
        values: NDArray[np.float32],
        offsets: NDArray[np.int64] | None,
        ids: NDArray[np.int32] | None,
        truth: NDArray[np.int32] | None,
        cost: NDArray[np.float32],
    ) -> None: ...
    @property
    def stride(self) -> int: ...
    def scores(self, w: Weights) -> NDArray[np.float32]: ...

class Tree(Structure):
    def __init__(
        self,
        table: TokenTable,
        columns: Sequence[int],
        between: Sequence[str],
        heads: NDArray[np.int32] | None,
        labels: NDArray[np.int32] | None,
        n_labels: int,
        line_bits: int,
        label_bits: int,
        projective: bool,
        single_root: bool,
        label_cost: float,
    ) -> None: ...
    max_labels: Final[int] = ...
    "(arg: object, /) -> int"
    max_words: Final[int] = ...
    "(arg: object, /) -> int"

    @property
    def stride(self) -> int: ...
    def name_arc(
        self, i: int, h: int, m: int, label: int, columns: Sequence[str]
    ) -> tuple[list[tuple[str, list[int]]], list[tuple[str, list[int]]]]: ...
    def expectation(
        self, w: Weights, i: int, beta: float, gamma: float
    ) -> tuple[float, float, NDArray[np.float32], NDArray[np.float32]]: ...

def prune_arcs(
    tree: Tree, w: Weights, most_heads: int, threshold: float, beta: float, keep_truth: bool
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.uint16], int, int, int]: ...

class SecondOrderTree(Structure):
    def __init__(
        self,
        first: Tree,
        offsets: NDArray[np.int64],
        heads: NDArray[np.uint16],
        modifiers: NDArray[np.uint16],
        bits: int,
        siblings: bool,
        grandparents: bool,
        max_iterations: int,
        branch: bool,
    ) -> None: ...
    def name_parts(
        self, i: int, heads: NDArray[np.int32], columns: Sequence[str]
    ) -> list[tuple[int, int, int, int, list[tuple[str, list[int]]]]]: ...
    @property
    def unproven(self) -> int: ...
    def take_effort(self) -> tuple[int, int, int]: ...
    def marginals(
        self, w: Weights, i: int, max_iterations: int, damping: float
    ) -> tuple[float, NDArray[np.float32], bool, int]: ...

def most_threads() -> int: ...
def pool_size() -> int: ...
def simd_levels() -> list[str]: ...
def simd_level() -> str: ...

class PassReport:
    @property
    def inferences(self) -> int: ...
    @property
    def added(self) -> int: ...
    @property
    def largest_violation(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def beaten(self) -> int: ...
    @property
    def moves(self) -> int: ...

class Average:
    def __init__(self, structure: Structure, linear: bool = False) -> None: ...
    def write(self, structure: Structure, v: Weights, scale: float, out: Weights) -> None: ...
    def save(self) -> tuple[NDArray[np.float32], float, int]: ...
    def load(
        self, structure: Structure, deferred: NDArray[np.float32], scales: float, steps: int
    ) -> None: ...

def largest_violations(
    examples: Examples, w: Weights, cost_weight: float = 1.0, threads: int = 1
) -> NDArray[np.float64]: ...
def log_losses(
    examples: Examples, w: Weights, beta: float, gamma: float, threads: int = 1
) -> NDArray[np.float64]: ...
def linearise_concave(
    examples: Examples, w: Weights, cost_weight: float, C: float, center: Weights
) -> NDArray[np.int64]: ...

class HeldOutputs:
    pass

class MoveScratch:
    def __init__(self, structure: Structure) -> None: ...

class SharedLines:
    def __init__(self, structure: Structure) -> None: ...
    def moved(self) -> NDArray[np.uint8]: ...
    def set_moved(self, moved: NDArray[np.uint8]) -> None: ...
    def set_sharers(self, sharers: NDArray[np.uint8], times: NDArray[np.float32]) -> None: ...
    def take_moves(
        self, structure: Structure, local: Weights, w: Weights
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...

class SparseAdder:
    def __init__(self, first: int, last: int) -> None: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    def add(self, places: NDArray[np.uint32], values: NDArray[np.float32]) -> None: ...
    def take(self) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...

def sparse_dot(w: Weights, places: NDArray[np.uint32], values: NDArray[np.float32]) -> float: ...
def sparse_axpy(
    structure: Structure,
    w: Weights,
    places: NDArray[np.uint32],
    values: NDArray[np.float32],
    step: float,
    copy: Weights | None = None,
) -> None: ...

class DualState:
    def __init__(self, examples: Examples, w: Weights, center: Weights | None = None) -> None: ...
    @property
    def cuts(self) -> int: ...
    def go_through(self, first: int, step: int) -> None: ...
    def average_into(self, average: Average | None) -> None: ...
    def write_average(self, out: Weights) -> None: ...
    def rebuild(self, threads: int = 1) -> None: ...
    def write(self, out: Weights, threads: int = 1) -> None: ...
    def add_up(self) -> None: ...
    def sum_alpha_cost(self) -> float: ...
    def sum_alpha(self) -> NDArray[np.float64]: ...
    def cuts_of(self, i: int) -> list[tuple[float, float, float, NDArray[np.uint32]]]: ...
    def save(self) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.float64]]: ...
    def load(
        self,
        codes: NDArray[np.uint32],
        codes_of_example: NDArray[np.int64],
        sum_alpha: NDArray[np.float64],
    ) -> None: ...
    def take(self, examples: NDArray[np.int64]) -> HeldOutputs: ...
    def put(self, held: HeldOutputs) -> None: ...
    def interpolate(
        self, codes: NDArray[np.uint32], codes_of_example: NDArray[np.int64], step: float
    ) -> None: ...
    def rescale(self, factor: float, most: NDArray[np.float64]) -> None: ...
    def share(self, lines: SharedLines) -> None: ...
    def exact_moves(
        self, codes: NDArray[np.uint32], codes_of_example: NDArray[np.int64], scratch: MoveScratch
    ) -> tuple[NDArray[np.uint32], NDArray[np.float32]]: ...
    def largest_step(
        self, codes: NDArray[np.uint32], codes_of_example: NDArray[np.int64]
    ) -> float: ...
    @overload
    def visit(self, rule: DCDRule, admission: float, seed: int, threads: int) -> PassReport: ...
    @overload
    def visit(self, rule: SMORule, admission: float, seed: int, threads: int) -> PassReport: ...
    @overload
    def visit(
        self, rule: FrankWolfeRule, admission: float, seed: int, threads: int
    ) -> PassReport: ...
    @overload
    def revisit(self, rule: DCDRule, seed: int, sweeps: int = 1) -> PassReport: ...
    @overload
    def revisit(self, rule: SMORule, seed: int, sweeps: int = 1) -> PassReport: ...
    @overload
    def revisit(self, rule: FrankWolfeRule, seed: int, sweeps: int = 1) -> PassReport: ...
    @overload
    def gather(self, rule: GatherRule, admission: float, seed: int, threads: int) -> PassReport: ...
    @overload
    def gather(
        self, rule: SMOGatherRule, admission: float, seed: int, threads: int
    ) -> PassReport: ...
    def largest_spread(self, C: float) -> float: ...
    def settle_each(self, rule: SMORule, seed: int) -> PassReport: ...
    def optimise_after_each(self, rule: SMORule, epsilon: float, seed: int) -> PassReport: ...

class DCDRule:
    def __init__(self, C: float, rounds: int = 1) -> None: ...

class GatherRule:
    def __init__(self, C: float) -> None: ...

class SMORule:
    def __init__(
        self,
        C: float,
        tolerance: float,
        decoded_tolerance: float = 0.0,
        max_steps: int = 100,
        truth_leaves: bool = False,
    ) -> None: ...

class SMOGatherRule:
    def __init__(self, C: float) -> None: ...

class FrankWolfeRule:
    def __init__(self, C: float) -> None: ...

class PlaneStore:
    def __init__(self, examples: Examples, w: Weights, center: Weights | None = None) -> None: ...
    @property
    def size(self) -> int: ...
    def add(self, squared: bool, threads: int) -> PassReport: ...
    def solve(self, C: float, tolerance: float, patience: int, threads: int) -> None: ...
    def dual(self) -> float: ...
    def slack(self) -> float: ...
    def rebuild(self, threads: int) -> None: ...
    def save(
        self,
    ) -> tuple[
        NDArray[np.int64],
        NDArray[np.float32],
        NDArray[np.uint32],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.int64],
        NDArray[np.float64],
    ]: ...
    def load(self, arrays: Any, squared: bool, threads: int) -> None: ...

class Schedule:
    def __init__(
        self, lambda_: float, eta0: float, decay: float, power: float, steps: int
    ) -> None: ...

class PerceptronStep:
    def __init__(self) -> None: ...

class PassiveAggressiveStep:
    def __init__(
        self, C: float, cost_weight: float, k: int, search_weight: float | None = None
    ) -> None: ...
    @property
    def clamped(self) -> int: ...

class ExpectedPassiveAggressiveStep:
    def __init__(self, C: float, beta: float, gamma: float) -> None: ...
    @property
    def clamped(self) -> int: ...

class SubgradientStep:
    def __init__(self, schedule: Schedule, squared: bool) -> None: ...

class ExpectedGradientStep:
    def __init__(self, schedule: Schedule, beta: float, gamma: float) -> None: ...

class RiskBoundStep:
    def __init__(self, schedule: Schedule, beta: float, gamma: float) -> None: ...

class FixedOutputs:
    def __init__(self, examples: Examples, w: Weights, cost_weight: float) -> None: ...
    def __len__(self) -> int: ...

class PegasosStep:
    def __init__(
        self,
        lambda_: float,
        batch: int,
        steps: int,
        radius: float | None,
        concave: float | None,
        fixed: FixedOutputs | None = None,
    ) -> None: ...

@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: PerceptronStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: PassiveAggressiveStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: ExpectedPassiveAggressiveStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: SubgradientStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: ExpectedGradientStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: RiskBoundStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
@overload
def online_pass(
    examples: Examples,
    w: Weights,
    average: Average | None,
    step: PegasosStep,
    seed: int,
    some: NDArray[np.int32] | None = None,
) -> PassReport: ...
def hildreth(G: NDArray[np.float64], H: NDArray[np.float64], C: float) -> NDArray[np.float64]: ...

class GradientPass:
    def __init__(self, examples: Examples, threads: int) -> None: ...
    def run(self, w: Weights, descent: Weights, beta: float, gamma: float) -> float: ...

class ExponentiatedGradient:
    def __init__(
        self,
        examples: Examples,
        w: Weights,
        center: Weights | None,
        C: float,
        inverse_beta: float,
        gamma: float,
        first_step: float,
        first_score: float,
    ) -> None: ...
    def run(self, seed: int) -> PassReport: ...
    def rebuild(self) -> None: ...
    def dual(self) -> float: ...
    def write(self, out: Weights) -> float: ...
    def save(self) -> tuple[NDArray[np.float32], NDArray[np.float64]]: ...
    def load(self, theta: NDArray[np.float32], steps: NDArray[np.float64]) -> None: ...

def weight_variances(examples: Examples) -> NDArray[np.float32]: ...
def observed_weights(examples: Examples) -> NDArray[np.float32]: ...
def dots(
    rows: Sequence[NDArray[np.float32]], vectors: Sequence[NDArray[np.float32]], threads: int = 1
) -> NDArray[np.float64]: ...
def combine(
    rows: Sequence[NDArray[np.float32]],
    coefficients: Sequence[float],
    out: NDArray[np.float32],
    threads: int = 1,
) -> None: ...
def combine_weights(
    structure: Structure,
    rows: Sequence[NDArray[np.float32]],
    coefficients: Sequence[float],
    out: Weights,
    threads: int = 1,
) -> None: ...

class Packing:
    def __init__(
        self,
        structure: Structure,
        index: NDArray[np.int64],
        scale: NDArray[np.float32],
        center: Weights | None,
        threads: int,
    ) -> None: ...
    def unpack(self, x: NDArray[np.float32], w: Weights) -> None: ...
    def pack(
        self, x: NDArray[np.float32], descent: Weights, C: float, gradient: NDArray[np.float32]
    ) -> tuple[float, float, float]: ...

def tree_decode(
    scores: NDArray[np.float32], projective: bool = True, single_root: bool = True
) -> NDArray[np.int32]: ...

class SecondOrderParts:
    def __init__(self, kept: NDArray[np.uint8]) -> None: ...
    def arcs(self) -> NDArray[np.int32]: ...
    def parts(self) -> NDArray[np.int32]: ...
    def decode(
        self,
        arcs: NDArray[np.float64],
        extras: NDArray[np.float64],
        projective: bool = True,
        single_root: bool = True,
        grandparents: bool = True,
        max_iterations: int = 1000,
        relax: bool = False,
    ) -> tuple[NDArray[np.int32], float, float, bool, int]: ...
    def marginals(
        self,
        arcs: NDArray[np.float64],
        extras: NDArray[np.float64],
        projective: bool = True,
        single_root: bool = True,
        max_iterations: int = 200,
        damping: float = 0.3,
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], bool, int]: ...

def tree_prune(
    marginals: NDArray[np.float32],
    most_heads: int,
    threshold: float,
    tree: NDArray[np.int32],
    truth: NDArray[np.int32] | None = None,
) -> tuple[NDArray[np.uint8], int]: ...
def tree_marginals(
    scores: NDArray[np.float32], projective: bool = True, single_root: bool = True
) -> tuple[float, NDArray[np.float32]]: ...
def tree_minimum_risk(
    marginals: NDArray[np.float32], projective: bool = True, single_root: bool = True
) -> NDArray[np.int32]: ...
def tree_k_best(
    scores: NDArray[np.float32], k: int, projective: bool = True, single_root: bool = True
) -> list[tuple[float, NDArray[np.int32], NDArray[np.int32]]]: ...
def hashed_index(name: str, bits: int) -> int: ...

class Custom(Structure):
    def __init__(self, calls: Any, dimension: int, function: int = 0, data: int = 0) -> None: ...
    def encode(self, i: int, y: Any) -> NDArray[np.int32]: ...
    def run_compiled(
        self, w: Weights, i: int, cost_weight: float
    ) -> tuple[int, NDArray[np.int32]]: ...
    def true_features(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32]]: ...

Rule = DCDRule | SMORule | FrankWolfeRule
GatheringRule = GatherRule | SMOGatherRule
Step = (
    PerceptronStep
    | PassiveAggressiveStep
    | ExpectedPassiveAggressiveStep
    | SubgradientStep
    | ExpectedGradientStep
    | RiskBoundStep
    | PegasosStep
)
TermTuple = tuple[int, int, bool, int, list[tuple[str, int | str]]]
TemplateTuple = tuple[str, list[str], list[TermTuple]]
