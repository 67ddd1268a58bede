"""What richer features gain: presets, label schemes, tag dictionaries and word clusters.

    python benchmarks/features.py [--corpora NAME …] [--test] [--with-dev]

Each row learns from the training data and is judged on data held out: the development data, or a
tenth of the training data where there are none. ``--test`` judges on test data as well: for a table
at the end, not to choose by. For the test data all training data are learned from, and with
``--with-dev`` the development data. The last column is the CPU time of training, the first row's
being 1.
"""

from __future__ import annotations

import argparse
import lzma
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from dualstruct import SequenceTagger, read_columns, read_conllu
from measuring import DATA, Clock, plain_tag

TWEETS, NEWS = "tweet_clusters/6mpaths.txt.xz", "brown_clusters/bllip-clusters.txt.xz"
BILOU = {"scheme": "bilou"}
LONG_HINGE = {"loss": "hinge", "passes": 20}
SMALL_HINGE = {"loss": "hinge", "averaged": True, "C": 0.05}
#: A word is in the list of a tag that so much of its occurrences in the Brown corpus have; lists
#: with fewer words are left out.
SHARE_OF_A_TAG, LEAST_WORDS = 0.2, 20
LABELS = "labels(lower(word[-1..1]))\n"


def clusters(file: str, word: str, *lengths: int) -> str:
    """Templates of the paths of a word and its neighbours."""
    lines = [f"clusters {file}"]
    lines += [f"cluster({word.format('-1..1')},{n})" for n in lengths]
    lines += [f"cluster({word.format('-2..2')})"]
    return "\n".join(lines) + "\n"


TWEET_PATHS = clusters("tweets.txt", "lower(word[{}])", 2, 4, 6, 8, 10, 12, 14)
SHORT_TWEET_PATHS = clusters("tweets.txt", "lower(word[{}])", 4, 8, 12)
TWEET_PAIRS = """\
cluster(lower(word[-1]),8) & lower(word[0])
lower(word[0]) & cluster(lower(word[1]),8)
cluster(lower(word[-1]),8) & cluster(lower(word[0]),8)
cluster(lower(word[0]),8) & cluster(lower(word[1]),8)
cluster(lower(word[-1]),8) & cluster(lower(word[1]),8)
"""
NEWS_PATHS = clusters("news.txt", "word[{}]", 4, 6, 10)
NEWS_PAIRS = """\
cluster(word[-1]) & cluster(word[0])
cluster(word[0]) & cluster(word[1])
cluster(word[-1]) & cluster(word[1])
"""

