"""An active learning curve

Ask about the sentences of which the model is least sure instead of random ones. The same number of
labelled sentences gives a better model.
"""

import random

from pictures import line, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train, test = load_english("train"), load_english("test")
forms, labels = list(train.forms), list(train.upos)


def curve(least_sure_first, rounds=8, at_once=20):
    rng = random.Random(1)
    asked = rng.sample(range(len(forms)), at_once)
    scores = []
    for _ in range(rounds):
        tagger = SequenceTagger(features="pos", loss="crf", passes=5)
        tagger.fit([forms[k] for k in asked], [labels[k] for k in asked])
        scores.append(tagger.score(test.forms, test.upos))
        left = sorted(set(range(len(forms))) - set(asked))
        rng.shuffle(left)
        if least_sure_first:
            found = tagger.predict_confidence([forms[k] for k in left])
            sure = {k: each.probability for k, each in zip(left, found)}
            left.sort(key=lambda k: sure[k])
        asked += left[:at_once]
    return scores


sizes = [20 * (k + 1) for k in range(8)]
for name, chosen in (("least sure first", True), ("random order", False)):
    scores = curve(chosen)
    print(f"{name}: {scores[-1]:.3f} after {sizes[-1]} sentences")
    line(plt.gca(), sizes, scores, name, marker="o")
plt.gca().set(xlabel="labelled sentences", ylabel="token accuracy")
save(__file__)
