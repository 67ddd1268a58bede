"""Features from beyond the sentence, found by looking at every other token."""

from __future__ import annotations

from collections import Counter


def occurrences(
    words: list[list[str]], documents: list[int], i: int, t: int
) -> list[tuple[int, int]]:
    """Where else the word stands in the document, in whatever case."""
    return [
        (j, s)
        for j, sentence in enumerate(words)
        for s, word in enumerate(sentence)
        if documents[j] == documents[i] and word.lower() == words[i][t].lower() and (j, s) != (i, t)
    ]


def naive_document_attributes(
    words: list[list[str]], documents: list[int], nearest: int
) -> list[list[set[str]]]:
    found = []
    for i, sentence in enumerate(words):
        rows = []
        for t, word in enumerate(sentence):
            others = occurrences(words, documents, i, t)
            forms = [words[j][s] for j, s in others]
            strings: set[str] = set()
            if any(form[:1].isupper() for form in [word, *forms]):
                if any(s > 0 and words[j][s][:1].isupper() for j, s in others):
                    strings.add("elsewhere:capitalised")
                if any(not form[:1].isupper() for form in forms):
                    strings.add("elsewhere:lower")
                before = [place for place in others if place < (i, t)][::-1]
                after = [place for place in others if place > (i, t)]
                by_distance = sorted(
                    [*enumerate(before), *enumerate(after)], key=lambda pair: pair[0]
                )
                for _, (j, s) in by_distance[:nearest]:
                    if s > 0:
                        strings.add(f"elsewhere[-1]={words[j][s - 1]}")
                    if s + 1 < len(words[j]):
                        strings.add(f"elsewhere[1]={words[j][s + 1]}")
            rows.append(strings)
        found.append(rows)
    return found


def naive_usual(
    words: list[list[str]], labels: list[list[str]], documents: list[int], i: int, t: int
) -> str | None:
    """The most frequent label of the word elsewhere, without the mark of its place in a span."""
    kinds = Counter(labels[j][s].split("-", 1)[-1] for j, s in occurrences(words, documents, i, t))
    return min(kinds, key=lambda kind: (-kinds[kind], kind)) if kinds else None
