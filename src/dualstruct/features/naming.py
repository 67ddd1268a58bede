"""Names of template features, read back."""

from __future__ import annotations

from collections.abc import Iterator


def values_in(name: str, literals: tuple[str, ...]) -> Iterator[list[str]]:
    """All values of a template's terms with which a feature gets this name."""
    if not name.startswith(literals[0]):
        return
    rest = name[len(literals[0]) :]
    if len(literals) == 1:
        if not rest:
            yield []
        return
    if len(literals) == 2:
        if rest.endswith(literals[1]):
            yield [rest[: len(rest) - len(literals[1])]]
        return
    at = rest.find(literals[1])
    while at >= 0:
        for others in values_in(rest[at:], literals[1:]):
            yield [rest[:at], *others]
        at = rest.find(literals[1], at + 1)
