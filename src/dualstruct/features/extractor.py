"""One way in to all ways to get features: templates over text, attributes, sparse matrices."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dualstruct.data.opening import read_text
from dualstruct.errors import InputError
from dualstruct.features.attributes import AttributeExtractor
from dualstruct.features.base import FeatureExtractor, FeatureRows, check_settings
from dualstruct.features.patterns import DIALECTS, are_patterns, parse_patterns
from dualstruct.features.template_extractor import TemplateExtractor
from dualstruct.features.templates import PRESETS, Templates, parse_templates
from dualstruct.features.vectors import VectorExtractor

__all__ = ["FeatureExtractor", "FeatureRows", "from_state", "make_extractor"]


def make_extractor(
    features: Any = None,
    *,
    hash_bits: int | None = None,
    min_count: int = 1,
    pair_bits: int | None = None,
    dialect: str = "auto",
) -> FeatureExtractor:
    """Make a feature extractor.

    Parameters
    ----------
    features : str, path, Templates or None
        The name of a preset (``chunking``, ``pos``, ``ner``), the path of a template file (ours,
        or one of CRF++ or Wapiti), template text (anything with a ``[`` or a line end in it), what
        :func:`parse_templates` or :func:`parse_patterns` gave, or ``"attributes"`` or None for
        sentences whose tokens are dicts, lists of strings, or rows of sparse matrices.
    hash_bits : int, optional
        Give ids by hashing into ``2 ** hash_bits`` numbers instead of keeping a table.
    min_count : int
        Leave out features that occur less often when they are first seen.
    pair_bits : int, optional
        With ``hash_bits``, the same for features of pairs of labels (``B`` lines).
    dialect : {"auto", "dualstruct", "crf++", "wapiti"}
        The language of the templates; ``auto`` looks at them.

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
    folder = Path()
    if isinstance(features, Templates):
        templates = features
    elif isinstance(features, str) and features in PRESETS:
        templates = parse_templates(PRESETS[features], features)
    elif isinstance(features, str) and ("\n" in features or "[" in features):
        templates = _parse(features, "templates", dialect, folder)
    elif isinstance(features, str | os.PathLike):
        path = Path(features)
        if not path.is_file():
            raise InputError(
                f'features="{path}" is neither a file nor one of {", ".join(PRESETS)}, attributes'
            )
        folder = path.parent
        templates = _parse(read_text(path), path.name, dialect, folder)
    else:
        raise InputError(f"features cannot be a {type(features).__name__}")
    return TemplateExtractor.load(
        templates, folder, hash_bits=hash_bits, min_count=min_count, pair_bits=pair_bits
    )


def _parse(text: str, name: str, dialect: str, folder: Path) -> Templates:
    if dialect not in ("auto", "dualstruct", *DIALECTS):
        known = ", ".join(DIALECTS)
        raise InputError(f"dialect is {dialect!r}, not one of auto, dualstruct, {known}")
    if dialect == "dualstruct" or (dialect == "auto" and not are_patterns(text)):
        return parse_templates(text, name, folder)
    return parse_patterns(text, name, None if dialect == "auto" else dialect)


def from_state(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FeatureExtractor:
    """Make an extractor from what ``FeatureExtractor.state`` gave; the arrays may be read-only.

    Examples
    --------
    >>> extractor = make_extractor("word[0]\\n")
    >>> rows = extractor.fit([["Ada", "sings"]])
    >>> from_state(*extractor.state()).names([1])
    ['word[0]=sings']
    """
    kind = settings.get("kind")
    if kind == "templates":
        return TemplateExtractor.from_state(settings, arrays)
    if kind == "attributes":
        return AttributeExtractor.from_state(settings, arrays)
    if kind == "vectors":
        return VectorExtractor.from_state(settings, arrays)
    raise InputError(f"there are no features of kind {kind!r}")
