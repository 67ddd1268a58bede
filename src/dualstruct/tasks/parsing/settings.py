"""The settings of a parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from dualstruct.errors import InputError
from dualstruct.losses import Loss
from dualstruct.training.settings import Option, Training, positional, setting, yes_or_no

#: The heading of these options in the help of the command.
PARSERS = "Options of parsers"


@positional("projective", "single_root", "order")
@dataclass(eq=False, repr=False)
class ParserSettings(Training):
    """What a parser learns, besides how it is trained (:class:`~dualstruct.training.Training`).

    Parameters
    ----------
    projective : bool or "auto"
        Whether crossing arcs are excluded; "auto" excludes them if less than 1 % of the training
        arcs cross.
        Crossing training arcs are then attached to the next ancestor until they no longer cross.
    single_root : bool or "auto"
        Whether exactly one word is attached to the root; "auto": if it is so in all training trees.
    order : {1, 2}
        1 scores every arc by itself; 2 also looks at neighbouring modifiers of a head, and at the
        head's head. It is better and takes several times as long. A first-order model then
        leaves out improbable arcs first.
    grandparents : bool
        Whether order 2 uses the head's head. Without, projective trees are found exactly;
        with it, most are, and proven to be.
    most_heads : int
        The number of heads that order 2 considers for each word.
    lemma, xpos, morphology : bool
        Whether features look at LEMMA, XPOS and FEATS, as they do at FORM and UPOS, where the
        treebank has them: a column that less than 1 % of the words have something in counts as
        empty.
    clusters : path, optional
        A file of Brown clusters (``path TAB word TAB count``) for features; the model keeps it.
    hash_bits : int, optional
        Features are hashed into 2**hash_bits rows of 16 weights, and a sixteenth as many rows
        with a weight for each relation: 20 takes 64 MB and some more. By default it grows with
        the training data, from 16 to 20.
    label_cost : float
        The cost of a wrong relation at the right head; a wrong head costs 1.
    bad_trees : {"error", "skip"}
        What to do with training sentences that are not trees: refuse, or leave them out with a
        warning that counts them.
    minimum_risk : float, optional
        Predict the tree with the most heads right in expectation, instead of the best one, where
        p(tree) ∝ exp β·score with this β: 1 suits the loss ``crf``; the scores of margin losses
        are smaller and want 10 or more.
    """

    projective: bool | str = setting(
        "auto",
        Option("Exclude crossing arcs.", metavar="auto|yes|no", panel=PARSERS, parse=yes_or_no),
        kept=True,
        tried=(True, False),
    )
    single_root: bool | str = setting(
        "auto",
        Option(
            "Trees have exactly one word attached to the root.",
            metavar="auto|yes|no",
            panel=PARSERS,
            parse=yes_or_no,
        ),
        kept=True,
    )
    order: int = setting(
        1,
        Option(
            "1 scores each arc separately; 2 also scores neighbouring arcs, "
            "which is more accurate and slower.",
            int,
            metavar="1|2",
            panel=PARSERS,
        ),
        kept=True,
        tried=(2,),
    )
    grandparents: bool = setting(True, kept=True)
    most_heads: int = setting(10, kept=True)
    lemma: bool = setting(True, Option("Use lemmas as features.", bool, panel=PARSERS), kept=True)
    morphology: bool = setting(
        True, Option("Use morphology (FEATS) as features.", bool, panel=PARSERS), kept=True
    )
    clusters: str | Path | None = setting(  # the model keeps the clusters themselves
        None,
        Option(
            "Brown clusters as features; each line has a path, a word and a count.",
            Path,
            panel=PARSERS,
        ),
    )
    hash_bits: int | None = setting(
        None,
        Option("Hash features into 2^N rows of weights instead of using a dictionary.", int),
        kept=True,
    )
    label_cost: float = setting(0.5, kept=True)
    bad_trees: str = setting(
        "error",
        Option(
            "Sentences that are not trees: stop with an error, or skip them.",
            metavar="error|skip",
            panel=PARSERS,
        ),
        kept=True,
    )
    minimum_risk: float | None = setting(None, kept=True)
    xpos: bool = setting(True, Option("Use XPOS tags as features.", bool, panel=PARSERS), kept=True)
    loss: str | Loss = field(
        default="squared_hinge",
        metadata={**Training.metadata("loss"), "tried": ("squared_hinge", "hinge")},
        kw_only=True,
    )
    averaged: bool = field(default=True, metadata=Training.metadata("averaged"), kw_only=True)
    usual_weight: ClassVar[float] = 0.01
    weights_of_losses: ClassVar[Mapping[str, float]] = {}

    def check_settings(self) -> None:
        """Raise an error for bad settings, before any work is done."""
        for name in ("projective", "single_root"):
            if getattr(self, name) not in (True, False, "auto"):
                raise InputError(f"{name} is {getattr(self, name)!r}, not True, False or 'auto'")
        if self.order not in (1, 2):
            raise InputError(f"order is {self.order}; it must be 1 or 2")
        if self.most_heads < 1:
            raise InputError(f"most_heads is {self.most_heads}; it must be at least 1")
        if self.bad_trees not in ("error", "skip"):
            raise InputError(f"bad_trees is {self.bad_trees!r}, not error or skip")
        if self.hash_bits is not None and not 8 <= self.hash_bits <= 28:
            raise InputError(f"hash_bits is {self.hash_bits}; it must be 8 to 28")
        super().check_settings()
