"""Explanations in the terminal, in colours."""

from __future__ import annotations

from dualstruct.explaining.results import Alternative, Explanation, TokenExplanation
from dualstruct.explaining.text import (
    BAR,
    MOST,
    bar,
    elsewhere,
    heading,
    hidden_text,
    sides,
    where,
)
from dualstruct.printable import printable
from dualstruct.screen import Column, Shown, Table, Text


def alternative_lines(token: TokenExplanation, alternative: Alternative, most: int) -> Shown:
    parts = sides(token, alternative, most)
    largest = max((abs(each.amount) for side in parts for each in side.shown), default=1.0)
    amount, bars = Column(right=True, folds=False), Column(folds=False, least=BAR)
    table = Table(amount, bars, Column(), Column(style="dim"), left=0)
    for side in parts:
        style = "green" if side.total > 0 else "red"
        title = printable(f"for {side.output}")
        table.add(Text(f"{side.total:+.4f}", style="bold"), "", Text(title, style="bold"), "")
        for each in side.shown:
            table.add(
                Text(f"{each.amount:+.4f}", style=style),
                Text(bar(abs(each.amount) / largest, BAR), style=style),
                Text(printable(each.name)),
                Text(printable(where(token, each))),
            )
        if side.hidden:
            table.add(Text(f"{side.rest:+.4f}", style="dim"), "", hidden_text(side), "")
    return table


def token_lines(token: TokenExplanation, most: int = MOST) -> Shown:
    """One token's explanation for a screen."""
    if not token.alternatives:
        return Text(heading(token, None), style="bold")
    parts: list[Shown] = []
    for alternative in token.alternatives:
        parts.append(Text(heading(token, alternative), style="bold"))
        others = elsewhere(token, alternative)
        if others:
            parts.append(Text(others, style="dim"))
        parts.append(alternative_lines(token, alternative, most))
    return parts


def explanation_lines(explanation: Explanation, most: int = MOST) -> Shown:
    """A sentence's explanation for a screen."""
    parts: list[Shown] = []
    for token in explanation:
        parts += [token_lines(token, most), Text()]
    return parts
