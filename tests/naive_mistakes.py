"""Slow and obvious versions of dualstruct.mistakes and of dualstruct.metrics.comparing."""

from __future__ import annotations

from itertools import product

import naive_metrics


def shares_a_token(a, b):
    return bool(set(range(a.start, a.end)) & set(range(b.start, b.end)))


def span_mistakes(gold, predicted):
    """Sets of wrong spans, (true ones, predicted ones), that hang together, with their kinds."""
    true, found = naive_metrics.spans(gold), naive_metrics.spans(predicted)
    left = [("gold", span) for span in true if span not in found]
    left += [("predicted", span) for span in found if span not in true]
    mistakes = []
    while left:
        group = [left.pop(0)]
        while near := [x for x in left if any(shares_a_token(x[1], y[1]) for y in group)]:
            group += near
            left = [x for x in left if x not in near]
        ours = {span for side, span in group if side == "gold"}
        theirs = {span for side, span in group if side == "predicted"}
        if not theirs:
            kind = "missed"
        elif not ours:
            kind = "invented"
        else:
            kind = "boundary"
            for a in ours:
                for b in theirs:
                    if shares_a_token(a, b) and a.type != b.type:
                        kind = "type"
        mistakes.append((kind, ours, theirs))
    return mistakes


def exchange_probability(one, other, score):
    """Of all exchanges, the share whose difference is as large as the one that was seen."""

    def difference(a, b):
        sums = [[sum(column) for column in zip(*rows, strict=True)] for rows in (a, b)]
        return abs(score(sums[0]) - score(sums[1]))

    seen = difference(one, other)
    as_large = total = 0
    for swap in product((False, True), repeat=len(one)):
        a = [y if s else x for x, y, s in zip(one, other, swap, strict=True)]
        b = [x if s else y for x, y, s in zip(one, other, swap, strict=True)]
        as_large += difference(a, b) >= seen - 1e-12
        total += 1
    return as_large / total
