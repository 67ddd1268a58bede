"""Convergence of five solvers

Every solver says how far from the optimum it is. `certify_every=1` certifies after each pass, and
`result_.trace` holds the gaps.
"""

from pictures import line, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train = load_english("train")
solvers = {
    "dcd": "squared_hinge",
    "cutting-plane": "squared_hinge",
    "sdm": "hinge",
    "frank-wolfe": "hinge",
    "lbfgs": "crf",
}
for solver, loss in solvers.items():
    tagger = SequenceTagger(
        features="pos", loss=loss, solver=solver, C=0.1, passes=20, certify_every=1
    ).fit(train.forms, train.upos)
    trace = [point for point in tagger.result_.trace if point.gap is not None]
    print(f"{solver} ({loss}): {100 * trace[-1].gap:.1f} % after {trace[-1].passes} passes")
    line(plt.gca(), [p.passes for p in trace], [100 * p.gap for p in trace], f"{solver} ({loss})")
plt.gca().set(xlabel="passes over the data", ylabel="certified gap, %", yscale="log")
save(__file__)
