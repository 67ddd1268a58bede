"""What ``dualstruct demo`` shows: a learning curve, held-out scores, tags and trees."""

from __future__ import annotations

import time
from collections.abc import Sequence
from textwrap import indent
from typing import Any

from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.drawing import draw_tree
from dualstruct.estimators import DependencyParser, ParsingPipeline, SequenceTagger
from dualstruct.labels.schemes import spans
from dualstruct.screen import Column, Screen, Table, Text

NEW_SENTENCES = (
    "Dr Ines Calder moved from Lisbon to Oslo in March .",
    "Please send 20 kilograms of rice to Harbour Foods by Friday .",
    "can you meet Tom at the library at 6 pm ?",
)
COLOURS = {"PER": "magenta", "LOC": "green", "ORG": "cyan", "DATE": "yellow", "QTY": "blue"}


def run_demo(console: Screen | None = None) -> dict[str, Any]:
    """Train two taggers and a parser on the embedded corpus and show what they do; their scores."""
    console = console or Screen()
    train, test = load_english("train"), load_english("test")
    console.print(
        f"{len(train)} English sentences to learn from, {len(test)} held out "
        "(written for dualstruct: news, letters, recipes, chat …)"
    )
    part_tagger = SequenceTagger(features="pos", C=0.5)
    entity_tagger = SequenceTagger(features="ner", C=0.5)
    names = ("sentences", "parts of speech", "", "entities", "")
    curve = Table(*(Column(Text(name, "bold")) for name in names), left=0)
    points = []
    for share in (8, 4, 2, 1):
        # Every share-th sentence, so that each share has all kinds of text.
        some = train[::share]
        started = time.perf_counter()
        accuracy = _learn(part_tagger, some, test, "upos")
        f1 = _learn(entity_tagger, some, test, "entities")
        seconds = time.perf_counter() - started
        points.append({"sentences": len(some), "parts_of_speech": accuracy, "entities": f1})
        curve.add(
            f"{len(some)}",
            f"{100 * accuracy:.1f} %",
            _bar(accuracy),
            f"F1 {100 * f1:.1f}",
            _bar(f1),
        )
    console.print()
    console.print("Learning curve, scored on the held-out sentences:", style="bold")
    console.print(curve)
    console.print(
        f"\nBoth taggers on all sentences took {seconds:.2f} s. The entity tagger:", style="bold"
    )
    console.print(str(entity_tagger.result_))
    held_out = [sentence.forms for sentence in test]
    console.print()
    console.print(entity_tagger.evaluate(held_out, [s.entities for s in test]).table())
    console.print("\nNew sentences:", style="bold")
    words = [sentence.split() for sentence in NEW_SENTENCES]
    for tokens, parts, entities in zip(
        words, part_tagger.predict(words), entity_tagger.predict(words), strict=True
    ):
        console.print()
        console.print(_aligned(tokens, parts, entities))
    uas, las = _show_parser(console, train, test, words[0])
    console.print("\nNext: dualstruct train YOUR_FILE.txt --model my.dstruct", style="bold")
    return {"curve": points, "uas": uas, "las": las}


def _show_parser(
    console: Screen, train: Treebank, test: Treebank, words: list[str]
) -> tuple[float, float]:
    """Learn trees as well, from words alone, and draw one."""
    started = time.perf_counter()
    pipeline = ParsingPipeline(folds=2, parser=DependencyParser(passes=6)).fit(train)
    seconds = time.perf_counter() - started
    scores = pipeline.evaluate(test).trees
    console.print(
        f"\nTrees, from words alone, in {seconds:.2f} s: {100 * scores.uas:.1f} % of the heads are "
        f"right (UAS), {100 * scores.las:.1f} % with their relations (LAS).",
        style="bold",
    )
    [sentence] = pipeline.predict([words])
    drawing = draw_tree(sentence.forms, sentence.heads, sentence.relations, width=console.width - 2)
    console.print()
    console.print(indent(drawing, "  "))
    return scores.uas, scores.las


def _learn(
    tagger: SequenceTagger,
    train: Treebank,
    test: Treebank,
    what: str,
) -> float:
    tagger.set_params(unseen_labels="count")
    tagger.fit([s.forms for s in train], [getattr(s, what) for s in train])
    return tagger.score([s.forms for s in test], [getattr(s, what) for s in test])


def _bar(share: float, width: int = 15) -> Text:
    filled = round(share * width)
    return Text("█" * filled, "green").append("░" * (width - filled), "dim")


def _aligned(tokens: Sequence[str], parts: Sequence[str], entities: Sequence[str]) -> list[Text]:
    """Words in the colours of their entities, with the parts of speech under them."""
    kinds = [""] * len(tokens)
    starts = set()
    for span in spans(list(entities)):
        starts.add(span.start)
        kinds[span.start : span.end] = [span.type] * (span.end - span.start)
    upper, lower, names = Text("  "), Text("  "), Text("  ")
    for t, (token, part, kind) in enumerate(zip(tokens, parts, kinds, strict=True)):
        name = kind if t in starts else ""
        width = max(len(token), len(part), len(name)) + 1
        upper.append(token, f"bold {COLOURS[kind]}" if kind else "")
        upper.append(" " * (width - len(token)))
        lower.append(f"{part:<{width}}", "dim")
        names.append(f"{name:<{width}}", COLOURS.get(kind, ""))
    return [upper, lower, names]
