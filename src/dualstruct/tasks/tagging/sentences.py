"""Sentences as other libraries hold them: taken where it is clear what they are, else refused with
what to write. None of those libraries is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dualstruct.data.examples import as_list, class_names, is_dataset
from dualstruct.errors import InputError

if TYPE_CHECKING:
    from dualstruct.data.sources import Source

#: What datasets call the words of a sentence, and its labels where there are several kinds of them.
TOKENS = ("tokens", "words")
LABELS = ("ner_tags", "labels", "tags")

_NAMES = (
    'names = dataset.features["ner_tags"].feature.names and '
    "[[names[k] for k in row] for row in tags]"
)


def is_whole(data: Any) -> bool:
    """Whether this has sentences and their labels."""
    from dualstruct.data.sources import ColumnFiles, paths_of

    return isinstance(data, ColumnFiles) or is_dataset(data) or paths_of(data) is not None


def source_of(X: Any, y: Any) -> Source:
    """Where sentences are that were given as X and y."""
    from dualstruct.data.sources import ColumnFiles, InMemory, check_paths, paths_of
    from dualstruct.data.streams import StreamedBlocks, StreamedFiles

    if isinstance(X, ColumnFiles | StreamedFiles | StreamedBlocks):
        return X
    paths = paths_of(X)
    if paths is None:
        sentences, labels = labelled(X, y)
        if labels is None:
            raise InputError("the labels are missing: sentences need y, or give a column file")
        return InMemory(sentences, labels)
    if y is not None:
        raise InputError("labels were given beside a column file, which has its own")
    check_paths(paths)
    return ColumnFiles(paths)


def as_sentences(X: Any) -> Any:
    """Sentences that can be read more than once; the words of a dataset."""
    if is_dataset(X):
        return _column(X, _only(X, [name for name in TOKENS if name in X.features], "words"))
    if isinstance(X, Mapping):
        raise InputError(
            f"the sentences are a {type(X).__name__} with {_listed(X)}: give one of its parts, "
            'data["train"] for instance, or a list of sentences'
        )
    if _is_frame(X):
        raise InputError(
            "the sentences are one DataFrame: give a list with a sentence for each group of its "
            'rows, [list(rows["word"]) for _, rows in frame.groupby("sentence", sort=False)]'
        )
    sentences = as_list(X)
    first = _first(sentences)
    if _is_frame(first):
        raise InputError(
            "sentence 1 is a DataFrame: give frame.to_dict('records') for its cells as attributes, "
            "list(frame.itertuples(index=False, name=None)) for columns that templates look at, or "
            "frame.to_numpy() for numbers"
        )
    if isinstance(first, Mapping):
        raise InputError(
            f"sentence 1 is a {type(first).__name__} with {_listed(first)}: give "
            '[row["tokens"] for row in rows], and the labels as strings beside them; '
            f"{_NAMES} makes strings of numbers"
        )
    return sentences


def labelled(X: Any, y: Any) -> tuple[Any, Any]:
    """Sentences and their labels, which a dataset has both."""
    if not is_dataset(X) or y is not None:
        return as_sentences(X), None if y is None else as_list(y)
    names = {name: class_names(feature) for name, feature in X.features.items()}
    known = [name for name, labels in names.items() if labels is not None]
    known = known or [name for name in LABELS if name in X.features]
    usual = [name for name in LABELS if name in known]
    label = _only(X, usual[:1] or known, "labels")
    labels, found = names[label], _column(X, label)
    if labels is None:
        return as_sentences(X), found
    return as_sentences(X), [[_name(labels, k, label) for k in row] for row in found]


def _name(names: list[str], number: int, column: str) -> str:
    if not 0 <= number < len(names):
        raise InputError(f"{column}: there is no label {number}; there are {len(names)}")
    return names[number]


def _only(X: Any, found: list[str], what: str) -> str:
    if len(found) == 1:
        return found[0]
    problem = f"no column of {what}" if not found else f"several, {', '.join(found)}"
    raise InputError(
        f"a dataset with {_listed(X.features)} has {problem}: give its {what} as lists of strings, "
        f'fit(dataset["tokens"], tags); {_NAMES} makes strings of numbers'
    )


def _column(X: Any, name: str) -> list[Any]:
    return list(X[name])


def _is_frame(value: Any) -> bool:
    return hasattr(value, "itertuples") and hasattr(value, "columns")


def _first(sentences: Any) -> Any:
    """The first sentence; matrices and lengths are not a sequence of sentences."""
    return sentences[0] if isinstance(sentences, list | tuple) and sentences else None


def _listed(names: Any) -> str:
    return ", ".join(map(str, list(names)[:6]))
