"""Label schemes: how labels such as ``B-LOC`` and ``I-LOC`` mark spans of tokens.

A label is read as prefix and type (`split_label`). Which tokens form a span is decided as in
conlleval, the script of the CoNLL shared tasks, so that broken label sequences give the same
spans, and the same scores, as everywhere else:

- a span starts at a token inside (not ``O``) if the token before it is outside, has another
  type or closes its span (``E``, ``L``, ``S``, ``U``), or if the token itself begins one
  (``B``, ``S``, ``U``);
- a span ends before the next token that is outside or starts a span.

conlleval of 2004 knows neither ``S`` nor an ``E`` before a ``B``. The rules above are its own
for IOB and IOE labels, completed in the usual way for BIOES; BILOU is BIOES with ``L`` for
``E`` and ``U`` for ``S``.

GROBID writes ``I-<x>`` where a field x begins and ``<x>`` where it continues; every token is in a
field, and ``<other>`` is what is outside. So ``I-<x>`` is read as a beginning, ``<x>`` as inside,
where all labels are of these two forms (`split_labels`). Beside an ``O`` or a ``B-<x>`` they are
labels like others, whose types have brackets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from dualstruct.errors import InputError

if TYPE_CHECKING:  # the command line shows the schemes without numpy
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "SCHEMES",
    "Scheme",
    "Span",
    "allowed_transitions",
    "are_span_labels",
    "convert_scheme",
    "detect_scheme",
    "iob1_signs",
    "spans",
    "split_label",
    "split_labels",
]

Scheme = Literal["iob1", "iob2", "bilou", "bioes", "grobid"]
#: The schemes, those that allow the least first.
SCHEMES: tuple[Scheme, ...] = ("bilou", "bioes", "iob2", "grobid", "iob1")

# The prefixes of each scheme: (first of several, inside, last of several, only token).
# IOB has no prefix of its own for the last token, and marks a single one as a first one.
_PREFIXES: dict[Scheme, tuple[str, str, str, str]] = {
    "iob1": ("B", "I", "I", "B"),
    "iob2": ("B", "I", "I", "B"),
    "bilou": ("B", "I", "L", "U"),
    "bioes": ("B", "I", "E", "S"),
    "grobid": ("B", "I", "I", "B"),
}
_OTHER = "<other>"
_ALL_PREFIXES = frozenset("BIESLU")
BEGINNING_PREFIXES = frozenset({"B", "S", "U", ""})
CLOSING_PREFIXES = frozenset({"E", "L", "S", "U", ""})


class Span(NamedTuple):
    """The tokens ``start`` to ``end - 1`` of a sentence, and what they are."""

    type: str
    start: int
    end: int


def split_label(label: str) -> tuple[str, str]:
    """Split a label into its prefix and its type.

    The prefix ends at the first hyphen, so types may contain hyphens. A bare prefix has the
    empty type. A plain label (a part of speech, say) has the empty prefix and is its own type.

    Examples
    --------
    >>> split_label("B-creative-work"), split_label("O"), split_label("I"), split_label("NN-TL")
    (('B', 'creative-work'), ('O', ''), ('I', ''), ('', 'NN-TL'))
    >>> split_label("I-<date>"), split_label("<date>"), split_label("<other>")
    (('B', '<date>'), ('I', '<date>'), ('O', ''))
    """
    if _is_field(label):
        prefix, field = _split_field(label)
        return ("O", "") if field == _OTHER else (prefix, field)
    return _split_prefix(label)


def split_labels(labels: Iterable[str]) -> list[tuple[str, str]]:
    """Split the labels of a model, a corpus or a sentence, which say together what they are.

    Examples
    --------
    >>> split_labels(["I-<date>", "<date>"]), split_labels(["B-<date>", "I-<date>"])
    ([('B', '<date>'), ('I', '<date>')], [('B', '<date>'), ('I', '<date>')])
    """
    labels = list(labels)
    return list(map(split_label if all(map(_is_field, labels)) else _split_prefix, labels))


def _split_prefix(label: str) -> tuple[str, str]:
    if label == "O":
        return "O", ""
    prefix, hyphen, type_ = label.partition("-")
    if prefix in _ALL_PREFIXES and bool(hyphen) == bool(type_):
        return prefix, type_
    return "", label


def _is_field(label: str) -> bool:
    """Whether a label is one of GROBID's."""
    return label.startswith(("<", "I-<")) and label.endswith(">")


