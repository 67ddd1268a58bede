"""A model in the browser

A model becomes a folder of plain JavaScript. It finds spans in a page or in Node, without
dualstruct and without a server. Here Node runs it.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from pictures import COLOURS, plt, save

from dualstruct import SequenceTagger
from dualstruct.datasets import load_english
from dualstruct.exporting import export_model

TEXT = "Dr Ines Calder moved from Lisbon to Oslo in March."
train = load_english("train")
tagger = SequenceTagger(features="ner", loss="crf")
tagger.fit(train.forms, [sentence.entities for sentence in train])
with tempfile.TemporaryDirectory() as folder:
    export_model(tagger, Path(folder) / "names", "js")
    program = (
        "import('./names/index.mjs').then(async ({ load }) => {"
        "  const tagger = await load();"
        f"  console.log(JSON.stringify(tagger.find({json.dumps(TEXT)})));"
        "});"
    )
    done = subprocess.run(["node", "-e", program], cwd=folder, capture_output=True, check=True)
spans = json.loads(done.stdout)
for span in spans:
    print(span["label"], TEXT[span["start"] : span["end"]])

plt.figure(figsize=(6.4, 1.2))
width = 1 / len(TEXT)
colours = dict(zip(sorted({s["label"] for s in spans}), COLOURS))
for place, letter in enumerate(TEXT):
    plt.text(place * width, 0.5, letter, family="DejaVu Sans Mono", fontsize=11, va="center")
for span in spans:
    start, end = span["start"] * width, span["end"] * width
    plt.plot([start, end], [0.25, 0.25], color=colours[span["label"]], linewidth=3)
    plt.text(start, 0.02, span["label"], color=colours[span["label"]], fontsize=9)
plt.xlim(0, 1)
plt.ylim(0, 1)
plt.axis("off")
save(__file__)
