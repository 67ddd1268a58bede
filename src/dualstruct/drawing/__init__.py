"""Dependency trees as pictures: arcs over the words, in a terminal or as SVG."""

from dualstruct.drawing.comparison import draw_comparison, tree_page
from dualstruct.drawing.svg import tree_svg
from dualstruct.drawing.terminal import draw_tree

__all__ = ["draw_comparison", "draw_tree", "tree_page", "tree_svg"]
