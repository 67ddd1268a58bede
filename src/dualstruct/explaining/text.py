"""Explanations as text: what beat what, and a bar for each contribution."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

from dualstruct.explaining.results import Alternative, Contribution, TokenExplanation
from dualstruct.printable import printable
from dualstruct.widths import cell_len, folded

#: How many contributions are shown one by one, and how long the longest bar is.
MOST, BAR = 12, 16
EIGHTHS = "▏▎▍▌▋▊▉█"
#: How wide text is, and what is left of it for names where places are long.
WIDTH, LEAST = 110, 20


def bar(share: float, width: int) -> str:
    """A bar of this share of the width, to an eighth of a character."""
    eighths = max(round(min(share, 1.0) * width * 8), 1)
    return EIGHTHS[-1] * (eighths // 8) + (EIGHTHS[eighths % 8 - 1] if eighths % 8 else "")


def heading(token: TokenExplanation, alternative: Alternative | None) -> str:
    """What beat what, and by how much."""
    return printable(f"{token.token} {token.form}: {verdict(token, alternative)}")


def verdict(token: TokenExplanation, alternative: Alternative | None) -> str:
    """The same without the token."""
    if alternative is None:
        if token.gold:
            return f"{token.text}; {token.gold} is right, and the model cannot say so here"
        return f"{token.text}; nothing else is possible"
    if not token.gold:
        return f"{token.text} beats {alternative.text} by {alternative.difference:.4f}"
    right = f"the right {alternative.text}"
    if alternative.text != token.gold:  # its relation is not known to the model
        right = f"{alternative.text} ({token.gold} is right)"
    return f"the wrong {token.text} beats {right} by {alternative.difference:.4f}"


def elsewhere(token: TokenExplanation, alternative: Alternative) -> str:
    """What else the rival would change."""
    others = [change for change in alternative.changes if change.token != token.token]
    shown = [f"{c.token} {c.form}: {c.other} instead of {c.chosen}" for c in others[:5]]
    if len(others) > 5:
        shown.append(f"{len(others) - 5} more")
    return printable("with it would come " + "; ".join(shown)) if shown else ""


def where(token: TokenExplanation, contribution: Contribution) -> str:
    """What a contribution is about, unless its name says so."""
    if contribution.kind == "transition":
        return "transition" if contribution.chosen_part else "transition of the runner-up"
    if contribution.kind in ("feature", "pair"):
        if contribution.kind == "feature" and contribution.token == token.token:
            return ""
        return f"at {contribution.token}: {contribution.chosen_part}, not {contribution.other_part}"
    side = "" if contribution.chosen_part else " of the runner-up"
    place = "" if contribution.token == token.token else f" at {contribution.token}"
    return f"{contribution.kind}{side}{place}"


@dataclass(frozen=True)
class Side:
    """What speaks for one of the two outputs."""

    output: str
    shown: list[Contribution]  #: largest first
    total: float
    hidden: int  #: how many are not shown
    rest: float  #: and what they add up to


def sides(token: TokenExplanation, rival: Alternative, most: int) -> list[Side]:
    """What speaks for the chosen output, and what for its rival.

    Of all contributions the ``most`` largest are shown, and of each side so many that the others
    do not add up to more than what is shown.
    """
    largest = set(map(id, rival.contributions[:most]))
    found = []
    for sign, output in ((1, token.text), (-1, rival.text)):
        mine = [each for each in rival.contributions if sign * each.amount > 0]
        total = fsum(each.amount for each in mine)
        count = sum(id(each) in largest for each in mine)
        while 2 * abs(fsum(each.amount for each in mine[:count])) < abs(total):
            count += 1
        rest = fsum(each.amount for each in mine[count:])
        if mine:
            found.append(Side(output, mine[:count], total, len(mine) - count, rest))
    return found


def hidden_text(side: Side) -> str:
    """What stands for those that are not shown."""
    return "another one" if side.hidden == 1 else f"{side.hidden} others together"


def token_text(token: TokenExplanation, most: int = MOST) -> str:
    """One token's explanation without colours."""
    if not token.alternatives:
        return heading(token, None)
    lines: list[str] = []
    for alternative in token.alternatives:
        others = elsewhere(token, alternative)
        lines += [heading(token, alternative), *([others] if others else [])]
        lines += _table(_rows(token, alternative, most))
    return "\n".join(line.rstrip() for line in lines)


def _rows(token: TokenExplanation, alternative: Alternative, most: int) -> list[tuple[str, ...]]:
    """An amount, its bar, whose it is and where."""
    parts = sides(token, alternative, most)
    largest = max((abs(each.amount) for side in parts for each in side.shown), default=1.0)
    rows: list[tuple[str, ...]] = []
    for side in parts:
        rows.append((f"{side.total:+.4f}", "", printable(f"for {side.output}"), ""))
        for each in side.shown:
            line = bar(abs(each.amount) / largest, BAR)
            place = printable(where(token, each))
            rows.append((f"{each.amount:+.4f}", line, printable(each.name), place))
        if side.hidden:
            rows.append((f"{side.rest:+.4f}", "", hidden_text(side), ""))
    return rows


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns side by side; long names continue below."""
    amounts = max((len(row[0]) for row in rows), default=0)
    names, places = (max((cell_len(row[at]) for row in rows), default=0) for at in (2, 3))
    names = min(names, max(WIDTH - amounts - BAR - 4 - (places and places + 2), LEAST))
    lines = []
    for amount, line, name, place in rows:
        first, *rest = folded(name, names)
        padded = first + " " * (names - cell_len(first))
        lines.append(f"{amount:>{amounts}}  {line:<{BAR}}  {padded}  {place}")
        lines += [" " * (amounts + BAR + 4) + more for more in rest]
    return lines
