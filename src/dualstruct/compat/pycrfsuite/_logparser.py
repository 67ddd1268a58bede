"""The log parser under the name that it has in python-crfsuite."""

from __future__ import annotations

from dualstruct.crfsuite.log import LabelScore, TrainLogParser

__all__ = ["LabelScore", "TrainLogParser"]
