"""Which columns of a file are what; a model keeps it, and reads other files as training's."""

from __future__ import annotations

from dataclasses import dataclass

from dualstruct.data.tokenizing import Tokenizer
from dualstruct.errors import InputError

__all__ = ["ColumnLayout"]


@dataclass(frozen=True)
class ColumnLayout:
    """How a column file was read.

    Attributes
    ----------
    columns : tuple of int
        The columns that make up the tokens, counted from 0.
    label : int or None
        The column of the labels.
    width : int
        How many columns the file has.
    comments : bool
        Whether all its sentences begin with a comment.
    tokenizer : Tokenizer or None
        How text was split, and other text is to be split, if that is known.

    Examples
    --------
    The words of CoNLL-2003 are in its first column, the labels in the last of four:

    >>> layout = ColumnLayout((0,), 3, 4)
    >>> layout.unlabelled(4), layout.unlabelled(1), layout.unlabelled(3)
    (((0,), 3), ((0,), None), ((0,), None))
    >>> layout.labelled(2), layout.labelled(1)
    (((0,), 1), None)
    """

    columns: tuple[int, ...]
    label: int | None
    width: int
    comments: bool = False
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        label = () if self.label is None else (self.label,)
        for column in (*self.columns, *label):
            if not 0 <= column < self.width:
                raise InputError(f"there is no column {column} among {self.width}")
        if not self.columns:
            raise InputError("there are no columns for the tokens")

    @classmethod
    def plain(cls, n_columns: int) -> ColumnLayout:
        """Tokens with so many columns, and the label after them."""
        return cls(tuple(range(n_columns)), n_columns, n_columns + 1)

    def unlabelled(self, width: int) -> tuple[tuple[int, ...], int | None] | None:
        """The columns of tokens in a file with so many, and of labels if it has them.

        The file may be like the one of training, with its labels or without, or have the columns
        of the tokens alone, with or without a label after them. None if that leaves a choice.
        """
        if width == self.width:
            return self.columns, self.label
        own = len(self.columns)
        found: dict[tuple[int, ...], int | None] = {}
        if self.label is not None and width == self.width - 1:
            found[tuple(c - (c > self.label) for c in self.columns)] = None
        if width in (own, own + 1):
            found[tuple(range(own))] = None if width == own else own
        return next(iter(found.items())) if len(found) == 1 else None

    def labelled(self, width: int) -> tuple[tuple[int, ...], int] | None:
        """The same for a file that must have labels.

        It may be like the one of training, have the columns of the tokens and a label after them,
        or have other columns between those and a label at the end, if that is where it was.
        """
        if width == self.width and self.label is not None:
            return self.columns, self.label
        own = len(self.columns)
        found = set()
        if width == own + 1:
            found.add((tuple(range(own)), own))
        if self.label == self.width - 1 and max(self.columns) < width - 1:
            found.add((self.columns, width - 1))
        return found.pop() if len(found) == 1 else None

    def __str__(self) -> str:
        """For messages."""
        tokens = ", ".join(map(str, self.columns))
        label = "" if self.label is None else f" and column {self.label} for the labels"
        return (
            f"column{'s' * (len(self.columns) > 1)} {tokens} of {self.width} for the tokens{label}"
        )
