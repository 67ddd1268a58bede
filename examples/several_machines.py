"""Several machines

Each worker has a share of the data and sends sums of changes. More workers need more rounds for
the same certified gap; how many more depends on the strategy.
"""

from pictures import line, plt, save

from dualstruct import Problem, Stopping
from dualstruct.datasets import make_chains
from dualstruct.distributed import ADMM, BQO, fit_local

workers = [1, 2, 4, 8]
for name, strategy in (("bqo", BQO), ("admm", ADMM)):
    passes = []
    for count in workers:
        problem = Problem(make_chains(sentences=120).structure(), "squared_hinge", C=0.1)
        stopping = Stopping(gap=0.01, passes=200)
        passes.append(fit_local(problem, strategy(), stopping, workers=count).passes)
    print(f"{name}: {passes} passes with {workers} workers")
    line(plt.gca(), workers, passes, name, marker="o")
plt.gca().set(xlabel="workers", ylabel="passes to a gap of 1 %", ylim=(0, None))
plt.gca().set_xticks(workers)
save(__file__)
