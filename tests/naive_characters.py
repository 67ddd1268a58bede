"""The columns of characters that a learned tokenizer looks at, one character after the other."""

from __future__ import annotations

import re

import naive_text
from dualstruct.data.tokenizing import Tokenizer

LONGEST = 24


def columns(text):
    """[characters] the nine columns of each character that is no gap, and its place."""
    gap = [naive_text.kind(c) == "_" for c in text]
    chunks, begin = [], None
    for i in range(len(text) + 1):
        if i < len(text) and not gap[i]:
            begin = i if begin is None else begin
        elif begin is not None:
            chunks.append((begin, i))
            begin = None
    split = Tokenizer().split([text])
    ends = {int(end) - 1 for end in split.ends}
    last_tokens = [int(k) - 1 for k in split.table.sentences[1:]]
    sentence_ends = {int(split.ends[k]) - 1 for k in last_tokens}
    found = []
    for k, (begin, end) in enumerate(chunks):
        before = text[slice(*chunks[k - 1])][:LONGEST] if k else "^"
        behind = text[slice(*chunks[k + 1])][:LONGEST] if k + 1 < len(chunks) else "$"
        for i in range(begin, end):
            run = i
            while run > begin and group(text[run - 1]) == group(text[i]):
                run -= 1
            so_far = text[begin : i + 1]
            found.append(
                (
                    text[i],
                    kind(text[i]),
                    "n" if i + 1 < end else gap_kind(text, end, chunks[k + 1 :]),
                    naive_text.small(text[run : i + 1][-LONGEST:]),
                    so_far[-LONGEST:],
                    text[i + 1 : end][:LONGEST] or "$",
                    behind,
                    before,
                    "s" if i in sentence_ends else "e" if i in ends else "i",
                )
            )
    return found


def gap_kind(text, end, following):
    if not following:
        return "p"
    between = text[end : following[0][0]].replace("\r\n", "\n")
    lines = len(re.findall("[\n\v\f\r\x85\u2028\u2029]", between))
    lines += len(re.findall("[\f\u2029]", between))
    return "b" if lines == 0 else "l" if lines == 1 else "p"


def group(c):
    found = naive_text.kind(c)
    return "l" if found == "m" else found


def kind(c):
    found = naive_text.kind(c)
    if found == "d":
        return "0"
    if found in ("l", "m"):
        return "A" if naive_text.is_upper(c) else "a" if c.islower() else "x"
    return c
