"""What a treebank's words stand for in running text: tokens, spaces after them, paragraphs.

A token is a word, or a multiword token (a line such as ``3-4 don't``) that several words make up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dualstruct.data.tokenizing import RunningText
from dualstruct.data.treebank import Treebank, attributes
from dualstruct.errors import InputError

__all__ = [
    "Surface",
    "escaped",
    "gap_behind",
    "running_texts",
    "surface_of",
    "treebank_of",
    "unescaped",
]

_RANGE = re.compile(rb"^(\d+)-(\d+)\t([^\t]*)\t.*?([^\t\r\n]*)\r?$", re.MULTILINE)
_PARAGRAPH = re.compile(rb"^#[ \t]*new(par|doc)\b", re.MULTILINE)
_TEXT = re.compile(rb"^#[ \t]*text[ \t]*=[ \t]*([^\r\n]*)", re.MULTILINE)
_ESCAPES = {"\\s": " ", "\\n": "\n", "\\r": "\r", "\\t": "\t", "\\p": "|", "\\\\": "\\"}
_ESCAPED = re.compile(r"\\[snrtp\\]")


@dataclass(frozen=True, eq=False)
class Surface:
    """The tokens of a treebank.

    Attributes
    ----------
    forms, misc : list of str
        Of each token.
    words : int64 array [tokens + 1]
        The first word of each token.
    sentences : int64 array [sentences + 1]
        The first token of each sentence.
    paragraphs : list of int
        The sentences with which a paragraph or document begins, as comments say.

    Examples
    --------
    >>> rows = [f"{cells} _ _ _ _ _ _ _ _" for cells in ("1-2 don't", "1 do", "2 n't", "3 go")]
    >>> found = surface_of(Treebank("\\n".join(rows).replace(" ", "\\t").encode() + b"\\n\\n"))
    >>> found.forms, found.words.tolist()
    (["don't", 'go'], [0, 2, 3])
    """

    forms: list[str]
    misc: list[str]
    words: NDArray[np.int64]
    sentences: NDArray[np.int64]
    paragraphs: list[int]

    @property
    def is_multiword(self) -> NDArray[np.bool_]:
        """Whether each token has several words."""
        return np.diff(self.words) > 1


def surface_of(treebank: Treebank) -> Surface:
    """The tokens of a treebank's words."""
    data, places = bytes(treebank), treebank.byte_places
    ids, strings = treebank.forms.encoded()
    forms = [strings[k] for k in ids.tolist()]
    ids, strings = treebank.misc.encoded()
    misc = [strings[k] for k in ids.tolist()]
    is_first = np.ones(len(forms) + 1, dtype=np.bool_)
    behind = 0  # of the last range
    for found in _RANGE.finditer(data):
        i = int(np.searchsorted(places, found.start(), side="right")) - 1
        first = int(treebank.sentences[i]) + int(found[1]) - 1
        last = int(treebank.sentences[i]) + int(found[2]) - 1
        if first < behind or last < first:
            place = treebank.where(i, first - int(treebank.sentences[i]))
            raise InputError(f"{place}: the range {found[1].decode()}-{found[2].decode()} overlaps")
        forms[first], misc[first] = found[3].decode(), found[4].decode()
        is_first[first + 1 : last + 1] = False
        behind = last + 1
    words = np.flatnonzero(is_first)
    kept = words[:-1].tolist()
    starts = (m.start() for m in _PARAGRAPH.finditer(data))
    paragraphs = {int(np.searchsorted(places, at, side="right")) - 1 for at in starts}
    return Surface(
        [forms[k] for k in kept],
        [misc[k] for k in kept],
        words,
        np.searchsorted(words, treebank.sentences),
        sorted(paragraphs),
    )


