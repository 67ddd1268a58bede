"""Where words, arcs and labels go, in columns of a terminal or in pixels.

A word has up to three ports above it: one for all arcs to words on its left, one for the arc from
its head, one for all arcs to words on its right, in this order. Then arcs of a projective tree
never cross, and no two arcs share a line unless they leave the same word on the same side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dualstruct.errors import InputError
from dualstruct.printable import plural

#: What stands for characters that would disturb a terminal or are not allowed in XML.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True)
class Measures:
    """The sizes of things."""

    word: Callable[[str], int]  #: the width of a word
    label: Callable[[str], int]  #: the width of a label, with what must be free around it
    port: int  #: between two ports of a word
    gap: int  #: between two words


@dataclass(frozen=True)
class Arc:
    """An arc of the picture; the root's arc begins and ends at the port of its word."""

    dependent: int  #: from 0
    head: int  #: -1 is the root
    label: str
    left: int  #: where its two ends are
    right: int
    level: int  #: its height, from 1

    @property
    def is_root(self) -> bool:
        return self.head < 0

    @property
    def arrow(self) -> int:
        """Where it meets the dependent."""
        return self.right if self.head < self.dependent else self.left


@dataclass(frozen=True)
class Layout:
    """The places of everything."""

    words: list[str]
    starts: list[int]  #: the left edge of each word
    widths: list[int]
    arcs: list[Arc]
    width: int

    @property
    def height(self) -> int:
        """The highest level."""
        return max((arc.level for arc in self.arcs), default=0)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else REPLACEMENT for c in text)


def check_tree(
    words: Sequence[str], heads: Sequence[int], relations: Sequence[str] | None
) -> tuple[list[str], list[int], list[str]]:
    """Words, heads and labels of one length, the heads within the sentence."""
    n = len(words)
    labels = [""] * n if relations is None else [printable(name) for name in relations]
    if len(heads) != n or len(labels) != n:
        raise InputError(
            f"{plural(n, 'word')}, but {plural(len(heads), 'head')} and "
            f"{plural(len(labels), 'relation')}"
        )
    for word, head in enumerate(heads, 1):
        if not -1 <= head <= n or head == word:
            raise InputError(
                f"word {word}: its head is {head}, in a sentence of {plural(n, 'word')}"
            )
    return [printable(word) for word in words], [int(head) for head in heads], labels


def lay_out(
    words: Sequence[str], heads: Sequence[int], relations: Sequence[str], sizes: Measures
) -> Layout:
    """Place words from left to right, as close as they and the labels allow."""
    n = len(words)
    pairs = [(head - 1, word) for word, head in enumerate(heads) if head >= 0]
    outward = {(head, word < head) for head, word in pairs if head >= 0}  # (word, to its left)
    inward = {word for _, word in pairs}
    ports: list[list[str]] = [
        [
            *(["left"] if (word, True) in outward else []),
            *(["in"] if word in inward else []),
            *(["right"] if (word, False) in outward else []),
        ]
        for word in range(n)
    ]
    widths = [
        max(sizes.word(text), (len(mine) - 1) * sizes.port + 1, 1)
        for text, mine in zip(words, ports, strict=True)
    ]

    def offset(word: int, port: str) -> int:
        """From the left edge of a word to one of its ports."""
        mine = ports[word]
        return (widths[word] - (len(mine) - 1) * sizes.port) // 2 + mine.index(port) * sizes.port

    def ends(head: int, word: int) -> tuple[int, int, int, int]:
        """The two words of an arc and its ports' offsets, from left to right."""
        if head < word:
            return head, word, offset(head, "right"), offset(word, "in")
        return word, head, offset(word, "in"), offset(head, "left")

    into: list[list[tuple[int, int, int, int]]] = [[] for _ in range(n)]
    for head, word in pairs:
        if head >= 0:
            left, right, from_left, from_right = ends(head, word)
            room = sizes.label(relations[word]) + 1
            into[right].append((left, from_left, from_right, room))
            if right > left + 1 and _is_crossed(left, right, pairs):
                # Lines of other words run through; between two words there are none.
                into[right].append((right - 1, widths[right - 1], 0, room))
    roots = [word for head, word in pairs if head < 0]
    for left, right in pairwise(roots):
        # Their labels stand side by side, even where the edge pushes them off their words.
        room = sizes.label(relations[left]) + sizes.label(relations[right])
        into[right].append((left, offset(left, "in"), offset(right, "in"), room))
    starts: list[int] = []
    for word in range(n):
        start = starts[-1] + widths[word - 1] + sizes.gap if starts else 0
        for left, from_left, from_right, room in into[word]:
            start = max(start, starts[left] + from_left + room - from_right)
        starts.append(start)

    arcs: list[Arc] = []
    by_length = sorted(pairs, key=lambda p: (p[0] < 0, abs(p[0] - p[1]), p))
    for head, word in by_length:
        if head < 0:
            left = right = starts[word] + offset(word, "in")
            label = sizes.label(relations[word])
            reach = (left - label, left + label)
        else:
            first, last, from_left, from_right = ends(head, word)
            left, right = starts[first] + from_left, starts[last] + from_right
            reach = (left, right)
        below = (a.level for a in arcs if not a.is_root and _meets(a, reach))
        arcs.append(Arc(word, head, relations[word], left, right, 1 + max(below, default=0)))
    width = max((s + w for s, w in zip(starts, widths, strict=True)), default=0)
    return Layout(list(words), starts, widths, arcs, width)


def _is_crossed(left: int, right: int, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether an arc leads from inside to outside of this one; that of a root does."""
    return any(
        (left < head < right) != (left < word < right)
        and head not in (left, right)
        and word not in (left, right)
        for head, word in pairs
    )


def _meets(arc: Arc, reach: tuple[int, int]) -> bool:
    return arc.left <= reach[1] and reach[0] <= arc.right
