"""What a CRFsuite model holds, as a table and as the text that CRFsuite writes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

from dualstruct.crfsuite.files import CRFsuiteModel

__all__ = ["ParsedDump", "describe", "write_dump"]


@dataclass(frozen=True)
class ParsedDump:
    """What :meth:`Tagger.info` says of a model."""

    header: dict[str, str]
    labels: dict[str, str]  #: numbers, as text, by name
    attributes: dict[str, str]
    transitions: dict[tuple[str, str], float]  #: weights by (label, next label)
    state_features: dict[tuple[str, str], float]  #: weights by (attribute, label)


def describe(model: CRFsuiteModel, header: tuple[Any, ...]) -> ParsedDump:
    """The labels, attributes and weights of a model, and the header of its file."""
    return ParsedDump(
        header=_header_fields(header),
        labels={name: str(k) for k, name in enumerate(model.labels)},
        attributes={name: str(k) for k, name in enumerate(model.attributes)},
        transitions={(a, b): weight for a, b, weight in _transitions(model)},
        state_features={(a, b): weight for a, b, weight in _state_features(model)},
    )


def _transitions(model: CRFsuiteModel) -> list[tuple[str, str, float]]:
    names = model.labels
    columns = (model.transition_sources, model.transition_targets, model.transition_weights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(names[a], names[b], weight) for a, b, weight in rows]


def _state_features(model: CRFsuiteModel) -> list[tuple[str, str, float]]:
    columns = (model.state_attributes, model.state_labels, model.state_weights)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(model.attributes[a], model.labels[k], weight) for a, k, weight in rows]


def _header_fields(header: tuple[Any, ...]) -> dict[str, str]:
    magic, size, kind, *numbers = header
    names = ("version", "num_features", "num_labels", "num_attrs")
    places = ("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")
    return {
        "magic": magic.decode(),
        "size": str(size),
        "type": kind.decode(),
        **{name: str(number) for name, number in zip(names, numbers[:4], strict=True)},
        **{name: f"0x{place:X}" for name, place in zip(places, numbers[4:], strict=True)},
    }


def write_dump(model: CRFsuiteModel, header: tuple[Any, ...], file: IO[str]) -> None:
    """Write the model as CRFsuite's ``dump`` does."""
    tables = [
        ("FILEHEADER", [f"  {k}: {v}" for k, v in _header_fields(header).items()]),
        ("LABELS", [f"  {k:5}: {name}" for k, name in enumerate(model.labels)]),
        ("ATTRIBUTES", [f"  {k:5}: {name}" for k, name in enumerate(model.attributes)]),
        ("TRANSITIONS", [f"  (1) {a} --> {b}: {w:f}" for a, b, w in _transitions(model)]),
        ("STATE_FEATURES", [f"  (0) {a} --> {b}: {w:f}" for a, b, w in _state_features(model)]),
    ]
    for title, lines in tables:
        file.write("\n".join([f"{title} = {{", *lines, "}", "", ""]))
