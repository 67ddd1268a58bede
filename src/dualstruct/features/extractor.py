"""One way in to all ways to get features: templates over text, attributes, sparse matrices."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from dualstruct.data.opening import read_text
from dualstruct.errors import InputError
from dualstruct.features.attributes import AttributeExtractor
from dualstruct.features.base import FeatureExtractor, FeatureRows, check_settings
from dualstruct.features.functions import FunctionExtractor, functions_by_name
from dualstruct.features.groups import leave_out, parse_groups
from dualstruct.features.joining import JoinedExtractor
from dualstruct.features.patterns import DIALECTS, are_patterns, parse_patterns
from dualstruct.features.template_extractor import TemplateExtractor
from dualstruct.features.templates import PRESETS, TemplateParser, Templates

__all__ = ["FeatureExtractor", "FeatureRows", "make_extractor"]


def make_extractor(
    features: Any = None,
    *,
    hash_bits: int | None = None,
    min_count: int = 1,
    pair_bits: int | None = None,
    dialect: str = "auto",
    without: str | None = None,
) -> FeatureExtractor:
    """Make a feature extractor.

    Parameters
    ----------
    features : str, path, Templates, function, list of them, or None
        The name of a preset (``chunking``, ``pos``, ``ner``), the path of a template file (ours,
        or one of CRF++ or Wapiti), template text (anything with a ``[`` or a line end in it), what
        :func:`parse_templates` or :func:`parse_patterns` gave, a function from a sentence to a list
        of strings or a dict for each token, or ``"attributes"`` or None for sentences whose tokens
        are dicts, lists of strings, or rows of sparse matrices. Of a list tokens have the features
        of all its members.
    hash_bits : int, optional
        Give ids by hashing into ``2 ** hash_bits`` numbers instead of keeping a table.
    min_count : int
        Leave out features that occur less often when they are first seen.
    pair_bits : int, optional
        With ``hash_bits``, the same for features of pairs of labels (``B`` lines).
    dialect : {"auto", "dualstruct", "crf++", "wapiti"}
        The language of the templates; ``auto`` looks at them.
    without : str, optional
        Groups of templates to leave out, ``"affixes,shapes"`` for instance (features/groups.py).

    Examples
    --------
    >>> extractor = make_extractor("word[0]\\nsuffix(word[0],2)")
    >>> rows = extractor.fit([["Ada", "sings"], ["She", "sings"]])
    >>> rows.ids
    array([0, 1, 2, 3, 4, 5, 2, 3], dtype=int32)
    >>> extractor.names(rows.ids[:4])
    ['word[0]=Ada', 'suffix(word[0],2)=da', 'word[0]=sings', 'suffix(word[0],2)=gs']
    """
    check_settings(hash_bits, min_count)
    if features is None or (isinstance(features, str) and features == "attributes"):
        return AttributeExtractor(hash_bits=hash_bits, min_count=min_count)
    members = list(features) if isinstance(features, list | tuple) else [features]
    texts = [member for member in members if not callable(member)]
    parts: list[FeatureExtractor] = []
    if texts:
        templates, folder = _templates(texts, dialect)
        made = TemplateExtractor.load(
            leave_out(templates, parse_groups(without)),
            folder,
            hash_bits=hash_bits,
            min_count=min_count,
            pair_bits=pair_bits,
        )
        parts.append(made)
    for name, function in functions_by_name(filter(callable, members)).items():
        attributes = AttributeExtractor(hash_bits=hash_bits, min_count=min_count)
        parts.append(FunctionExtractor(function, name, attributes))
    if not parts:
        raise InputError("features is an empty list")
    return parts[0] if len(parts) == 1 else JoinedExtractor(parts)


def _templates(members: list[Any], dialect: str) -> tuple[Templates, Path]:
    """The templates of all, and the folder in which their files are."""
    if len(members) == 1 and isinstance(members[0], Templates):
        return members[0], Path()
    if dialect not in ("auto", "dualstruct", *DIALECTS):
        known = ", ".join(DIALECTS)
        raise InputError(f"dialect is {dialect!r}, not one of auto, dualstruct, {known}")
    parser = TemplateParser()
    for member in members:
        text, name, folder = _text_of(member)
        # A model names files as its template file does.
        start, inside = (folder, Path()) if len(members) == 1 else (Path(), folder)
        patterns = are_patterns(text) if dialect == "auto" else dialect != "dualstruct"
        if not patterns or name in PRESETS:
            parser.read(text, name, start, inside)
        elif len(members) > 1:
            raise InputError(f"{name}: templates of CRF++ and Wapiti cannot stand beside others")
        else:
            return parse_patterns(text, name, None if dialect == "auto" else dialect), folder
    return parser.templates(name), start


def _text_of(member: Any) -> tuple[str, str, Path]:
    """Template text, what to call it, and the folder in which its files are."""
    if isinstance(member, Templates):
        return str(member), "templates", Path()
    if isinstance(member, str) and member in PRESETS:
        return PRESETS[member], member, Path()
    if isinstance(member, str) and ("\n" in member or "[" in member):
        return member, "templates", Path()
    if not isinstance(member, str | os.PathLike):
        raise InputError(f"features cannot be a {type(member).__name__}")
    path = Path(member)
    if not path.is_file():
        raise InputError(
            f'features="{path}" is neither a file nor one of {", ".join(PRESETS)}, attributes'
        )
    return read_text(path), path.name, path.parent
