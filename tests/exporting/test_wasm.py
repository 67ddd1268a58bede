"""The core in WebAssembly: parsers, and what is refused. Taggers are in test_javascript.py."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import zlib

import pytest

import export_cases as cases
from commands import run
from dualstruct import DependencyParser, SequenceTagger
from dualstruct.errors import InputError
from dualstruct.exporting import export_model, wasm

pytestmark = [
    cases.needs_wasm,
    pytest.mark.skipif(
        shutil.which("node") is None, reason="Node.js is not here: apt-get install nodejs"
    ),
]


@pytest.fixture(scope="module")
def parsers():
    return cases.parsers()


@pytest.mark.parametrize("name", ["first order", "crossing arcs", "words alone", "second order"])
def test_trees_are_those_of_the_core(name, parsers, tmp_path):
    parser = parsers[name]
    chance = random.Random(9)
    real = zip(cases.TREES.forms[:30], cases.TREES.upos[:30], strict=True)
    sentences = [cases.words_with_columns(*each) for each in real]
    sentences += [cases.parsable(chance) for _ in range(80)]
    export_model(parser, tmp_path / "parser", "wasm")
    wanted = cases.trees_of(parser, sentences)
    asked = [["parse", s] for s in sentences] + [["parseAll", sentences], ["parse", []]]
    assert cases.ask_node(tmp_path / "parser", asked) == [*wanted, wanted, []]


def test_a_word_must_have_what_the_parser_looks_at(parsers, tmp_path):
    export_model(parsers["first order"], tmp_path / "parser", "wasm")
    word = {"form": "a", "lemma": "a", "upos": "DET"}
    asked = [["parse", ["a"]], ["parse", [word] * 5000], ["parse", [{**word, "form": "a\0b"}]]]
    asked += [["parse", "a b"], ["parse", [word]]]
    columns, long, nul, text, after = cases.ask_node(tmp_path / "parser", asked)
    assert "an array of tokens, not a string" in text
    assert "no lemma" in columns
    assert "at most 4095" in long
    assert "NUL" in nul
    assert after == [{"head": 0, "relation": "root"}]  # an error leaves the core in order


#: How much memory the core has after calls that fail, and what it says then.
FAILING = """
const memories = [], Instance = WebAssembly.Instance;
WebAssembly.Instance = class extends Instance {
  constructor(...given) {
    super(...given);
    memories.push(this.exports.memory);
  }
};
const { load } = await import(process.argv[2]);
const tagger = await load();
const words = Array.from({ length: 15000 }, (_, n) => "word" + n), said = new Set();
const first = tagger.tag(words), before = memories.at(-1).buffer.byteLength;
for (let i = 0; i < 30; i++) {
  try {
    tagger.tag([...words, "a\\0b"]);
  } catch (error) {
    said.add(error.message);
  }
}
const same = JSON.stringify(tagger.tag(words)) === JSON.stringify(first);
const after = memories.at(-1).buffer.byteLength;
process.stdout.write(JSON.stringify({ said: [...said], same, before, after }));
"""


def test_a_call_that_fails_keeps_no_memory(tmp_path):
    tagger = SequenceTagger(features="pos", passes=1).fit(cases.WORDS[:9], cases.TREES.upos[:9])
    export_model(tagger, tmp_path / "tags", "wasm")
    (tmp_path / "failing.mjs").write_text(FAILING)
    module = (tmp_path / "tags" / "index.mjs").as_uri()
    command = ["node", str(tmp_path / "failing.mjs"), module]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert found["said"] == ["a token has the character NUL, which no text has"]
    assert found["same"]
    assert found["after"] <= found["before"]


def test_the_files_and_their_types(tmp_path):
    tagger = SequenceTagger(features="pos", passes=1).fit(cases.WORDS[:9], cases.TREES.upos[:9])
    tagger.save(tmp_path / "tags.dstruct")
    run("export", tmp_path / "tags.dstruct", tmp_path / "tags", "--target", "wasm")
    sizes = {path.name: path.stat().st_size for path in (tmp_path / "tags").iterdir()}
    assert set(sizes) == {"index.mjs", "index.d.ts", "core.wasm", "model.bin"}
    assert sizes["index.mjs"] < 25_000
    run("export", tmp_path / "tags.dstruct", tmp_path / "tags", "--target", "wasm")  # once more


def test_every_character_is_what_it_is_in_the_core(tmp_path):
    tagger = SequenceTagger(features="pos", passes=1).fit(cases.WORDS[:9], cases.TREES.upos[:9])
    export_model(tagger, tmp_path / "tags", "wasm")
    characters = [chr(c) for c in range(1, 0x20000) if not 0xD800 <= c < 0xE000]
    texts = [
        " ".join(f"a{c}b" for c in characters[begin : begin + 4000])
        for begin in range(0, len(characters), 4000)
    ]
    answers = cases.ask_node(tmp_path / "tags", [["split", text] for text in texts])
    for text, found in zip(texts, answers, strict=True):
        wanted = tagger.tokenizer_.words_of(text)
        assert [[token["word"] for token in sentence] for sentence in found] == wanted


def test_a_damaged_model_is_refused(parsers, tmp_path):
    out = tmp_path / "parser"
    export_model(parsers["words alone"], out, "wasm")
    data = zlib.decompress((out / "model.bin").read_bytes())
    quarter = len(data) // 4  # places of weights
    damaged = data[:quarter] + b"\xff" * 1000 + data[quarter + 1000 :]
    (out / "model.bin").write_bytes(zlib.compress(damaged))
    with pytest.raises(AssertionError, match="damaged"):
        cases.ask_node(out, [])


def test_what_cannot_be_exported_is_refused_by_name(monkeypatch, tmp_path):
    parser = DependencyParser(hash_bits=10, passes=1, minimum_risk=1.0).fit(cases.TREES[:5])
    with pytest.raises(InputError, match="minimum_risk"):
        export_model(parser, tmp_path / "a", "wasm")
    tagger = SequenceTagger(features="pos", document_features=True)
    tagger.fit(cases.WORDS[:20], cases.ENTITIES[:20])
    with pytest.raises(InputError, match="document_features"):
        export_model(tagger, tmp_path / "a", "wasm")
    monkeypatch.setattr(wasm, "_CORE", "missing.wasm")
    tagger = SequenceTagger(features="pos").fit(cases.WORDS[:20], cases.ENTITIES[:20])
    with pytest.raises(InputError, match="clang-19"):
        export_model(tagger, tmp_path / "a", "wasm")
    assert not list(tmp_path.iterdir())
