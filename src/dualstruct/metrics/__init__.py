"""Scores of predictions: of labels and spans, and of dependency trees."""

from dualstruct.metrics.counts import TypeScores
from dualstruct.metrics.labels import (
    UNSEEN,
    Scores,
    SpanCounts,
    evaluate,
    evaluate_ids,
    score_name,
    span_counts,
)
from dualstruct.metrics.reliability import Reliability, reliability
from dualstruct.metrics.trees import Attachment, TreeScores, attachment, evaluate_trees

__all__ = [
    "UNSEEN",
    "Attachment",
    "Reliability",
    "Scores",
    "SpanCounts",
    "TreeScores",
    "TypeScores",
    "attachment",
    "evaluate",
    "evaluate_ids",
    "evaluate_trees",
    "reliability",
    "score_name",
    "span_counts",
]
