"""A tree

A parser learns from trees and parses words with their tags; `tree_svg` draws what it found.
"""

from pictures import place

from dualstruct import DependencyParser, draw_tree, tree_svg
from dualstruct.datasets import load_english

train, test = load_english("train"), load_english("test")
parser = DependencyParser(hash_bits=16, passes=5).fit(train)
[parsed] = parser.predict(test[44:45])
shown = parsed.forms, parsed.heads, parsed.relations
print(draw_tree(*shown))
place(__file__).write_text(tree_svg(*shown), encoding="utf-8")
