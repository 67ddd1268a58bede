"""A matching by an integer program

Workers and jobs, one each. The decoder is an integer program; everything else is two small methods.
"""

import numpy as np
from pictures import COLOURS, plt, save
from scipy.optimize import Bounds, LinearConstraint, milp

from dualstruct import CustomStructure, StructuredSVM


class Matching(CustomStructure):
    dimension = 3

    def decode(self, w, x, truth=None, cost_weight=0):
        n = len(x)
        value = x @ w.astype(float)  # [workers, jobs]
        if cost_weight:
            value = value + cost_weight * (1 - np.eye(n)[list(truth)])
        once = np.zeros((2 * n, n, n))
        for k in range(n):
            once[k, k, :] = 1  # a worker has one job
            once[n + k, :, k] = 1  # a job has one worker
        found = milp(
            -value.ravel(),
            integrality=np.ones(n * n),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(once.reshape(2 * n, -1), lb=1, ub=1),
        )
        return tuple(int(job) for job in np.round(found.x).reshape(n, n).argmax(axis=1))

    def features(self, x, y):
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def cost(self, truth, y):
        return sum(a != b for a, b in zip(truth, y))


rng = np.random.default_rng(0)
X = [rng.normal(size=(5, 5, 3)) for _ in range(40)]
Y = [Matching().decode(np.array([2.0, -1.0, 0.5]), x + 0.1 * rng.normal(size=x.shape)) for x in X]
svm = StructuredSVM(Matching(), loss="hinge", C=1.0, passes=5).fit(X[:20], Y[:20])
found = svm.predict(X[20:])
right = np.mean([a == b for y, truth in zip(found, Y[20:]) for a, b in zip(y, truth)])
print(f"{100 * right:.0f} % of the jobs are given to the right worker")

for worker, (job, true_job) in enumerate(zip(found[0], Y[20])):
    colour = COLOURS[0] if job == true_job else COLOURS[1]
    plt.plot([0, 1], [worker, job], "o-", color=colour, linewidth=2)
for k in range(5):
    plt.text(-0.04, k, f"worker {k}", ha="right", va="center")
    plt.text(1.04, k, f"job {k}", va="center")
plt.axis("off")
save(__file__)
