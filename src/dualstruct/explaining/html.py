"""Explanations as a page without external files: no script, no network, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dualstruct.explaining.results import Alternative, Contribution, Explanation, TokenExplanation
from dualstruct.explaining.text import Side, elsewhere, hidden_text, sides, verdict, where
from dualstruct.pages import document

MOST = 20

STYLE = """\
summary b { margin-right: .5rem }
table { width: 100% }
td.number, th.number { width: 5.5rem }
td.bar { width: 30% }
.for { background: var(--for) }
.against { background: var(--against) }
td.name { overflow-wrap: anywhere; font-family: ui-monospace, monospace }"""


def page(explanations: Sequence[Explanation], title: str) -> str:
    """A whole document."""
    body = "\n".join(sentence(each, number) for number, each in enumerate(explanations, 1))
    return document(title, body, STYLE)


def sentence(explanation: Explanation, number: int = 1) -> str:
    """One sentence's part of a page: an entry that opens for each token."""
    words = escape(" ".join(explanation.forms))
    opened = len(explanation) == 1
    entries = "\n".join(token(each, opened) for each in explanation)
    return (
        f"<section>\n<h2>{number}. {words}</h2>\n"
        f"<p class='soft'>score {explanation.score:.4f}</p>\n{entries}\n</section>"
    )


def token(explained: TokenExplanation, opened: bool) -> str:
    start = f"<b>{explained.token} {escape(explained.form)}</b> "
    rival = explained.runner_up
    if rival is None:
        return f"<p>{start}{escape(verdict(explained, None))}</p>"
    tables = "\n".join(alternative(explained, each) for each in explained.alternatives)
    return (
        f"<details{' open' if opened else ''}>\n"
        f"<summary>{start}{escape(verdict(explained, rival))}</summary>\n{tables}\n</details>"
    )


def alternative(explained: TokenExplanation, rival: Alternative) -> str:
    parts = sides(explained, rival, MOST)
    largest = max((abs(each.amount) for side in parts for each in side.shown), default=1.0)
    bodies = "\n".join(body(explained, side, largest) for side in parts)
    others = elsewhere(explained, rival)
    note = f"<br><span class='soft'>{escape(others)}</span>" if others else ""
    return (
        f"<table>\n<caption>{escape(verdict(explained, rival))}{note}</caption>\n{bodies}\n</table>"
    )


def body(explained: TokenExplanation, side: Side, largest: float) -> str:
    """What speaks for one of the two outputs."""
    rows = [row(explained, each, largest) for each in side.shown]
    if side.hidden:
        rows.append(
            f"<tr><td class='number'>{side.rest:+.4f}</td><td></td>"
            f"<td class='soft'>{hidden_text(side)}</td><td></td></tr>"
        )
    return (
        f"<tbody>\n<tr><th class='number'>{side.total:+.4f}</th><th colspan='3'>for "
        f"{escape(side.output)}</th></tr>\n" + "\n".join(rows) + "\n</tbody>"
    )


def row(explained: TokenExplanation, each: Contribution, largest: float) -> str:
    side = "for" if each.amount > 0 else "against"
    width = 100 * abs(each.amount) / largest
    return (
        f"<tr><td class='number'>{each.amount:+.4f}</td>"
        f"<td class='bar'><span class='{side}' style='width:{width:.1f}%'></span></td>"
        f"<td class='name'>{escape(each.name)}</td>"
        f"<td class='soft'>{escape(where(explained, each))}</td></tr>"
    )
