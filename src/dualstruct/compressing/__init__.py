"""Small models: fewer weights, few bits for each, names packed."""

from dualstruct.compressing.search import Compression, compress
from dualstruct.compressing.sizes import parse_size, show_size

__all__ = ["Compression", "compress", "parse_size", "show_size"]
