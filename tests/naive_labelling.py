"""What counts of the answers to a sentence, from the whole history, the slow way."""

from __future__ import annotations


def counting(history: list[dict]) -> list[dict]:
    """Answers that nobody who had seen them replaced, and that were not withdrawn."""
    withdrawn = {row["withdraws"] for row in history if row["withdraws"] is not None}
    valid = [row for row in history if row["labels"] is not None and row["id"] not in withdrawn]
    return [
        each
        for each in valid
        if not any(other["id"] > each["id"] and other["seen"] >= each["id"] for other in valid)
    ]


def labels(history: list[dict]) -> list[str] | None:
    """What the sentence is labelled with, if those agree."""
    said = [each["labels"] for each in counting(history)]
    return said[0] if said and all(each == said[0] for each in said) else None
