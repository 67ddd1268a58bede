"""Edit scripts: labels that say how to make a lemma from a form.

A script has how the case changes, what is cut off at the beginning and put there, and the same at
the end: ``"l|0+|3+y"`` makes ``city`` of ``Cities``. A form and lemma with little in common are
kept as they are: ``"=|be"``.
"""

from __future__ import annotations

__all__ = ["apply_script", "script_of", "shared_prefix"]

_SEPARATOR = "|"
_WHOLE = "="


def shared_prefix(a: str, b: str) -> int:
    """How many characters two strings begin with both.

    >>> shared_prefix("walked", "walking")
    4
    """
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return k
    return min(len(a), len(b))


def script_of(form: str, lemma: str) -> str:
    """The script that makes a lemma of a form.

    >>> script_of("walking", "walk"), script_of("Cities", "city"), script_of("is", "be")
    ('k|0+|3+', 'l|0+|3+y', '=|be')
    """
    lower = form.lower()
    if len(lower) != len(form):
        return f"{_WHOLE}{_SEPARATOR}{lemma}"
    case, written = ("k", form) if _overlap(form, lemma) >= _overlap(lower, lemma) else ("l", lower)
    begin, place, length = _longest_common(written, lemma)
    if length == 0 or (length < 2 < len(lemma) and length * 3 < len(lemma)):
        return f"{_WHOLE}{_SEPARATOR}{lemma}"
    front = f"{begin}+{lemma[:place]}"
    back = f"{len(form) - begin - length}+{lemma[place + length :]}"
    script = _SEPARATOR.join([case, front, back])
    plain = _SEPARATOR not in lemma and apply_script(form, script) == lemma
    return script if plain else f"{_WHOLE}{_SEPARATOR}{lemma}"


def apply_script(form: str, script: str) -> str:
    """The lemma that a script makes of a form; the form itself where it does not fit.

    >>> apply_script("talking", "k|0+|3+"), apply_script("is", "=|be"), apply_script("a", "k|0+|3+")
    ('talk', 'be', 'a')
    """
    kind, _, rest = script.partition(_SEPARATOR)
    if kind == _WHOLE:
        return rest or form
    front, _, back = rest.partition(_SEPARATOR)
    (cut, _, put), (cut_back, _, put_back) = front.partition("+"), back.partition("+")
    if not (cut.isdecimal() and cut_back.isdecimal()):
        return form
    written = form.lower() if kind == "l" else form
    begin, end = int(cut), len(written) - int(cut_back)
    if begin > end or (begin == end and not put and not put_back):
        return form
    return (put + written[begin:end] + put_back) or form


def _overlap(a: str, b: str) -> int:
    return _longest_common(a, b)[2]


def _longest_common(a: str, b: str) -> tuple[int, int, int]:
    """Where the longest piece that both have begins in each, and its length; the first of them."""
    best = (0, 0, 0)
    before = [0] * (len(b) + 1)  # lengths of pieces that end before here
    for i, x in enumerate(a):
        here = [0] * (len(b) + 1)
        for j, y in enumerate(b):
            if x == y:
                here[j + 1] = before[j] + 1
                if here[j + 1] > best[2]:
                    best = (i + 1 - here[j + 1], j + 1 - here[j + 1], here[j + 1])
        before = here
    return best
