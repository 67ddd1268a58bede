"""Models for machines without dualstruct: plain Python, JavaScript, WebAssembly."""

from dualstruct.exporting.exports import Exported, export_model
from dualstruct.exporting.opening import open_exportable
from dualstruct.exporting.targets import TARGETS, Target

__all__ = ["TARGETS", "Exported", "Target", "export_model", "open_exportable"]
