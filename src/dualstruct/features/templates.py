"""The language of feature templates.

A template says which properties of which tokens make one feature. One template per line, ``#``
starts a comment, ``&`` joins terms, a range makes one template of each of its values::

    columns word pos                  # names of the columns; this is the default
    clusters brown-1000.txt.gz        # files are looked for beside the template file
    gazetteer cities cities.txt
    include ner                       # all templates of a preset, or of another file

    bias                              # a feature that every token has
    word[-2..2]                       # the words around the token, five templates
    word[-1] & word[0]
    suffix(word[0],1..4)
    shape(word[-1]) & shape(word[0])
    in(cities,word[0])                # B or I where a phrase of the list stands

``include`` looks for a preset of this name, then for a file beside the one it stands in. What is
included sees the columns of the file that includes it, unless it names its own.

The functions, which may be nested:

==================  ====================================================================
``lower(t)``        the word in lower case
``digits(t)``       the word with a 0 for every digit
``prefix(t,n)``     its first n characters
``suffix(t,n)``     its last n characters
``shape(t)``        X for upper case, x for lower case, d for digits: ``Xxx-dd``
``shortshape(t)``   the shape with every run written once: ``Xx-d``
``kind(t)``         upper, lower, title, mixed, letter, number or symbol, with ``,digit``
                    and ``,hyphen`` after it if they are there
``cluster(t,n)``    the first n bits of the word's cluster, all of them without n
``in(name,t)``      B on the first word of a phrase of a list, I on its others; the
                    longest phrase wins
``part(name,t)``    B on every word that some phrase of a list has
``labels(t)``       the labels that the word had in training, the most frequent first:
                    ``NN|VB``; a training token does not see its own
``known(t,n)``      the word if training has it n times or more, ``<rare>`` otherwise
==================  ====================================================================

Positions outside the sentence have the values ``<s1>``, ``<s2>`` ... before it and ``</s1>``,
``</s2>`` ... after it, the nearest first. A term without a value (an affix that is not shorter
than the word, a word in no cluster or list) makes no feature.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from dualstruct.data.opening import lines_of, read_text
from dualstruct.errors import InputError
from dualstruct.features.gazetteers import GazetteerFile
from dualstruct.features.learned import LEARNED
from dualstruct.features.presets import PRESETS

if TYPE_CHECKING:
    from dualstruct.features.patterns import Pattern

__all__ = ["PRESETS", "Template", "Templates", "Term", "parse_templates"]

# Each function's argument after the term: "none", "length" or "optional length".
FUNCTIONS = {
    "lower": "none",
    "digits": "none",
    "shape": "none",
    "shortshape": "none",
    "kind": "none",
    "prefix": "length",
    "suffix": "length",
    "cluster": "optional length",
    "labels": "none",
    "known": "length",
}
DEFAULT_COLUMNS = ("word", "pos")
FARTHEST = 100  # offset of a term, and length of an affix
MOST_COLUMNS = 10_000
MOST_TEMPLATES = 10_000  # that the ranges of a line, or a whole file, may make
MOST_NESTED = 20  # functions in each other, and files

_TOKEN = re.compile(r"\s*(\.\.|[+-]?\d+|[^\W\d][\w-]*|[\[\](),&])")
_NUMBER = re.compile(r"[+-]?\d+")
_NAME = re.compile(r"[^\W\d][\w-]*")
_HEADER = re.compile(r"\s*(columns|clusters|gazetteer|include)\b(?!\s*[\[(])(.*)")


@dataclass(frozen=True)
class Term:
    """One property of one token near the current one."""

    column: int
    column_name: str
    offset: int
    # Innermost first, with a length (0 where there is none) or a regular expression.
    functions: tuple[tuple[str, int | str], ...] = ()
    gazetteer: str | None = None
    absolute: bool = False  # offset 1 is the sentence's first token, -1 its last
    part: bool = False  # of a gazetteer: words of its phrases, wherever they stand

    @property
    def learned(self) -> tuple[str, int] | None:
        """The function that asks what training says, and its argument; the last one if any."""
        name, argument = self.functions[-1] if self.functions else ("", 0)
        return (name, int(argument)) if name in LEARNED else None

    @property
    def list_key(self) -> str:
        """What tells the words of a list from the list itself."""
        return f"part {self.gazetteer}" if self.part else str(self.gazetteer)

    def __str__(self) -> str:
        text = f"{self.column_name}[{self.offset}]"
        if self.gazetteer is not None:
            return f"{'part' if self.part else 'in'}({self.gazetteer},{text})"
        for name, length in self.functions:
            text = f"{name}({text},{length})" if length else f"{name}({text})"
        return text


@dataclass(frozen=True)
class Template:
    """Terms that together make one feature; none at all make the bias."""

    terms: tuple[Term, ...]

    @property
    def identity(self) -> str:
        """What distinguishes its features from those of other templates."""
        return str(self)

    @property
    def literals(self) -> tuple[str, ...]:
        """What stands around the terms' values in the names of features: [terms + 1]."""
        if not self.terms:
            return ("bias",)
        return (*(f"{' & ' if n else ''}{term}=" for n, term in enumerate(self.terms)), "")

    def __str__(self) -> str:
        return " & ".join(map(str, self.terms)) or "bias"


