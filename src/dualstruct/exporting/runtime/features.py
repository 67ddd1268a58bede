"""From tokens to rows of weights: templates (core/text/extraction.hpp), or attributes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dualstruct.exporting.runtime.hashing import combine, hash_text
from dualstruct.exporting.runtime.words import FUNCTIONS, Regex, lower

Arrays = Mapping[str, Any]

#: So many words are remembered before all are forgotten.
MOST_WORDS = 100_000


class Row:
    """The weights of a feature that are not 0: (label, weight); and all of them, once asked for."""

    __slots__ = ("dense", "largest", "pairs")

    def __init__(self, pairs: tuple[tuple[int, float], ...]) -> None:
        self.pairs = pairs
        self.dense: list[float] = []
        self.largest = max([abs(weight) for _, weight in pairs], default=0.0)

    def all(self, labels: int) -> list[float]:
        """A weight for each label."""
        if not self.dense:
            found = [0.0] * labels
            for label, weight in self.pairs:
                found[label] = weight
            self.dense = found
        return self.dense


#: Of features that the model does not know.
NO_ROW = Row(())


class Weights:
    """Rows of weights by the hashes of features."""

    def __init__(self, arrays: Arrays, name: str, shift: int) -> None:
        self._shift = shift
        self._begins = arrays[f"{name}_begins"]
        self._labels = arrays[f"{name}_labels"]
        self._values = arrays[f"{name}_values"]
        self._rows: list[Row | None] = [None] * (len(self._begins) - 1)
        self._numbers = dict(zip(arrays[f"{name}_keys"], range(len(self._rows)), strict=True))

    def find(self, h: int) -> Row:
        """The row of a feature; an empty one if it has none."""
        number = self._numbers.get(h >> self._shift)
        if number is None:
            return NO_ROW
        row = self._rows[number]
        if row is None:
            begin, end = self._begins[number], self._begins[number + 1]
            row = Row(tuple(zip(self._labels[begin:end], self._values[begin:end], strict=True)))
            self._rows[number] = row
        return row


class Phrases:
    """A list of phrases that is looked for in sentences."""

    def __init__(self, prefixes: Iterable[int], is_phrase: Iterable[int], fold: bool) -> None:
        self._known = dict(zip(prefixes, is_phrase, strict=True))
        self._fold = fold
        self._hashes: dict[str, int] = {}

    def marks(self, words: Sequence[str]) -> list[str]:
        """B on the first word of a phrase, I on its others; the longest phrase wins."""
        hashes = [self._hash(word) for word in words]
        found = [""] * len(words)
        token = 0
        while token < len(words):
            h, end, matched = 0, token, token
            while end < len(words):
                h = combine(h, hashes[end])
                if h not in self._known:
                    break
                end += 1
                if self._known[h]:
                    matched = end
            if matched == token:
                token += 1
                continue
            found[token:matched] = ["B", *["I"] * (matched - token - 1)]
            token = matched
        return found

    def _hash(self, word: str) -> int:
        h = self._hashes.get(word)
        if h is None:
            if len(self._hashes) > MOST_WORDS:
                self._hashes.clear()
            h = self._hashes[word] = hash_text(lower(word) if self._fold else word)
        return h


class Learned:
    """What training says of a word: from the hash of its value to that of what is said."""

    def __init__(self, identity: int, keys: Sequence[int], values: Sequence[int]) -> None:
        self._identity = identity
        self._otherwise = values[len(keys)]
        self._said = dict(zip(keys, values, strict=False))

    def find(self, value: int) -> int:
        """The hash of what is said of a value, 0 being none."""
        h = combine(self._identity, value)
        return self._said.get(h, self._otherwise) if value else self._otherwise


class Clusters:
    """Paths of words in a binary tree."""

    def __init__(self, words: Sequence[int], numbers: Sequence[int], paths: Sequence[str]) -> None:
        self._paths = {word: paths[n] for word, n in zip(words, numbers, strict=True)}

    def path(self, word: str, n: int) -> str | None:
        """The first n bits of a word's path; all of them if n is 0."""
        found = self._paths.get(hash_text(word))
        return found and (found[:n] if n else found)


#: Values of streams, and the rows of templates of one term, of one word.
Entry = tuple[list[int], list[Row]]


