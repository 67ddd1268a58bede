"""Reliability diagram

Of the tokens about which the model is 80 % sure, 80 % should be right. A hinge's scores are not
probabilities; one temperature, fitted on held-out data, makes them so.
"""

from pictures import COLOURS, INK, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train, test = load_english("train"), load_english("test")
tagger = SequenceTagger(features="pos").fit(train[:300].forms, train[:300].upos)
tagger.calibrate(train[300:].forms, train[300:].upos)

figure, sides = plt.subplots(1, 2, sharey=True)
for axes, title, beta in ((sides[0], "uncalibrated", 1.0), (sides[1], "calibrated", None)):
    given = {} if beta is None else {"beta": beta}
    found = tagger.reliability(test.forms, test.upos, **given)["tokens"]
    bins = [each for each in found.bins if each.count]
    axes.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle="--")
    axes.plot([b.confidence for b in bins], [b.accuracy for b in bins], "o-", color=COLOURS[0])
    axes.set(title=f"{title}: ECE {found.ece:.2f}", xlabel="confidence", aspect="equal")
    print(f"{title}: expected calibration error {found.ece:.2f}")
sides[0].set_ylabel("accuracy")
save(__file__)
