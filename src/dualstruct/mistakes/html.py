"""Mistakes, and comparisons, as a page without external files."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from dualstruct.labels.schemes import Span
from dualstruct.mistakes.comparing import Compared, DifferentSentence
from dualstruct.mistakes.judging import Mistakes
from dualstruct.mistakes.results import Confusion, Mistake, Slice
from dualstruct.pages import document
from dualstruct.printable import plural

#: Patterns of each kind that are named, and parts of the data.
PATTERNS, ROWS = 12, 100

STYLE = """\
.example { margin: .6rem 0 .9rem; border-left: 3px solid var(--line); padding-left: .8rem }
.example p { margin: 0 }
.example p.line { display: flex }
.example .side { flex: 0 0 5.5rem; color: var(--soft) }
.place { font-size: .85rem; color: var(--soft) }
mark { background: none; color: var(--right); border-bottom: 2px solid var(--right) }
mark.wrong { color: var(--wrong); border-bottom: 2px dashed var(--wrong) }
mark small { font-size: .7rem; font-weight: 600; margin-left: .25rem }
a { color: var(--right) }
.wide { overflow-x: auto }
.confusion th.top { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left;
  padding: .3rem .1rem }
.confusion td { text-align: right; min-width: 2.2rem; padding: .1rem .3rem;
  font-variant-numeric: tabular-nums }
.confusion td.right { outline: 1px solid var(--line) }
.chip { display: inline-block; border: 1px solid var(--line); border-radius: 1rem;
  padding: 0 .6rem; margin: .1rem .2rem .1rem 0; font-size: .85rem }
