"""The rules of the tokenizer, slowly: regular expressions over the whole text, one token at a time.

What docs/text.md says in words. The core (core/text/tokenizer.cpp) must give the same tokens and
sentences for every text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

UNSEEN = re.compile(
    "[\u0001-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff]"
)


def words(text: str) -> set[str]:
    return set(text.split())


TITLES = words(
    "mr mrs ms dr prof st gen col lt capt cpt sgt maj cmdr rev hon pres gov sen rep supt messrs "
    "mme mlle sra srta hr fr dhr mevr dott sig ing"
)
ABBREVIATIONS = words(
    "etc vs cf al approx dept est inc ltd co corp bros jr sr esq ph.d ed eds jan feb apr aug sept "
    "oct nov dec ave blvd rd mt ft usw bzw ca str geb bspw evtl ggf inkl zzgl f.eks bl.a kl bv enz "
    "resp tel ext misc orig"
)
BEFORE_NUMBERS = words("no nos nr art sec ch p pp pg par fig figs vol vols eq tab mar jun jul")
STARTERS = words(
    "the a an this that these those he she it we they i you his her its our their my your there "
    "here what who why how where which when while after before since although though however but "
    "and or so if in on at for from with as then now yes no not all some many most both each every "
    "one two"
)
LINE_ENDS = "\n\v\f\r\x85\u2028\u2029"


@dataclass
class Settings:
    words: str = "rules"
    sentences: str = "rules"
    split_contractions: bool = True
    split_hyphens: bool = True
    abbreviations: tuple[str, ...] = ()


def kind(c: str) -> str:
    """One letter for the class of a character: the text in kinds is what expressions look at."""
    if c.isspace() or UNSEEN.match(c):
        return "_"
    if c.isdecimal():
        return "d"
    if c.isalpha():
        return "s" if WITHOUT_BLANKS.match(c) else "l"
    if c == "_":
        return "l"
    if unicodedata.category(c)[0] == "M" or c in "\u00ad\u200c\u200d":
        return "m"
    if "\U0001f3fb" <= c <= "\U0001f3ff" or "\U000e0020" <= c <= "\U000e007f":
        return "t"
    return "x"


def small(text: str) -> str:
    """Small letters, one for each character."""
    return "".join(c if len(c.lower()) > 1 and c != "İ" else c.lower()[0] for c in text)


def is_upper(c: str) -> bool:
    return c.isupper() or c.istitle()


class Naive:
    def __init__(self, text: str, settings: Settings) -> None:
        self.text, self.settings = text, settings
        self.kinds = "".join(map(kind, text))

    def kind_at(self, i: int) -> str:
        return self.kinds[i] if 0 <= i < len(self.text) else "_"

    def in_word(self, i: int) -> bool:
        return self.kind_at(i) in "ld"

    def tokens(self) -> list[tuple[int, int]]:
        if self.settings.words == "blanks":
            return [match.span() for match in re.finditer(r"\S+", self.spaced())]
        found: list[tuple[int, int]] = []
        i = 0
        while i < len(self.text):
            if self.kinds[i] == "_":
                i += 1
                continue
            cuts = self.cuts(i)
            found += [(a, b) for a, b in zip([i, *cuts], cuts)]  # noqa: B905
            i = cuts[-1]
        return found

    def spaced(self) -> str:
        return "".join(" " if c.isspace() else "x" for c in self.text)

    def cuts(self, i: int) -> list[int]:
        """Where the tokens end that begin at i: one, or the two parts of a contraction."""
        for rule in (self.url, self.address):
            end = rule(i)
            if end is not None:
                return [end]
        if self.in_word(i):
            end = self.word(i)
            part = self.contraction(i, end) if self.settings.split_contractions else None
            if part is not None:
                return [part, end]
            return [end + 1 if self.has_period(i, end) else end]
        if self.text[i] in "@#" and self.kind_at(i + 1) == "l" and not self.in_word(i - 1):
            return [re.compile("[ldm]+").match(self.kinds, i + 1).end()]
        if self.kinds[i] == "s":
            return [re.compile("sm*").match(self.kinds, i).end()]
        return [self.symbol(i)]

    def url(self, i: int) -> int | None:
        start = re.compile(r"(https?://|ftp://|www\.)", re.IGNORECASE | re.ASCII).match(
            self.text, i
        )
        if start is None or not self.in_word(start.end()) or self.in_word(i - 1):
            return None
        end = i
        while self.kind_at(end) not in "_s" and self.text[end] not in '<>"“”„«»':
            end += 1
        while True:
            body = self.text[i:end]
            lone = body[-1] in ")]}" and body.count(body[-1]) > body.count(
                {")": "(", "]": "[", "}": "{"}[body[-1]]
            )
            if not lone and body[-1] not in ".,;:!?'’*~…":
                return end
            end -= 1

    def address(self, i: int) -> int | None:
        if not self.in_word(i):
            return None
        coded = "".join(
            "w" if k in "ld" else c if c in ".%+-@" else "_"
            for c, k in zip(self.text[i : i + 400], self.kinds[i : i + 400], strict=True)
        )
        match = re.match(r"([w.%+-]+)@((?:w|-(?=w))+(?:\.w(?:w|-(?=w))*)+)", coded)
        if match is None or coded[len(match[1]) + 1] != "w":
            return None
        if len(match[1]) > 64 or len(match[2]) > 255:
            return None
        return i + match.end()

    def word(self, i: int) -> int:
        end, last = i, i
        while end < len(self.text):
            if self.in_word(end):
                last = end
            elif self.kinds[end] != "m" and not (self.in_word(end + 1) and self.joins(last, end)):
                break
            end += 1
        return end

    def joins(self, last: int, sign: int) -> bool:
        before, after = self.text[last], self.text[sign + 1]
        kinds = self.kinds[last] + self.kinds[sign + 1]
        c = self.text[sign]
        if c in "'’":
            return kinds in ("ll", "dd")
        if c == ".":
            return is_upper(before) or not is_upper(after)
        if c in ",:/":
            return kinds == "dd"
        if c in "-‐‑":
            return kinds == "dd" or not self.settings.split_hyphens
        return c == "&" and is_upper(before) and is_upper(after)

    def contraction(self, i: int, end: int) -> int | None:
        pattern = r"(.+?)('s|'m|'d|'re|'ve|'ll|n't)"
        match = re.fullmatch(pattern, small(self.text[i:end]).replace("’", "'"), re.DOTALL)
        return None if match is None else i + match.start(2)

    def has_period(self, i: int, end: int) -> bool:
        if self.text[end : end + 1] != "." or self.text[end + 1 : end + 2] == ".":
            return False
        word = small(self.text[i:end])
        own = {small(each).removesuffix(".") for each in self.settings.abbreviations}
        if word in TITLES | ABBREVIATIONS | own:
            return True
        shape = "".join(
            "." if c == "." else k for c, k in zip(word, self.kinds[i:end], strict=True)
        )
        if re.fullmatch(r"(l\.)+l", shape) and len(shape) <= 20:
            return True
        after = end + 1
        while (
            self.kind_at(after) == "_"
            and after < len(self.text)
            and (self.text[after] not in LINE_ENDS)
        ):
            after += 1
        if after == end + 1 or after >= len(self.text):
            return False
        if word in BEFORE_NUMBERS and self.kinds[after] == "d":
            return True
        return len(word) == 1 and is_upper(self.text[i]) and is_upper(self.text[after])

    def symbol(self, i: int) -> int:
        end = i + 1
        if re.compile("[\U0001f1e6-\U0001f1ff]{2}").match(self.text, i):
            end = i + 2
        if self.text[i] in ".!?-*=~+":
            end = re.compile(re.escape(self.text[i]) + "+").match(self.text, i).end()
        while end < len(self.text):
            joined = self.text[end - 1] == "\u200d" and self.kinds[end] == "x"
            if self.kinds[end] not in "mt" and not joined:
                break
            end += 1
        return end

    def sentences(self, tokens: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
        found: list[list[tuple[int, int]]] = []
        current: list[tuple[int, int]] = []
        for token, following in zip(tokens, [*tokens, None][1:], strict=True):
            current.append(token)
            if following is None or self.ends(current, following):
                found.append(current)
                current = []
        return found

    def ends(self, sentence: list[tuple[int, int]], following: tuple[int, int]) -> bool:
        text = self.text
        token = sentence[-1]
        gap = text[token[1] : following[0]].replace("\r\n", "\n")
        lines = sum((2 if c in "\f\u2029" else 1) for c in gap if c in LINE_ENDS)
        if self.settings.sentences == "whole":
            return False
        if self.settings.sentences == "lines":
            return lines > 0
        if lines > 1:
            return True
        closers = ")]}\"'”’»›」』）】》〉"
        if not gap and text[following[0]] in closers:
            return False
        place = len(sentence) - 1
        while (
            place > 0
            and text[sentence[place][0]] in closers
            and sentence[place - 1][1] == sentence[place][0]
        ):
            place -= 1
        stop = text[sentence[place][0]]
        if stop in "。！？｡":
            return True
        if not gap or text[following[0]].islower():
            return False
        if lines or stop in ".!?…‽؟۔।॥։።៕":
            return True
        if text[token[1] - 1] != "." or not self.in_word(token[0]):
            return False
        word = small(text[slice(*token)])[:-1]
        after = small(text[slice(*following)])
        return word not in TITLES and is_upper(text[following[0]]) and after in STARTERS


def tokenize(text: str, settings: Settings) -> list[list[tuple[int, int]]]:
    """Sentences of places of tokens."""
    naive = Naive(text, settings)
    return naive.sentences(naive.tokens())
