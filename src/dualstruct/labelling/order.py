"""Which sentence is asked about next.

Those of which the model is least sure come first, for each token of them, and no two that are much
alike. One in a few is drawn at random among those that measure, so that what they measure is
honest; sometimes an answer with which the model disagrees comes back for a second look. Where
only unsure words are asked about, sentences come back for the others once nothing else is left.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Literal

from dualstruct.labelling.learning import Learner, is_measured
from dualstruct.labelling.sentences import Sentence
from dualstruct.labelling.store import Project

__all__ = ["Order", "Reason", "diverse"]

Reason = Literal["unsure", "other words", "any", "random", "second look"]

#: Sentences that are looked at for one order.
POOL = 2000
#: As many of them are kept in order, and looked at again after each answer.
QUEUE = 60
#: Seconds for which a sentence is one annotator's.
LEASE = 600.0
#: Of a hundred questions, those that are a second look, if there is cause for one.
SECOND_LOOKS = 8
#: Shares of words in common from which two sentences are alike.
ALIKE = 0.5
#: A model is unsure of a token whose two most probable labels are no further apart than 1 − this.
UNSURE = 0.2
#: When nothing is left of which it is unsure, half of that will do, down to this.
LEAST_UNSURE = 0.001


class Order:
    """The order of the sentences of a project, for annotators who ask one after the other."""

    def __init__(
        self,
        project: Project,
        learner: Learner,
        *,
        active: bool = True,
        parts: bool = False,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.project, self.learner, self.active = project, learner, active
        self.parts = parts  #: whether only tokens are asked about of which the model is unsure
        self._random = random.Random(seed)
        self._clock = clock
        self._unsure = UNSURE
        self._leased: dict[int, tuple[str, float]] = {}
        self._queue: dict[int, int] = {}  # sentences, and their versions when they came into it
        self._refreshed = 0
        self._rest: list[int] | None = None
        self._measuring: list[int] = []

    def next(self, annotator: str, without: set[int]) -> tuple[Sentence, Reason] | None:
        """A sentence for an annotator, who has others on the page already."""
        self._prepare()

        def is_free(number: int) -> bool:
            who, until = self._leased.get(number, (annotator, 0.0))
            taken = who != annotator and until > self._clock()
            return number not in without and not taken

        chosen = self._second_look(annotator, without)
        if chosen is not None:
            return self._lease(annotator, *chosen)
        if self._is_time_to_measure():
            while self._measuring:
                number = self._measuring[-1]
                if is_free(number) and not self._is_answered(number):
                    return self._lease(annotator, number, "random")
                if number in without or not self._is_answered(number):
                    break  # it is on a page
                self._measuring.pop()
        waiting = next(filter(is_free, self._waiting()), None)
        if waiting is not None:
            return self._lease(annotator, waiting, self._why(waiting))
        for number in (*self._rest_of_them(), *self._measuring):
            if is_free(number) and not self._is_answered(number):
                return self._lease(annotator, number, "random" if is_measured(number) else "any")
        if not self.parts:
            return None
        self.refresh()  # every sentence has an answer: what of them was not asked about?
        waiting = next(filter(is_free, self._waiting()), None)
        return None if waiting is None else self._lease(annotator, waiting, self._why(waiting))

    def _why(self, number: int) -> Reason:
        return "other words" if self._is_answered(number) else "unsure"

    def _is_answered(self, number: int) -> bool:
        return bool(self.project.sentences[number].answers)

    def _waiting(self) -> list[int]:
        """Those of the queue that nobody has answered since they came into it."""
        sentences = self.project.sentences
        return [n for n, version in self._queue.items() if sentences[n].version == version]

    def asked(self, sentences: Sequence[Sentence]) -> list[list[int] | None]:
        """The tokens of each sentence to ask about; None: all of them."""
        found: list[list[int] | None] = [None] * len(sentences)
        if not self.parts or self.learner.model is None:
            return found
        for k, row in enumerate(self._doubts(sentences)):
            sentence = sentences[k]
            whole = is_measured(sentence.id) or sentence.in_conflict
            if whole or (sentence.answers and sentence.checked is None):
                continue
            found[k] = [t for t, doubt in enumerate(row) if doubt > self._unsure]
            # There is always something to look at: the least sure one.
            found[k] = found[k] or [max(range(len(row)), key=row.__getitem__)]
        return found

    def _doubts(self, sentences: Sequence[Sentence]) -> list[list[float]]:
        """Of each token; none where somebody was asked about it."""
        return [
            row if each.checked is None else _without(row, each.checked)
            for each, row in zip(sentences, self.learner.doubts(sentences), strict=True)
        ]

    def _lease(self, annotator: str, number: int, reason: Reason) -> tuple[Sentence, Reason]:
        self._leased[number] = (annotator, self._clock() + LEASE)
        return self.project.sentences[number], reason

    def _prepare(self) -> None:
        if self._rest is not None:
            return
        numbers = [n for n, each in self.project.sentences.items() if not each.answers]
        self._random.shuffle(numbers)
        self._rest = [n for n in numbers if not is_measured(n)]
        self._measuring = [n for n in numbers if is_measured(n)]

    def forget(self) -> None:
        """There are other sentences, or answers were taken back."""
        self._rest = None

    def _is_time_to_measure(self) -> bool:
        """A tenth of the answers measures; in the beginning a fifth, to see something soon."""
        answered = list(self.project.answered)
        on_pages = sum(is_measured(n) for n in self._leased if n not in self.project.answered)
        measured = sum(map(is_measured, answered)) + on_pages
        share = 0.2 if len(answered) < 100 else 0.1
        return measured < share * (len(answered) + 1)

    def _second_look(self, annotator: str, without: set[int]) -> tuple[int, Reason] | None:
        if self._random.random() * 100 >= SECOND_LOOKS:
            return None
        for number in self.learner.suspects:
            sentence = self.project.sentences[number]
            if number not in without and len(sentence.answers) == 1:
                return number, "second look"
        return None

    def _rest_of_them(self) -> list[int]:
        sentences = self.project.sentences
        self._rest = [n for n in self._rest or () if not sentences[n].answers]
        return self._rest

    def refresh(self) -> None:
        """Put them in order by the model as it is; questions may be asked meanwhile."""
        if not self.active or self.learner.model is None:
            return
        sentences = self.project.sentences
        pool = self._waiting()
        self._refreshed += 1
        if len(pool) < QUEUE // 2 or self._refreshed % 20 == 0:
            free = self._free([n for n in list(sentences) if not is_measured(n)])
            pool = self._random.sample(free, min(POOL, len(free)))
        self._queue = {n: sentences[n].version for n in self._sorted(pool)}

    def _free(self, numbers: Sequence[int]) -> list[int]:
        """Those without an answer; when few are left, also those with words to ask about."""
        new = [n for n in numbers if not self._is_answered(n)]
        if not self.parts or len(new) >= QUEUE:
            return new
        answered = [self.project.sentences[n] for n in numbers if self._is_answered(n)]
        again = [s.id for s in answered if s.checked is not None and not s.in_conflict]
        return new + again

    def _sorted(self, numbers: Sequence[int]) -> list[int]:
        sentences = [self.project.sentences[n] for n in numbers]
        rows = self._doubts(sentences)
        doubts = [sum(row) / max(len(row), 1) for row in rows]
        order = sorted(range(len(sentences)), key=lambda k: -doubts[k])
        # A sentence comes back only for words of which the model is unsure.
        while len(order) and self._unsure > LEAST_UNSURE:
            unsure = [k for k in order if not sentences[k].answers or max(rows[k]) > self._unsure]
            if unsure:
                order = unsure
                break
            self._unsure /= 2
        return [each.id for each in diverse([sentences[k] for k in order], QUEUE)]


def _without(row: Sequence[float], checked: Sequence[bool]) -> list[float]:
    return [0.0 if known else doubt for doubt, known in zip(row, checked, strict=True)]


def diverse(sentences: Sequence[Sentence], most: int) -> list[Sentence]:
    """The first of them that are not much like an earlier one; then the others."""
    chosen: list[Sentence] = []
    left: list[Sentence] = []
    seen: list[set[str]] = []
    for sentence in sentences:
        words = {word.lower() for word in sentence.words}
        if len(chosen) == most:
            break
        if any(len(words & other) > ALIKE * len(words | other) for other in seen):
            left.append(sentence)
        else:
            chosen.append(sentence)
            seen.append(words)
    return chosen + left[: most - len(chosen)]