def _split_field(label: str) -> tuple[str, str]:
    field = label.removeprefix("I-")
    return "I" if field == label else "B", field


def are_span_labels(labels: Iterable[str]) -> bool:
    """Say whether labels mark spans: all of them can be read so, and one is not ``O``.

    Examples
    --------
    >>> are_span_labels({"O", "B-LOC", "I-LOC"}), are_span_labels({"O", "V", "N", "S"})
    (True, False)
    """
    prefixes = {prefix for prefix, _ in split_labels(labels)}
    return "" not in prefixes and bool(prefixes - {"O"})


def spans(labels: Sequence[str]) -> list[Span]:
    """Find the spans of one sentence, by conlleval's rules (see the top of this file).

    A plain label is a span of one token, as with conlleval's option ``-r``.

    Parameters
    ----------
    labels
        The labels of one sentence; broken sequences are read as conlleval reads them.

    Returns
    -------
    list of Span
        From left to right; ``labels[span.start:span.end]`` are a span's labels.

    Examples
    --------
    >>> spans(["B-LOC", "I-LOC", "I-PER", "O"])
    [Span(type='LOC', start=0, end=2), Span(type='PER', start=2, end=3)]
    """
    _refuse_text(labels)
    return _spans(split_labels(labels))


def _spans(pairs: list[tuple[str, str]]) -> list[Span]:
    found: list[Span] = []
    prefix_before, type_before = "O", ""
    start = 0
    for token, (prefix, type_) in enumerate([*pairs, ("O", "")]):
        boundary = (
            "O" in (prefix_before, prefix)
            or type_ != type_before
            or prefix in BEGINNING_PREFIXES
            or prefix_before in CLOSING_PREFIXES
        )
        if boundary:
            if prefix_before != "O":
                found.append(Span(type_before, start, token))
            start = token
        prefix_before, type_before = prefix, type_
    return found


def detect_scheme(
    sequences: Iterable[Sequence[str]],
    labels: Collection[str] | None = None,
    signs: tuple[bool, bool] | None = None,
) -> Scheme | None:
    """Find out which scheme label sequences are written in.

    The prefixes give away ``bilou`` and ``bioes``. Labels with ``B`` and ``I`` only are ``iob1`` if
    somewhere an ``I`` starts a span and every ``B`` parts two neighbours of one type, else
    ``iob2``. Sequences with a mistake in them are not refused here but by `convert_scheme`.

    Parameters
    ----------
    sequences
        The labels of each sentence.
    labels
        All labels there are, if the sequences are only a sample of the data.
    signs
        What `iob1_signs` says of all the data, in the same case.

    Returns
    -------
    str or None
        None if the labels mark no spans, or mark them in none of the schemes.

    Examples
    --------
    >>> detect_scheme([["I-LOC", "B-LOC", "O"]]), detect_scheme([["B-LOC", "I-LOC"]])
    ('iob1', 'iob2')
    >>> detect_scheme([["U-LOC", "O"]]), detect_scheme([["NN", "VB"]])
    ('bilou', None)
    """
    sequences = list(sequences)
    for sequence in sequences:
        _refuse_text(sequence)
    known = {label for sequence in sequences for label in sequence}.union(labels or ())
    if not are_span_labels(known):
        return None
    if all(map(_is_field, known)):
        return "grobid"
    prefixes = {prefix for prefix, _ in split_labels(known)} - {"O"}
    if prefixes <= {"B", "I"}:
        speaks_for, speaks_against = iob1_signs(sequences) if signs is None else signs
        return "iob1" if speaks_for and not speaks_against else "iob2"
    family: tuple[Scheme, ...] = ("bilou", "bioes")
    for scheme in family:
        # Nothing can be inside or last without a first: I and E alone are IOE.
        first, _, _, only = _PREFIXES[scheme]
        complete = first in prefixes or prefixes == {only}
        if complete and prefixes <= set(_PREFIXES[scheme]):
            return scheme
    return None


