"""Tokens a second on one core of a tagger and of what it is exported to, on CoNLL-2000's chunking.

    python benchmarks/exporting.py [--data FOLDER] [--tokens 40000]

Labels the sentences of the training file, which the model knows best and so has most features in.
CPU seconds of labelling alone, all sentences in one call: the best of three or five, and in
JavaScript the best of ten, because it is compiled meanwhile; there also a sentence at a time, and
as many tokens of other sentences, which are labelled once: nothing of them is remembered.
"""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from dualstruct import SequenceTagger, read_columns
from dualstruct.exporting import export_model
from measuring import DATA, best_of

#: Labels what is in a file, several times, and prints the CPU seconds of the quickest.
TIMING = """
import { readFileSync } from "node:fs";
const { load } = await import(process.argv[2]);
const tagger = await load();
const { some, others } = JSON.parse(readFileSync(process.argv[3], "utf8"));
const label = {
  "": (sentences) => tagger.tagAll(sentences),
  each: (sentences) => sentences.map((s) => tagger.tag(s)),
}[process.argv[4]];
const timed = (sentences) => {
  const started = process.cpuUsage(), labels = label(sentences);
  const { user, system } = process.cpuUsage(started);
  return { labels, seconds: (user + system) / 1e6 };
};
let best = Infinity, labels;
for (let i = 0; i < 10; i++) {
  const found = timed(some);
  labels = found.labels;
  best = Math.min(best, found.seconds);
}
const fresh = timed(others);
process.stdout.write(JSON.stringify({ best, labels, fresh: fresh.seconds, others: fresh.labels }));
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with conll2000")
    parser.add_argument("--tokens", type=int, default=40_000)
    asked = parser.parse_args()
    path = asked.data / "conll2000" / "train.txt.xz"
    if not path.exists():
        sys.exit(f"no CoNLL-2000 in {asked.data}: name a folder with --data or DUALSTRUCT_DATA")
    file = read_columns(path)
    tagger = SequenceTagger(features="chunking").fit(file.tokens, file.labels)
    count = max(1, asked.tokens * len(file.tokens) // 211_727)
    some = [list(s) for s in file.tokens[:count]]
    others = [list(s) for s in file.tokens[count : 2 * count]]
    tokens = sum(map(len, some))
    seconds, labels, fresh = {}, {}, {}
    right = tagger.predict(others)
    with TemporaryDirectory() as place:
        folder = Path(place)
        export_model(tagger, folder / "chunks.py")
        for target in ("js", "wasm"):
            export_model(tagger, folder / target, target)
        tag = runpy.run_path(str(folder / "chunks.py"))["tag"]
        ways = {"core": tagger.predict, "python": lambda X: [tag(s) for s in X]}
        for name, label in ways.items():
            seconds[name], labels[name] = best_of(3, partial(label, some))
        (folder / "time.mjs").write_text(TIMING)
        (folder / "some.json").write_text(json.dumps({"some": some, "others": others}))
        for name in ("js", "js each", "wasm", "wasm each"):
            target, _, how = name.partition(" ")
            module = (folder / target / "index.mjs").as_uri()
            command = ["node", folder / "time.mjs", module, folder / "some.json", how]
            answer = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            seconds[name], labels[name] = answer["best"], answer["labels"]
            if answer["others"] != right:
                sys.exit(f"{name} labels sentences that it has not seen in another way")
            fresh[name] = sum(map(len, others)) / answer["fresh"]
    print(f"{tokens:,} tokens, {len(tagger.classes_)} labels, {tagger.n_features_:,} features")
    for name, each in seconds.items():
        same = "the same labels" if labels[name] == labels["core"] else "OTHER LABELS"
        once = f"; {fresh[name]:,.0f} of new sentences" if name in fresh else ""
        print(f"{name:9} {tokens / each:12,.0f} tokens a second{once}; {same}")


if __name__ == "__main__":
    main()