#: Corpus: rows of a name, templates and settings.
TASKS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "conll2000": [
        ("chunking-small", "include chunking-small", {}),
        ("chunking-small, BILOU", "include chunking-small", BILOU),
        ("chunking", "include chunking", {}),
        ("chunking, BILOU", "include chunking", BILOU),
        ("chunking-rich, BILOU", "include chunking-rich", BILOU),
    ],
    "twpos": [
        ("pos", "include pos", {}),
        ("pos-rich", "include pos-rich", {}),
        ("pos + clusters", TWEET_PATHS + "include pos", {}),
        (
            "pos + clusters in pairs + labels",
            TWEET_PATHS + TWEET_PAIRS + LABELS + "include pos",
            {},
        ),
        (
            "pos + clusters in pairs + labels + Brown's tags",
            TWEET_PATHS + TWEET_PAIRS + LABELS + "include tags.txt\ninclude pos",
            {},
        ),
        (
            "the same, hinge, 20 passes",
            TWEET_PATHS + TWEET_PAIRS + LABELS + "include tags.txt\ninclude pos",
            LONG_HINGE,
        ),
        ("pos-rich + clusters in pairs", TWEET_PATHS + TWEET_PAIRS + "include pos-rich", {}),
    ],
    "wnut17": [
        ("ner", "include ner", {}),
        ("ner-rich", "include ner-rich", {}),
        ("ner + labels", LABELS + "include ner", {}),
        ("ner + clusters", SHORT_TWEET_PATHS + "include ner", {}),
        ("ner + clusters + labels", SHORT_TWEET_PATHS + LABELS + "include ner", {}),
    ],
    "ud_english_ewt": [
        ("pos", "include pos", {}),
        ("pos-rich", "include pos-rich", {}),
        ("pos-rich + clusters", NEWS_PATHS + NEWS_PAIRS + "include pos-rich", {}),
    ],
    "jnlpba": [
        ("ner", "include ner", {}),
        ("ner, BILOU", "include ner", BILOU),
        ("ner-rich, BILOU", "include ner-rich", BILOU),
        ("ner, BILOU, hinge, averaged", "include ner", {**BILOU, **SMALL_HINGE, "C": 0.1}),
        ("ner, BILOU, hinge, averaged, C 0.05", "include ner", {**BILOU, **SMALL_HINGE}),
    ],
    "bc2gm": [
        ("ner", "include ner", {}),
        ("ner, BILOU", "include ner", BILOU),
        ("ner-rich, BILOU", "include ner-rich", BILOU),
    ],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", nargs="*", default=list(TASKS))
    parser.add_argument("--test", action="store_true", help="judge on test data as well")
    parser.add_argument("--with-dev", action="store_true", help="learn from development data, too")
    options = parser.parse_args()
    if not DATA.is_dir():
        sys.exit(f"no corpora in {DATA}: name their folder by DUALSTRUCT_DATA")
    print("| corpus | features | held out | test | features per token | time |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, file in (("tweets.txt", TWEETS), ("news.txt", NEWS)):
            (Path(folder) / name).write_bytes(lzma.decompress((DATA / file).read_bytes()))
        write_tag_lists(Path(folder))
        for corpus in options.corpora:
            first = None
            for name, text, settings in TASKS[corpus]:
                path = Path(folder) / "templates.txt"
                path.write_text(text)
                cells, seconds = judged(corpus, path, settings, options.test, options.with_dev)
                first = first or seconds
                shown = " | ".join([corpus, name, *cells, f"{seconds / first:.1f}"])
                print(f"| {shown} |", flush=True)


def write_tag_lists(folder: Path) -> None:
    """The words of each tag in the Brown corpus as lists, and templates for these (tags.txt)."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in zip(*read("brown", "train"), strict=True):
        for word, tag in zip(words, tags, strict=True):
            counts[word.lower()][plain_tag(tag)] += 1
    lists: defaultdict[str, list[str]] = defaultdict(list)
    for word, found in counts.items():
        for tag, count in found.items():
            if tag.isalpha() and count >= SHARE_OF_A_TAG * found.total():
                lists[tag].append(word)
    templates = ""
    for tag, words in lists.items():
        if len(words) >= LEAST_WORDS:
            (folder / f"brown-{tag}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
            templates += f"gazetteer brown_{tag} brown-{tag}.txt\nin(brown_{tag},word[-1..1])\n"
    (folder / "tags.txt").write_text(templates, encoding="utf-8")


def judged(
    corpus: str, templates: Path, settings: dict[str, Any], test: bool, with_dev: bool
) -> tuple[list[str], float]:
    """The scores and the features per token, and the CPU seconds of training."""
    x, y = read(corpus, "train")
    dev = read(corpus, "dev")
    rest = range(len(y))
    learned_last = x, y
    if not dev[1]:
        dev = x[1::10], y[1::10]
        rest = [i for i in rest if i % 10 != 1]
    elif with_dev:
        learned_last = x + dev[0], y + dev[1]
    clock = Clock()
    tagger = SequenceTagger(templates, unseen_labels="count", **settings)
    tagger.fit([x[i] for i in rest], [y[i] for i in rest])
    seconds = clock.lap()
    cells = [f"{100 * tagger.score(*dev):.2f}", "–"]
    if test:
        if len(rest) < len(learned_last[1]):
            tagger.fit(*learned_last)
        cells[1] = f"{100 * tagger.score(*read(corpus, 'test')):.2f}"
    rows = tagger.model_.extractor.transform(x[:200])
    return [*cells, f"{len(rows.ids) / rows.n_tokens:.0f}"], seconds


def read(corpus: str, part: str) -> tuple[list[Any], list[list[str]]]:
    """Sentences and labels of a part; nothing if there is none."""
    if (DATA / corpus / f"{part}.conllu.xz").exists():
        trees = read_conllu(DATA / corpus / f"{part}.conllu.xz")
        return [list(tree.forms) for tree in trees], [list(tree.xpos) for tree in trees]
    path = DATA / corpus / f"{part}.txt.xz"
    if not path.exists():
        return [], []
    file = read_columns(path)
    return [list(tokens) for tokens in file.tokens], [list(labels) for labels in file.labels]


if __name__ == "__main__":
    main()
