"""A project: sentences, and every answer ever given, in one SQLite file.

An answer is on the disk before :meth:`Project.answer` returns. It says which answers its annotator
had seen; those it replaces, and others stay beside it: nobody overwrites anybody. Where answers
that count differ there is a conflict, until somebody who has seen them all answers once more.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dualstruct.data.schema import fit_type
from dualstruct.data.tokenizing import Tokenizer
from dualstruct.errors import InputError
from dualstruct.labelling.kinds import KINDS, Kind, find_kind, kind_of
from dualstruct.labelling.locking import Lock
from dualstruct.labelling.schema import connect, read_facts, write_fact
from dualstruct.labelling.sentences import (
    Answer,
    Draft,
    Row,
    Sentence,
    answer_of,
    marks_after,
    token_weights,
)
from dualstruct.printable import plural
from dualstruct.texts.alignment import Alignment
from dualstruct.texts.corpora import document_blocks
from dualstruct.texts.documents import Document
from dualstruct.texts.formats.project import VALID, in_project, parsed

if TYPE_CHECKING:
    from dualstruct.labelling.rules import Rules

__all__ = ["Project"]

#: Of a sentence: more tokens are no sentence that somebody labels.
MOST_TOKENS = 2000
MOST_TYPES = 200
LONGEST_TYPE = 100


class Project:
    """Sentences and answers; one process has it open at a time.

    Parameters
    ----------
    path : path
        A SQLite file, made if it does not exist.
    kind : {"spans", "labels", "trees"}, optional
        Whether spans are marked, each token gets a label (parts of speech), or a head and a
        relation; for a new file.
    tokenizer : Tokenizer, optional
        How texts are split, for a new file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Project(Path(folder) / "names.db") as project:
    ...     project.add([Document("Ada sings. Bo left.")])
    ...     first = project.sentences[1]
    ...     answer = project.answer(1, ["B-PER", "O", "O"], annotator="me", seen=first.version)
    ...     first.words, first.labels, project.types
    (0, 2)
    (['Ada', 'sings', '.'], ('B-PER', 'O', 'O'), ['PER'])
    """

    def __init__(
        self, path: str | Path, kind: str | None = None, tokenizer: Tokenizer | None = None
    ) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self._guard = threading.RLock()
        self._lock = Lock(self.path)
        try:
            self._base = connect(self.path)
        except BaseException:
            self._lock.release()
            raise
        try:
            with in_project(self.name):
                self._load(kind, tokenizer)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        with self._guard:
            self._base.close()
            self._lock.release()

    # What there is.

    def _load(self, kind: str | None, tokenizer: Tokenizer | None) -> None:
        facts = read_facts(self._base, self.name)
        self._kind: str | None = fit_type(str | None, facts.get("kind"), "kind")  # type: ignore[arg-type]
        if self._kind is not None:
            find_kind(self._kind)
        if kind is not None and self._kind not in (None, kind):
            raise InputError(f"{self.path} is a project of {self._kind}, not of {kind}")
        self._types: list[str] = fit_type(list[str], facts.get("types", []), "types")
        self.own_tokens: bool = fit_type(bool, facts.get("own_tokens", False), "own_tokens")
        self.tokenizer = tokenizer or Tokenizer()
        if "tokenizer" in facts:
            kept = fit_type(Tokenizer, facts["tokenizer"], "tokenizer")
            if tokenizer not in (None, kept):
                raise InputError(f"{self.path} splits texts in another way since it was made")
            self.tokenizer = kept
        else:
            self._keep("tokenizer", asdict(self.tokenizer))
        if kind is not None and self._kind is None:
            self.set_kind(kind)
        self.sentences: dict[int, Sentence] = {}
        self.answered: dict[int, None] = {}  #: the sentences that have an answer
        self.changes = 0  #: how often anything was added or withdrawn
        rows = self._base.execute(
            "SELECT sentences.id, documents.name, text, tokens, tags FROM sentences "
            "JOIN documents ON documents.id = document ORDER BY sentences.id"
        )
        for number, document, text, tokens, tags in rows:
            places = fit_type(list[tuple[int, int]], parsed(tokens, "tokens"), "tokens")
            known = None if tags is None else fit_type(list[str], parsed(tags, "tags"), "tags")
            self.sentences[number] = Sentence(number, document, text, places, known)
        for number, labels, weights in self._base.execute("SELECT * FROM drafts"):
            given = None if weights is None else tuple(parsed(weights, "weights"))
            self.sentences[number].draft = Draft(tuple(parsed(labels, "labels")), given)
        found = self._base.execute(
            f"SELECT id, sentence, seen, annotator, labels, said, checked FROM ({VALID}) "
            "ORDER BY id"
        )
        for row in found:
            self._take(answer_of(row, f"{self.name}, answer {row[0]}"))

    def _take(self, answer: Answer) -> None:
        sentence = self.sentences[answer.sentence]
        sentence.set_answers((*sentence.answers, answer))
        self.answered[answer.sentence] = None
        self.changes += 1

    @property
    def kind(self) -> Kind:
        """What answers are; spans until something else is said."""
        return KINDS[self._kind or "spans"]

    @property
    def types(self) -> list[str]:
        """The types of spans, labels of tokens or relations, in the order of their keys."""
        return list(self._types)

    def settled(self) -> list[Sentence]:
        """The sentences with an answer that counts, in the order in which they were answered."""
        found = [each for each in self.answered_sentences() if each.labels is not None]
        return sorted(found, key=lambda each: each.version)

    def answered_numbers(self) -> list[int]:
        """The numbers of the sentences with answers, the first answered first."""
        with self._guard:
            return list(self.answered)

    def answered_sentences(self) -> list[Sentence]:
        """Those with answers, also where they differ."""
        with self._guard:
            return [self.sentences[number] for number in self.answered]

    def history(self, sentence: int) -> list[dict[str, Any]]:
        """Every answer ever given to a sentence, also those withdrawn."""
        with self._guard, in_project(self.name):
            rows = self._base.execute(
                "SELECT id, seen, annotator, labels, withdraws, said FROM answers "
                "WHERE sentence = ? ORDER BY id",
                (sentence,),
            ).fetchall()
        names = ("id", "seen", "annotator", "labels", "withdraws", "said")
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for each in found:
            each["labels"] = None if each["labels"] is None else json.loads(each["labels"])
        return found

    # What is added.

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: on the disk when the block ends, or not at all."""
        with self._guard, in_project(self.name):
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield self._base
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def _keep(self, key: str, value: Any) -> None:
        with self._writing() as base:
            write_fact(base, key, value)

    def set_kind(self, kind: str) -> None:
        """What answers are; once, for good."""
        find_kind(kind)
        if self._kind not in (None, kind):
            raise InputError(
                f"{self.path} is a project of {self._kind}, and these are {kind}: make another one"
            )
        if self._kind is None:
            self._keep("kind", kind)
            self._kind = kind

    def add_types(self, names: Iterable[str]) -> None:
        """More types of spans, or labels of tokens."""
        with self._guard:
            new = [name for name in dict.fromkeys(names) if name not in self._types]
            for name in new:
                if not name or len(name) > LONGEST_TYPE or any(c.isspace() for c in name):
                    raise InputError(
                        f"{name[:LONGEST_TYPE]!a} is not a label: 1 to {LONGEST_TYPE} characters "
                        "without spaces are expected"
                    )
                self.kind.check_type(name)
            if len(self._types) + len(new) > MOST_TYPES:
                raise InputError(f"a project has at most {MOST_TYPES} labels")
            if new:
                self._keep("types", self._types + new)
                self._types += new

    def add(
        self, documents: Iterable[Document], *, drafts: bool = False, annotator: str = "import"
    ) -> tuple[int, int]:
        """Sentences of documents: how many of them came with labels, and how many there are.

        Parameters
        ----------
        documents : documents
            Without spans or labels they are to be labelled.
        drafts : bool
            Whether the labels that they have are suggestions, not answers. A sentence that is there
            already gets the draft.
        annotator : str
            Whose answers they are otherwise.
        """
        alignment = Alignment("move", "longest")
        labelled = total = 0
        known: dict[tuple[str, ...], int] = {}
        if drafts:
            known = {tuple(each.words): number for number, each in self.sentences.items()}
        for block in document_blocks(documents, self.tokenizer):
            rows = []
            for document in block:
                document.check()
                rows += self._rows(document, alignment)
            labelled += sum(row[4] is not None for row in rows)
            total += len(rows)
            self._insert(rows, drafts, annotator, known)
        return labelled, total

    def _rows(self, document: Document, alignment: Alignment) -> list[Row]:
        flat = None
        if (kind := kind_of(document)) is not None:
            self.set_kind(kind)
            flat = self.kind.labels_of(document, alignment)
        sure = None
        if document.spans is not None and any(s.probability is not None for s in document.spans):
            sure = token_weights(document)
        if document.split_by is None and not self.own_tokens:
            self._keep("own_tokens", True)
            self.own_tokens = True
        rows: list[Row] = []
        at = 0
        name = str(document.metadata.get("id") or document.where or "text")
        for places in document.by_sentence(document.places):
            size = len(places)
            if flat is not None:
                self.kind.check(flat[at : at + size], document.where or "the text")
            if 0 < size <= MOST_TOKENS:
                begin, end = places[0][0], places[-1][1]
                rows.append(
                    (
                        name,
                        document.text[begin:end],
                        [(a - begin, b - begin) for a, b in places],
                        None if document.tags is None else document.tags[at : at + size],
                        None if flat is None else tuple(flat[at : at + size]),
                        None if sure is None else tuple(sure[at : at + size]),
                    )
                )
            at += size
        return rows

    def _insert(
        self,
        rows: list[Row],
        drafts: bool,
        annotator: str,
        known: dict[tuple[str, ...], int],
    ) -> None:
        self.add_types(t for row in rows for t in self.kind.types_of(row[4] or ()))
        added: list[Sentence] = []
        drafted: list[tuple[int, Draft]] = []
        document, name_of_it = 0, None
        with self._writing() as base:
            for name, text, places, tags, labels, weights in rows:
                words = tuple(text[a:b] for a, b in places)
                number = known.get(words)
                if number is None:
                    if name != name_of_it:
                        made = base.execute("INSERT INTO documents (name) VALUES (?)", (name,))
                        document, name_of_it = made.lastrowid or 0, name
                    made = base.execute(
                        "INSERT INTO sentences (document, text, tokens, tags) VALUES (?, ?, ?, ?)",
                        (document, text, _json(places), None if tags is None else _json(tags)),
                    )
                    number = made.lastrowid or 0
                    added.append(Sentence(number, name, text, places, tags))
                if labels is None:
                    continue
                if drafts:
                    base.execute(
                        "INSERT OR REPLACE INTO drafts VALUES (?, ?, ?)",
                        (number, json.dumps(labels), weights and json.dumps(weights)),
                    )
                    drafted.append((number, Draft(labels, weights)))
                else:
                    made_now = Answer(0, number, 0, annotator, labels, time.time())
                    added[-1].set_answers((self._add_answer(base, made_now, None),))
        for each in added:
            self.sentences[each.id] = each
            self.answered.update({each.id: None} if each.answers else {})
        self.changes += 1
        for number, draft in drafted:
            self.sentences[number].draft = draft

    def draft(self, rules: Rules) -> int:
        """First suggestions for sentences without an answer or draft: how many get one."""
        if self.kind.name != "spans":
            raise InputError(
                f"lists and patterns mark spans; this is a project of {self.kind.name}"
            )
        open_ones = [s for s in self.sentences.values() if not s.answers and s.draft is None]
        found = {s.id: draft for s in open_ones if (draft := rules.draft(s)) is not None}
        with self._writing() as base:
            base.executemany(
                "INSERT INTO drafts VALUES (?, ?, ?)",
                (
                    (number, json.dumps(each.labels), json.dumps(each.weights))
                    for number, each in found.items()
                ),
            )
        for number, draft in found.items():
            self.sentences[number].draft = draft
        return len(found)

    @staticmethod
    def _add_answer(base: sqlite3.Connection, answer: Answer, key: str | None) -> Answer:
        """The answer with the number that it gets."""
        checked = None if answer.checked is None else _json([int(each) for each in answer.checked])
        made = base.execute(
            "INSERT INTO answers (sentence, seen, annotator, labels, key, said, checked) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                answer.sentence,
                answer.seen,
                answer.annotator,
                json.dumps(answer.labels),
                key,
                answer.said,
                checked,
            ),
        )
        return replace(answer, id=made.lastrowid or 0)

    def answer(
        self,
        sentence: int,
        labels: Sequence[str],
        *,
        annotator: str,
        seen: int,
        key: str | None = None,
        checked: Iterable[int] | None = None,
    ) -> Answer:
        """Add an answer; it is on the disk when this returns.

        Parameters
        ----------
        sentence : int
        labels : list of str
            One for each token.
        annotator : str
        seen : int
            ``Sentence.version`` as the annotator saw it.
        key : str, optional
            What the client calls this answer. Sent again, because the network lost what we said,
            it is not added again.
        checked : numbers of tokens, optional
            Those that the annotator was asked about, if not all; with those of the answers before.
        """
        with self._guard:
            found = self._sentence(sentence)
            if key is not None and (before := self._said_before(sentence, key)) is not None:
                return before
            self.check_labels(found, labels)
            if not 0 <= seen <= found.version:
                raise InputError(f"nobody has seen version {seen} of sentence {sentence}")
            self.add_types(self.kind.types_of(labels))
            if self._kind is None:
                self.set_kind("spans")
            marks = None if checked is None else marks_after(found, set(checked))
            made = Answer(0, sentence, seen, annotator, tuple(labels), time.time(), marks)
            with self._writing() as base:
                made = self._add_answer(base, made, key)
            self._take(made)
            return made

    def _said_before(self, sentence: int, key: str) -> Answer | None:
        with in_project(self.name):
            row = self._base.execute(
                "SELECT id, sentence, seen, annotator, labels, said, checked FROM answers "
                "WHERE key = ?",
                (key,),
            ).fetchone()
        if row is None:
            return None
        if row[1] != sentence or row[4] is None:
            raise InputError("this key belongs to another answer")
        return answer_of(row, f"{self.name}, answer {row[0]}")

    def withdraw(self, answer: int, annotator: str, key: str | None = None) -> Sentence:
        """Take an answer of one's own back: everything is as if it had not been given."""
        with self._guard:
            with in_project(self.name):
                row = self._base.execute(
                    "SELECT sentence, annotator FROM answers WHERE id = ? AND labels IS NOT NULL",
                    (answer,),
                ).fetchone()
            if row is None:
                raise InputError(f"there is no answer {answer}")
            found = self._sentence(row[0])
            if row[1] != annotator:
                raise InputError(f"answer {answer} is not yours to take back")
            if all(each.id != answer for each in found.answers):
                return found  # it was taken back before
            with self._writing() as base:
                base.execute(
                    "INSERT INTO answers (sentence, seen, annotator, withdraws, key, said) "
                    "VALUES (?, 0, ?, ?, ?, ?)",
                    (found.id, annotator, answer, key, time.time()),
                )
            found.set_answers(tuple(each for each in found.answers if each.id != answer))
            if not found.answers:
                self.answered.pop(found.id, None)
            self.changes += 1
            return found

    def _sentence(self, number: int) -> Sentence:
        found = self.sentences.get(number)
        if found is None:
            raise InputError(f"there is no sentence {number}")
        return found

    def check_labels(self, sentence: Sentence, labels: Sequence[str]) -> None:
        """Refuse labels that are not one for each token, or no answer of this kind."""
        if len(labels) != len(sentence.tokens):
            raise InputError(
                f"sentence {sentence.id} has {plural(len(sentence.tokens), 'token')}, but "
                f"{plural(len(labels), 'label')}"
            )
        self.kind.check(labels, f"sentence {sentence.id}")

    # How well it is going.

    def add_point(self, point: dict[str, Any]) -> None:
        """A point of the learning curve."""
        with self._writing() as base:
            base.execute("INSERT INTO curve (point) VALUES (?)", (json.dumps(point),))

    def curve(self) -> list[dict[str, Any]]:
        """The points of the learning curve."""
        with self._guard, in_project(self.name):
            rows = self._base.execute("SELECT point FROM curve ORDER BY id").fetchall()
        return [json.loads(point) for (point,) in rows]


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