def iob1_signs(sequences: Iterable[Sequence[str]]) -> tuple[bool, bool]:
    """Whether somewhere an ``I`` starts a span, and whether a ``B`` does that need not."""
    some_inside_starts = some_beginning_starts = False
    for sequence in sequences:
        before = ("O", "")
        for prefix, type_ in map(_split_prefix, sequence):
            continues = before[0] != "O" and before[1] == type_
            some_beginning_starts |= prefix == "B" and not continues
            some_inside_starts |= prefix == "I" and not continues
            before = prefix, type_
    return some_inside_starts, some_beginning_starts


def convert_scheme(
    sequences: Iterable[Sequence[str]], to: Scheme, source: Scheme | None = None
) -> list[list[str]]:
    """Write label sequences in another scheme; converting back gives the same labels again.

    Parameters
    ----------
    sequences
        The labels of each sentence.
    to
        The scheme to write.
    source
        The scheme the sequences are written in; found by `detect_scheme` if not given.

    Raises
    ------
    InputError
        If a label does not fit the source scheme at its place. Sentence and token are named.

    Notes
    -----
    GROBID's ``<other>`` is ``O`` in the other schemes; neighbours that are both ``<other>`` become
    one on the way back.

    Examples
    --------
    >>> convert_scheme([["B-LOC", "I-LOC", "O", "B-PER"]], "bilou")
    [['B-LOC', 'L-LOC', 'O', 'U-PER']]
    """
    _check_scheme(to)
    sequences = list(sequences)
    known = sorted({label for sequence in sequences for label in sequence})
    if source is None:
        source = detect_scheme(sequences)
        if source is None:
            if all(label == "O" for label in known):
                return [list(sequence) for sequence in sequences]
            raise InputError(
                f"the labels ({_few(known)}) are in none of the schemes {', '.join(_PREFIXES)}; "
                "only labels that mark spans, such as 'B-LOC', can be converted"
            )
    _check_scheme(source)
    fitting = [label for label in known if _fits(label, source)]
    allowed = allowed_transitions(fitting, source)
    ids = {label: k for k, label in enumerate(fitting)}
    read = split_label if source == "grobid" else _split_prefix
    converted = []
    for i, sequence in enumerate(sequences):
        _refuse_text(sequence)
        _check_sequence(sequence, ids, allowed, source, sentence=i + 1)
        found = _spans(list(map(read, sequence)))
        if (source == "grobid") != (to == "grobid"):
            found = [_renamed(span, to) for span in found]
        converted.append(_write(found, len(sequence), to))
    return converted


def _renamed(span: Span, to: Scheme) -> Span:
    """The same with its type in brackets, as GROBID writes it, or without."""
    return span._replace(type=f"<{span.type}>" if to == "grobid" else span.type[1:-1])


def _check_sequence(
    sequence: Sequence[str],
    ids: dict[str, int],
    allowed: NDArray[np.bool_],
    scheme: Scheme,
    sentence: int,
) -> None:
    edge = len(ids)
    advice = "correct the labels, or name the scheme they are written in with source="
    before = edge
    for t, label in enumerate(sequence):
        where = f"sentence {sentence}, token {t + 1} (counted from 1)"
        if label not in ids:
            raise InputError(f"{where}: {label!r} is not a label of the scheme {scheme}; {advice}")
        if not allowed[before, ids[label]]:
            place = "start a sentence" if t == 0 else f"follow {sequence[t - 1]!r}"
            raise InputError(f"{where}: {label!r} may not {place} in {scheme}; {advice}")
        before = ids[label]
    if not allowed[before, edge]:
        raise InputError(
            f"sentence {sentence}, token {len(sequence)} (counted from 1): {sequence[-1]!r} may "
            f"not end a sentence in {scheme}; {advice}"
        )