@dataclass(frozen=True)
class Templates:
    """A parsed list of templates; ``str()`` gives its canonical text."""

    templates: tuple[Template | Pattern, ...]
    columns: tuple[str, ...] = DEFAULT_COLUMNS
    clusters: str | None = None  # file
    gazetteers: dict[str, str] = field(default_factory=dict)  # name -> file and how to read it
    dialect: str = "dualstruct"  # or the program whose language it is
    pairs: tuple[Pattern, ...] = ()  # those whose features have weights for pairs of labels

    def __str__(self) -> str:
        if self.dialect != "dualstruct":
            return "\n".join(map(str, (*self.templates, *self.pairs))) + "\n"
        lines = []
        if self.columns != DEFAULT_COLUMNS:
            lines.append("columns " + " ".join(self.columns))
        if self.clusters is not None:
            lines.append(f"clusters {self.clusters}")
        lines += [f"gazetteer {name} {file}" for name, file in self.gazetteers.items()]
        return "\n".join([*lines, *map(str, self.templates)]) + "\n"


def parse_templates(
    text: str, name: str = "templates", folder: str | os.PathLike[str] | None = "."
) -> Templates:
    """Parse template text.

    Parameters
    ----------
    text : str
    name : str
        Its name in error messages.
    folder : path, optional
        The folder of included files; None does not allow ``include``.

    Examples
    --------
    >>> print(parse_templates("word[-1..0]   # two words\\nprefix( word[0], 2 ) & pos[+1]"), end="")
    word[-1]
    word[0]
    prefix(word[0],2) & pos[1]
    >>> print(parse_templates("include pos\\nword[-3]").templates[-1])
    word[-3]
    >>> parse_templates("word[0")
    Traceback (most recent call last):
    ...
    dualstruct.errors.InputError: templates, line 1, column 7: "]" is expected, not ...
    """
    parsed = TemplateParser()
    parsed.read(text, name, None if folder is None else Path(folder))
    return parsed.templates(name)


