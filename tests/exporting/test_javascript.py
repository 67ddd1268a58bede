"""A model as an ES module says what the core says, in Node: JavaScript alone, and WebAssembly."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import export_cases as cases
from commands import run
from dualstruct.crfsuite.conversion import crfsuite_from_tagger
from dualstruct.crfsuite.files import write_crfsuite
from dualstruct.estimators.texts import label_documents
from dualstruct.exporting import export_model
from dualstruct.exporting.opening import open_exportable
from dualstruct.labels.schemes import are_span_labels, spans
from dualstruct.texts.documents import Document
from dualstruct.wapiti import wapiti_from_tagger, write_wapiti

needs_node = pytest.mark.skipif(
    shutil.which("node") is None,
    reason="Node.js is not here: apt-get install nodejs",
)
TARGETS = ["js", pytest.param("wasm", marks=cases.needs_wasm)]


@pytest.fixture(scope="module")
def taggers(tmp_path_factory):
    return cases.taggers(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module", params=TARGETS)
def ask(request, taggers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")

    def answers(name, asked):
        out = folder / name
        if not out.exists():
            export_model(taggers[name][0], out, request.param)
        return cases.ask_node(out, asked)

    return answers


@needs_node
@pytest.mark.parametrize("name", cases.NAMES)
def test_labels_are_those_of_the_core(name, taggers, ask):
    tagger, take = taggers[name]
    sentences = [take(s) for s in [*cases.COLUMNS[:20], *cases.sentences(5, 150)]]
    wanted = tagger.predict(sentences)
    assert ask(name, [["tag", s] for s in sentences]) == wanted
    assert ask(name, [["tagAll", [*sentences, []]]]) == [[*wanted, []]]


@needs_node
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", [0, 1])
def test_random_models_of_crfsuite_and_wapiti(seed, target, taggers, tmp_path):
    chance = np.random.default_rng(seed)
    tagger, items = taggers["lists"]
    theirs = crfsuite_from_tagger(tagger)
    theirs = replace(
        theirs,
        state_weights=chance.normal(size=len(theirs.state_weights)),
        transition_weights=chance.normal(size=len(theirs.transition_weights)),
    )
    write_crfsuite(tmp_path / "a.crfsuite", theirs)
    tagger, columns = taggers["wapiti"]
    other = wapiti_from_tagger(tagger)
    write_wapiti(
        tmp_path / "b.wapiti", replace(other, weights=chance.normal(size=len(other.weights)))
    )
    for name, take in (("a.crfsuite", items), ("b.wapiti", columns)):
        sentences = [take(s) for s in [*cases.COLUMNS[:30], *cases.sentences(seed, 100)]]
        run("export", tmp_path / name, tmp_path / "out", "--target", target)
        wanted = open_exportable(tmp_path / name).predict(sentences)
        assert cases.ask_node(tmp_path / "out", [["tagAll", sentences]]) == [wanted]


@needs_node
def test_spans_of_any_labels_are_those_of_the_core(tmp_path):
    chance = random.Random(3)
    asked = [chance.choices(cases.SPAN_LABELS, k=chance.randint(0, 6)) for _ in range(3000)]
    asked += [chance.choices(cases.SPAN_LABELS[9:16], k=chance.randint(0, 6)) for _ in range(500)]
    module = resources.files("dualstruct.exporting.runtime") / "spans.mjs"
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    (tmp_path / "ask.mjs").write_text(
        "import fs from 'node:fs';\nconst [, , place, asked] = process.argv;\n"
        "const { findSpans, areSpanLabels } = await import(place);\n"
        "const found = JSON.parse(fs.readFileSync(asked, 'utf8')).map((labels) =>\n"
        "  [findSpans(labels).map((s) => [s.label, s.start, s.end]), areSpanLabels(labels)]);\n"
        "console.log(JSON.stringify(found));\n"
    )
    command = ["node", tmp_path / "ask.mjs", Path(str(module)).as_uri(), tmp_path / "asked.json"]
    shown = subprocess.run([*map(str, command)], capture_output=True, text=True, check=True)
    wanted = [[[list(span) for span in spans(row)], are_span_labels(row)] for row in asked]
    assert json.loads(shown.stdout) == wanted


@needs_node
@pytest.mark.parametrize("name", ["ner", "bioes", "attributes"])
def test_probabilities_are_those_of_the_core(name, taggers, ask):
    tagger, take = taggers[name]
    sentences = [take(s) for s in [*cases.COLUMNS[:8], *cases.sentences(6, 8)]]
    found = ask(name, [["probabilities", s] for s in sentences])
    for rows, marginals in zip(found, tagger.predict_marginals(sentences), strict=True):
        for row, wanted in zip(rows, marginals, strict=True):
            assert list(row) == tagger.classes_.tolist()
            assert list(row.values()) == pytest.approx(wanted.tolist(), abs=1e-5)
    sure = tagger.predict_confidence(sentences)
    for told, each in zip(ask(name, [["spans", s] for s in sentences]), sure, strict=True):
        wanted = [(e.type, e.start, e.end) for e in each.entities]
        assert [(s["label"], s["start"], s["end"]) for s in told] == wanted
        probabilities = [entity.probability for entity in each.entities]
        assert [s["probability"] for s in told] == pytest.approx(probabilities, abs=1e-5)


@needs_node
def test_texts_are_split_and_labelled_as_in_the_core(taggers, ask):
    tagger = taggers["ner"][0]
    chance = random.Random(7)
    texts = [cases.text(chance) for _ in range(300)]
    for text, found in zip(texts, ask("ner", [["split", text] for text in texts]), strict=True):
        assert [[token["word"] for token in s] for s in found] == tagger.tokenizer_.words_of(text)
        units = text.encode("utf-16-le")
        for token in (token for s in found for token in s):
            assert units[2 * token["start"] : 2 * token["end"]].decode("utf-16-le") == token["word"]
    text = " ".join(word for words in cases.WORDS[:20] for word in words)
    [document] = label_documents(tagger, [Document(text)], confidence=True)
    [found] = ask("ner", [["find", text]])
    assert [(s["start"], s["end"], s["label"]) for s in found] == [s[:3] for s in document.spans]
    assert all(s["text"] == text[s["start"] : s["end"]] for s in found)


@needs_node
def test_what_is_asked_wrongly_is_said(ask):
    assert ask("functions", [["tag", ["a"]], ["tag", []], ["split", "a"]]) == [
        "Error: a token has 1 of the 2 columns that the model wants",
        [],
        "Error: this model does not label plain words, and so no texts",
    ]
    [said, no_spans] = ask("tags", [["probabilities", ["a"]], ["spans", ["a"]]])
    assert "not probabilities" in said
    assert "mark no spans" in no_spans
    [said] = ask("lists", [["tag", ["a"]]])
    assert "attributes" in said
    text = [[name, "a b"] for name in ("tag", "spans", "probabilities")]
    for said in ask("ner", [*text, ["tagAll", ["a b"]]]):
        assert said == "Error: a sentence is an array of tokens, not a string"


def test_the_module_is_small_and_has_types(taggers, tmp_path):
    taggers["ner"][0].save(tmp_path / "ner.dstruct")
    run("export", tmp_path / "ner.dstruct", tmp_path / "ner", "--target", "js")
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "ner").iterdir()}
    assert set(sizes) == {"index.mjs", "index.d.ts", "model.bin"}
    assert sizes["index.mjs"] <= 25_000
    types = (tmp_path / "ner" / "index.d.ts").read_text()
    assert "tagAll(" in types
    assert all(f"{name}(" in types for name in ("tag", "spans", "probabilities", "split", "find"))
