"""A ranking

The output is an order of twelve runners; a mistake at the top costs more than one at the bottom.
"""

import numpy as np
from pictures import COLOURS, INK, plt, save

from dualstruct import CustomStructure, StructuredSVM


def discounts(n):
    return 1 / np.log2(2 + np.arange(n))


def gains(truth):
    gain = np.empty(len(truth))
    gain[truth] = np.arange(len(truth))[::-1] / len(truth)
    return gain


class Ranking(CustomStructure):
    def decode(self, w, x, truth=None, cost_weight=0):
        scores = x @ w
        if cost_weight:
            ideal = gains(truth)[truth] @ discounts(len(x))
            scores = scores - cost_weight * gains(truth) / ideal
        return np.argsort(-scores, kind="stable")

    def features(self, x, y):
        return discounts(len(y)) @ x[y]

    def cost(self, truth, y):
        gain, discount = gains(truth), discounts(len(y))
        return max(1 - (gain[y] @ discount) / (gain[truth] @ discount), 0)


rng = np.random.default_rng(0)
skill = np.array([1.0, -0.5, 0.0, 2.0])
X = [rng.normal(size=(12, 4)) for _ in range(200)]
Y = [np.argsort(-(x @ skill + rng.normal(size=12))) for x in X]  # the day's form is luck
svm = StructuredSVM(Ranking(), loss="hinge", C=1.0, gap=0.01).fit(X[:100], Y[:100])
chance = [Ranking().cost(truth, rng.permutation(12)) for truth in Y[100:]]
print(f"NDCG {svm.score(X[100:], Y[100:]):.2f}, by chance {1 - np.mean(chance):.2f}")

order = svm.predict([X[100]])[0]
true_place = {runner: place for place, runner in enumerate(Y[100])}
for place, runner in enumerate(order):
    gap = abs(place - true_place[runner])
    colour = COLOURS[0] if gap <= 2 else COLOURS[1]
    plt.plot([0, 1], [place, true_place[runner]], "o-", color=colour)
    plt.text(-0.06, place, f"runner {runner}", ha="right", va="center")
plt.text(0, -1.1, "predicted", ha="center", color=INK)
plt.text(1, -1.1, "result of the day", ha="center", color=INK)
plt.gca().invert_yaxis()
plt.axis("off")
save(__file__)
