"""An explanation

Why is this word a place and not a person? The contributions of features and transitions add up to
the difference of the two scores, exactly.
"""

from pictures import COLOURS, plt, save

from dualstruct import SequenceTagger

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"], ["Ada", "met", "Bo", "in", "Rome"]]
y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["B-PER", "O", "B-PER", "O", "B-LOC"]]
tagger = SequenceTagger(features="ner", C=1.0).fit(X, y)
word = tagger.explain(["Bo", "lives", "in", "Oslo"])[3]
print(str(word).splitlines()[0])

shown = sorted(word.contributions, key=lambda each: -abs(each.amount))[:8][::-1]
amounts = [each.amount for each in shown]
plt.barh(
    [each.name for each in shown],
    amounts,
    color=[COLOURS[0] if amount > 0 else COLOURS[1] for amount in amounts],
)
plt.axvline(0, linewidth=0.8, color=plt.rcParams["axes.edgecolor"])
plt.xlabel(f"for {word.label}, against {word.runner_up.label}")
save(__file__)
