"""What predictions get wrong, and in what two models differ."""

from dualstruct.mistakes.comparing import Compared, compare
from dualstruct.mistakes.judging import Mistakes, label_mistakes, tree_mistakes
from dualstruct.mistakes.results import Confusion, Difference, Mistake, Slice

__all__ = [
    "Compared",
    "Confusion",
    "Difference",
    "Mistake",
    "Mistakes",
    "Slice",
    "compare",
    "label_mistakes",
    "tree_mistakes",
]
