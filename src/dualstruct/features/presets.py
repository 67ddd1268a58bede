"""Templates that are good to start with, by task.

Those without ``-rich`` are fast; the rich ones take about twice the time for a pass, know the
labels that words had in training, and so want all training data at once. ``make bench-features``
says what they gain.
"""

from __future__ import annotations

__all__ = ["CHARACTERS", "LEMMAS", "PRESETS"]

#: Words and parts of speech alone: what papers and other programs are compared on.
CHUNKING_SMALL = """\
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

CHUNKING = (
    CHUNKING_SMALL
    + """\
word[-1..1] & pos[0]
word[0] & pos[-1]
word[0] & pos[1]
word[-1] & pos[-1]
word[1] & pos[1]
suffix(word[0],2..3)
shortshape(word[0])
"""
)

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

POS_COLUMN = "".join(line for line in CHUNKING_SMALL.splitlines(True) if line.startswith("pos"))

CHUNKING_RICH = (
    CHUNKING
    + """\
prefix(word[0],2..4)
suffix(word[0],4)
suffix(word[-1],2..3)
suffix(word[1],2..3)
shortshape(word[-1])
shortshape(word[1])
pos[-3]
pos[3]
pos[-2] & pos[0]
pos[0] & pos[2]
pos[-3] & pos[-2] & pos[-1]
pos[1] & pos[2] & pos[3]
pos[-1] & pos[0] & pos[1] & pos[2]
pos[-2] & pos[-1] & pos[0] & pos[1]
pos[-2] & pos[-1] & pos[0] & pos[1] & pos[2]
word[0] & pos[-1] & pos[1]
word[0] & pos[0] & pos[1]
word[0] & pos[-1] & pos[0]
word[-1] & pos[0] & pos[1]
word[-2] & word[-1]
word[1] & word[2]
word[-1] & word[1]
word[-1] & word[0] & word[1]
labels(word[-1..1])
known(word[0],2) & pos[0]
"""
)

POS_RICH = (
    POS
    + """\
prefix(word[0],5)
suffix(word[0],5)
suffix(lower(word[0]),1..4)
kind(word[-1])
kind(word[1])
lower(word[-1]) & lower(word[1])
lower(word[-2]) & lower(word[-1])
lower(word[1]) & lower(word[2])
suffix(word[-1],2) & suffix(word[0],2)
suffix(word[0],2) & suffix(word[1],2)
lower(word[-1]) & suffix(word[0],3)
suffix(word[0],3) & lower(word[1])
lower(word[-1]) & lower(word[0]) & lower(word[1])
labels(word[-2..2])
labels(word[-1]) & labels(word[0])
labels(word[0]) & labels(word[1])
labels(word[-1]) & labels(word[1])
labels(word[-2]) & labels(word[-1])
labels(word[1]) & labels(word[2])
labels(word[-1]) & labels(word[0]) & labels(word[1])
labels(word[-1]) & word[0]
word[0] & labels(word[1])
labels(lower(word[0]))
labels(suffix(lower(word[0]),3))
known(lower(word[0]),2)
"""
)

NER_RICH = (
    NER
    + """\
prefix(word[0],5)
suffix(word[0],5)
digits(word[-1])
digits(word[1])
digits(lower(word[-2..2]))
lower(word[-2])
lower(word[2])
lower(word[-1]) & lower(word[0])
lower(word[0]) & lower(word[1])
lower(word[-2]) & lower(word[-1])
lower(word[1]) & lower(word[2])
lower(word[-1]) & lower(word[0]) & lower(word[1])
suffix(word[-1],3) & suffix(word[0],3)
suffix(word[0],3) & suffix(word[1],3)
suffix(word[-1],3) & suffix(word[1],3)
shortshape(word[-2]) & shortshape(word[-1])
shortshape(word[1]) & shortshape(word[2])
labels(lower(word[-2..2]))
labels(lower(word[-1])) & labels(lower(word[0]))
labels(lower(word[0])) & labels(lower(word[1]))
labels(lower(word[0])) & shortshape(word[0])
"""
)

PRESETS = {
    "chunking": CHUNKING,
    "pos": POS,
    "ner": NER,
    "ner-pos": NER + POS_COLUMN,
    "chunking-small": CHUNKING_SMALL,
    "chunking-rich": CHUNKING_RICH,
    "pos-rich": POS_RICH,
    "ner-rich": NER_RICH,
}

#: Of characters, for a tokenizer that is learned; docs/text.md says what the columns are.
CHARACTERS = """\
columns char kind gap run before rest next last rule
bias
char[-3..3]
char[-1] & char[0]
char[0] & char[1]
char[-2] & char[-1] & char[0]
char[-1] & char[0] & char[1]
char[0] & char[1] & char[2]
kind[-1] & kind[0] & kind[1]
kind[-2] & kind[-1] & kind[0] & kind[1] & kind[2]
gap[0]
gap[-1]
gap[0] & char[0]
gap[0] & kind[0] & kind[1]
gap[-1] & char[0] & char[1]
gap[0] & char[0] & prefix(next[0],1)
gap[0] & char[0] & next[0]
gap[0] & kind[0] & next[0]
gap[0] & char[0] & shortshape(next[0])
gap[0] & before[0] & kind[1]
gap[0] & char[0] & last[0]
gap[0] & shortshape(before[0]) & shortshape(next[0])
gap[0] & run[0]
run[0] & char[1]
run[0] & rest[0]
before[0]
before[0] & rest[0]
rest[0]
shape(before[0]) & shape(rest[0])
rule[0]
rule[-1] & rule[0] & rule[1]
rule[0] & char[0]
rule[0] & char[0] & char[1]
rule[0] & gap[0] & char[0] & kind[1]
rule[0] & gap[0] & shortshape(next[0])
"""

#: Of words without neighbours, for the scripts that make their lemmas.
LEMMAS = """\
bias
pos[0]
lower(word[0])
prefix(lower(word[0]),1..3)
suffix(lower(word[0]),1..6)
suffix(lower(word[0]),1..5) & pos[0]
prefix(lower(word[0]),1) & suffix(lower(word[0]),3)
shortshape(word[0])
shortshape(word[0]) & pos[0]
kind(word[0]) & suffix(lower(word[0]),2) & pos[0]
"""
