"""Which sentence is asked about next.

Those of which the model is least sure come first, for each token of them, and no two that are much
alike. One in a few is drawn at random among those that measure, so that what they measure is
honest; now and then an answer with which the model disagrees comes back for a second look.
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

Reason = Literal["unsure", "any", "random", "second look"]

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


class Order:
    """The order of the sentences of a project, for annotators who ask one after the other."""

    def __init__(
        self,
        project: Project,
        learner: Learner,
        *,
        active: bool = True,
        seed: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.project, self.learner, self.active = project, learner, active
        self._random = random.Random(seed)
        self._clock = clock
        self._leased: dict[int, tuple[str, float]] = {}
        self._queue: list[int] = []
        self._refreshed = 0
        self._rest: list[int] | None = None
        self._measuring: list[int] = []

    def next(self, annotator: str, without: set[int]) -> tuple[Sentence, Reason] | None:
        """A sentence for an annotator, who has others on the page already."""
        self._prepare()

        def is_free(number: int) -> bool:
            who, until = self._leased.get(number, (annotator, 0.0))
            taken = who != annotator and until > self._clock()
            sentence = self.project.sentences[number]
            return number not in without and not taken and not sentence.answers

        chosen = self._second_look(annotator, without)
        if chosen is not None:
            return self._lease(annotator, *chosen)
        if self._is_time_to_measure():
            while self._measuring:
                number = self._measuring[-1]
                if is_free(number):
                    return self._lease(annotator, number, "random")
                if number in without or not self.project.sentences[number].answers:
                    break  # it is on a page
                self._measuring.pop()
        for number in self._queue:
            if is_free(number):
                return self._lease(annotator, number, "unsure")
        for number in (*self._rest_of_them(), *self._measuring):
            if is_free(number):
                return self._lease(annotator, number, "random" if is_measured(number) else "any")
        return None

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
        pool = [n for n in self._queue if not sentences[n].answers]
        self._refreshed += 1
        if len(pool) < QUEUE // 2 or self._refreshed % 20 == 0:
            every = [n for n, each in list(sentences.items()) if not each.answers]
            free = [n for n in every if not is_measured(n)]
            pool = self._random.sample(free, min(POOL, len(free)))
        self._queue = self._sorted(pool)

    def _sorted(self, numbers: Sequence[int]) -> list[int]:
        sentences = [self.project.sentences[n] for n in numbers]
        doubts = [sum(row) / max(len(row), 1) for row in self.learner.doubts(sentences)]
        order = sorted(range(len(sentences)), key=lambda k: -doubts[k])
        return [each.id for each in diverse([sentences[k] for k in order], QUEUE)]


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
