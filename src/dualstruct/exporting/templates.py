"""Templates as plain data: the streams of values that they read, and their terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct.exporting.runtime.hashing import hash_text
from dualstruct.features.gazetteers import GazetteerFile
from dualstruct.features.learned import LearnedColumn
from dualstruct.features.patterns import Pattern, parse_patterns
from dualstruct.features.template_extractor import lists_of
from dualstruct.features.templates import Template, Templates, Term, parse_templates

Arrays = dict[str, NDArray[Any]]

#: What stands outside of sentences: before, behind and after the number of tokens, from which
#: number on it is not counted, and whether functions are applied to it.
BOUNDARIES: dict[str, list[Any]] = {
    "dualstruct": ["<s", "</s", ">", 1000, False],
    "crf++": ["_B-", "_B+", "", 1000, False],
    "wapiti": ["_x-", "_x+", "", 4, True],
}


@dataclass
class _Streams:
    """What templates read, each once."""

    lists: Sequence[str]
    learned: list[Term] = field(default_factory=list)
    rows: list[list[Any]] = field(default_factory=list)

    def of(self, term: Term) -> int:
        functions = [list(each) for each in term.functions]
        number = -1
        if term.learned:
            functions = functions[:-1]
            plain = replace(term, offset=0)
            if plain not in self.learned:
                self.learned.append(plain)
            number = self.learned.index(plain)
        place = -1 if term.gazetteer is None else self.lists.index(term.list_key)
        row = [term.column, place, number, functions]
        if row not in self.rows:
            self.rows.append(row)
        return self.rows.index(row)


def parsed(settings: Mapping[str, Any]) -> Templates:
    """The templates of a model's features."""
    text, where = settings["templates"], "templates of the model"
    dialect = settings.get("dialect", "dualstruct")
    if dialect == "dualstruct":
        return parse_templates(text, where, folder=None)
    return parse_patterns(text, where, dialect)


def plan_of(
    templates: Templates, chosen: Iterable[Template | Pattern]
) -> tuple[dict[str, Any], list[Term], NDArray[np.uint64]]:
    """Templates as data, the terms among them that training answers, and their identities."""
    lists = lists_of(templates)
    streams = _Streams(list(lists))
    listed, identities, reach = [], [], 0
    for template in chosen:
        identities.append(hash_text(template.identity))
        terms = [[streams.of(term), term.offset, term.absolute] for term in template.terms]
        listed.append(terms)
        for _, offset, absolute in terms:
            reach = max(reach, abs(offset), int(absolute))
    exact = {
        name: GazetteerFile.parse(text, "gazetteer").exact
        for name, text in templates.gazetteers.items()
    }
    plan = {
        "boundaries": BOUNDARIES[templates.dialect],
        "reach": reach,
        "streams": streams.rows,
        "templates": listed,
        "lists": [not exact[name] for name, _ in lists.values()],
    }
    return plan, streams.learned, np.array(identities, np.uint64)


def list_arrays(templates: Templates, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The phrases of lists, and the clusters of words."""
    found: Arrays = {}
    for n in range(len(lists_of(templates))):
        found[f"list{n}_prefixes"] = arrays[f"gazetteer_{n}_prefixes"]
        found[f"list{n}_phrases"] = arrays[f"gazetteer_{n}_is_phrase"]
    if templates.clusters is not None:
        found["cluster_words"] = arrays["cluster_words"]
        found["cluster_numbers"] = arrays["cluster_path_of"].astype(np.uint32)
        found["cluster_paths"] = arrays["cluster_path_bytes"]
        found["cluster_ends"] = arrays["cluster_path_offsets"][1:].astype(np.uint32)
    return found


def learned_arrays(terms: Sequence[Term], columns: Sequence[LearnedColumn]) -> Arrays:
    """What training says of words: from the hashes of words to those of what is said."""
    found: Arrays = {}
    identities = []
    for n, (term, column) in enumerate(zip(terms, columns, strict=True)):
        identities.append(hash_text(str(replace(term, functions=term.functions[:-1]))))
        found[f"learned{n}_keys"], said = column.answers()
        hashes = {text: hash_text(text) for text in set(said)}
        found[f"learned{n}_values"] = np.array([hashes[text] for text in said], np.uint64)
    if terms:
        found["learned_identities"] = np.array(identities, np.uint64)
    return found
