"""Explanations as a page that stands alone: no script, no network, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from dualstruct.explaining.results import Alternative, Contribution, Explanation, TokenExplanation
from dualstruct.explaining.terminal import elsewhere, split, where

MOST = 20

STYLE = """\
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0;
  --for: #1a7f37; --against: #cf222e; --paper: #ffffff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --for: #3fb950; --against: #f85149; --paper: #0d1117 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem }
h2 { font-size: 1.1rem; border-top: 1px solid var(--line); padding-top: 1rem }
details { margin: .4rem 0 }
summary { cursor: pointer }
summary b { margin-right: .5rem }
.soft { color: var(--soft) }
table { border-collapse: collapse; width: 100%; margin: .3rem 0 1rem; font-size: .9rem }
caption { text-align: left; padding: .3rem 0 }
th { text-align: left; font-weight: 600 }
td, th { padding: .1rem .5rem .1rem 0; vertical-align: middle }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; width: 5.5rem }
td.bar { width: 30% }
td.bar span { display: block; height: .7rem; border-radius: .15rem }
.for { background: var(--for) }
.against { background: var(--against) }
td.name { overflow-wrap: anywhere; font-family: ui-monospace, monospace }"""


def page(explanations: Sequence[Explanation], title: str) -> str:
    """A whole document."""
    body = "\n".join(sentence(each, number) for number, each in enumerate(explanations, 1))
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


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
    start = f"<b>{explained.token} {escape(explained.form)}</b> {escape(explained.text)}"
    if explained.runner_up is None:
        return f"<p>{start} <span class='soft'>nothing else is possible</span></p>"
    beaten = (
        f"<span class='soft'>beats {escape(explained.runner_up.text)} by "
        f"{explained.runner_up.difference:.4f}</span>"
    )
    tables = "\n".join(alternative(explained, each) for each in explained.alternatives)
    return (
        f"<details{' open' if opened else ''}>\n<summary>{start} {beaten}</summary>\n"
        f"{tables}\n</details>"
    )


def alternative(explained: TokenExplanation, rival: Alternative) -> str:
    shown, rest = split(rival.contributions, MOST)
    largest = max((abs(each.amount) for each in shown), default=1.0)
    rows = [row(explained, each, largest) for each in shown]
    hidden = len(rival.contributions) - len(shown)
    if hidden:
        rows.append(
            f"<tr><td class='number'>{rest:+.4f}</td><td></td>"
            f"<td class='soft'>{hidden} smaller ones</td><td></td></tr>"
        )
    others = elsewhere(explained, rival)
    note = f"<br><span class='soft'>{escape(others)}</span>" if others else ""
    return (
        f"<table>\n<caption>{escape(explained.text)} beats {escape(rival.text)} by "
        f"{rival.difference:.4f}{note}</caption>\n"
        "<thead><tr><th class='number'>adds</th><th></th><th>feature</th><th></th></tr></thead>\n"
        "<tbody>\n" + "\n".join(rows) + "\n</tbody>\n</table>"
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
