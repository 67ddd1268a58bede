"""CoNLL-U as a source of tags and entities: documents of its words, with their text.

Labels are those of MISC ``Entity=`` where there are some, else UPOS, unless others are asked for:
another column, or ``tree``, the heads and relations.
``SpaceAfter=No`` and ``SpacesAfter=`` (with ``\\s``, ``\\n``, ``\\r``, ``\\t``) give the text back.
Multiword tokens stand in it as they are written if their words make them up (don't: do, n't);
others as their words, with spaces between them (zum: zu, dem).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import IO, NamedTuple

from dualstruct.data.conllu import ConlluSentence, Treebank, iter_conllu, looks_like_conllu
from dualstruct.data.opening import PathOrFile, name_of
from dualstruct.data.surface import escaped, gap_behind, surface_of, unescaped
from dualstruct.errors import InputError
from dualstruct.labels.arcs import Arc
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.base import Format
from dualstruct.texts.formats.columns import labels_of, with_spans

__all__ = ["CONLLU", "TREE", "sentence_labels"]

_COLUMNS = ("upos", "xpos", "feats")
#: What asks for trees instead of labels.
TREE = "tree"


def sentence_labels(sentence: ConlluSentence, label: str) -> list[str]:
    """The labels of a sentence's words: a column, or a key of MISC (O where it is missing)."""
    if label in _COLUMNS:
        column: list[str] = getattr(sentence, label)
        return column
    key = label.removeprefix("misc:")
    if key == label or not key:
        raise InputError(
            f"the label column is {label!r}; of CoNLL-U it is upos, xpos, feats, misc:KEY or tree"
        )
    return [sentence.misc_of(word).get(key, "O") for word in range(len(sentence))]


def read(source: PathOrFile, label: str | None = None) -> Iterator[Document]:
    """A document for each ``# newdoc``, or for each sentence where there is none."""
    held: list[_Held] = []
    number, marked = 0, False
    for treebank in iter_conllu(source):
        label = label or _usual_label(treebank)
        for sentence, behind in zip(treebank, _notes_behind(treebank), strict=True):
            number += 1
            if any(re.match(r"#\s*newdoc\b", comment) for comment in sentence.comments):
                if held:
                    yield _document(held, label, source, number - len(held))
                held, marked = [], True
            held.append(_Held(sentence, behind))
            if not marked:
                yield _document(held, label, source, number)
                held = []
    if held and label is not None:
        yield _document(held, label, source, number - len(held) + 1)


class _Held(NamedTuple):
    """A sentence of a document that is not complete yet."""

    sentence: ConlluSentence
    behind: Sequence[str]  #: for each word, the MISC that says what is behind it


def _notes_behind(treebank: Treebank) -> Iterable[Sequence[str]]:
    """For each sentence; behind the last word of a multiword token is what its own line says."""
    surface = surface_of(treebank)
    several = surface.is_multiword.nonzero()[0].tolist()
    if not several:
        return treebank.misc
    misc = [each for row in treebank.misc for each in row]
    forms = [each for row in treebank.forms for each in row]
    for token in several:
        first, end = surface.words[token : token + 2].tolist()
        misc[end - 1] = surface.misc[token]
        if "".join(forms[first:end]) == surface.forms[token]:
            misc[first : end - 1] = ["SpaceAfter=No"] * (end - 1 - first)
    return [misc[a:b] for a, b in pairwise(treebank.sentences.tolist())]


def _usual_label(treebank: Treebank) -> str:
    """Entities if some are marked, else parts of speech if some are known."""
    marked = any("Entity=" in cell for row in treebank.misc for cell in row)
    tagged = any(tag != "_" for row in treebank.upos for tag in row)
    return "upos" if tagged and not marked else "misc:Entity"


