"""What the command ``dualstruct`` says about confidence, and its command ``calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dualstruct.cli.options import Json, Reading, SameColumns, SameLabelColumn, Threads
from dualstruct.cli.output import print_json, say
from dualstruct.cli.parameters import Argument

if TYPE_CHECKING:
    from dualstruct.cli.columns import Sentences
    from dualstruct.confidence import SentenceConfidence
    from dualstruct.estimators import DependencyParser, SequenceTagger
    from dualstruct.metrics import Reliability


def calibrate(
    model: Annotated[Path, Argument(help="A model file written by train; it is updated in place.")],
    dev: Annotated[
        str, Argument(help="A file with true labels or trees that was not used for training.")
    ],
    label_column: SameLabelColumn = None,
    columns: SameColumns = None,
    threads: Threads = 1,
    as_json: Json = False,
) -> None:
    """Turn a model's scores into probabilities with development data.

    The temperature is stored in the model file; predictions do not change. Training with --dev
    calibrates automatically, unless the loss is crf.
    """
    from dualstruct.cli.models import open_model

    opened = open_model(model)
    temperature = opened.calibrate(dev, Reading(label_column, columns, threads))
    opened.model.save(model)
    if as_json:
        print_json({"temperature": temperature, "model": str(model)})
    else:
        say(f"temperature {temperature:.4f}; model written to {model}")


def confident_lines(
    sentences: Sentences, found: Sequence[SentenceConfidence], ranked: bool
) -> list[str]:
    """Columns with the label and its probability, after lines about the sentence."""
    lines: list[str] = []
    for i, each in enumerate(found):
        above = []
        if ranked:
            above += [
                f"# {rank} {reading.score:.6f} {reading.probability:.4f} {' '.join(reading.labels)}"
                for rank, reading in enumerate(each.k_best, 1)
            ]
        above.append(f"# probability {each.probability:.4f}")
        above += [
            f"# entity {entity.type} {entity.start + 1}-{entity.end} {entity.probability:.4f}"
            for entity in each.entities
        ]
        lines += sentences.lines(i, each.labels, above, [f"{p:.4f}" for p in each.marginals])
    return lines


def reliability_of(
    model: SequenceTagger | DependencyParser, X: Any, y: Any, picture: Path | None
) -> dict[str, Reliability]:
    """Confidence against accuracy, and its picture if one is asked for."""
    diagrams = model.reliability(X, y)
    if picture is not None:
        from dualstruct.drawing.reliability import draw_reliability

        draw_reliability(list(diagrams.values()), picture)
    return diagrams
