"""Lists of phrases and patterns as first suggestions: what they find in sentences becomes drafts.

A sentence in which nothing is found gets no draft: lists are never whole, and their silence says
nothing. For the same reason the words around what is found count half.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dualstruct.errors import InputError
from dualstruct.features.gazetteers import GazetteerFile, read_phrases
from dualstruct.labelling.sentences import Draft, Sentence
from dualstruct.labels.schemes import Span

__all__ = ["Rules"]

#: What tokens count where nothing is found, beside 1 where something is.
SILENT = 0.5


@dataclass(frozen=True)
class Rules:
    """What is looked for.

    Examples
    --------
    >>> rules = Rules.parse([], ["YEAR=[12][0-9]{3}"], ["YEAR"])
    >>> rules.draft(Sentence(1, "", "in 1815 .", [(0, 2), (3, 7), (8, 9)])).labels
    ('O', 'B-YEAR', 'O')
    """

    phrases: dict[tuple[str, ...], str]  #: folded words, and the label of each phrase
    exact: dict[tuple[str, ...], str]  #: the same of lists where case matters
    patterns: list[tuple[str, re.Pattern[str]]]

    @classmethod
    def parse(
        cls, gazetteers: Sequence[str], patterns: Sequence[str], labels: Sequence[str]
    ) -> Rules:
        """From ``LABEL=FILE`` and ``LABEL=REGEX``, with labels of a project."""
        made = cls({}, {}, [])
        for given in gazetteers:
            label, file = _split(given, "--gazetteer", "FILE", labels)
            asked = GazetteerFile.parse(file, f"--gazetteer {given}")
            if not Path(asked.file).is_file():
                raise InputError(f"--gazetteer {given}: {asked.file} does not exist")
            for phrase in read_phrases(asked.file, asked.column):
                words = tuple(phrase.split())
                if asked.exact:
                    made.exact[words] = label
                else:
                    made.phrases[tuple(word.casefold() for word in words)] = label
        for given in patterns:
            label, pattern = _split(given, "--pattern", "REGEX", labels)
            try:
                made.patterns.append((label, re.compile(pattern)))
            except re.error as problem:
                raise InputError(f"--pattern {given}: no regular expression: {problem}") from None
        return made

    def draft(self, sentence: Sentence) -> Draft | None:
        """Spans that are found, the longest first; None where there is none."""
        found = sorted(
            (*self._listed(sentence.words), *self._matching(sentence)),
            key=lambda span: (span.start - span.end, span.start),
        )
        labels = ["O"] * len(sentence.tokens)
        for type_, start, end in found:
            if all(label == "O" for label in labels[start:end]):
                labels[start:end] = [f"B-{type_}", *([f"I-{type_}"] * (end - start - 1))]
        if not found:
            return None
        return Draft(tuple(labels), tuple(SILENT if label == "O" else 1.0 for label in labels))

    def _listed(self, words: Sequence[str]) -> Iterator[Span]:
        folded = [word.casefold() for word in words]
        for known, row in ((self.phrases, folded), (self.exact, list(words))):
            longest = max(map(len, known), default=0)
            for start in range(len(row)):
                for end in range(start + 1, min(start + longest, len(row)) + 1):
                    label = known.get(tuple(row[start:end]))
                    if label is not None:
                        yield Span(label, start, end)

    def _matching(self, sentence: Sentence) -> Iterator[Span]:
        """Matches of patterns, as the tokens that they touch."""
        for label, pattern in self.patterns:
            for match in pattern.finditer(sentence.text):
                touched = [
                    t
                    for t, (begin, end) in enumerate(sentence.tokens)
                    if begin < match.end() and end > match.start()
                ]
                if touched:
                    yield Span(label, touched[0], touched[-1] + 1)


def _split(given: str, option: str, what: str, labels: Sequence[str]) -> tuple[str, str]:
    label, equals, rest = given.partition("=")
    if not (label and equals and rest):
        raise InputError(f"{option} {given}: LABEL={what} is expected")
    if label not in labels:
        known = ", ".join(labels) or "none yet"
        raise InputError(f"{option} {given}: the project has no label {label} ({known})")
    return label, rest
