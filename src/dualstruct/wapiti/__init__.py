"""Model files of Wapiti, the program that GROBID trains and labels with."""

from dualstruct.wapiti.conversion import tagger_from_wapiti, wapiti_from_tagger
from dualstruct.wapiti.files import WapitiModel, is_wapiti, read_wapiti, write_wapiti

__all__ = [
    "WapitiModel",
    "is_wapiti",
    "read_wapiti",
    "tagger_from_wapiti",
    "wapiti_from_tagger",
    "write_wapiti",
]
