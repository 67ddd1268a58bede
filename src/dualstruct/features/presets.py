"""Templates that are good to start with, by task."""

from __future__ import annotations

__all__ = ["PRESETS"]

CHUNKING = """\
bias
word[-2..2]
word[-1] & word[0]
word[0] & word[1]
pos[-2..2]
pos[-2] & pos[-1]
pos[-1] & pos[0]
pos[0] & pos[1]
pos[1] & pos[2]
pos[-2] & pos[-1] & pos[0]
pos[-1] & pos[0] & pos[1]
pos[0] & pos[1] & pos[2]
"""

POS = """\
bias
word[-2..2]
word[-1] & word[0]
word[0] & word[1]
lower(word[-1..1])
prefix(word[0],1..4)
suffix(word[0],1..4)
suffix(word[-1],2..3)
suffix(word[1],2..3)
shape(word[0])
shortshape(word[-1..1])
kind(word[0])
"""

NER = """\
bias
word[-2..2]
word[-1] & word[0]
word[0] & word[1]
lower(word[-1..1])
prefix(word[0],1..4)
suffix(word[0],1..4)
suffix(word[-1],3)
suffix(word[1],3)
digits(word[0])
shape(word[-1..1])
shortshape(word[-2..2])
kind(word[-2..2])
shortshape(word[-1]) & shortshape(word[0])
shortshape(word[0]) & shortshape(word[1])
shortshape(word[-1]) & shortshape(word[0]) & shortshape(word[1])
lower(word[-1]) & shortshape(word[0])
shortshape(word[0]) & lower(word[1])
"""

POS_COLUMN = "".join(line for line in CHUNKING.splitlines(True) if line.startswith("pos"))

PRESETS = {"chunking": CHUNKING, "pos": POS, "ner": NER, "ner-pos": NER + POS_COLUMN}
