"""Convergence of five solvers

How far from the optimum is each solver after each pass? `certify_every=1` certifies the gap after
every pass, and `result_.trace` contains the gaps.
"""

from pictures import name_lines, plt, save

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
axes, ends = plt.gca(), []
for solver, loss in solvers.items():
    tagger = SequenceTagger(
        features="pos", loss=loss, solver=solver, C=0.1, passes=20, certify_every=1
    ).fit(train.forms, train.upos)
    trace = [point for point in tagger.result_.trace if point.gap is not None]
    print(f"{solver} ({loss}): {100 * trace[-1].gap:.1f} % after {trace[-1].passes} passes")
    [line] = axes.plot([p.passes for p in trace], [100 * p.gap for p in trace])
    ends.append((f"{solver} ({loss})", line.get_color(), trace[-1].passes, 100 * trace[-1].gap))
axes.set(xlabel="passes over the data", ylabel="certified gap, %", yscale="log")
axes.set_xticks(range(0, 21, 5))
name_lines(axes, ends)
save(__file__)
