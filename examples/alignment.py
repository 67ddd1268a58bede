"""An alignment

Which letter of an old word became which letter of the new one? The features are pairs of letters;
the decoder is the usual dynamic program.
"""

import random

from pictures import COLOURS, INK, plt, save

from dualstruct import CustomStructure, StructuredSVM

CHANGES = {"v": "u", "y": "i", "c": "k", "f": "s"}


class Alignment(CustomStructure):
    def decode(self, w, x, truth=None, cost_weight=0):
        old, new = x
        true_pairs = set(truth) if cost_weight else set()
        skip = self.weight(w, "skip")
        best = {(0, 0): (0.0, None)}
        for i in range(len(old) + 1):
            for j in range(len(new) + 1):
                choices = []
                if i:
                    choices.append((best[i - 1, j][0] + skip, (i - 1, j)))
                if j:
                    choices.append((best[i, j - 1][0] + skip, (i, j - 1)))
                if i and j:
                    value = self.weight(w, f"{old[i - 1]}→{new[j - 1]}")
                    value += cost_weight * (-1 if (i - 1, j - 1) in true_pairs else 1)
                    choices.append((best[i - 1, j - 1][0] + value, (i - 1, j - 1)))
                if choices:
                    best[i, j] = max(choices)
        pairs, at = [], (len(old), len(new))
        while at != (0, 0):
            before = best[at][1]
            if before == (at[0] - 1, at[1] - 1):
                pairs.append(before)
            at = before
        return tuple(reversed(pairs))

    def features(self, x, y):
        old, new = x
        counts = {"skip": len(old) + len(new) - 2 * len(y)}
        for i, j in y:
            name = f"{old[i]}→{new[j]}"
            counts[name] = counts.get(name, 0) + 1
        return counts

    def cost(self, truth, y):
        return len(set(truth) ^ set(y))


def age(rng, letters="abcdefilmnorstuvy", length=8):
    old, new, pairs = "", "", []
    for _ in range(length):
        letter = rng.choice(letters)
        if rng.random() < 0.1:
            new += rng.choice(letters)
        old += letter
        if rng.random() >= 0.1:
            pairs.append((len(old) - 1, len(new)))
            new += CHANGES.get(letter, letter)
    return (old, new), tuple(pairs)


rng = random.Random(0)
X, Y = zip(*(age(rng) for _ in range(120)))
svm = StructuredSVM(Alignment(), loss="hinge", C=0.1, passes=10).fit(X[:80], Y[:80])
wrong = [len(set(truth) ^ set(y)) for truth, y in zip(Y[80:], svm.predict(X[80:]))]
print(f"{sum(wrong) / len(wrong):.1f} wrong pairs per word of eight letters")

(old, new), pairs = X[80], svm.predict([X[80]])[0]
for row, word in ((1, old), (0, new)):
    for place, letter in enumerate(word):
        plt.text(place, row, letter, ha="center", va="center", fontsize=22)
for i, j in pairs:
    colour = COLOURS[0] if old[i] == new[j] else COLOURS[1]
    plt.plot([i, j], [0.85, 0.15], color=colour, linewidth=2)
plt.text(-1.2, 1, "old", color=INK, va="center")
plt.text(-1.2, 0, "new", color=INK, va="center")
plt.xlim(-1.3, max(len(old), len(new)))
plt.ylim(-0.3, 1.3)
plt.axis("off")
save(__file__)
