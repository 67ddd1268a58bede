"""A regularisation path

The larger λ₁ of the L1 norm, the fewer weights are not 0. The accuracy falls much later than the
size of the model.
"""

import numpy as np
from pictures import COLOURS, plt, save

from dualstruct import LBFGS, SequenceTagger
from dualstruct.datasets import load_english

train, test = load_english("train"), load_english("test")
strengths = [0.01, 0.1, 0.3, 1.0, 3.0]
kept, scores = [], []
for l1 in strengths:
    tagger = SequenceTagger(features="pos", loss="crf", solver=LBFGS(l1=l1), C=1.0, passes=30)
    tagger.fit(train.forms, train.upos)
    kept.append(int(np.count_nonzero(tagger.result_.w.array)))
    scores.append(tagger.score(test.forms, test.upos))
    print(f"l1 = {l1}: {kept[-1]} weights, accuracy {scores[-1]:.3f}")

figure, left = plt.subplots()
right = left.twinx()
right.spines["right"].set_visible(True)
left.plot(strengths, kept, "o-", color=COLOURS[0])
right.plot(strengths, scores, "s-", color=COLOURS[1])
left.set_xlabel("λ₁")
left.set_ylabel("weights that are not 0", color=COLOURS[0])
right.set_ylabel("accuracy", color=COLOURS[1])
left.set_xscale("log")
left.set_yscale("log")
save(__file__)
