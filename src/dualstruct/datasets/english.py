"""The corpus that comes with dualstruct: English sentences of seven kinds (news,
letters, stories, recipes, addresses, chat, lab notes), written for this project and annotated with
lemmas, universal parts of speech, dependency trees and entities. Licensed with the project.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from dualstruct.data.conllu import Treebank, read_conllu
from dualstruct.errors import InputError

#: One sentence in this many of each kind is held out.
HELD_OUT_EVERY = 6


def english_path() -> Path:
    """Where the corpus is."""
    return Path(__file__).with_name("english.conllu")


def load_english(part: Literal["train", "test", "all"] = "all") -> Treebank:
    """The embedded corpus, or its training or held-out part.

    >>> sentence = load_english("test")[0]
    >>> sentence.forms[-1], sentence.upos[-1]
    ('.', 'PUNCT')
    """
    if part not in ("train", "test", "all"):
        raise InputError(f"part={part!r} is not one of train, test, all")
    treebank = read_conllu(english_path())
    if part == "all":
        return treebank
    held_out = part == "test"
    # The number at the end of a sent_id counts the sentences of its kind.
    numbers = [int(treebank.sent_id(i).split("-")[-1]) for i in range(len(treebank))]
    return treebank.select(
        [i for i, number in enumerate(numbers) if (number % HELD_OUT_EVERY == 0) == held_out]
    )
