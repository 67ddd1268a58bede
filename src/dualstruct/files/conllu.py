"""CoNLL-U files: sentences with parts of speech, heads, relations and entities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dualstruct.errors import InputError
from dualstruct.files.opening import read_text


@dataclass
class ConlluSentence:
    """The words of a sentence, column by column; ranges and empty nodes are left out."""

    sent_id: str = ""
    text: str = ""
    forms: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    xpos: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)  #: 0 is the root
    relations: list[str] = field(default_factory=list)
    misc: list[dict[str, str]] = field(default_factory=list)

    @property
    def entities(self) -> list[str]:
        """The BIO label that MISC gives each word as ``Entity=``, O without one."""
        return [misc.get("Entity", "O") for misc in self.misc]


def read_conllu(path: str | Path) -> list[ConlluSentence]:
    """Read a CoNLL-U file (.conllu, .gz, .xz).

    >>> from dualstruct.datasets import english_path
    >>> sentence = read_conllu(english_path())[0]
    >>> len(sentence.forms) == len(sentence.heads) == len(sentence.entities)
    True
    """
    return list(_sentences(read_text(path), str(path)))


def _sentences(text: str, name: str) -> Iterator[ConlluSentence]:
    sentence = ConlluSentence()
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line:
            if sentence.forms:
                yield sentence
            sentence = ConlluSentence()
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "sent_id":
                sentence.sent_id = value.strip()
            elif key.strip() == "text":
                sentence.text = value.strip()
        else:
            _add_word(sentence, line.split("\t"), f"{name}, line {number}")
    if sentence.forms:
        yield sentence


def _add_word(sentence: ConlluSentence, columns: list[str], where: str) -> None:
    if len(columns) != 10:
        raise InputError(f"{where}: {len(columns)} columns where CoNLL-U has 10")
    identity, form, lemma, upos, xpos, _, head, relation, _, misc = columns
    if "-" in identity or "." in identity:
        return
    if identity != str(len(sentence.forms) + 1):
        raise InputError(f"{where}: word {identity} where {len(sentence.forms) + 1} was expected")
    if head != "_" and not head.isdecimal():
        raise InputError(f"{where}: the head is {head!r}, not a number")
    sentence.forms.append(form)
    sentence.lemmas.append(lemma)
    sentence.upos.append(upos)
    sentence.xpos.append(xpos)
    sentence.heads.append(-1 if head == "_" else int(head))
    sentence.relations.append(relation)
    pairs = (item.partition("=") for item in misc.split("|") if misc != "_")
    sentence.misc.append({key: value for key, _, value in pairs})
