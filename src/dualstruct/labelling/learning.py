"""The model of a project, which learns from every answer while others are given.

Two threads: one trains on with each answer at once (``partial_fit``, with some earlier answers so
that they are not forgotten), the other trains anew on all answers whenever there are a tenth more
than last time. Whoever answers waits for neither. A tenth of the sentences, drawn at random, is
never trained on: it measures.
"""

from __future__ import annotations

import copy
import hashlib
import logging
import random
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from dualstruct.errors import DualstructError
from dualstruct.estimators import SequenceTagger
from dualstruct.labelling.measuring import LEAST, Point, measure
from dualstruct.labelling.sentences import Sentence
from dualstruct.labelling.store import Project

__all__ = ["Learner", "Suggestion", "is_measured"]

#: Of a hundred sentences, those that measure.
MEASURED = 10
#: Below so many tokens, training anew takes no longer than training on.
FEW_TOKENS = 1500
#: Earlier answers among those that are trained on.
REPLAYED = 50
#: As much more than last time makes it worth training anew.
GROWTH = 1.1
#: What labels that nobody has looked at count beside answers.
DRAFTED = 0.3
#: Answers among the measured sentences from which a temperature is fitted.
CALIBRATING = 20
#: The temperature before that: a margin of 1 is about 95 % sure.
UNCALIBRATED = 0.35
#: Answers from which suspects are looked for.
SUSPICIOUS = 60

_log = logging.getLogger("dualstruct.labelling")


