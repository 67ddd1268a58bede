"""What the page asks for and says: the project, its learner and the order, as data.

Answers are saved before anything else happens; what the model makes of them comes later.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dualstruct.errors import InputError
from dualstruct.labelling.learning import Learner
from dualstruct.labelling.measuring import agreement, forecast
from dualstruct.labelling.models import Suggestion
from dualstruct.labelling.order import Order, Reason
from dualstruct.labelling.sentences import Sentence, checked_tokens
from dualstruct.labelling.store import Project

__all__ = ["Session"]

MOST_FOUND = 50
MOST_NEXT = 10
#: Sentences that a search for disagreement looks at.
MOST_JUDGED = 2000
#: What is asked about.
ASKS = ("all", "unsure")


class Session:
    """A project that is being labelled.

    Parameters
    ----------
    project : Project
    start : path, optional
        The file of a model that makes the first suggestions, and learns on.
    ask : {"all", "unsure"}
        Whether whole sentences are asked about, or the words of which the model is unsure.
    active : bool
        Whether sentences of which the model is least sure come first, or any.
    seed : int
        Of what is drawn at random.
    """

    def __init__(
        self,
        project: Project,
        start: str | Path | None = None,
        *,
        ask: str = "all",
        active: bool = True,
        seed: int = 0,
    ) -> None:
        self.project = project
        if ask not in ASKS:
            raise InputError(f"ask is {ask!r}; it must be {' or '.join(ASKS)}")
        parts = ask == "unsure"
        if parts and not project.kind.takes_parts:
            raise InputError(
                f"of {project.kind.name} whole sentences are asked about: ask is 'all'"
            )
        self.learner = Learner(project, None if start is None else Path(start), self._refresh)
        self.order = Order(project, self.learner, active=active, parts=parts, seed=seed)
        self._guard = threading.Lock()  # of the order
        self._counted: tuple[Any, dict[str, Any]] | None = None

    def __enter__(self) -> Session:
        self.learner.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.learner.stop()

    def _refresh(self) -> None:
        """The order by another model; called by the learner's threads."""
        self.order.refresh()

    # What there is.

    def about(self) -> dict[str, Any]:
        project = self.project
        return {
            "name": project.name,
            "kind": project.kind.name,
            "score": project.kind.score_name,
            "types": project.types,
            "sentences": len(project.sentences),
        }

    def state(self) -> dict[str, Any]:
        """How far it is, and how well it goes."""
        learner = self.learner
        points = learner.points
        return {
            "model": learner.version,
            "training": learner.training,
            "behind": learner.behind,
            "problem": learner.problem,
            "types": self.project.types,
            **self._counts(),
            "suspects": len(learner.suspects),
            "curve": [each.to_dict() for each in points],
            "more": forecast(points),
        }

    def _counts(self) -> dict[str, Any]:
        version = self.project.changes
        if self._counted is None or self._counted[0] != version:
            answered = self.project.answered_sentences()
            settled = [each for each in answered if each.labels is not None]
            found = agreement(self.project.kind, answered)
            self._counted = (
                version,
                {
                    "sentences": len(self.project.sentences),
                    "labelled": len(settled),
                    "tokens": sum(map(checked_tokens, settled)),
                    "conflicts": sum(each.in_conflict for each in answered),
                    "agreement": None if found is None else asdict(found),
                },
            )
        return self._counted[1]

    # Questions.

    def next(self, annotator: str, count: int, without: Sequence[int]) -> list[dict[str, Any]]:
        """Sentences to answer, with what the model suggests."""
        found: list[tuple[Sentence, Reason]] = []
        with self._guard:
            taken = set(without)
            for _ in range(min(count, MOST_NEXT)):
                one = self.order.next(annotator, taken)
                if one is None:
                    break
                found.append(one)
                taken.add(one[0].id)
        sentences = [each for each, _ in found]
        suggested = self.learner.suggest(sentences)
        asked = self.order.asked(sentences)
        return [
            self._question(sentence, reason, suggestion)
            | {"asked": None if reason == "second look" else words}
            for (sentence, reason), suggestion, words in zip(found, suggested, asked, strict=True)
        ]

    def _question(
        self, sentence: Sentence, reason: str, suggestion: Suggestion | None
    ) -> dict[str, Any]:
        ends = [0, *(b for _, b in sentence.tokens)]
        gaps = [sentence.text[a:b] for a, (b, _) in zip(ends, sentence.tokens, strict=False)]
        return {
            "sentence": sentence.id,
            "document": sentence.document,
            "words": sentence.words,
            "gaps": gaps,
            "version": sentence.version,
            "reason": "conflict" if sentence.in_conflict else reason,
            "labels": None if sentence.labels is None else list(sentence.labels),
            "asked": None,
            "suggestion": _as_data(self._usable(suggestion)),
            "answers": [
                {"answer": each.id, "annotator": each.annotator, "labels": list(each.labels)}
                for each in sentence.counting
            ],
        }

    def _usable(self, suggestion: Suggestion | None) -> Suggestion | None:
        """Without what the project does not know: a model of other labels says nothing."""
        if suggestion is None:
            return None
        known = set(self.project.types)
        if set(self.project.kind.types_of(suggestion.labels)) <= known:
            return suggestion
        return None

    def suggest(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """What the model says now of sentences on the page."""
        sentences = [self._sentence(number) for number in numbers]
        found = self.learner.suggest(sentences)
        asked = self.order.asked(sentences)
        return [
            {
                "sentence": each.id,
                "version": each.version,
                "suggestion": _as_data(self._usable(one)),
                "asked": words,
            }
            for each, one, words in zip(sentences, found, asked, strict=True)
        ]

    def open(self, number: int) -> dict[str, Any]:
        """A sentence that somebody chose, with all that was ever said of it."""
        sentence = self._sentence(number)
        [suggestion] = self.learner.suggest([sentence])
        question = self._question(sentence, "chosen", suggestion)
        return question | {"history": self.project.history(number)}

    def _sentence(self, number: int) -> Sentence:
        found = self.project.sentences.get(number)
        if found is None:
            raise InputError(f"there is no sentence {number}")
        return found

    # Answers.

    def answer(
        self,
        sentence: int,
        labels: Sequence[str],
        version: int,
        annotator: str,
        key: str | None,
        asked: Sequence[int] | None = None,
    ) -> dict[str, Any]:
        """Save an answer; ``asked`` are the tokens that it is about, if not all."""
        made = self.project.answer(
            sentence, labels, annotator=annotator, seen=version, key=key, checked=asked
        )
        self.learner.learn(sentence)
        found = self._sentence(sentence)
        return {"answer": made.id, "version": found.version, "conflict": found.in_conflict}

    def undo(self, answer: int, annotator: str, key: str | None) -> dict[str, Any]:
        sentence = self.project.withdraw(answer, annotator, key)
        self.learner.learn(sentence.id)
        with self._guard:
            self.order.forget()
        return self.open(sentence.id)

    def add_type(self, name: str) -> dict[str, Any]:
        self.project.add_types([name])
        return self.about()

    # Search.

    def search(self, words: str, label: str, among: str) -> list[dict[str, Any]]:
        """Sentences with these words or this label; in conflict, or where the model differs."""
        wanted = words.casefold()
        found: list[dict[str, Any]] = []
        for sentence in self._among(among):
            if wanted and wanted not in sentence.text.casefold():
                continue
            if label and label not in self.project.kind.types_of(sentence.labels or ()):
                continue
            found.append(
                {
                    "sentence": sentence.id,
                    "text": sentence.text[:300],
                    "labelled": bool(sentence.answers),
                    "conflict": sentence.in_conflict,
                }
            )
            if len(found) == MOST_FOUND:
                break
        return found

    def _among(self, among: str) -> Iterator[Sentence]:
        every = list(self.project.sentences.values())
        tests: dict[str, Callable[[Sentence], bool]] = {
            "all": lambda _: True,
            "labelled": lambda each: bool(each.answers),
            "unlabelled": lambda each: not each.answers,
            "conflict": lambda each: each.in_conflict,
        }
        if among != "disagreement":
            yield from filter(tests[among], every)
            return
        judged = self.project.settled()[-MOST_JUDGED:]
        for sentence, one in zip(judged, self.learner.suggest(judged), strict=True):
            if one is not None and one.labels != sentence.labels:
                yield sentence


def _as_data(suggestion: Suggestion | None) -> dict[str, Any] | None:
    if suggestion is None:
        return None
    return {"labels": list(suggestion.labels), "sure": list(suggestion.sure)}
