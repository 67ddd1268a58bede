"""What a tagger's state says when its weights come from another program's model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def converted_metadata(labels: Sequence[str], features: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a chain that something else trained by the loss crf."""
    return {
        "labels": list(labels),
        "inner_scheme": None,
        "outer_scheme": None,
        "columns": None,
        "features": dict(features),
        "parameters": {"loss": "crf", "C": 0.1, "constraints": None},
        "result": {
            "passes": 0,
            "primal": math.nan,
            "dual": None,
            "gap": None,
            "dev_score": None,
            "best_pass": 0,
            "stopped_by": "conversion",
            "seconds": 0.0,
            "cpu_seconds": 0.0,
            "inference_calls": 0,
            "cuts": 0,
            "trace": [],
        },
    }