class Source:
    """What terms read: a column of the tokens, or the marks that a list puts on one."""

    def __init__(self) -> None:
        self.streams: list[Callable[[str], int]] = []
        self.firsts: list[tuple[int, int]] = []  # (identity, stream) of terms that come first
        self.singles: list[tuple[int, int]] = []  # (identity, stream) of templates of one term
        self._known: dict[str, Entry] = {}

    def entry(self, word: str, weights: Weights) -> Entry:
        """What is known of a word."""
        found = self._known.get(word)
        if found is None:
            if len(self._known) > MOST_WORDS:
                self._known.clear()
            values = [each(word) for each in self.streams]
            found = self._known[word] = self.made_of(values, weights)
        return found

    def made_of(self, values: list[int], weights: Weights) -> Entry:
        """An entry of these values."""
        firsts = [combine(h, values[stream]) if values[stream] else 0 for h, stream in self.firsts]
        rows = [
            weights.find(combine(h, values[stream])) if values[stream] else NO_ROW
            for h, stream in self.singles
        ]
        return values + firsts, rows


#: The source of a term, where that keeps its values, the offset, and whether an edge is meant.
Term = tuple[int, int, int, bool]
#: The entries of a sentence and of its edges, by source.
Padded = list[list[Entry]]


class Templates:
    """The features that templates make of a sentence.

    A template is its terms, a term [stream, offset, whether it counts from the edges], a stream
    [column, list or −1, learned or −1, functions].
    """

    def __init__(
        self, plan: Mapping[str, Any], arrays: Arrays, weights: Weights, name: str
    ) -> None:
        self._weights = weights
        self._boundaries = plan["boundaries"]
        self._reach = plan["reach"]
        self._clusters = _clusters(arrays)
        self._lists = [
            Phrases(arrays[f"list{n}_prefixes"], arrays[f"list{n}_phrases"], fold)
            for n, fold in enumerate(plan["lists"])
        ]
        self._learned = [
            Learned(identity, arrays[f"learned{n}_keys"], arrays[f"learned{n}_values"])
            for n, identity in enumerate(arrays.get("learned_identities", ()))
        ]
        self._sources: dict[tuple[int, int], Source] = {}  # by column and list
        places = [self._place(*stream) for stream in plan["streams"]]
        self._steps = [
            self._step(identity, [(*places[stream], *where) for stream, *where in terms])
            for identity, terms in zip(arrays[f"{name}_identities"], plan["templates"], strict=True)
        ]
        self.columns = 1 + max((column for column, _ in self._sources), default=0)
        self._edges = [self._edge_entries(key[1], each) for key, each in self._sources.items()]

    def _place(
        self, column: int, phrases: int, learned: int, functions: list[list[Any]]
    ) -> tuple[int, int]:
        """The source that a stream reads, and where that keeps its values."""
        source = self._sources.setdefault((column, phrases), Source())
        made = [self._function(name, argument) for name, argument in functions]

        def value(word: str) -> int:
            found: str | None = word
            for each in made:
                if found is not None:
                    found = each(found)
            return 0 if found is None else hash_text(found)

        def mark(letter: str) -> int:
            return hash_text(letter) if letter else 0

        def said(word: str) -> int:
            return self._learned[learned].find(value(word))

        source.streams.append(mark if phrases >= 0 else said if learned >= 0 else value)
        return list(self._sources).index((column, phrases)), len(source.streams) - 1

    def _function(self, name: str, argument: Any) -> Callable[[str], str | None]:
        if name == "cluster":
            return lambda word: self._clusters.path(word, argument)
        function = FUNCTIONS[name]
        if name in ("match", "test"):
            argument = Regex(argument)
        return lambda word: function(word, argument)

    def _step(self, identity: int, terms: list[Term]) -> Callable[[Padded, int], list[Row]]:
        """What gives the rows of a template's features."""
        find, reach = self._weights.find, self._reach
        if not terms:
            bias = find(identity)
            return lambda padded, n: [bias] * n
        (place, slot, offset, absolute), *others = terms
        source = list(self._sources.values())[place]
        if not others and not absolute:
            source.singles.append((identity, slot))
            single, begin = len(source.singles) - 1, reach + offset
            return lambda padded, n: [e[1][single] for e in padded[place][begin : begin + n]]
        source.firsts.append((identity, slot))  # they stand behind the streams
        first = len(source.streams) + len(source.firsts) - 1

        def values(padded: Padded, n: int, term: Term) -> list[int]:
            place, slot, offset, absolute = term
            entries = padded[place]
            if absolute:
                return [entries[reach + (n + offset if offset < 0 else offset - 1)][0][slot]] * n
            return [entry[0][slot] for entry in entries[reach + offset : reach + offset + n]]

        def joint(padded: Padded, n: int) -> list[Row]:
            hashes = values(padded, n, (place, first, offset, absolute))
            for term in others:
                hashes = [
                    combine(h, value) if h and value else 0
                    for h, value in zip(hashes, values(padded, n, term), strict=True)
                ]
            return [find(h) if h else NO_ROW for h in hashes]

        return joint

    def _edge_entries(self, phrases: int, source: Source) -> tuple[list[Entry], list[Entry]]:
        before, after, close, counted, applied = self._boundaries

        def entries(begin: str) -> list[Entry]:
            found = []
            for k in range(1, self._reach + 1):
                text = f"{begin}{'#' if k > counted else k}{close}"
                plain = 0 if phrases >= 0 else hash_text(text)
                values = [each(text) if applied else plain for each in source.streams]
                found.append(source.made_of(values, self._weights))
            return found

        return entries(before)[::-1], entries(after)

    def rows(self, tokens: Sequence[Any]) -> list[list[Row]]:
        """The rows of each token's features, in the order of the templates."""
        columns = self._words(tokens)
        padded = []
        for (column, phrases), source, edges in zip(
            self._sources, self._sources.values(), self._edges, strict=True
        ):
            words = columns[column]
            if phrases >= 0:
                words = self._lists[phrases].marks(words)
            entries = [source.entry(word, self._weights) for word in words]
            padded.append([*edges[0], *entries, *edges[1]])
        found = [step(padded, len(tokens)) for step in self._steps]
        return [[row for row in rows if row is not NO_ROW] for rows in zip(*found, strict=True)]

    def _words(self, tokens: Sequence[Any]) -> list[list[str]]:
        if all(isinstance(token, str) for token in tokens):
            columns = [list(tokens)]
        else:
            columns = [list(column) for column in zip(*tokens, strict=True)]
        if len(columns) < self.columns:
            raise ValueError(
                f"a token has {len(columns)} of the {self.columns} columns that the model wants"
            )
        return columns


