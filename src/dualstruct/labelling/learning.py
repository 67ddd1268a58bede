"""The model of a project, which learns from every answer while others are given.

Two threads: one learns on from each answer at once (in place, with some earlier answers so that
they are not forgotten), the other has a model retrained on all answers whenever there are a
tenth more than last time (:mod:`dualstruct.labelling.training`). Annotators wait for neither.
A tenth of the sentences, drawn at random, is never trained on: it measures.
"""

from __future__ import annotations

import hashlib
import logging
import random
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from dualstruct.errors import DualstructError
from dualstruct.labelling.measuring import LEAST, Point, measure
from dualstruct.labelling.models import Example, Model, Suggestion
from dualstruct.labelling.sentences import Sentence, checked_tokens
from dualstruct.labelling.store import Project
from dualstruct.labelling.training import InProcess, InThread, Task, Training, trained

__all__ = ["Learner", "is_measured"]

#: Of a hundred sentences, those that measure.
MEASURED = 10
#: Below so many answers, training anew takes no longer than learning on.
FEW_ANSWERS = 60
#: From so many on another process trains anew.
MANY_ANSWERS = 500
#: Unlabelled sentences whose features a model has weights for from the start.
PREPARED = 20_000
#: Earlier answers among those that are trained on.
REPLAYED = 50
#: As much more than last time makes it worth training anew.
GROWTH = 1.1
#: What labels that nobody has looked at count beside answers.
DRAFTED = 0.3
#: Answers among the measured sentences from which a temperature is fitted.
CALIBRATING = 10
#: Answers from which suspects are looked for, and among how many of them at a time.
SUSPICIOUS, MOST_SUSPECTED = 60, 1500

_log = logging.getLogger("dualstruct.labelling")