def _document(held: list[_Held], label: str, source: PathOrFile, first: int) -> Document:
    sentences = [each.sentence for each in held]
    pieces: list[str] = []
    place = 0
    tokens, firsts, labels = [], [0], []

    def add(text: str) -> None:
        nonlocal place
        pieces.append(text)
        place += len(text)

    for sentence, behind in held:
        for word, form in enumerate(sentence.forms):
            known = sentence.misc_of(word)
            if "SpacesBefore" in known:
                add(unescaped(known["SpacesBefore"]))
            tokens.append((place, place + len(form)))
            add(form)
            last = sentence is sentences[-1]
            usual = " " if word + 1 < len(sentence) else "" if last else "\n"
            add(gap_behind(behind[word], usual))
        labels += [] if label == TREE else sentence_labels(sentence, label)
        firsts.append(len(tokens))
    where = f"{name_of(source)}, sentence {first}"
    metadata = {}
    for key in ("newdoc id", "sent_id"):
        if value := sentences[0].comment(key):
            metadata["id"] = value
            break
    document = Document("".join(pieces), None, tokens, firsts, labels, metadata, where)
    if label == TREE:
        return _with_trees(document, sentences)
    return with_spans(document)


def _with_trees(document: Document, sentences: list[ConlluSentence]) -> Document:
    """Trees where every word has a head, and parts of speech where some are known."""
    heads = [head for sentence in sentences for head in sentence.heads]
    relations = [name for sentence in sentences for name in sentence.relations]
    tags = [tag for sentence in sentences for tag in sentence.upos]
    document.labels = None
    if min(heads, default=-1) >= 0:
        document.arcs = [str(Arc(*arc)) for arc in zip(heads, relations, strict=True)]
    document.tags = tags if any(tag != "_" for tag in tags) else None
    return document


def write(documents: Iterable[Document], out: IO[bytes]) -> None:
    for document in documents:
        labels = labels_of(document)
        key = "upos" if document.labels is not None else "Entity"
        known = document.metadata.get("id")
        comments = [f"# newdoc id = {known}" if known is not None else "# newdoc"]
        words = document.words()
        places = document.places
        count = 0
        assert document.sentences is not None
        for row in words:
            begin = places[count][0]
            lines = []
            for number, word in enumerate(row, 1):
                end = places[count][1]
                last = count + 1 == len(places)
                after = document.text[end : None if last else places[count + 1][0]]
                misc = []
                if count == 0 and document.text[: places[0][0]]:
                    misc.append(f"SpacesBefore={escaped(document.text[: places[0][0]])}")
                usual = "" if last else "\n" if number == len(row) else " "
                if not after and usual:
                    misc.append("SpaceAfter=No")
                elif after != usual:
                    misc.append(f"SpacesAfter={escaped(after)}")
                cells = [str(number), word, *"_" * 8]
                if document.tags is not None:
                    cells[3] = document.tags[count]
                if document.arcs is not None and (arc := Arc.parse(document.arcs[count])):
                    cells[6:8] = str(arc.head), arc.relation
                elif labels is not None and key == "upos":
                    cells[3] = labels[count]
                elif labels is not None and labels[count] != "O":
                    misc.append(f"Entity={labels[count]}")
                    if "|" in labels[count]:
                        raise InputError(f"{document.where}: MISC takes no label with | in it")
                cells[9] = "|".join(misc) or "_"
                if any(c in "\t\r\n" for cell in cells for c in cell):
                    raise InputError(f"{document.where}: {word!r} cannot be a row of CoNLL-U")
                lines.append("\t".join(cells))
                count += 1
            text = re.sub(r"\s+", " ", document.text[begin : places[count - 1][1]])
            rows = "\n".join([*comments, f"# text = {text}", *lines])
            out.write(f"{rows}\n\n".encode())
            comments = []


CONLLU = Format(
    "conllu",
    "CoNLL-U",
    (".conllu", ".conllx"),
    read,
    looks_like_conllu,
    write,
    of_tokens=True,
)
