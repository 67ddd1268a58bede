"""Explanations in the terminal, in colours."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

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


def alternative_lines(
    token: TokenExplanation, alternative: Alternative, most: int
) -> RenderableType:
    parts = sides(token, alternative, most)
    largest = max((abs(each.amount) for side in parts for each in side.shown), default=1.0)
    table = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, min_width=BAR)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold", style="dim")
    for side in parts:
        style = "green" if side.total > 0 else "red"
        title = printable(f"for {side.output}")
        table.add_row(Text(f"{side.total:+.4f}", style="bold"), "", Text(title, style="bold"), "")
        for each in side.shown:
            table.add_row(
                Text(f"{each.amount:+.4f}", style=style),
                Text(bar(abs(each.amount) / largest, BAR), style=style),
                Text(printable(each.name)),
                Text(printable(where(token, each))),
            )
        if side.hidden:
            table.add_row(Text(f"{side.rest:+.4f}", style="dim"), "", hidden_text(side), "")
    return table


def token_lines(token: TokenExplanation, most: int = MOST) -> RenderableType:
    """One token's explanation for rich's console."""
    if not token.alternatives:
        return Text(heading(token, None), style="bold")
    parts: list[RenderableType] = []
    for alternative in token.alternatives:
        parts.append(Text(heading(token, alternative), style="bold"))
        others = elsewhere(token, alternative)
        if others:
            parts.append(Text(others, style="dim"))
        parts.append(alternative_lines(token, alternative, most))
    return Group(*parts)


def explanation_lines(explanation: Explanation, most: int = MOST) -> RenderableType:
    """A sentence's explanation for rich's console."""
    parts: list[RenderableType] = []
    for token in explanation:
        parts += [token_lines(token, most), Text()]
    return Group(*parts)
