"""What the page needs from a model, whatever it predicts; a kind of answers has its own.

A model suggests answers while it learns from others. Learning on is quick, because the weights
change in place; where it cannot be (a label that is new), another model is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualstruct.labelling.sentences import Sentence

__all__ = ["UNCALIBRATED", "Example", "Maker", "Model", "Suggestion"]

#: The temperature before it is fitted: a margin of 1 is about 95 % sure.
UNCALIBRATED = 0.35


@dataclass(frozen=True)
class Suggestion:
    """What the model says of a sentence."""

    labels: tuple[str, ...]
    sure: tuple[float, ...]  #: how probable each label is

    @property
    def doubt(self) -> float:
        """How unsure the model is, for each token."""
        return sum(1 - p for p in self.sure) / max(len(self.sure), 1)


@dataclass(frozen=True)
class Example:
    """A sentence to learn from: with an answer, or with what a draft says."""

    sentence: Sentence
    labels: tuple[str, ...]
    weights: tuple[float, ...] | None = None  #: of its tokens; None: it counts as it is
    known: tuple[bool, ...] | None = None  #: whether the label of each is; None: all are


class Model(ABC):
    """A model that suggests and learns on, while threads ask it."""

    @abstractmethod
    def suggest(self, sentences: Sequence[Sentence]) -> list[Suggestion]:
        """What it says of sentences."""

    @abstractmethod
    def doubts(self, sentences: Sequence[Sentence]) -> list[list[float]]:
        """How unsure it is of each token, 0 to 1: 1 where two labels are as probable."""

    @abstractmethod
    def learn(self, examples: Sequence[Example]) -> Model:
        """Learn on: this one in place, or another one that knows more."""

    @abstractmethod
    def calibrate(self, examples: Sequence[Example]) -> None:
        """Fit its temperature to sentences that it has not learned from."""

    @abstractmethod
    def suspects(self, examples: Sequence[Example]) -> list[tuple[int, float]]:
        """Examples that are probably wrong, by number, and how probably."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write it as a file that the commands read."""


class Maker(ABC):
    """Makes models of a kind of answers."""

    @property
    @abstractmethod
    def first(self) -> Model | None:
        """The model that there is before anything was answered."""

    @property
    @abstractmethod
    def types(self) -> list[str]:
        """The types of answers that the first model knows."""

    @abstractmethod
    def make(
        self,
        examples: Sequence[Example],
        others: Sequence[Sentence],
        is_over: Callable[[], bool],
    ) -> Model:
        """A model of all examples; ``others`` are sentences that it will be asked about."""

    @abstractmethod
    def load(self, path: Path, others: Sequence[Sentence]) -> Model:
        """One that another maker of this kind made and saved."""
