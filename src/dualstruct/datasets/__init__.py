"""Data that comes with dualstruct: a small English corpus, and generated chains."""

from dualstruct.datasets.english import english_path, load_english
from dualstruct.datasets.generated import GeneratedChains, make_chains

__all__ = ["GeneratedChains", "english_path", "load_english", "make_chains"]
