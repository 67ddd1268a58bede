"""One object of JSON with a text and its spans, in the spellings of many tools.

Prodigy: ``text``, ``spans`` of ``start``, ``end``, ``label``, and ``answer``. doccano: ``label`` or
``labels`` of ``[start, end, label]``, or ``entities`` of ``start_offset``, ``end_offset``.
LightTag: ``content``, ``annotations`` with ``tag``. Label Studio's short form: ``label``.
GLiNER: ``tokenized_text``, ``ner`` of ``[first, last, label]``. spaCy: ``[text, {"entities":
[[start, end, label]]}]``. And words with a label each: ``tokens``, ``ner_tags`` or ``labels``; or
a text with ``tokens`` of ``start``, ``end`` and ``label``.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from dualstruct.errors import InputError
from dualstruct.printable import plural
from dualstruct.texts.documents import Document, TextSpan, joined, named, shortened

__all__ = ["checked_span", "document_of", "span_list"]

TEXT = ("text", "content", "data", "sentence")
SPANS = ("spans", "entities", "ents", "label", "labels", "annotations", "annotation", "ner")
WORDS = ("tokens", "words", "tokenized_text")
WORD_LABELS = ("ner_tags", "labels", "tags", "label", "pos_tags", "ner")
START = ("start", "start_offset", "begin", "start_char", "from", "offset")
END = ("end", "end_offset", "stop", "end_char", "to")
LABEL = ("label", "labels", "tag", "type", "entity", "entity_type", "entity_group", "class", "name")
#: Prodigy's: what an annotator did not accept is no annotation.
_NOT_ACCEPTED = ("reject", "ignore")
_ABSENT = object()


def document_of(value: Any, where: str, label: str | None = None) -> Document | None:
    """The document of one object, None if it was not accepted; ``label`` names its spans."""
    if isinstance(value, list):  # spaCy's pairs
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
            value = {"text": value[0], **value[1]}
        else:
            raise InputError(f"{where}: an object with a text is expected, not a list")
    if not isinstance(value, dict):
        raise InputError(f"{where}: an object with a text is expected, not {shortened(str(value))}")
    if value.get("answer") in _NOT_ACCEPTED:
        return None
    text = _first(value, TEXT, str)
    if text is None:
        return _of_words(value, where, label)
    names = SPANS if label is None else (label,)
    key = next((name for name in names if isinstance(value.get(name), list | dict)), None)
    spans = None
    if key is not None:
        spans = span_list(value[key], text[1], f"{where}: {key}")
    elif label is None and (tokens := _labelled_tokens(value, text[1], where)) is not None:
        tokens.metadata = {k: v for k, v in value.items() if k not in (text[0], "tokens", "answer")}
        return tokens
    kept = {k: v for k, v in value.items() if k not in (text[0], key, "tokens", "answer")}
    document = Document(text[1], spans, metadata=kept, where=where)
    document.check()
    return document


def _labelled_tokens(value: dict[str, Any], text: str, where: str) -> Document | None:
    """Tokens with a label each, as we write parts of speech; None where they have none."""
    given = value.get("tokens")
    if not isinstance(given, list) or not given:
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("label"), str) for one in given):
        return None
    found = span_list(given, text, f"{where}: tokens")
    firsts = [k for k, one in enumerate(given) if k and one.get("sent_start")]
    places = [(each.start, each.end) for each in found]
    labels = [each.label for each in found]
    document = Document(text, found, places, [0, *firsts, len(found)], labels, where=where)
    document.check()
    for one, other in pairwise(found):
        if other.start < one.end:
            both = f"{named(one, text)} and {named(other, text)}"
            raise InputError(f"{where}: the tokens {both} are not one after the other")
    document.spans = None
    return document


def span_list(given: Any, text: str, where: str) -> list[TextSpan]:
    """Spans in any of their spellings; ``where`` names the list in messages."""
    if isinstance(given, dict):
        raise InputError(f"{where} is an object; a list of spans is expected")
    return [_span(one, text, f"{where}[{k}]") for k, one in enumerate(given)]


def _span(one: Any, text: str, where: str) -> TextSpan:
    said = None
    probability = None
    if isinstance(one, list | tuple):
        if len(one) < 3:
            raise InputError(
                f"{where} has {plural(len(one), 'entry')}; start, end and label are expected"
            )
        start, end, label = one[:3]
    elif isinstance(one, dict):
        points = one.get("points")
        if isinstance(points, list) and len(points) == 1 and isinstance(points[0], dict):
            one = {**points[0], **one}  # the end of a point is its last character
            if isinstance(one.get("end"), int):
                one["end"] += 1
        start, end, label = (_field(one, names, where) for names in (START, END, LABEL))
        said, probability = one.get("text"), one.get("probability")
    else:
        raise InputError(f"{where} is {shortened(str(one))}; a span is expected")
    if isinstance(label, list) and len(label) == 1:
        label = label[0]
    for number, what in ((start, "start"), (end, "end")):
        if type(number) is not int:
            raise InputError(f"{where}: its {what} is {shortened(str(number))}, not a whole number")
    if not isinstance(label, str):
        raise InputError(f"{where}: its label is {shortened(str(label))}, not a text")
    sure = probability if isinstance(probability, float | int) else None
    span = TextSpan(start, end, label, sure)
    return checked_span(span, text, said, where)


def checked_span(span: TextSpan, text: str, said: Any, where: str) -> TextSpan:
    """The span, whose text is what is said; some tools count in units of UTF-16."""
    if not isinstance(said, str) or _same(text[max(span.start, 0) : max(span.end, 0)], said):
        return span
    units = text.encode("utf-16-le")
    if 0 <= span.start < span.end <= len(units) // 2:
        before = units[: 2 * span.start].decode("utf-16-le", "replace")
        within = units[2 * span.start : 2 * span.end].decode("utf-16-le", "replace")
        if _same(within, said):
            return span._replace(start=len(before), end=len(before) + len(within))
    raise InputError(
        f"{where}: its text is {shortened(said)}, and characters {named(span)} are "
        f"{shortened(text[max(span.start, 0) : max(span.end, 0)])}; are the places counted from 0?"
    )


def _same(text: str, said: str) -> bool:
    return text == said or text.split() == said.split()


def _of_words(value: dict[str, Any], where: str, label: str | None) -> Document:
    found = _first(value, WORDS, list)
    if found is None:
        raise InputError(
            f"{where}: there is no text; it should be called text, and its spans spans: "
            '{"text": "Ada sings", "spans": [{"start": 0, "end": 3, "label": "PER"}]}'
        )
    name, words = found
    if not all(isinstance(word, str) and word.strip() == word != "" for word in words):
        raise InputError(f"{where}: {name} should be words without spaces around them")
    labels = WORD_LABELS if label is None else (label,)
    key = next((each for each in labels if isinstance(value.get(each), list)), None)
    kept = {k: v for k, v in value.items() if k not in (name, key)}
    document = joined([words] if words else [], metadata=kept, where=where)
    if key is None:
        pass
    elif value[key] and all(type(one) is int for one in value[key]):
        raise InputError(
            f"{where}: {key} are numbers; write their names, which a dataset of Hugging Face has "
            f'in dataset.features["{key}"].feature.names'
        )
    elif key == "ner" or not all(isinstance(one, str) for one in value[key]):
        document.spans = _token_spans(value[key], document, f"{where}: {key}")
    elif len(value[key]) != len(words):
        raise InputError(
            f"{where}: {name} has {plural(len(words), 'entry')}, but {key} has {len(value[key])}"
        )
    else:
        document.labels = list(value[key])
    document.check()
    return document


def _token_spans(given: list[Any], document: Document, where: str) -> list[TextSpan]:
    """GLiNER's: the numbers of the first and the last word."""
    places = document.places
    found = []
    for k, one in enumerate(given):
        fits = isinstance(one, list) and len(one) == 3 and isinstance(one[2], str)
        if not fits or type(one[0]) is not int or type(one[1]) is not int:
            raise InputError(f"{where}[{k}]: first word, last word and label are expected")
        first, last, label = one
        if not 0 <= first <= last < len(places):
            raise InputError(f"{where}[{k}]: there are no words {first} to {last}")
        found.append(TextSpan(places[first][0], places[last][1], label))
    return found


def _first(value: dict[str, Any], names: tuple[str, ...], kind: type) -> tuple[str, Any] | None:
    return next(((name, value[name]) for name in names if isinstance(value.get(name), kind)), None)


def _field(one: dict[str, Any], names: tuple[str, ...], where: str) -> Any:
    for name in names:
        if (found := one.get(name, _ABSENT)) is not _ABSENT:
            return found
    raise InputError(f"{where} has no {names[0]}")