def _clusters(arrays: Arrays) -> Clusters:
    if "cluster_words" not in arrays:
        return Clusters((), (), ())
    text, ends = bytes(arrays["cluster_paths"]).decode(), arrays["cluster_ends"]
    paths = [text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return Clusters(arrays["cluster_words"], arrays["cluster_numbers"], paths)


class Attributes:
    """Features that tokens state themselves: dicts, or lists or sets of strings."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def rows(self, tokens: Sequence[Any]) -> list[list[Row]]:
        """The rows of each token's attributes; those that are not 1 are multiplied."""
        return [[self._row(*each) for each in stated(token)] for token in tokens]

    def _row(self, name: str, value: float) -> Row:
        row = self._weights.find(hash_text(name)) if value else NO_ROW
        if value == 1.0 or not row.pairs:
            return row
        [single] = array("f", [value])
        products = array("f", [single * weight for _, weight in row.pairs])
        return Row(tuple(zip([label for label, _ in row.pairs], products, strict=True)))


def stated(token: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The names and values of a token's attributes."""
    begin = f"{name}:" if name else ""
    if isinstance(token, str):
        if not name:
            raise ValueError("a token is a dict or a list of str; this model knows attributes")
        yield begin + token, 1.0
    elif isinstance(token, Mapping):
        for key, value in token.items():
            yield from stated_value(value, begin + key)
    else:
        for each in sorted(token) if isinstance(token, set | frozenset) else token:
            if not isinstance(each, str):
                raise ValueError(f"an attribute is {each!r}, not a str")
            yield begin + each, 1.0


def stated_value(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """The same of one entry of a dict."""
    if isinstance(value, int | float):
        yield name, float(value)
    else:
        yield from stated(value, name)