@cache
def is_measured(sentence: int) -> bool:
    """Whether a sentence is among those that measure; nobody chooses which."""
    digest = hashlib.blake2b(str(sentence).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % 100 < MEASURED


class Learner:
    """Trains, and suggests.

    Parameters
    ----------
    project : Project
    start : path, optional
        The file of a model to begin with.
    changed : callable, optional
        Called by a thread of the learner when there is another model.
    """

    def __init__(
        self,
        project: Project,
        start: Path | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.project = project
        self._start = start
        self.maker = project.kind.maker(start)
        project.add_types(self.maker.types)
        self.model = self.maker.first
        self.version = 0 if self.model is None else 1
        self.problem: str | None = None
        self.points: list[Point] = [Point.of(each) for each in project.curve()]
        self.suspects: list[int] = []  #: answered sentences worth a second look, the most so first
        self.training = False  #: whether it trains anew just now
        self._changed = changed
        self._wake = threading.Condition()
        self._new: set[int] = set()  # answers to learn on from
        self._taken: set[int] = set()  # those that it is learning from just now
        self._since: set[int] = set()  # answers that a training under way has not seen
        self._trained = 0  # sentences of the last training from scratch
        self._searched = 0  # answers of the last search for suspects
        self._ended = False
        self._training: Training | None = None  # on its way
        self._processes = True  # whether another process can train
        self._random = random.Random(7)
        self._threads: list[threading.Thread] = []

    # From outside.

    def start(self) -> None:
        """Begin to learn."""
        for work in (self._train_on, self._train_anew):
            thread = threading.Thread(target=self._loop, args=(work,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        with self._wake:
            self._ended = True
            self._wake.notify_all()
            if self._training is not None:
                self._training.end()
        for thread in self._threads:
            thread.join()

    def learn(self, sentence: int) -> None:
        """There is another answer to a sentence."""
        if is_measured(sentence):
            return
        with self._wake:
            self._new.add(sentence)
            self._since.add(sentence)
            self._wake.notify_all()

    @property
    def behind(self) -> int:
        """Answers that the model has not learned from yet."""
        with self._wake:
            return len(self._new | self._taken)

    def suggest(self, sentences: Sequence[Sentence]) -> list[Suggestion | None]:
        """What the model says; drafts where there is no model yet."""
        model = self.model
        if model is None or not sentences:
            return [_drafted(each) for each in sentences]
        return list(model.suggest(sentences))

    def doubts(self, sentences: Sequence[Sentence]) -> list[list[float]]:
        """How unsure the model is of each token; not at all without a model."""
        model = self.model
        if model is None:
            return [[0.0] * len(each.tokens) for each in sentences]
        return model.doubts(sentences)

    def catch_up(self) -> None:
        """Retrain on all answers now, without the background threads."""
        known = self._examples()
        task = self._task(known)
        if not task.examples:
            return
        model = trained(self.maker, task, lambda: self._ended)
        with self._wake:
            self._put(model)
        self._changed()
        self._measure(model, known)

    def whole(self) -> Model | None:
        """A model for use elsewhere, trained on all answers, also those that measure."""
        task = self._task(self.project.settled(), prepared=False)
        return trained(self.maker, task, lambda: self._ended) if task.examples else None

    # The threads.

    def _loop(self, work: Callable[[], bool]) -> None:
        while True:
            try:
                if not work():
                    return
            except DualstructError as problem:
                self.problem = str(problem)
            except Exception:
                self.problem = "training has failed; the server's log says how"
                _log.exception("training has failed")
            with self._wake:
                if self._ended:
                    return

    def _examples(self) -> list[Sentence]:
        return [each for each in self.project.settled() if not is_measured(each.id)]

    def _train_on(self) -> bool:
        """With new answers, at once."""
        with self._wake:
            self._wake.wait_for(lambda: self._ended or self._new)
            if self._ended:
                return False
            new = self._take()
            base = self.model
        try:
            self._learn_from(new, base)
        finally:
            with self._wake:
                self._taken = set()
        return True

    def _learn_from(self, new: set[int], base: Model | None) -> None:
        if base is None or len(self.project.answered) < FEW_ANSWERS:
            task = self._task(self._examples(), prepared=False)
            model = trained(self.maker, task, lambda: self._ended) if task.examples else None
        else:
            chosen = self._chosen(new)
            model = base.learn(chosen) if chosen else None
        if model is not None:
            with self._wake:
                # One that was trained anew meanwhile knows more; these answers are learned again.
                if self.model is not base:
                    self._new |= new
                    return
                self._put(model)
                self._taken = set()
            self._changed()

    def _chosen(self, new: set[int]) -> list[Example]:
        """New answers, and some earlier ones at random."""
        numbers = [n for n in new if not is_measured(n)]
        if not numbers:
            return []
        known = self.project.answered_numbers()
        numbers += self._random.sample(known, min(REPLAYED, len(known)))
        found = [self.project.sentences[n] for n in dict.fromkeys(numbers) if not is_measured(n)]
        return _answered(found)

    def _take(self) -> set[int]:
        self._taken, self._new = self._new, set()
        return self._taken

    def _train_anew(self) -> bool:
        """On all answers, when there are enough more of them."""
        with self._wake:
            self._wake.wait_for(lambda: self._ended or self._is_worth_it())
            if self._ended:
                return False
            self._since = set()
            self.training = True
        try:
            known = self._examples()
            task = self._task(known, suspected=self._suspected(known))
            self._trained = max(len(known), 1)
            if task.examples:
                self._train(task, known)
        finally:
            self.training = False
        return True

    def _train(self, task: Task, known: list[Sentence]) -> None:
        training = self._begun(task)
        with self._wake:
            self._training = training
            if self._ended:
                training.end()
        try:
            model = training.model()
            if model is None:
                if not self._ended:  # in this process, then
                    self._processes = False
                    self._train(task, known)
                return
            with self._wake:
                self._put(model)
                self._new |= self._since
                self._wake.notify_all()
            self._changed()
            self._measure(model, known)
            self._suspect(training.suspects(), task)
        finally:
            with self._wake:
                self._training = None
                training.end()

    def _begun(self, task: Task) -> Training:
        if self._processes and len(task.examples) >= MANY_ANSWERS:
            try:
                return InProcess(self.project.kind, self._start, self.maker, task)
            except OSError:
                self._processes = False
        return InThread(self.maker, task, lambda: self._ended)

    def _is_worth_it(self) -> bool:
        if self._trained == 0:
            return bool(self._since) or bool(self.project.settled()) or self._has_drafts()
        return len(self._since) >= max((GROWTH - 1) * self._trained, 1)

    def _has_drafts(self) -> bool:
        return any(each.draft is not None for each in list(self.project.sentences.values()))

    def _put(self, model: Model) -> None:
        self.model = model
        self.version += 1
        self.problem = None

    # How models are made.

    def _task(
        self,
        known: Sequence[Sentence],
        suspected: Sequence[Sentence] = (),
        prepared: bool = True,
    ) -> Task:
        """Answers, drafts of sentences without one, and others that there will be questions of."""
        measured = self.measured()
        task = Task(
            _answered(known),
            _answered(measured) if len(measured) >= CALIBRATING else [],
            _answered(suspected),
        )
        for each in list(self.project.sentences.values()):
            if each.answers or is_measured(each.id):
                continue
            if each.draft is not None:
                given = each.draft.weights or (1.0,) * len(each.tokens)
                weights = tuple(DRAFTED * p for p in given)
                task.examples.append(Example(each, each.draft.labels, weights))
            elif prepared and len(task.others) < PREPARED:
                task.others.append(each)
        return task

    # How good they are.

    def measured(self) -> list[Sentence]:
        """The answered sentences that are not trained on."""
        return [each for each in self.project.settled() if is_measured(each.id)]

    def _measure(self, model: Model, known: list[Sentence]) -> None:
        judged = self.measured()
        if len(judged) < LEAST or not known:
            return
        last = self.points[-1].sentences if self.points else 0
        predicted = [each.labels for each in model.suggest(judged)]
        truth = [each.labels or () for each in judged]
        tokens = sum(map(checked_tokens, known))
        point = measure(self.project.kind, truth, predicted, len(known), tokens)
        if len(known) > last:
            self.project.add_point(point.to_dict())
            self.points = [*self.points, point]
        else:
            self.points = [*self.points[:-1], point]

    def _suspected(self, known: list[Sentence]) -> list[Sentence]:
        """Answers among which suspects are looked for, when it is time."""
        if len(known) < max(SUSPICIOUS, 1.3 * self._searched):
            return []
        self._searched = len(known)
        return self._random.sample(known, min(len(known), MOST_SUSPECTED))

    def _suspect(self, found: list[tuple[int, float]], task: Task) -> None:
        if not task.suspected:
            return
        # Who was asked about it again has decided.
        sentences = ((task.suspected[number].sentence, score) for number, score in found)
        self.suspects = [
            each.id for each, score in sentences if score > 0.5 and len(each.answers) == 1
        ]


def _answered(sentences: Sequence[Sentence]) -> list[Example]:
    return [
        Example(each, each.labels, known=each.checked)
        for each in sentences
        if each.labels is not None
    ]


def _drafted(sentence: Sentence) -> Suggestion | None:
    if sentence.draft is None:
        return None
    weights = sentence.draft.weights or (1.0,) * len(sentence.draft.labels)
    return Suggestion(sentence.draft.labels, tuple(weights))
