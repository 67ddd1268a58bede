"""What an explanation says, as data.

A *contribution* is what one feature or transition adds to the score of the output that was chosen
and to that of its rival; the contributions of an alternative add up to the difference of the two
scores, to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import fsum
from typing import Any, ClassVar, overload


@dataclass(frozen=True)
class Contribution:
    """What one feature adds to the chosen output's score, and what to its rival's."""

    name: str  #: ``word[-1]=the``, or ``B-NP → I-NP``
    kind: str  #: feature, transition, pair, arc, relation, siblings or grandparent
    token: int  #: the token that has it, counted from 1; for a transition the second of the two
    chosen_part: str  #: what it speaks for in the chosen output, "" if it has no part in that
    other_part: str  #: and in the rival
    chosen: float
    other: float
    computed: ClassVar[tuple[str, ...]] = ("amount",)  #: what :meth:`to_dict` adds to the fields

    @property
    def amount(self) -> float:
        """How far it moves the chosen output ahead of its rival."""
        return self.chosen - self.other

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "amount": self.amount}


@dataclass(frozen=True)
class Change:
    """A token at which the rival differs from the chosen output."""

    token: int
    form: str
    chosen: str
    other: str


@dataclass(frozen=True)
class Alternative:
    """The best whole output in which the token has another label, head or relation."""

    differs_in: str  #: label, head or relation
    label: str  #: the token's label or relation there
    head: int | None  #: and its head, for trees
    text: str  #: both in one, for people
    difference: float  #: the score of the chosen output − that of this one
    changes: tuple[Change, ...]  #: all tokens that differ
    contributions: tuple[Contribution, ...]  #: largest first

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **vars(self),
            "changes": [asdict(change) for change in self.changes],
            "contributions": [each.to_dict() for each in self.contributions],
        }


@dataclass(frozen=True)
class TokenExplanation:
    """Why a token has the label, or the head and relation, that it has."""

    token: int  #: counted from 1
    form: str
    label: str  #: its label or relation
    head: int | None  #: its head, for trees; 0 is the root
    text: str  #: both in one, for people
    alternatives: tuple[Alternative, ...]  #: best first; none if nothing else is possible
    #: What is right, where that is known and something else; then it is the only alternative.
    gold: str = ""

    @property
    def runner_up(self) -> Alternative | None:
        """The alternative that comes closest."""
        return self.alternatives[0] if self.alternatives else None

    @property
    def contributions(self) -> tuple[Contribution, ...]:
        """Those that decided against the runner-up, largest first."""
        return self.alternatives[0].contributions if self.alternatives else ()

    @property
    def difference(self) -> float | None:
        """How far the chosen output is ahead of the runner-up."""
        return self.alternatives[0].difference if self.alternatives else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "alternatives": [each.to_dict() for each in self.alternatives]}

    def __str__(self) -> str:
        from dualstruct.explaining.text import token_text

        return token_text(self)


@dataclass(frozen=True)
class Explanation(Sequence[TokenExplanation]):
    """Why a sentence got the labels, or the tree, that it got: one entry per token.

    ``str()`` shows it as text, :meth:`html` as a page, :meth:`to_dict` as data for JSON.
    """

    kind: str  #: labels or tree
    forms: tuple[str, ...]
    score: float  #: of the chosen output
    tokens: tuple[TokenExplanation, ...]  #: all tokens, or the one that was asked for
    #: Labels as ``predict`` gives them, where the model learned in another scheme.
    predicted: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.tokens)

    @overload
    def __getitem__(self, at: int) -> TokenExplanation: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[TokenExplanation]: ...
    def __getitem__(self, at: int | slice) -> TokenExplanation | Sequence[TokenExplanation]:
        return self.tokens[at]

    def __iter__(self) -> Iterator[TokenExplanation]:
        return iter(self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            **vars(self),
            "forms": list(self.forms),
            "predicted": list(self.predicted),
            "tokens": [token.to_dict() for token in self.tokens],
        }

    def html(self, title: str = "Explanation") -> str:
        """A page without external files: no script, no network, light or dark."""
        from dualstruct.explaining.html import page

        return page([self], title)

    def __str__(self) -> str:
        return "\n\n".join(str(token) for token in self.tokens)


@dataclass(frozen=True)
class Comparison:
    """Why one output of a structure beats another one."""

    chosen: Any
    other: Any
    difference: float  #: the score of the first − that of the second
    contributions: tuple[Contribution, ...]  #: largest first

    def __str__(self) -> str:
        lines = [f"{self.chosen} beats {self.other} by {self.difference:.4f}"]
        lines += [f"{each.amount:+.4f}  {each.name}" for each in self.contributions]
        return "\n".join(lines)


def by_size(contributions: Sequence[Contribution]) -> tuple[Contribution, ...]:
    """The largest first, whichever way they go; those that add nothing are left out."""
    moving = [each for each in contributions if each.chosen != each.other]
    return tuple(sorted(moving, key=lambda each: -abs(each.amount)))


def total(contributions: Sequence[Contribution]) -> float:
    """What they add up to."""
    return fsum(each.amount for each in contributions)
