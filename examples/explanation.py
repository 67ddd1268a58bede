"""An explanation

Why is this word a place and not a date? The contributions of features and transitions add up to
the difference of the two scores, exactly.
"""

from pictures import COLOURS, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english

train = load_english("train")
tagger = SequenceTagger(features="ner")
tagger.fit(train.forms, [sentence.entities for sentence in train])
word = tagger.explain(["Dr", "Ines", "Calder", "moved", "to", "Oslo", "."])[5]
print(str(word).splitlines()[0])

shown = sorted(word.contributions, key=lambda each: -abs(each.amount))[:8][::-1]
amounts = [each.amount for each in shown]
plt.barh(
    [each.name for each in shown],
    amounts,
    color=[COLOURS[0] if amount > 0 else COLOURS[1] for amount in amounts],
)
plt.axvline(0, linewidth=0.8, color=plt.rcParams["axes.edgecolor"])
plt.xlabel(f"contribution to {word.label} rather than {word.runner_up.label}")
save(__file__)
