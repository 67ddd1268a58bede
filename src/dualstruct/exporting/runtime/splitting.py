"""From text to tokens and sentences by rules (core/text/tokenizer.cpp, sentence_ends.cpp)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dualstruct.exporting.runtime.words import to_lower

LONGEST_LOCAL_PART, LONGEST_DOMAIN, LONGEST_ABBREVIATION = 64, 255, 20


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Letters of scripts that put no blanks between words: first and last.
SINGLES = (
    (0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3005, 0x3007), (0x3040, 0x30FF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF66, 0xFF9D),
    (0x20000, 0x3FFFF),
)  # fmt: skip
#: Controls, and characters that are not seen.
UNSEEN = (
    (0x1, 0x1F), (0x7F, 0x9F), (0x200B, 0x200B), (0x200E, 0x200F), (0x202A, 0x202E),
    (0x2060, 0x2064), (0x2066, 0x2069), (0xFEFF, 0xFEFF),
)  # fmt: skip
TITLES = _words(
    "mr mrs ms dr prof st gen col lt capt cpt sgt maj cmdr rev hon pres gov sen rep supt messrs "
    "mme mlle sra srta hr fr dhr mevr dott sig ing"
)
ABBREVIATIONS = _words(
    "etc vs cf al approx dept est inc ltd co corp bros jr sr esq ph.d ed eds jan feb apr aug sept "
    "oct nov dec ave blvd rd mt ft usw bzw ca str geb bspw evtl ggf inkl zzgl f.eks bl.a kl bv enz "
    "resp tel ext misc orig"
)
BEFORE_NUMBERS = _words("no nos nr art sec ch p pp pg par fig figs vol vols eq tab mar jun jul")
STARTERS = _words(
    "the a an this that these those he she it we they i you his her its our their my your there "
    "here what who why how where which when while after before since although though however but "
    "and or so if in on at for from with as then now yes no not all some many most both each every "
    "one two"
)
CLOSERS = frozenset(")]}\"'”’»›」』）】》〉")
FULL_STOPS = frozenset("。！？｡")
STOPS = frozenset(".!?…‽؟۔।॥։።៕")
LINE_ENDS = frozenset("\n\v\f\r\x85\u2028\u2029")
GAP, LETTER, DIGIT, SINGLE, MARK, TONE, SYMBOL = "g", "l", "d", "1", "m", "t", "s"
WORD = (LETTER, DIGIT)


class Token(NamedTuple):
    """A word and its place in the text, in characters."""

    word: str
    start: int
    end: int


def _among(c: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(first <= c <= last for first, last in ranges)


class Splitter:
    """Splits texts into sentences of tokens."""

    def __init__(self, settings: Mapping[str, Any], marks: Sequence[int]) -> None:
        self._settings = settings
        self._marks = marks  # where combining marks begin, and where they end, in turn
        words = ("".join(map(_small, each)).removesuffix(".") for each in settings["abbreviations"])
        self._abbreviations = ABBREVIATIONS | TITLES | {word for word in words if word}
        self._classes: dict[str, str] = {}

    def class_of(self, c: str) -> str:
        """The class of a character."""
        found = self._classes.get(c)
        if found is None:
            found = self._classes[c] = self._find_class(c)
        return found

    def _find_class(self, c: str) -> str:
        code = ord(c)
        if c.isspace() or _among(code, UNSEEN):
            return GAP
        if c.isdecimal():
            return DIGIT
        if c.isalpha():
            return SINGLE if _among(code, SINGLES) else LETTER
        if c == "_":
            return LETTER
        if bisect_right(self._marks, code) % 2 or c in "\xad\u200c\u200d":
            return MARK
        tone = 0x1F3FB <= code <= 0x1F3FF or 0xE0020 <= code <= 0xE007F
        return TONE if tone else SYMBOL

    def split(self, text: str) -> list[list[Token]]:
        """The sentences of a text."""
        if "\0" in text:
            raise ValueError(f"character {text.index(chr(0)) + 1} is NUL, which no text has")
        rules = _Rules(self, text, self._settings, self._abbreviations)
        places: list[tuple[int, int]] = []
        at = 0
        while at < len(text):
            if self._settings["words"] == "blanks":
                begin = at
                while at < len(text) and not text[at].isspace():
                    at += 1
                if at > begin:
                    places.append((begin, at))
                at += 1
            elif rules.of(at) == GAP:
                at += 1
            else:
                at = rules.add(at, places)
        found: list[list[Token]] = []
        first = 0
        for k in range(len(places)):
            if k + 1 == len(places) or rules.ends_sentence(places, first, k):
                found.append([Token(text[a:b], a, b) for a, b in places[first : k + 1]])
                first = k + 1
        return found


def _small(c: str) -> str:
    return c.lower() if c.isascii() else to_lower(c)


class _Rules:
    """The rules for one text. A place outside of it has no character and is a gap."""

    def __init__(
        self,
        splitter: Splitter,
        text: str,
        settings: Mapping[str, Any],
        abbreviations: frozenset[str],
    ) -> None:
        self._text = text
        self._classes = [splitter.class_of(c) for c in text]
        self._settings = settings
        self._abbreviations = abbreviations

    def of(self, i: int) -> str:
        return self._classes[i] if i < len(self._classes) else GAP

    def _at(self, i: int) -> str:
        return self._text[i : i + 1]

    def _in_word(self, i: int) -> bool:
        return self.of(i) in WORD

    def _one_of(self, i: int, some: str) -> bool:
        c = self._at(i)
        return c != "" and c in some

    def _reads(self, at: int, wanted: str) -> bool:
        return "".join(map(_small, self._text[at : at + len(wanted)])) == wanted

    def add(self, begin: int, places: list[tuple[int, int]]) -> int:
        """Add the token, or the two parts of a contraction, at a place; the place behind them."""
        end = self._behind_url(begin)
        if end == begin and self._in_word(begin):
            end = self._behind_address(begin)
            if end == begin:
                end = self._behind_word(begin)
                split = self._settings["contractions"] == "split"
                second = self._contraction(begin, end) if split else end
                if second != end:
                    places.append((begin, second))
                    begin = second
                else:
                    end = self._behind_period(begin, end)
        elif end == begin:
            end = self._behind_tag(begin)
            if end == begin:
                single = self.of(begin) == SINGLE
                end = self._behind_marks(begin + 1) if single else self._behind_symbol(begin)
        places.append((begin, end))
        return end

    def _behind_marks(self, place: int) -> int:
        while self.of(place) == MARK:
            place += 1
        return place

    def _behind_url(self, begin: int) -> int:
        if not self._one_of(begin, "hHfFwW") or (begin > 0 and self._in_word(begin - 1)):
            return begin
        starts = ("http://", "https://", "ftp://", "www.")
        if not any(self._reads(begin, s) and self._in_word(begin + len(s)) for s in starts):
            return begin
        openers, closers = "([{", ")]}"
        opened = [0, 0, 0]
        end = begin
        while self.of(end) not in (GAP, SINGLE) and not self._one_of(end, '<>"“”„«»'):
            c = self._at(end)
            if c in openers:
                opened[openers.index(c)] += 1
            if c in closers:
                opened[closers.index(c)] -= 1
            end += 1
        while True:
            last = self._at(end - 1)
            k = closers.find(last)
            if k >= 0 and opened[k] < 0:
                opened[k] += 1
            elif last not in ".,;:!?'’*~…":
                return end
            end -= 1

    def _behind_address(self, begin: int) -> int:
        place = begin
        while self._in_word(place) or self._one_of(place, ".%+-"):
            place += 1
            if place - begin > LONGEST_LOCAL_PART:
                return begin
        if self._at(place) != "@":
            return begin
        place += 1
        domain, parts = place, 0
        while self._in_word(place):
            while self._in_word(place) or (self._at(place) == "-" and self._in_word(place + 1)):
                place += 1
                if place - domain > LONGEST_DOMAIN:
                    return begin
            parts += 1
            if self._at(place) != "." or not self._in_word(place + 1):
                break
            place += 1
        return place if parts > 1 else begin

    def _behind_word(self, begin: int) -> int:
        place = last = begin
        while True:
            if self._in_word(place):
                last = place
            elif self.of(place) != MARK and not (
                self._in_word(place + 1) and self._joins(last, self._at(place), place + 1)
            ):
                return place
            place += 1

    def _joins(self, before: int, sign: str, after: int) -> bool:
        classes = {self.of(before), self.of(after)}
        upper_before, upper_after = self._at(before).istitle(), self._at(after).istitle()
        if sign in ("'", "’"):
            return classes in ({LETTER}, {DIGIT})
        if sign == ".":
            return not upper_after or upper_before
        if sign in (",", ":", "/"):
            return classes == {DIGIT}
        if sign in ("-", "‐", "‑"):
            return classes == {DIGIT} or self._settings["hyphens"] != "split"
        return sign == "&" and upper_before and upper_after

    def _contraction(self, begin: int, end: int) -> int:
        for ending in ("s", "m", "d", "re", "ve", "ll"):
            size = len(ending) + 1
            apostrophe = end - begin > size and self._one_of(end - size, "'’")
            if apostrophe and self._reads(end - size + 1, ending):
                return end - size
        negated = (
            end - begin > 3
            and self._reads(end - 3, "n")
            and self._one_of(end - 2, "'’")
            and self._reads(end - 1, "t")
        )
        return end - 3 if negated else end

    def _behind_period(self, begin: int, end: int) -> int:
        if self._at(end) != "." or self._at(end + 1) == ".":
            return end
        longest = LONGEST_ABBREVIATION + 1
        word = "".join(map(_small, self._text[begin : min(end, begin + longest)]))
        belongs = word in self._abbreviations or self._is_acronym(begin, end)
        place = end + 1
        while (
            place < len(self._text) and self.of(place) == GAP and self._at(place) not in LINE_ENDS
        ):
            place += 1
        if place > end + 1:
            belongs |= word in BEFORE_NUMBERS and self.of(place) == DIGIT
            single = end == begin + 1 and self._at(begin).istitle()
            belongs |= single and self._at(place).istitle()
        return end + 1 if belongs else end

    def _is_acronym(self, begin: int, end: int) -> bool:
        size = end - begin
        if size < 3 or size % 2 == 0 or size > LONGEST_ABBREVIATION:
            return False
        letters = all(self.of(i) == LETTER for i in range(begin, end, 2))
        return letters and all(self._at(i) == "." for i in range(begin + 1, end, 2))

    def _behind_tag(self, begin: int) -> int:
        if not self._one_of(begin, "@#") or self.of(begin + 1) != LETTER:
            return begin
        if begin > 0 and self._in_word(begin - 1):
            return begin
        end = begin + 1
        while self._in_word(end) or self.of(end) == MARK:
            end += 1
        return end

    def _behind_symbol(self, begin: int) -> int:
        end = begin + 1
        if all("\U0001f1e6" <= self._at(i) <= "\U0001f1ff" for i in (begin, end)):
            end += 1
        if self._one_of(begin, ".!?-*=~+"):
            while self._at(end) == self._at(begin):
                end += 1
        while True:
            joined = self._at(end - 1) == "\u200d" and self.of(end) == SYMBOL
            if self.of(end) not in (MARK, TONE) and not joined:
                return end
            end += 1

    def _line_ends(self, begin: int, end: int) -> int:
        found = 0
        for i in range(begin, end):
            c = self._at(i)
            if c in LINE_ENDS and not (c == "\r" and self._at(i + 1) == "\n"):
                found += 2 if c in "\f\u2029" else 1
        return min(found, 2)

    def _small_word(self, begin: int, end: int) -> str:
        too_long = end - begin > LONGEST_ABBREVIATION + 1
        return "" if too_long else "".join(map(to_lower, self._text[begin:end]))

    def ends_sentence(self, places: list[tuple[int, int]], first: int, k: int) -> bool:
        """Whether a sentence that began at a token ends behind another one."""
        rule = self._settings["sentences"]
        if rule == "whole":
            return False
        begin, end = places[k]
        after, after_end = places[k + 1]
        lines = self._line_ends(end, after)
        if rule == "lines":
            return lines > 0
        if lines > 1:
            return True
        apart = end < after
        if not apart and self._at(after) in CLOSERS:
            return False
        last = k
        while (
            last > first
            and self._at(places[last][0]) in CLOSERS
            and places[last - 1][1] == places[last][0]
        ):
            last -= 1
        if self._at(places[last][0]) in FULL_STOPS:
            return True
        if not apart or self._at(after).islower():
            return False
        if lines > 0 or self._at(places[last][0]) in STOPS:
            return True
        if self._at(end - 1) != "." or not self._in_word(begin):
            return False
        word = self._small_word(begin, end)[:-1]
        starts = self._small_word(after, after_end) in STARTERS
        return word not in TITLES and self._at(after).istitle() and starts
