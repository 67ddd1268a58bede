"""Mistakes in the terminal: sentences with what is true beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence

from dualstruct.labels.schemes import Span
from dualstruct.mistakes.comparing import Compared, DifferentSentence
from dualstruct.mistakes.judging import Mistakes
from dualstruct.mistakes.results import Confusion, Mistake, Slice
from dualstruct.printable import plural, printable
from dualstruct.screen import Column, Shown, Table, Text, plain
from dualstruct.widths import cell_len

#: Examples of each kind, patterns in a row, rows of a table, differences of a sentence.
MOST, PATTERNS, ROWS, DIFFERENCES = 5, 4, 20, 6
#: How wide text is where nobody says, and what stands before a sentence.
WIDTH, INDENT = 100, 14
#: The columns of the table of kinds before the last one.
TABLE = 29
#: The header of the last one.
LAST = "most frequent"
RIGHT, WRONG = "green", "red"


def mistake_lines(found: Mistakes, most: int = MOST, width: int = WIDTH) -> Shown:
    """Kinds, the most frequent first, and examples of each."""
    sentences = f"{found.wrong_sentences:,} of {plural(found.sentences, 'sentence')}"
    parts: list[Shown] = [Text(f"{plural(len(found), 'mistake')} in {sentences}", style="bold")]
    if not len(found):
        return parts
    table = _table("kind", "mistakes", "share", LAST)
    for kind, times in found.kinds.items():
        share = f"{100 * times / len(found):.1f} %"
        table.add(kind, f"{times:,}", share, _patterns(found.patterns(kind), width - TABLE))
    parts += [Text(), table]
    for kind, times in found.kinds.items() if most else ():
        shown = found.examples(kind, most)
        some = "" if len(shown) == times else f", {len(shown)} of {times:,}"
        parts += [Text(), Text(f"{kind}{some}", style="bold")]
        for mistake in shown:
            parts.append(example(found, mistake, width))
    return parts


def example(found: Mistakes, mistake: Mistake, width: int) -> Shown:
    """One mistake in its sentence, twice: as it is true, and as it was predicted."""
    forms = found.forms(mistake.sentence)
    place = found.where(mistake)
    where = f" ({place})" if place else ""
    head = Text("  ").append(printable(mistake.pattern), style="cyan")
    head.append(printable(f"  sentence {mistake.sentence}{where}"), style="dim")
    shown = window(forms, mistake.spans, width - INDENT)
    lines: list[Shown] = [head]
    sides = (
        ("gold", mistake.gold_spans, RIGHT),
        ("predicted", mistake.predicted_spans, WRONG),
    )
    for name, spans, style in sides:
        line = Text("    ").append(f"{name:10}", style="dim")
        line.append(marked(forms, spans, style, shown))
        lines.append(line)
    return lines


def window(forms: Sequence[str], spans: Sequence[Span], width: int) -> range:
    """The tokens to show: those of the spans, and as many around them as there is room for."""
    first, last = min(span.start for span in spans), max(span.end for span in spans)
    names = max(len(span.type) for span in spans) * len(spans) // 2 + 4
    room = width - names - 4 - sum(cell_len(form) + 1 for form in forms[first:last])
    while room > 0 and (first > 0 or last < len(forms)):
        if first > 0:
            first -= 1
            room -= cell_len(forms[first]) + 1
        if last < len(forms) and room > 0:
            room -= cell_len(forms[last]) + 1
            last += room >= 0
        if room < 0 and first < min(span.start for span in spans):
            first += 1
    return range(first, last)


def marked(forms: Sequence[str], spans: Sequence[Span], style: str, shown: range) -> Text:
    """Words with brackets around spans, and their types after them."""
    starts = {span.start for span in spans}
    ends = {span.end: span for span in spans}
    inside = {t for span in spans for t in range(span.start, span.end)}
    line = Text("… " if shown.start else "")
    for t in shown:
        line.append("[" if t in starts else "", style=f"bold {style}")
        line.append(printable(forms[t]), style=f"bold {style}" if t in inside else "")
        if t + 1 in ends:
            line.append(f"]{printable(ends[t + 1].type)}", style=style)
        line.append("" if t + 1 == len(forms) else " ")
    line.append("" if shown.stop == len(forms) else "…")
    return line


def confusion_lines(confusion: Confusion, what: str, width: int = WIDTH) -> Shown:
    """A table with a row for what is true; the most frequent mistakes where it is too wide."""
    title = Text(f"Confusions of {what}", style="bold")
    named = [""] * len(confusion.labels), confusion.labels
    numbers = [f"{k}" for k in range(1, len(confusion.labels) + 1)]
    for rows, columns in (named, (numbers, numbers)):
        table = _confusion_table(confusion, rows, columns)
        if table.width() <= width:
            return [title, table]
    found = confusion.most_frequent()
    pairs = _table("count", "gold", "predicted", left=(1, 2))
    for gold, predicted, count in found[:ROWS]:
        pairs.add(f"{count:,}", Text(printable(gold)), Text(printable(predicted)))
    parts: list[Shown] = [title, pairs]
    return [*parts, *more(len(found) - ROWS)]


def _confusion_table(confusion: Confusion, rows: Sequence[str], columns: Sequence[str]) -> Table:
    """With numbers before the names of rows where columns have numbers for names."""
    table = _table("gold \\ predicted", *columns)
    for label, number, row in zip(confusion.labels, rows, confusion.counts, strict=True):
        cells = [
            Text(
                f"{count:,}" if count else "·",
                style="dim" if not count else RIGHT if name == label else WRONG,
            )
            for name, count in zip(confusion.labels, row, strict=True)
        ]
        table.add(Text(printable(f"{number:>2} {label}" if number else label)), *cells)
    return table


def slice_lines(slices: Sequence[Slice], what: str, unit: str) -> Shown:
    """The scores of parts of the data, in per cent."""
    counted = any(each.sentences is not None for each in slices)
    names = list(slices[0].scores) if slices else []
    table = _table(what, *(["sentences"] if counted else []), unit, *names)
    for each in slices[:ROWS]:
        row = [f"{each.sentences:,}"] if counted else []
        scores = [f"{100 * score:.2f}" for score in each.scores.values()]
        table.add(Text(printable(each.name)), *row, f"{each.support:,}", *scores)
    return [table, *more(len(slices) - ROWS)]


def comparison_lines(found: Compared, most: int = MOST, width: int = WIDTH) -> Shown:
    """Scores, and sentences in which the two differ."""
    names = [Text(printable(name)) for name in found.names]
    table = _table("", *names, "difference", "p")
    for score in found.scores:
        table.add(
            score.name,
            f"{100 * score.one:.2f}",
            f"{100 * score.other:.2f}",
            f"{100 * score.difference:+.2f} ± {100 * score.error:.2f}",
            f"{score.p:.4f}",
        )
    text = found.in_words(*found.names)
    parts: list[Shown] = [table, Text(), Text(printable(text))]
    for each in found.sentences[:most]:
        parts += [Text(), *_different(found, each, width)]
    return [*parts, *more(len(found.sentences) - most if most else 0)]


def _different(found: Compared, each: DifferentSentence, width: int) -> list[Shown]:
    place = found.where(each.sentence)
    where = f" ({place})" if place else ""
    mistakes = f"{each.one_mistakes} against {plural(each.other_mistakes, 'mistake')}"
    head = Text().append(f"sentence {each.sentence}", style="bold")
    head.append(printable(f"{where}: {mistakes}"), style="dim")
    spans = [Span("", one.start, one.end) for one in each.differences]
    line = Text("  ")
    line.append(marked(each.forms, spans, "cyan", window(each.forms, spans, width - 2)))
    names = ("", "gold", *found.names)
    table = Table(*(Column(Text(printable(name), "bold")) for name in names), left=2, between=4)
    for one in each.differences[:DIFFERENCES]:
        cells = [
            Text(printable(text), style=RIGHT if text == one.gold else WRONG)
            for text in (one.one, one.other)
        ]
        words = " ".join(each.forms[one.start : one.end])
        table.add(Text(printable(words)), Text(printable(one.gold)), *cells)
    return [head, line, table, *more(len(each.differences) - DIFFERENCES)]


def more(count: int) -> list[Shown]:
    """A line that says how many are not shown."""
    return [Text(f"… {count:,} more", style="dim")] if count > 0 else []


def as_text(lines: Shown) -> str:
    """The same without colours."""
    return "\n".join(plain(lines, WIDTH)).rstrip()


def _patterns(found: dict[str, int], room: int) -> Text:
    """As many as there is room for."""
    shown = [f"{name} {count:,}" for name, count in list(found.items())[:PATTERNS]]
    while True:
        rest = len(found) - len(shown)
        text = ", ".join([*shown, *([plural(rest, "other")] if rest else [])])
        if cell_len(text) <= room or len(shown) < 2:
            return Text(printable(text))
        shown.pop()


def _table(*names: str | Text, left: Sequence[int] = (0,)) -> Table:
    """Numbers on the right; the first column, and what is named on the left."""
    columns = [
        Column(Text(printable(str(name)), "dim"), right=place not in left and name != LAST)
        for place, name in enumerate(names)
    ]
    return Table(*columns, left=0)
