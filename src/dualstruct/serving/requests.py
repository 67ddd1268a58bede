"""What a request may ask for: sentences of bounded size, with the columns that the model needs."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dualstruct.data.tokenizing import Splitter
from dualstruct.printable import plural

MOST_BYTES = 1 << 16  #: of a request's body
MOST_CHARACTERS = 4000  #: of a text
MOST_IN_A_CELL = 200
MOST_CELLS = 100  #: attributes of a token
MOST_ALTERNATIVES = 20


class RequestError(Exception):
    """A request that is turned down, with a status of HTTP and a sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Columns:
    """What makes up a token: a word, named columns, or any number of attributes."""

    names: tuple[str, ...]  #: empty for attributes

    @property
    def only_words(self) -> bool:
        return len(self.names) == 1

    @property
    def are_attributes(self) -> bool:
        return not self.names


Token = str | tuple[str, ...] | list[str]


def read_object(body: bytes, known: Sequence[str] | None) -> dict[str, Any]:
    """The JSON object in a body, which may have the known keys and no others; any if None."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise RequestError(400, "the body is not JSON") from None
    if not isinstance(found, dict):
        raise RequestError(400, "the body is not a JSON object")
    for key in found:
        if known is not None and key not in known:
            name = ascii(key[:MOST_IN_A_CELL])
            raise RequestError(400, f"{name} is unknown; the names are {', '.join(known)}")
    return found


@dataclass(frozen=True)
class WholeNumber:
    """A whole number within bounds, which may be left out if there is a default."""

    name: str
    least: int
    most: int
    default: int | None = None
    description: str | None = None

    def read(self, found: dict[str, Any]) -> int:
        value = found.get(self.name, self.default)
        if value is None and self.name not in found:
            raise RequestError(400, f"{self.name} is missing")
        if isinstance(value, float) and value.is_integer():  # to JSON, 3.0 is a whole number
            value = int(value)
        if (
            isinstance(value, bool)
            or not isinstance(value, int)
            or not self.least <= value <= self.most
        ):
            raise RequestError(
                400, f"{self.name} has to be a whole number from {self.least} to {self.most}"
            )
        return value

    def schema(self) -> dict[str, Any]:
        said = {"default": self.default, "description": self.description}
        return {
            "type": "integer",
            "minimum": self.least,
            "maximum": self.most,
            **{key: value for key, value in said.items() if value is not None},
        }


@dataclass(frozen=True)
class OneOf:
    """One of a few words; the first unless one is given."""

    name: str
    choices: tuple[str, ...]
    description: str

    def read(self, found: dict[str, Any]) -> str:
        value = found.get(self.name, self.choices[0])
        if value not in self.choices:
            raise RequestError(400, f"{self.name} has to be one of {', '.join(self.choices)}")
        return str(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices), "description": self.description}


Parameter = WholeNumber | OneOf


def read_sentence(
    found: dict[str, Any], columns: Columns, most_tokens: int, splitter: Splitter
) -> list[Token]:
    """The tokens of ``text``, as a tokenizer splits it, or ``tokens``."""
    if ("text" in found) == ("tokens" in found):
        raise RequestError(400, "either text or tokens is expected")
    sentence: list[Token]
    if "text" in found:
        sentence = [*_words(found["text"], columns, splitter)]
    else:
        tokens = found["tokens"]
        if not isinstance(tokens, list):
            raise RequestError(400, "tokens has to be a list")
        if len(tokens) > most_tokens:
            raise RequestError(400, f"{len(tokens)} tokens are too many; {most_tokens} are taken")
        sentence = [_token(token, t, columns) for t, token in enumerate(tokens, 1)]
    if not sentence:
        raise RequestError(400, "the sentence has no words")
    if len(sentence) > most_tokens:
        raise RequestError(400, f"{len(sentence)} tokens are too many; {most_tokens} are taken")
    return sentence


def _words(text: Any, columns: Columns, splitter: Splitter) -> list[str]:
    """The words of a text, in which control characters are spaces."""
    if not columns.only_words:
        what = "attributes" if columns.are_attributes else f"columns ({', '.join(columns.names)})"
        raise RequestError(400, f"this model looks at {what}: send tokens, each a list, not text")
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        raise RequestError(400, f"text has to be a string of at most {MOST_CHARACTERS} characters")
    spaced = "".join(" " if unicodedata.category(c) == "Cc" else c for c in text)
    for t, word in enumerate(spaced.split(), 1):
        _cell(word, t, "word")  # what is no text is refused
    return [word for sentence in splitter.words_of(spaced) for word in sentence]


def _token(token: Any, t: int, columns: Columns) -> Token:
    if columns.only_words and isinstance(token, str):
        return _cell(token, t, columns.names[0])
    if not isinstance(token, list):
        wanted = "a string" if columns.only_words else "a list of strings"
        raise RequestError(400, f"token {t} has to be {wanted}")
    if columns.are_attributes:
        if len(token) > MOST_CELLS:
            raise RequestError(
                400, f"token {t} has {len(token)} attributes; {MOST_CELLS} are taken"
            )
        return [_cell(cell, t, f"attribute {at}") for at, cell in enumerate(token, 1)]
    if columns.only_words:
        raise RequestError(400, f"token {t} has to be a string")
    missing = columns.names[len(token) :]
    if missing:
        raise RequestError(
            400,
            f"token {t} has {len(token)} of the {len(columns.names)} columns that the model looks "
            f"at ({', '.join(columns.names)}): {', '.join(missing)} missing",
        )
    if len(token) > len(columns.names):
        raise RequestError(
            400,
            f"token {t} has {plural(len(token), 'column')}; the model looks at "
            f"{', '.join(columns.names)}",
        )
    return tuple(_cell(cell, t, name) for cell, name in zip(token, columns.names, strict=True))


def _cell(cell: Any, t: int, name: str) -> str:
    if not isinstance(cell, str) or not 1 <= len(cell) <= MOST_IN_A_CELL:
        raise RequestError(
            400, f"token {t}, {name}: a string of 1 to {MOST_IN_A_CELL} characters is expected"
        )
    if any(c.isspace() or unicodedata.category(c) in ("Cc", "Cs") for c in cell):
        raise RequestError(400, f"token {t}, {name}: spaces and control characters are not allowed")
    return cell
