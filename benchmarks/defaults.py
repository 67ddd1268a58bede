"""Which loss, C and averaging a tagger should have by default: held-out tenths of training data.

    python benchmarks/defaults.py [--corpora NAME …]

Every candidate learns from nine tenths with all other settings as they are by default, and is
judged on the tenth left out; test and development data are not touched. CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from statistics import mean

from dualstruct import SequenceTagger
from measuring import DATA, Clock

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from benchmark_utils.corpora import columns, words_and_tags

#: Folder: templates, judged by spans, tenths to hold out in turn: more where they are small.
CORPORA = {
    "jnlpba": ("ner", True, 2),
    "bc2gm": ("ner", True, 3),
    "wnut17": ("ner", True, 6),
    "kb_dutch_ner": ("ner", True, 6),
    "conll2000": ("chunking-small", True, 3),
    "ud_english_ewt": ("pos", False, 2),
    "twpos": ("pos", False, 6),
    "usaddress": ("pos", False, 6),
}
CANDIDATES = [
    {"loss": "squared_hinge", "C": 0.1},
    {"loss": "squared_hinge", "C": 0.1, "averaged": True},
    {"loss": "hinge", "C": 0.1},
    {"loss": "hinge", "C": 0.1, "averaged": True},
    {"loss": "hinge", "C": 0.3},
    {"loss": "crf", "C": 1.0},
    {"loss": "crf", "C": 3.0},
    {"loss": "softmax_margin", "C": 1.0},
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=list(CORPORA))
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    names = [" ".join(map(str, candidate.values())) for candidate in CANDIDATES]
    names = [name.replace("True", "averaged") for name in names]
    print(f"| held out, % (CPU seconds) | {' | '.join(names)} |\n{'| --- ' * (len(names) + 1)}|")
    for corpus in options.corpora:
        cells = [judge(corpus, candidate) for candidate in CANDIDATES]
        print(f"| {corpus} | {' | '.join(cells)} |", flush=True)


def judge(corpus: str, candidate: dict[str, object]) -> str:
    features, spans, tenths = CORPORA[corpus]
    if (DATA / corpus / "train.conllu.xz").exists():
        x, y = words_and_tags(DATA / corpus / "train.conllu.xz")
    else:
        x, y = columns(DATA / corpus / "train.txt.xz")
    scores, seconds = [], []
    for fold in range(1, tenths + 1):
        kept = [i for i in range(len(y)) if i % 10 != fold]
        tagger = SequenceTagger(features, seed=fold, unseen_labels="count", **candidate)
        clock = Clock()
        tagger.fit([x[i] for i in kept], [y[i] for i in kept])
        seconds.append(clock.lap())
        found = tagger.evaluate(x[fold::10], y[fold::10])
        scores.append(100 * (found.f1 if spans else found.accuracy))
    return f"{mean(scores):.2f} ({mean(seconds):.1f})"


if __name__ == "__main__":
    main()
