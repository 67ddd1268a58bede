"""Which words a multiword token stands for: as in training, or by its ending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dualstruct.labels.scripts import shared_prefix

__all__ = ["Expansions"]


class Expansions:
    """The words of multiword tokens.

    A form that training had is divided as most often there, in another case too. Otherwise its
    longest ending that a known form has says how: what stands before the ending is the beginning of
    the first word. A form with no such ending stays one word.

    Examples
    --------
    >>> known = Expansions({"don't": ["do", "n't"], "zum": ["zu", "dem"]})
    >>> known.words_of("Don't"), known.words_of("mustn't"), known.words_of("Zum")
    (['Do', "n't"], ['must', "n't"], ['Zu', 'dem'])
    >>> known.words_of("word")
    ['word']
    """

    def __init__(self, known: dict[str, list[str]]) -> None:
        self.known = known
        self._lower = {form.lower(): form for form in reversed(list(known))}
        counts: dict[str, Counter[tuple[str, ...]]] = {}
        for form, words in known.items():
            shared = shared_prefix(form, words[0])
            ending, script = form[shared:].lower(), (words[0][shared:], *words[1:])
            if ending:
                counts.setdefault(ending, Counter())[script] += 1
        self._endings = {ending: each.most_common(1)[0][0] for ending, each in counts.items()}

    @classmethod
    def learned(cls, examples: Iterable[tuple[str, list[str]]]) -> Expansions:
        """From multiword tokens with their words."""
        counts: dict[str, Counter[tuple[str, ...]]] = {}
        for form, words in examples:
            counts.setdefault(form, Counter())[tuple(words)] += 1
        return cls({form: list(each.most_common(1)[0][0]) for form, each in sorted(counts.items())})

    def words_of(self, form: str) -> list[str]:
        """The words of a form; itself alone if it is not known to have several."""
        if form in self.known:
            return self.known[form]
        lower = form.lower()
        if lower in self._lower and len(lower) == len(form):
            return _in_case(form, self.known[self._lower[lower]])
        for cut in range(1, len(form)):
            script = self._endings.get(form[cut:].lower())
            if script is not None:
                return _in_case(form, [form[:cut] + script[0], *script[1:]])
        return [form]


def _in_case(form: str, words: list[str]) -> list[str]:
    """Words in the case of the form that they stand for."""
    if "".join(words).lower() == form.lower():  # they are pieces of it
        pieces, place = [], 0
        for word in words:
            pieces.append(form[place : place + len(word)])
            place += len(word)
        return pieces
    if form.isupper() and len(form) > 1:
        return [word.upper() for word in words]
    if form[:1].isupper():
        return [words[0][:1].upper() + words[0][1:], *words[1:]]
    return words
