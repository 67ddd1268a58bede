"""What the patterns of CRF++ and Wapiti make of a sentence: slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator

from naive_features import is_upper, lower


def is_punctuation(c: str) -> bool:
    return not (c.isalpha() or c.isdecimal() or c.isspace() or ord(c) < 32 or 127 <= ord(c) < 160)


CLASSES = {
    "a": str.isalpha,
    "d": str.isdecimal,
    "w": lambda c: c.isalpha() or c.isdecimal(),
    "l": str.islower,
    "u": is_upper,
    "p": is_punctuation,
    "s": str.isspace,
}


def fits(item: str, c: str) -> bool:
    """Whether one item of a regular expression (x, . or \\x) matches a character."""
    if item == ".":
        return True
    if item[0] == "\\" and len(item) == 2:
        if item[1] in CLASSES:
            return CLASSES[item[1]](c)
        if item[1].lower() in CLASSES:
            return not CLASSES[item[1].lower()](c)
        return item[1] == c
    return item == c


def ends(regex: str, word: str, at: int) -> Iterator[int]:
    """Where a match that begins at a place can end, the preferred end first."""
    if not regex:
        yield at
        return
    if regex == "$":
        if at == len(word):
            yield at
        return
    width = 2 if regex[0] == "\\" and len(regex) > 1 else 1
    item, times, rest = regex[:width], regex[width : width + 1], regex[width:]
    more = at < len(word) and fits(item, word[at])
    if times == "*":
        yield from ends(rest[1:], word, at)
        if more:
            yield from ends(regex, word, at + 1)
    elif times == "?":
        if more:
            yield from ends(rest[1:], word, at + 1)
        yield from ends(rest[1:], word, at)
    elif more:
        yield from ends(rest, word, at + 1)


def search(regex: str, word: str) -> str | None:
    """The part of the word that matches first, None if there is none."""
    if regex.startswith("^"):
        starts, regex = [0], regex[1:]
    else:
        starts = range(len(word) + 1)
    for start in starts:
        for end in ends(regex, word, start):
            return word[start:end]
    return None


def outside(dialect: str, before: int, behind: int) -> str:
    """The value of a place `before` the sentence or `behind` it (one of them is 0)."""
    sign, distance = ("-", before) if before else ("+", behind)
    if dialect == "crf++":
        return f"_B{sign}{distance}"
    return f"_x{sign}{distance if distance <= 4 else '#'}"


def command(
    dialect: str, letter: str, row: int, column: int, regex: str, absolute: bool, sentence, at: int
) -> str:
    """What stands for a command such as %m[row,column,"regex"] at a token."""
    if not absolute:
        place = at + row
    elif row < 0:
        place = len(sentence) + row
    else:
        place = row - 1
    if place < 0:
        value = outside(dialect, -place, 0)
    elif place >= len(sentence):
        value = outside(dialect, 0, place - len(sentence) + 1)
    else:
        value = sentence[place][column]
    if letter in "mM":
        value = search(regex, value) or ""
    elif letter in "tT":
        value = "false" if search(regex, value) is None else "true"
    return lower(value) if letter.isupper() else value
