"""Slow and obvious versions of dualstruct.labels.schemes and dualstruct.metrics.

Written from the decision rules of conlleval: one line a rule, one token at a time, with the
running "is the present chunk right so far" flag of the script instead of comparing spans.
"""

from collections import Counter

from dualstruct.labels.schemes import Span


def parse(label: str) -> tuple[str, str]:
    """Prefix and type; BILOU letters become those of BIOES, a plain label becomes S-label."""
    if label == "O":
        return "O", ""
    for letter, meaning in [("B", "B"), ("I", "I"), ("E", "E"), ("S", "S"), ("L", "E"), ("U", "S")]:
        if label == letter:
            return meaning, ""
        if label.startswith(letter + "-") and len(label) > 2:
            return meaning, label[2:]
    return "S", label


def start_of_chunk(prefix_before: str, type_before: str, prefix: str, type_: str) -> bool:
    if prefix == "O":
        return False
    if prefix == "B":
        return True
    if prefix == "S":
        return True
    if prefix_before == "O":
        return True
    if prefix_before == "E":
        return True
    if prefix_before == "S":
        return True
    return type_before != type_


def end_of_chunk(prefix_before: str, type_before: str, prefix: str, type_: str) -> bool:
    if prefix_before == "O":
        return False
    if prefix_before == "E":
        return True
    if prefix_before == "S":
        return True
    if prefix == "B":
        return True
    if prefix == "S":
        return True
    if prefix == "O":
        return True
    return type_before != type_


def spans(labels: list[str]) -> list[Span]:
    pairs = [("O", ""), *map(parse, labels), ("O", "")]
    starts = [t for t in range(len(labels)) if start_of_chunk(*pairs[t], *pairs[t + 1])]
    found = []
    for start in starts:
        end = start + 1
        while not end_of_chunk(*pairs[end], *pairs[end + 1]):
            end += 1
        found.append(Span(pairs[start + 1][1], start, end))
    return found


def write(found: list[Span], length: int, scheme: str) -> list[str]:
    labels = ["O"] * length
    for span in found:
        for t in range(span.start, span.end):
            first, last = t == span.start, t == span.end - 1
            if scheme == "bilou" and first and last:
                prefix = "U"
            elif scheme == "bilou" and last:
                prefix = "L"
            elif scheme == "bioes" and first and last:
                prefix = "S"
            elif scheme == "bioes" and last:
                prefix = "E"
            elif scheme == "iob1" and first:
                touched = any(o.end == span.start and o.type == span.type for o in found)
                prefix = "B" if touched else "I"
            elif first:
                prefix = "B"
            else:
                prefix = "I"
            labels[t] = f"{prefix}-{span.type}" if span.type else prefix
    return labels


def chunk_counts(
    truth: list[list[str]], predicted: list[list[str]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """True, predicted and correct chunks of each type, counted while reading token by token."""
    support: Counter[str] = Counter()
    guessed: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for true_labels, guessed_labels in zip(truth, predicted, strict=True):
        true_before = guess_before = ("O", "")
        right_so_far = False
        pairs = [*zip(true_labels, guessed_labels, strict=True), ("O", "O")]
        for true_label, guessed_label in pairs:
            true, guess = parse(true_label), parse(guessed_label)
            true_ends = end_of_chunk(*true_before, *true)
            guess_ends = end_of_chunk(*guess_before, *guess)
            if right_so_far and true_ends and guess_ends:
                correct[true_before[1]] += 1
            if true_ends or guess_ends:
                right_so_far = False
            true_starts = start_of_chunk(*true_before, *true)
            guess_starts = start_of_chunk(*guess_before, *guess)
            if true_starts:
                support[true[1]] += 1
            if guess_starts:
                guessed[guess[1]] += 1
            if true_starts and guess_starts and true[1] == guess[1]:
                right_so_far = True
            true_before, guess_before = true, guess
    return support, guessed, correct


def token_counts(
    truth: list[list[str]], predicted: list[list[str]]
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """True, predicted and correct tokens of each label."""
    support: Counter[str] = Counter()
    guessed: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for true_labels, guessed_labels in zip(truth, predicted, strict=True):
        for true, guess in zip(true_labels, guessed_labels, strict=True):
            support[true] += 1
            guessed[guess] += 1
            if true == guess:
                correct[true] += 1
    return support, guessed, correct