class TemplateParser:
    """Reads template texts, one after the other, into one list of templates."""

    def __init__(self) -> None:
        self._columns: tuple[str, ...] | None = None  # as the first text names them
        self._clusters: str | None = None
        self._gazetteers: dict[str, str] = {}
        self._found: dict[Template, None] = {}  # in order, each once
        # Gazetteer (None: clusters) and where it is used.
        self._wanted: list[tuple[str | None, str]] = []
        self._included: list[str] = []  # what is being read, the outermost first
        self._done: set[tuple[str, tuple[str, ...]]] = set()

    def read(self, text: str, name: str, folder: Path | None, inside: Path = Path()) -> None:
        """Add a text's templates; ``inside`` is its own folder, from ``folder``."""
        self._read(text, name, "", self._columns or DEFAULT_COLUMNS, folder, inside)

    def templates(self, name: str) -> Templates:
        """All that was read."""
        for gazetteer, where in self._wanted:
            if gazetteer is None and self._clusters is None:
                raise InputError(f'{where}: "cluster" needs a line "clusters FILE"')
            if gazetteer is not None and gazetteer not in self._gazetteers:
                raise InputError(f'{where}: "in" needs a line "gazetteer {gazetteer} FILE"')
        if not self._found:
            raise InputError(f"{name}: it has no templates")
        columns = self._columns or DEFAULT_COLUMNS
        return Templates(tuple(self._found), columns, self._clusters, self._gazetteers)

    def _read(
        self,
        text: str,
        name: str,
        by: str,  # " (included by …)"
        columns: tuple[str, ...],
        folder: Path | None,  # the first text's
        inside: Path,  # the folder of this one, from there
    ) -> None:
        started = False
        for number, full_line in enumerate(lines_of(text), 1):
            line = full_line.split("#", 1)[0].rstrip()
            where = f"{name}, line {number}{by}"
            if not line.strip():
                continue
            header = _HEADER.fullmatch(line)
            keyword, rest = header.groups() if header is not None else ("", "")
            rest = rest.strip()
            if keyword == "columns":
                if started:
                    raise InputError(f"{where}: the columns have to be named before the templates")
                columns = _column_names(rest, where)
            elif keyword == "clusters":
                self._name_clusters(rest, inside, where)
            elif keyword == "gazetteer":
                self._name_gazetteer(rest, inside, where)
            else:
                started = True
                if self._columns is None:
                    self._columns = columns
                if keyword == "include":
                    self._include(rest, where, columns, folder, inside)
                else:
                    self._add(_LineParser(line, where, columns, self._columns))

    def _add(self, line: _LineParser) -> None:
        self._found.update(dict.fromkeys(line.templates()))
        if len(self._found) > MOST_TEMPLATES:
            raise InputError(f"{line.where}: there are more than {MOST_TEMPLATES:,} templates")
        self._wanted += line.wanted

    def _name_clusters(self, rest: str, inside: Path, where: str) -> None:
        file = str(inside / rest)
        if not rest or self._clusters not in (None, file):
            raise InputError(f'{where}: "clusters" needs one file, once')
        self._clusters = file

    def _name_gazetteer(self, rest: str, inside: Path, where: str) -> None:
        label, _, source = rest.partition(" ")
        if not _NAME.fullmatch(label) or not source.strip():
            raise InputError(f'{where}: "gazetteer" needs a name and a file')
        file = str(GazetteerFile.parse(source.strip(), where).inside(inside))
        if self._gazetteers.setdefault(label, file) != file:
            raise InputError(f'{where}: there are two gazetteers named "{label}"')

    def _include(
        self, name: str, where: str, columns: tuple[str, ...], folder: Path | None, inside: Path
    ) -> None:
        if folder is None:
            raise InputError(f'{where}: "include" has no meaning here')
        if not name:
            raise InputError(f'{where}: "include" needs a preset or a file')
        path = folder / inside / name
        if name not in PRESETS and not path.is_file():
            presets = ", ".join(PRESETS)
            raise InputError(f'{where}: "{name}" is neither a file nor one of {presets}')
        key = name if name in PRESETS else str(path.resolve())
        if key in self._included:
            raise InputError(f'{where}: "{name}" is being included already: a circle')
        if len(self._included) == MOST_NESTED:
            raise InputError(f"{where}: more than {MOST_NESTED} files include each other")
        if (key, columns) in self._done:
            return
        text = PRESETS[name] if name in PRESETS else read_text(path)
        if "%" in "".join(line.split("#", 1)[0] for line in lines_of(text)):
            raise InputError(f'{where}: "{name}" is a template file of CRF++ or Wapiti')
        self._included.append(key)
        place = Path() if name in PRESETS else (inside / name).parent
        self._read(text, Path(name).name, f" (included by {where})", columns, folder, place)
        self._included.pop()
        self._done.add((key, columns))


def _column_names(text: str, where: str) -> tuple[str, ...]:
    names = tuple(text.split())
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(f'{where}: "{name}" cannot be the name of a column')
    if not names or len(set(names)) != len(names):
        raise InputError(f'{where}: "columns" needs different names, at least one')
    return names