def running_texts(treebank: Treebank) -> list[RunningText]:
    """The paragraphs of a treebank as running text.

    Between tokens is what MISC says (``SpaceAfter=No``, ``SpacesAfter``), or what ``# text`` of the
    sentence has there, or a space.

    Examples
    --------
    >>> made = Treebank.from_columns([["Go", "!"], ["Now"]], misc=[["SpaceAfter=No", "_"], ["_"]])
    >>> [paragraph] = running_texts(made)
    >>> paragraph.text, paragraph.tokens, paragraph.sentences
    ('Go! Now', [(0, 2), (2, 3), (4, 7)], [0, 2, 3])
    """
    surface = surface_of(treebank)
    gaps = _gaps(treebank, surface)
    ids, strings = treebank.forms.encoded()
    begins = sorted({0, *surface.paragraphs, len(treebank)})
    found = []
    for first, behind in pairwise(begins):
        a, b = int(surface.sentences[first]), int(surface.sentences[behind])
        pieces: list[str] = []
        tokens, place = [], 0
        for form, gap in zip(surface.forms[a:b], gaps[a:b], strict=True):
            tokens.append((place, place + len(form)))
            pieces += form, gap
            place += len(form) + len(gap)
        several = np.flatnonzero(np.diff(surface.words[a : b + 1]) > 1).tolist()
        words = {
            k: [strings[i] for i in ids[surface.words[a + k] : surface.words[a + k + 1]].tolist()]
            for k in several
        }
        text = "".join(pieces)[: tokens[-1][1]]
        firsts = (surface.sentences[first : behind + 1] - a).tolist()
        found.append(RunningText(text, tokens, firsts, words))
    return found


def _gaps(treebank: Treebank, surface: Surface) -> list[str]:
    """What stands after each token."""
    known = {misc: gap_behind(misc) for misc in set(surface.misc)}
    gaps = [known[misc] for misc in surface.misc]
    data, places = bytes(treebank), treebank.byte_places
    for found in _TEXT.finditer(data):
        i = int(np.searchsorted(places, found.start(), side="right")) - 1
        a, b = int(surface.sentences[i]), int(surface.sentences[i + 1])
        for k, gap in enumerate(_gaps_in(found[1].decode(), surface.forms[a:b]) or (), a):
            if "Space" not in surface.misc[k]:
                gaps[k] = gap
    return gaps


def _gaps_in(text: str, forms: list[str]) -> list[str] | None:
    """What stands between words in a text; None if they are not all of it."""
    gaps, place = [], 0
    for form in forms:
        begin = place
        while text[place : place + 1].isspace():
            place += 1
        gaps.append(text[begin:place])
        if not text.startswith(form, place):
            return None
        place += len(form)
    return None if text[place:].strip() else gaps[1:]


def gap_behind(misc: str, usual: str = " ") -> str:
    """What stands in the text after a token: as MISC says, or what is usual.

    >>> gap_behind("SpaceAfter=No"), gap_behind("SpacesAfter=\\\\s\\\\n"), gap_behind("_")
    ('', ' \\n', ' ')
    """
    known = attributes(misc)
    if "SpacesAfter" in known:
        return unescaped(known["SpacesAfter"])
    return "" if known.get("SpaceAfter") == "No" else usual


def unescaped(text: str) -> str:
    """Blanks as they are, of what MISC has for them."""
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], text)


def escaped(text: str) -> str:
    """Blanks as MISC has them."""
    known = {value: key for key, value in _ESCAPES.items()}
    return "".join(known.get(c, c) for c in text)


def treebank_of(texts: Iterable[RunningText], name: str = "text") -> Treebank:
    """Texts as CoNLL-U, each a paragraph; ``SpaceAfter=No`` and ``SpacesAfter`` keep the text."""
    lines: list[str] = []
    for each in texts:
        text, tokens = each.text, each.tokens
        for number, (a, b) in enumerate(pairwise(each.sentences)):
            lines += ["# newpar"] if number == 0 else []
            shown = " ".join(text[tokens[a][0] : tokens[b - 1][1]].split())
            lines.append(f"# text = {shown}")
            word = 1
            for k in range(a, b):
                start, end = tokens[k]
                last = k + 1 == len(tokens)
                behind = text[end : None if last else tokens[k + 1][0]]
                misc = []
                if k == 0 and start:
                    misc.append(f"SpacesBefore={escaped(text[:start])}")
                if not behind and not last:
                    misc.append("SpaceAfter=No")
                elif behind != ("" if last else " "):
                    misc.append(f"SpacesAfter={escaped(behind)}")
                cell = "|".join(misc) or "_"
                parts = each.words.get(k)
                if parts is not None:
                    both = f"{word}-{word + len(parts) - 1}"
                    lines.append("\t".join([both, text[start:end], *"_" * 7, cell]))
                    cell = "_"
                for part in parts or [text[start:end]]:
                    lines.append("\t".join([str(word), part, *"_" * 7, cell]))
                    word += 1
            lines.append("")
    return Treebank("\n".join([*lines, ""]).encode() if lines else b"", name)
