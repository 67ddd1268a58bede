"""Learning curves

How much would more data help? Train on growing parts of the data and look at the slope at the end.
"""

from pictures import line, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train, test = load_english("train"), load_english("test")
sizes = [30, 60, 120, 240, len(train)]
scores = {"parts of speech": [], "entities": []}
for size in sizes:
    part = train[:size]
    tags = SequenceTagger(features="pos").fit(part.forms, part.upos)
    names = SequenceTagger(features="ner").fit(part.forms, [each.entities for each in part])
    scores["parts of speech"].append(tags.score(test.forms, test.upos))
    scores["entities"].append(names.score(test.forms, [each.entities for each in test]))

for name, values in scores.items():
    print(f"{name}: {values[0]:.2f} from {sizes[0]} sentences, {values[-1]:.2f} from {sizes[-1]}")
    line(plt.gca(), sizes, values, name, marker="o")
plt.gca().set(xlabel="training sentences", ylabel="accuracy, F1 of entities", xscale="log")
plt.gca().set_xticks(sizes, [str(size) for size in sizes], minor=False)
plt.gca().minorticks_off()
save(__file__)