@dataclass(frozen=True)
class Suggestion:
    """What the model says of a sentence."""

    labels: tuple[str, ...]
    sure: tuple[float, ...]  #: how probable each label is

    @property
    def doubt(self) -> float:
        """How unsure the model is, for each token."""
        return sum(1 - p for p in self.sure) / max(len(self.sure), 1)


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
    start : SequenceTagger, optional
        A model to begin with.
    changed : callable, optional
        Called by a thread of the learner when there is another model.
    """

    def __init__(
        self,
        project: Project,
        start: SequenceTagger | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.project = project
        self.model = start
        self.version = 0 if start is None else 1
        self.problem: str | None = None
        self.points: list[Point] = [Point.of(each) for each in project.curve()]
        self.suspects: list[int] = []  #: answered sentences worth a second look, the most so first
        self.training = False  #: whether it trains anew just now
        #: At which scores are probabilities.
        self.temperature = (None if start is None else start.temperature_) or UNCALIBRATED
        self._start = start
        self._changed = changed
        self._wake = threading.Condition()
        self._new: set[int] = set()  # answers for the next partial_fit
        self._since: set[int] = set()  # answers that a training under way has not seen
        self._trained = 0  # sentences of the last training from scratch
        self._searched = 0  # answers of the last search for suspects
        self._ended = False
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

    def suggest(self, sentences: Sequence[Sentence]) -> list[Suggestion | None]:
        """What the model says; drafts where there is no model yet."""
        model = self.model
        if model is None or not sentences:
            return [_drafted(each) for each in sentences]
        words = [each.words for each in sentences]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = model.predict(words)
            marginals = model.predict_marginals(words, beta=1 / self.temperature)
        found: list[Suggestion | None] = []
        for row, table in zip(rows, marginals, strict=True):
            numbers = model.class_indices(row)
            sure = tuple(round(float(p[k]), 4) for p, k in zip(table, numbers, strict=True))
            found.append(Suggestion(tuple(row), sure))
        return found

    def catch_up(self) -> None:
        """Train anew on all answers now, for who has not started the threads."""
        known = self._examples()
        model = self._fitted(known)
        if model is None:
            return
        self._calibrate(model)
        with self._wake:
            self._put(model)
        self._changed()
        self._measure(model, known)

    def whole(self) -> SequenceTagger | None:
        """A model for use elsewhere, trained on all answers but those that measure."""
        made = self._fitted(self._examples())
        if made is not None:
            self._calibrate(made)
        return made

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
        known = self._examples()
        if base is None or sum(len(each.tokens) for each in known) < FEW_TOKENS:
            model = self._fitted(known)
        else:
            model = self._continued(base, new, known)
        if model is not None:
            with self._wake:
                # One that was trained anew meanwhile knows more; these answers are learned again.
                if self.model is not base:
                    self._new |= new
                    return True
                self._put(model)
            self._changed()
        return True

    def _take(self) -> set[int]:
        new, self._new = self._new, set()
        return new

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
            model = self._fitted(known)
            self._trained = max(len(known), 1)
            if model is None:
                return True
            self._calibrate(model)
            with self._wake:
                self._put(model)
                self._new |= self._since
                self._wake.notify_all()
            self._changed()
            self._measure(model, known)
            self._suspect(model, known)
        finally:
            self.training = False
        return True

    def _is_worth_it(self) -> bool:
        if self._trained == 0:
            return bool(self._since) or bool(self.project.settled()) or self._has_drafts()
        return len(self._since) >= max((GROWTH - 1) * self._trained, 1)

    def _has_drafts(self) -> bool:
        return any(each.draft is not None for each in list(self.project.sentences.values()))

    def _put(self, model: SequenceTagger) -> None:
        self.model = model
        self.version += 1
        self.problem = None

    # How models are made.

    def new_tagger(self) -> SequenceTagger:
        """As it is trained from scratch."""
        features = "ner" if self.project.kind == "spans" else "pos"
        return SequenceTagger(features=features, seed=1)

    def _fitted(self, known: Iterable[Sentence]) -> SequenceTagger | None:
        X: list[list[str]] = []
        y: list[list[str]] = []
        weights: list[list[float]] = []
        for each in known:
            X.append(each.words)
            y.append(list(each.labels or ()))
            weights.append([1.0] * len(each.tokens))
        plain = True
        for each in list(self.project.sentences.values()):
            if each.draft is not None and not each.answers and not is_measured(each.id):
                X.append(each.words)
                y.append(list(each.draft.labels))
                given = each.draft.weights or [1.0] * len(each.tokens)
                weights.append([DRAFTED * p for p in given])
                plain = False
        if not X:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = self.new_tagger() if self._start is None else copy.copy(self._start)
            train = made.fit if self._start is None else made.partial_fit
            train(X, y, callbacks=[self._is_over], token_weight=None if plain else weights)
        return made

    def _is_over(self, *progress: object) -> bool:
        """Whether training is to stop: who ends the server does not wait for it."""
        return self._ended

    def _calibrate(self, model: SequenceTagger) -> None:
        """On the measured answers, once there are some."""
        measured = self.measured()
        if len(measured) < CALIBRATING:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.calibrate(
                [each.words for each in measured], [list(each.labels or ()) for each in measured]
            )
        self.temperature = model.temperature_ or UNCALIBRATED

    def _continued(
        self, base: SequenceTagger, new: set[int], known: list[Sentence]
    ) -> SequenceTagger | None:
        chosen = [each for each in known if each.id in new]
        if not chosen:
            return None
        others = [each for each in known if each.id not in new]
        chosen += self._random.sample(others, min(REPLAYED, len(others)))
        made = copy.copy(base)
        made.passes = 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.partial_fit(
                [each.words for each in chosen], [list(each.labels or ()) for each in chosen]
            )
        return made

    # How good they are.

    def measured(self) -> list[Sentence]:
        """The answered sentences that are not trained on."""
        return [each for each in self.project.settled() if is_measured(each.id)]

    def _measure(self, model: SequenceTagger, known: list[Sentence]) -> None:
        judged = self.measured()
        if len(judged) < LEAST or not known:
            return
        last = self.points[-1].sentences if self.points else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.predict([each.words for each in judged])
        truth = [list(each.labels or ()) for each in judged]
        point = measure(truth, predicted, len(known), sum(len(each.tokens) for each in known))
        if len(known) > last:
            self.project.add_point(point.to_dict())
            self.points = [*self.points, point]
        else:
            self.points = [*self.points[:-1], point]

    def _suspect(self, model: SequenceTagger, known: list[Sentence]) -> None:
        if len(known) < max(SUSPICIOUS, 1.3 * self._searched):
            return
        self._searched = len(known)
        began = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = model.suspects(
                [each.words for each in known], [list(each.labels or ()) for each in known], top=20
            )
        # Who was asked about it again has decided.
        self.suspects = [
            known[each.sentence - 1].id
            for each in found
            if each.score > 0.5 and len(known[each.sentence - 1].answers) == 1
        ]
        _log.debug("%d suspects in %.1f s", len(self.suspects), time.monotonic() - began)


def _drafted(sentence: Sentence) -> Suggestion | None:
    if sentence.draft is None:
        return None
    weights = sentence.draft.weights or (1.0,) * len(sentence.draft.labels)
    return Suggestion(sentence.draft.labels, tuple(weights))