def _write(found: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    labels = ["O"] * length
    before = Span("", -1, -1)
    for span in found:
        first, inside, last, only = _PREFIXES[scheme]
        parts_neighbours = before.end == span.start and before.type == span.type
        if scheme == "iob1" and not parts_neighbours:
            first = only = inside
        size = span.end - span.start
        prefixes = [only] if size == 1 else [first, *[inside] * (size - 2), last]
        ending = f"-{span.type}" if span.type else ""
        if scheme == "grobid":
            labels[span.start : span.end] = _fields(span.type, size)
        else:
            labels[span.start : span.end] = [prefix + ending for prefix in prefixes]
        before = span
    if scheme == "grobid":
        for t, label in enumerate(labels):
            if label == "O":
                outside = t > 0 and labels[t - 1].endswith(_OTHER)
                labels[t] = _OTHER if outside else f"I-{_OTHER}"
    return labels


def _fields(field: str, size: int) -> list[str]:
    return [f"I-{field}", *[field] * (size - 1)]


def allowed_transitions(labels: Sequence[str], scheme: Scheme) -> NDArray[np.bool_]:
    """Say which label may follow which, so that every path is a valid sequence of the scheme.

    Parameters
    ----------
    labels
        The K labels, in the order of their ids.
    scheme
        The scheme they belong to.

    Returns
    -------
    ndarray of bool, [K + 1, K + 1]
        ``[j, k]`` is True if label k may follow label j. Row K is the start of the sentence,
        column K its end.

    Raises
    ------
    InputError
        If a label does not belong to the scheme.

    Examples
    --------
    >>> allowed_transitions(["O", "B-LOC", "I-LOC"], "iob2").astype(int)
    array([[1, 1, 0, 1],
           [1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 1, 0, 1]])
    """
    import numpy as np

    _check_scheme(scheme)
    _refuse_text(labels)
    for label in labels:
        if not _fits(label, scheme):
            raise InputError(f"the label {label!r} does not belong to the scheme {scheme}")
    # Both edges of the sentence behave like O: outside of every span.
    read = _split_field if scheme == "grobid" else _split_prefix
    pairs = [*map(read, labels), ("O", "")]
    type_ids = {type_: n for n, type_ in enumerate(dict.fromkeys(type_ for _, type_ in pairs))}
    types = np.array([type_ids[type_] for _, type_ in pairs])

    def have(prefixes: str) -> NDArray[np.bool_]:
        return np.array([prefix in prefixes for prefix, _ in pairs])

    opened = have("BI")[:, None]  # [K + 1, 1]: the label before is in a span that may continue
    same_span: NDArray[np.bool_] = opened & (types[:, None] == types)  # [K + 1, K + 1]
    if scheme in ("iob2", "grobid"):
        return np.where(have("I"), same_span, True)
    if scheme == "iob1":
        return np.where(have("B"), same_span, True)
    return np.where(have("IEL"), same_span, ~opened)


def _fits(label: str, scheme: Scheme) -> bool:
    if scheme == "grobid":
        return _is_field(label)
    return label == "O" or _split_prefix(label)[0] in _PREFIXES[scheme]


def _check_scheme(scheme: str) -> None:
    if scheme not in get_args(Scheme):
        raise InputError(f"unknown label scheme {scheme!r}; choose one of {', '.join(_PREFIXES)}")


def _refuse_text(labels: Sequence[str]) -> None:
    # A string is a sequence of strings too, and would be read letter by letter.
    if isinstance(labels, str):
        raise InputError(
            f"expected a list of labels for each sentence, but got the text {labels!r}"
        )


def _few(labels: Sequence[str]) -> str:
    return ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
