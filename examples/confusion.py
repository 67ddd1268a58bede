"""Confusion

Which labels does the model confuse? Rows are true labels, columns are predicted ones; only
mistakes are shown.
"""

import numpy as np
from pictures import COLOURS, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.mistakes import label_mistakes

train, test = load_english("train"), load_english("test")
tagger = SequenceTagger(features="pos").fit(train.forms, train.upos)
found = label_mistakes(test.forms, test.upos, tagger.predict(test.forms))
table = found.confusion()
for row in table.most_frequent(3):
    print(*row)

counts = np.array(table.counts, dtype=float)
np.fill_diagonal(counts, 0)
wrong = [k for k in range(len(counts)) if counts[k].sum() + counts[:, k].sum() > 0]
names, counts = [table.labels[k] for k in wrong], counts[np.ix_(wrong, wrong)]
plt.figure(figsize=(5, 4.2))
for row, column in np.argwhere(counts > 0):
    size = 60 + 90 * counts[row, column] / counts.max() * 4
    plt.scatter(column, row, s=size, color=COLOURS[1])
    plt.text(column, row, f"{counts[row, column]:.0f}", ha="center", va="center", color="black")
plt.xticks(range(len(names)), names, rotation=60)
plt.yticks(range(len(names)), names)
plt.gca().invert_yaxis()
plt.xlabel("predicted")
plt.ylabel("labelled")
save(__file__)