td.bar { width: 16rem }
td.bar span { background: var(--wrong) }
td.right { color: var(--right) }
td.wrong { color: var(--wrong) }"""


def page(found: Mistakes, title: str, most: int, seen: Collection[str] | None = None) -> str:
    """Mistakes by kind, confusions, and scores by part of the data."""
    parts = [_scores(found), _kinds(found)]
    parts += [_kind(found, kind, times, most) for kind, times in found.kinds.items()]
    parts.append(confusion(found.confusion(), found.pairs.what))
    by = ["length", *(["document"] if found.has_documents else [])]
    by += ["seen"] if seen is not None else []
    parts += [slices(found.by(each, seen), each, found.pairs.unit) for each in by]
    return document(title, "\n".join(parts), STYLE)


def _scores(found: Mistakes) -> str:
    scores = ", ".join(f"{name} {100 * score:.2f}" for name, score in found.scores.items())
    wrong = f"{plural(len(found), 'mistake')} in {found.wrong_sentences:,}"
    return f"<p>{escape(scores)}; {wrong} of {plural(found.sentences, 'sentence')}</p>"


def _kinds(found: Mistakes) -> str:
    largest = max(found.kinds.values(), default=1)
    rows = [
        f"<tr><td><a href='#{kind}'>{kind}</a></td><td class='number'>{times:,}</td>"
        f"<td class='number'>{100 * times / len(found):.1f} %</td>"
        f"<td class='bar'><span style='width:{100 * times / largest:.1f}%'></span></td></tr>"
        for kind, times in found.kinds.items()
    ]
    return "<table>\n" + "\n".join(rows) + "\n</table>"


def _kind(found: Mistakes, kind: str, times: int, most: int) -> str:
    patterns = found.patterns(kind)
    chips = [
        f"<span class='chip'>{escape(name)} <b>{count:,}</b></span>"
        for name, count in list(patterns.items())[:PATTERNS]
    ]
    if len(patterns) > PATTERNS:
        chips.append(f"<span class='soft'>{len(patterns) - PATTERNS} others</span>")
    shown = found.examples(kind, most)
    examples = "\n".join(_example(found, each) for each in shown)
    some = "" if len(shown) == times else f", {len(shown)} of {times:,}"
    return (
        f"<section>\n<h2 id='{kind}'>{kind} <span class='soft'>{times:,}</span></h2>\n"
        f"<p>{''.join(chips)}</p>\n<details open><summary>examples{some}</summary>\n"
        f"{examples}\n</details>\n</section>"
    )


def _example(found: Mistakes, mistake: Mistake) -> str:
    forms = found.forms(mistake.sentence)
    place = found.where(mistake)
    where = f"sentence {mistake.sentence}" + (f", {escape(place)}" if place else "")
    gold = marked(forms, mistake.gold_spans, "right")
    predicted = marked(forms, mistake.predicted_spans, "wrong")
    return (
        f"<div class='example'>\n<p class='place'>{escape(mistake.pattern)} · {where}</p>\n"
        f"<p class='line'><span class='side'>gold</span><span>{gold}</span></p>\n"
        f"<p class='line'><span class='side'>predicted</span><span>{predicted}</span></p>\n</div>"
    )


def marked(forms: Sequence[str], spans: Sequence[Span], kind: str) -> str:
    """Words with spans marked, and their types."""
    words = [escape(form) for form in forms]
    for span in spans:
        words[span.start] = f"<mark class='{kind}'>{words[span.start]}"
        name = f"<small>{escape(span.type)}</small>" if span.type else ""
        words[span.end - 1] += f"{name}</mark>"
    return " ".join(words)


def confusion(found: Confusion, what: str) -> str:
    """What is true in rows, what was predicted in columns."""
    wrong = max((count for _, _, count in found.most_frequent(1)), default=1)
    head = "".join(f"<th class='top'>{escape(name)}</th>" for name in found.labels)
    rows = []
    for label, row in zip(found.labels, found.counts, strict=True):
        cells = []
        for name, count in zip(found.labels, row, strict=True):
            if name == label:
                cells.append(f"<td class='right'>{count:,}</td>")
                continue
            share = round(65 * count / wrong)
            paint = f"color-mix(in srgb, var(--wrong) {share}%, transparent)"
            style = f" style='background:{paint}'" if count else ""
            cells.append(f"<td{style}>{f'{count:,}' if count else ''}</td>")
        rows.append(f"<tr><th>{escape(label)}</th>{''.join(cells)}</tr>")
    return (
        f"<h2>Confusions of {what}</h2>\n<p class='soft'>Rows: what is true. Columns: what was "
        f"predicted.</p>\n<div class='wide'><table class='confusion'>\n<tr><th></th>{head}</tr>\n"
        + "\n".join(rows)
        + "\n</table></div>"
    )


def slices(found: Sequence[Slice], what: str, unit: str) -> str:
    """The scores of parts of the data."""
    names = list(found[0].scores) if found else []
    counted = any(each.sentences is not None for each in found)
    titles = [*(["sentences"] if counted else []), unit, *names]
    head = "".join(f"<th class='number'>{escape(name)}</th>" for name in titles)
    rows = []
    for each in found[:ROWS]:
        cells = [f"{each.sentences:,}"] if counted else []
        cells += [f"{each.support:,}", *(f"{100 * score:.2f}" for score in each.scores.values())]
        numbers = "".join(f"<td class='number'>{cell}</td>" for cell in cells)
        rows.append(f"<tr><td>{escape(each.name)}</td>{numbers}</tr>")
    rest = len(found) - ROWS
    more = f"<p class='soft'>… {rest:,} more</p>" if rest > 0 else ""
    return (
        f"<h2>By {what}</h2>\n<table>\n<tr><th>{what}</th>{head}</tr>\n"
        + "\n".join(rows)
        + f"\n</table>{more}"
    )


def comparison_page(found: Compared, title: str, most: int) -> str:
    """Scores, and sentences in which two predictions differ."""
    one, other = map(escape, found.names)
    rows = "\n".join(
        f"<tr><td>{each.name}</td><td class='number'>{100 * each.one:.2f}</td>"
        f"<td class='number'>{100 * each.other:.2f}</td>"
        f"<td class='number'>{100 * each.difference:+.2f} ± {100 * each.error:.2f}</td>"
        f"<td class='number'>{each.p:.4f}</td></tr>"
        for each in found.scores
    )
    head = "".join(f"<th class='number'>{name}</th>" for name in (one, other, "difference", "p"))
    text = found.in_words(one, other)
    sentences = "\n".join(_different(found, each) for each in found.sentences[:most])
    return document(
        title,
        f"<table>\n<tr><th></th>{head}</tr>\n{rows}\n</table>\n<p>{text}</p>\n{sentences}",
        STYLE,
    )


def _different(found: Compared, each: DifferentSentence) -> str:
    place = found.where(each.sentence)
    where = f"sentence {each.sentence}" + (f", {escape(place)}" if place else "")
    words = marked(each.forms, [Span("", d.start, d.end) for d in each.differences], "right")
    rows = []
    for one in each.differences:
        cells = "".join(
            f"<td class='{'right' if text == one.gold else 'wrong'}'>{escape(text)}</td>"
            for text in (one.one, one.other)
        )
        form = escape(" ".join(each.forms[one.start : one.end]))
        rows.append(f"<tr><td>{form}</td><td>{escape(one.gold)}</td>{cells}</tr>")
    names = "".join(f"<th>{escape(name)}</th>" for name in ("", "gold", *found.names))
    return (
        f"<div class='example'>\n<p class='place'>{where}: {each.one_mistakes} against "
        f"{plural(each.other_mistakes, 'mistake')}</p>\n<p>{words}</p>\n<table>\n"
        f"<tr>{names}</tr>\n" + "\n".join(rows) + "\n</table>\n</div>"
    )
