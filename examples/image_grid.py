"""The grid of an image

A fifth of the pixels is wrong. A pixel's own colour and its agreement with its neighbours are
learned together; the prediction is the best picture as a whole.
"""

import numpy as np
from pictures import plt, save

from dualstruct import StructuredSVM
from dualstruct.structures import Grid


def photograph(rng, size=16):
    rows, columns = np.indices((size, size))
    (a, b), radius = rng.uniform(4, 12, size=2), rng.uniform(3, 6)
    clean = ((rows - a) ** 2 + (columns - b) ** 2 < radius**2).astype(int)
    return np.where(rng.random(clean.shape) < 0.2, 1 - clean, clean), clean


rng = np.random.default_rng(0)
X, Y = zip(*(photograph(rng) for _ in range(40)))
cells = [np.stack([2.0 * x - 1, np.ones(x.shape)], axis=2) for x in X]
svm = StructuredSVM(Grid(), loss="hinge", C=0.01, passes=10).fit(cells[:20], Y[:20])
found = svm.predict(cells[20:])
before = np.mean([np.mean(x != y) for x, y in zip(X[20:], Y[20:])])
after = np.mean([np.mean(x != y) for x, y in zip(found, Y[20:])])
print(f"wrong pixels: {100 * before:.0f} % before, {100 * after:.0f} % after")

figure, sides = plt.subplots(1, 3)
for axes, picture, title in zip(sides, (X[20], found[0], Y[20]), ("given", "predicted", "true")):
    axes.imshow(picture, cmap="cividis")
    axes.set_title(title)
    axes.axis("off")
save(__file__)
