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
from dualstruct.metrics.raw_text import RawTextScores, evaluate_raw_text
from dualstruct.metrics.reliability import Reliability, reliability
from dualstruct.metrics.trees import Attachment, TreeScores, attachment, evaluate_trees

__all__ = [
    "UNSEEN",
    "Attachment",
    "RawTextScores",
    "Reliability",
    "Scores",
    "SpanCounts",
    "TreeScores",
    "TypeScores",
    "attachment",
    "evaluate",
    "evaluate_ids",
    "evaluate_raw_text",
    "evaluate_trees",
    "reliability",
    "score_name",
    "span_counts",
]
