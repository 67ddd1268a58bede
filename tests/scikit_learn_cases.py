"""Every estimator with data for it, and estimators of rows for scikit-learn's own checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from dualstruct import (
    CSRSequences,
    DependencyParser,
    KGramChain,
    Multiclass,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
)
from dualstruct.compat.sklearn_crfsuite import CRF
from dualstruct.datasets import load_english

WORDS = {"a": "DET", "the": "DET", "dog": "NOUN", "cat": "NOUN", "sees": "VERB", "runs": "VERB"}


def sentences(count):
    random = np.random.default_rng(0)
    X = [
        [str(word) for word in random.choice(list(WORDS), n)] for n in random.integers(1, 6, count)
    ]
    return X, [[WORDS[word] for word in x] for x in X]


def rows(count):
    random = np.random.default_rng(1)
    X = random.normal(size=(count, 4))
    return X, np.array(["low", "high"])[(X[:, 0] + X[:, 1] > 0).astype(int)]


def runs(count):
    random = np.random.default_rng(2)
    X = [random.normal(size=(n, 2)) for n in random.integers(1, 6, count)]
    return X, [["up" if value > 0 else "down" for value in x[:, 0]] for x in X]


@dataclass(frozen=True)
class Case:
    """An estimator, what it learns from, and a parameter to search over."""

    make: Callable[[], Any]
    X: Any
    y: Any
    grid: dict[str, list[Any]]


SENTENCES, LABELS = sentences(24)
TREES = list(load_english("train")[:24])
QUICK_PARSER = {"hash_bits": 10, "passes": 2, "bad_trees": "skip"}

CASES = {
    "SequenceTagger": Case(
        lambda: SequenceTagger("word[0]\n", passes=3, unseen_labels="count"),
        SENTENCES, LABELS, {"C": [1e-6, 1.0]},
    ),
    "DependencyParser": Case(
        lambda: DependencyParser(**QUICK_PARSER), TREES, None, {"C": [1e-6, 0.1]}
    ),
    "ParsingPipeline": Case(
        lambda: ParsingPipeline(
            folds=2,
            tagger=SequenceTagger(passes=1, unseen_labels="count"),
            parser=DependencyParser(**QUICK_PARSER),
        ),
        TREES, None, {"parser__C": [1e-6, 0.1]},
    ),
    "StructuredSVM of rows": Case(
        lambda: StructuredSVM(Multiclass()), *rows(24), {"C": [1e-3, 10.0]}
    ),
    "StructuredSVM of sequences": Case(
        lambda: StructuredSVM(KGramChain(2)), *runs(24), {"C": [1e-6, 1.0]}
    ),
    "CRF": Case(
        lambda: CRF(max_iterations=20),
        [[[word] for word in x] for x in SENTENCES], LABELS, {"c2": [0.01, 100.0]},
    ),
}  # fmt: skip


class Rows:
    """An estimator of sequences as a classifier of rows, each of them a sequence of one token."""

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # from 1.6 on

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(two_d_array=True, sparse=True),
        )

    def predict(self, X):
        labels = np.array([label for [label] in super().predict(self.sequences(X))])
        try:
            return labels.astype(float)
        except ValueError:
            return labels

    def score(self, X, y):
        return float(np.mean(self.predict(X) == np.asarray(y)))

    @staticmethod
    def of_one_token(y):
        return None if y is None else [[str(label)] for label in np.asarray(y)]


class RowTagger(Rows, SequenceTagger):
    @staticmethod
    def sequences(X):
        matrix = X if scipy.sparse.issparse(X) else np.asarray(X)
        return CSRSequences(matrix, np.ones(matrix.shape[0], int))

    def fit(self, X, y, sample_weight=None):
        return super().fit(self.sequences(X), self.of_one_token(y), sample_weight=sample_weight)

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(self.sequences(X), self.of_one_token(y))


class RowCRF(Rows, CRF):
    @staticmethod
    def sequences(X):
        dense = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
        return [[{f"f{j}": value for j, value in enumerate(row)}] for row in dense.tolist()]

    def fit(self, X, y):
        return super().fit(self.sequences(X), self.of_one_token(y))


class RowSVM(Rows, StructuredSVM):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y, sample_weight=sample_weight)

    def predict(self, X):
        return np.asarray(StructuredSVM.predict(self, X))


ROW_ESTIMATORS = {
    "SequenceTagger": lambda: RowTagger(C=10.0, passes=20),
    "CRF": lambda: RowCRF(max_iterations=50),
    "StructuredSVM": lambda: RowSVM(Multiclass()),
}
