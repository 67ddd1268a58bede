"""Groups of templates by what they look at: what tuning, or ``without`` of a tagger, leaves out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.features.templates import Templates

#: Functions of the templates of a group.
_FUNCTIONS = {
    "clusters": {"cluster"},
    "affixes": {"prefix", "suffix"},
    "shapes": {"shape", "shortshape", "kind", "digits"},
}
#: All groups. Vectors stand beside templates (:class:`~dualstruct.features.WithVectors`).
GROUPS = ("affixes", "shapes", "conjunctions", "clusters", "gazetteers", "vectors")


def group_of(template: Any) -> str | None:
    """What a template belongs to; None for words and columns by themselves, which always stay.

    >>> from dualstruct.features.templates import parse_templates
    >>> templates = parse_templates("word[0]\\nsuffix(word[0],3)\\nword[-1] & word[0]").templates
    >>> [group_of(template) for template in templates]
    [None, 'affixes', 'conjunctions']
    """
    terms = template.terms
    functions = {name for term in terms for name, _ in term.functions}
    if functions & _FUNCTIONS["clusters"]:
        return "clusters"
    if any(term.gazetteer is not None for term in terms):
        return "gazetteers"
    if len(terms) > 1:
        return "conjunctions"
    return next((group for group, own in _FUNCTIONS.items() if functions & own), None)


def groups_in(templates: Templates) -> list[str]:
    """The groups that templates have, without which some of them would be left."""
    found = [group_of(template) for template in templates.templates]
    return [group for group in GROUPS if group in found and set(found) != {group}]


def leave_out(templates: Templates, groups: Collection[str]) -> Templates:
    """The templates of no such group."""
    kept = tuple(each for each in templates.templates if group_of(each) not in groups)
    if not kept and not templates.pairs:
        raise InputError(f"without {', '.join(groups)} there are no templates left")
    return replace(templates, templates=kept)


def parse_groups(text: str | None) -> tuple[str, ...]:
    """The groups that a setting names.

    >>> parse_groups("affixes, shapes")
    ('affixes', 'shapes')
    """
    groups = tuple(group.strip() for group in (text or "").split(",") if group.strip())
    for group in groups:
        if group not in GROUPS:
            raise InputError(f"without is {group!r}; the groups are {', '.join(GROUPS)}")
    return groups