class _LineParser:
    """Recursive descent over one line; every term comes back as its list of expansions."""

    def __init__(
        self, line: str, where: str, columns: tuple[str, ...], shown: tuple[str, ...]
    ) -> None:
        self.where = where
        self.columns = columns
        self.shown_columns = shown  # as the text calls them that includes this one
        self.wanted: list[tuple[str | None, str]] = []
        self.tokens: list[tuple[str, int]] = []
        at = 0
        while at < len(line):
            match = _TOKEN.match(line, at)
            if match is None:
                at += len(line[at:]) - len(line[at:].lstrip())
                self.tokens.append(("", at))
                self.fail(f'"{line[at]}" has no meaning here', len(self.tokens) - 1)
            self.tokens.append((match.group(1), match.start(1)))
            at = match.end()
        self.tokens.append(("", len(line)))
        self.next = self.nested = 0

    def templates(self) -> Iterator[Template]:
        if self.peek() == "bias" and len(self.tokens) == 2:
            return iter([Template(())])
        terms = [self.term()]
        while self.peek() == "&":
            self.take()
            terms.append(self.term())
        if self.peek():
            self.fail(f'"&" or the end of the line is expected, not {self.shown()}')
        count = math.prod(map(len, terms))
        if count > MOST_TEMPLATES:
            self.fail(
                f"its ranges make {count:,} templates; there may be {MOST_TEMPLATES:,} at most", 0
            )
        return map(Template, itertools.product(*terms))

    def term(self) -> list[Term]:
        at = self.next
        name = self.take_name('a term such as "word[0]"')
        if self.peek() == "[":
            column = self.column(name, at)
            self.take()
            offsets = self.range("an offset", -FARTHEST, FARTHEST)
            self.expect("]")
            return [Term(column, self.column_name(column), offset) for offset in offsets]
        if self.peek() != "(":
            if name == "bias":
                self.fail('"bias" must be the only term of its line', at)
            self.fail(f'"[" or "(" is expected after "{name}", not {self.shown()}')
        self.take()
        if name in ("in", "part"):
            return self.rest_of_membership(name)
        if name not in FUNCTIONS:
            known = ", ".join([*FUNCTIONS, "in"])
            self.fail(f'there is no function "{name}"; there are {known} and part', at)
        return self.rest_of_function(name, at)

    def rest_of_function(self, name: str, at: int) -> list[Term]:
        start = self.next
        self.nested += 1
        if self.nested > MOST_NESTED:
            self.fail(f"more than {MOST_NESTED} functions are nested", at)
        arguments = self.term()
        self.nested -= 1
        if any(term.gazetteer is not None for term in arguments):
            inner = "part" if arguments[0].part else "in"
            self.fail(f'"{inner}" cannot stand inside a function', start)
        if any(term.learned for term in arguments):
            self.fail('"labels" and "known" cannot stand inside a function', start)
        lengths = [0]
        if FUNCTIONS[name] == "length" or (FUNCTIONS[name] != "none" and self.peek() == ","):
            self.expect(",")
            lengths = self.range("a length", 1, FARTHEST)
        self.expect(")")
        if name == "cluster":
            self.wanted.append((None, self.place(at)))
        if len(arguments) * len(lengths) > MOST_TEMPLATES:
            self.fail(f"its ranges make more than {MOST_TEMPLATES:,} terms", at)
        return [
            Term(t.column, t.column_name, t.offset, (*t.functions, (name, length)))
            for t in arguments
            for length in lengths
        ]

    def rest_of_membership(self, name: str) -> list[Term]:
        at = self.next
        gazetteer = self.take_name("the name of a gazetteer")
        self.wanted.append((gazetteer, self.place(at)))
        self.expect(",")
        start = self.next
        arguments = self.term()
        if any(term.functions or term.gazetteer for term in arguments):
            self.fail(f'"{name}" needs a plain column such as "word[0]"', start)
        self.expect(")")
        return [
            Term(t.column, t.column_name, t.offset, (), gazetteer, part=name == "part")
            for t in arguments
        ]

    def column(self, name: str, at: int) -> int:
        if name in self.columns:
            return self.columns.index(name)
        numbered = re.fullmatch(r"col(0|[1-9]\d{0,3})", name)
        if numbered is None:
            known = ", ".join(self.columns)
            self.fail(
                f'there is no column "{name}"; there are {known}, col{len(self.columns)} ...', at
            )
        return int(numbered.group(1))

    def column_name(self, column: int) -> str:
        names = self.shown_columns
        return names[column] if column < len(names) else f"col{column}"

    def range(self, what: str, least: int, most: int) -> list[int]:
        at = self.next
        first = last = self.integer(what)
        if self.peek() == "..":
            self.take()
            last = self.integer(what)
        if not least <= first <= last <= most:
            self.fail(f"{what} has to lie between {least} and {most}, the smaller one first", at)
        return list(range(first, last + 1))

    def integer(self, what: str) -> int:
        if not _NUMBER.fullmatch(self.peek()):
            self.fail(f"{what} is expected, not {self.shown()}")
        if len(self.peek()) > 10:
            self.fail(f"{what} has too many digits")
        return int(self.take())

    def take_name(self, what: str) -> str:
        if not _NAME.fullmatch(self.peek()):
            self.fail(f"{what} is expected, not {self.shown()}")
        return self.take()

    def expect(self, symbol: str) -> None:
        if self.peek() != symbol:
            self.fail(f'"{symbol}" is expected, not {self.shown()}')
        self.take()

    def peek(self) -> str:
        return self.tokens[self.next][0]

    def take(self) -> str:
        self.next += 1
        return self.tokens[self.next - 1][0]

    def shown(self) -> str:
        return f'"{self.peek()}"' if self.peek() else "the end of the line"

    def place(self, token: int) -> str:
        return f"{self.where}, column {self.tokens[token][1] + 1}"

    def fail(self, reason: str, token: int | None = None) -> NoReturn:
        raise InputError(f"{self.place(self.next if token is None else token)}: {reason}")
