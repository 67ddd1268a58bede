"""Noisy labels

Some training labels are wrong. `suspects` ranks sentences by how much models of the other folds
disagree with their labels: the wrong ones come first.
"""

import random

from pictures import INK, line, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train = load_english("train")
rng = random.Random(0)
labels, wrong = [list(each) for each in train.upos], set()
for k in rng.sample(range(len(train)), 40):
    place = rng.randrange(len(labels[k]))
    labels[k][place] = rng.choice([t for t in ("NOUN", "VERB", "ADJ") if t != labels[k][place]])
    wrong.add(k)

tagger = SequenceTagger(features="pos").fit(train.forms, labels)
ranked = [each.sentence - 1 for each in tagger.suspects(train.forms, labels, top=120)]
found = [len(wrong & set(ranked[: k + 1])) for k in range(len(ranked))]
print(f"{found[39]} of 40 wrong sentences are among the first 40, {found[-1]} among the first 120")

looked = list(range(1, len(ranked) + 1))
line(plt.gca(), looked, found, "suspects")
line(plt.gca(), looked, [40 * k / len(train) for k in looked], "by chance", color=INK)
plt.gca().set(xlabel="sentences checked", ylabel="wrong labels found")
save(__file__)
