"""A model as one file of Python says what the core says."""

from __future__ import annotations

import json
import random
import runpy
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import export_cases as cases
from commands import refusal, run
from dualstruct import DependencyParser, LearnedTokenizer, SequenceTagger, Tokenizer, compress
from dualstruct.crfsuite.conversion import crfsuite_from_tagger
from dualstruct.crfsuite.files import write_crfsuite
from dualstruct.errors import InputError
from dualstruct.estimators.texts import label_documents
from dualstruct.exporting import export_model
from dualstruct.exporting.packing import pack
from dualstruct.exporting.runtime.chain import Chain
from dualstruct.exporting.runtime.features import Templates, Weights
from dualstruct.exporting.runtime.hashing import hash_text
from dualstruct.exporting.runtime.spans import are_span_labels, find_spans
from dualstruct.exporting.runtime.splitting import Splitter
from dualstruct.exporting.runtime.tagger import unpack
from dualstruct.labels.schemes import are_span_labels as are_span_labels_of_the_core
from dualstruct.labels.schemes import spans
from dualstruct.texts.documents import Document
from dualstruct.wapiti import wapiti_from_tagger, write_wapiti


@pytest.fixture(scope="module")
def taggers(tmp_path_factory):
    made = cases.taggers(tmp_path_factory.mktemp("models"))
    assert list(made) == cases.NAMES
    return made


@pytest.fixture(scope="module")
def exported(taggers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")

    def export(name):
        path = folder / f"{name.replace(' ', '_')}.py"
        if not path.exists():
            export_model(taggers[name][0], path)
        return runpy.run_path(str(path))

    return export


@pytest.mark.parametrize("name", cases.NAMES)
def test_labels_are_those_of_the_core(name, taggers, exported):
    tagger, take = taggers[name]
    sentences = [take(s) for s in [*cases.COLUMNS[:30], *cases.sentences(1, 150)]]
    tag = exported(name)["tag"]
    assert [tag(s) for s in sentences] == tagger.predict(sentences)
    assert tag([]) == []


@pytest.mark.parametrize("name", ["ner", "bioes", "attributes"])
def test_probabilities_are_those_of_the_core(name, taggers, exported):
    tagger, take = taggers[name]
    made = exported(name)
    for s in [take(s) for s in [*cases.COLUMNS[:10], *cases.sentences(2, 15)]]:
        [marginals] = tagger.predict_marginals([s])
        for found, row in zip(made["probabilities"](s), marginals, strict=True):
            assert list(found) == tagger.classes_.tolist()
            assert list(found.values()) == pytest.approx(row.tolist(), abs=1e-5)
        [sure] = tagger.predict_confidence([s])
        found = made["spans"](s)
        assert [span[:3] for span in found] == [(e.type, e.start, e.end) for e in sure.entities]
        wanted = [entity.probability for entity in sure.entities]
        assert [span.probability for span in found] == pytest.approx(wanted, abs=1e-5)


@given(st.lists(st.sampled_from(cases.SPAN_LABELS), max_size=8))
def test_spans_of_any_labels_are_those_of_the_core(labels):
    """Of brackets, too: they are GROBID's fields only where all labels may be."""
    assert [span[:3] for span in find_spans(labels)] == [tuple(span) for span in spans(labels)]
    assert are_span_labels(labels) == are_span_labels_of_the_core(labels)


def test_a_model_without_probabilities_says_so(exported):
    with pytest.raises(ValueError, match="not probabilities"):
        exported("tags")["probabilities"](["a"])
    with pytest.raises(ValueError, match="mark no spans"):
        exported("tags")["spans"](["a"])


@pytest.mark.parametrize("asked", ["tag", "spans", "probabilities"])
def test_a_text_is_no_list_of_tokens(asked, exported):
    with pytest.raises(ValueError, match=r"a list of tokens, not a str; find\(\) takes a text"):
        exported("ner")[asked]("Ada lives")


def test_words_and_columns_are_what_the_model_wants(exported):
    with pytest.raises(ValueError, match="1 of the 2 columns"):
        exported("functions")["tag"](["a"])
    with pytest.raises(ValueError, match="attributes"):
        exported("lists")["tag"](["a"])
    with pytest.raises(ValueError, match="no texts"):
        exported("functions")["find"]("a")


@pytest.mark.parametrize("tokenizer", cases.TOKENIZERS, ids=str)
def test_texts_are_split_as_the_core_splits_them(tokenizer, taggers):
    marks = pack(taggers["ner"][0]).arrays["marks"].tolist()
    splitter = Splitter(tokenizer.__dict__, marks)
    chance = random.Random(3)
    for text in (cases.text(chance) for _ in range(300)):
        found = splitter.split(text)
        places = tokenizer.split([text])
        assert [[token.word for token in s] for s in found] == tokenizer.words_of(text), text
        assert [token.start for s in found for token in s] == places.starts.tolist()
        assert [token.end for s in found for token in s] == places.ends.tolist()


def test_spans_of_texts_are_those_of_the_core(taggers, exported):
    tagger, find = taggers["ner"][0], exported("ner")["find"]
    text = " ".join(word for words in cases.WORDS[:20] for word in words)
    [document] = label_documents(tagger, [Document(text)], confidence=True)
    found = find(text)
    assert found
    assert [(s.start, s.end, s.label) for s in found] == [s[:3] for s in document.spans]
    wanted = [span.probability for span in document.spans]
    assert [span.probability for span in found] == pytest.approx(wanted, abs=1e-5)
    assert all(span.text == text[span.start : span.end] for span in found)


def test_a_long_sentence_and_one_that_no_labels_fit(taggers, exported):
    tagger, take = taggers["bioes"]
    long = take([pair for s in cases.COLUMNS[:60] for pair in s])
    assert exported("bioes")["tag"](long) == tagger.predict([long])[0]


def test_a_compressed_model_and_one_with_weights_beside_it(taggers, tmp_path):
    tagger, take = taggers["ner"]
    small = compress(tagger, size="20KB").model
    found = export_model(small, tmp_path / "small.py", weights="beside")
    assert [path.rpartition(".")[2] for path in found.files] == ["py", "weights"]
    sentences = [take(s) for s in cases.sentences(4, 40)]
    tag = runpy.run_path(str(tmp_path / "small.py"))["tag"]
    assert [tag(s) for s in sentences] == small.predict(sentences)


def test_the_file_runs_alone(taggers, tmp_path):
    tagger, _ = taggers["tags"]
    export_model(tagger, tmp_path / "tags.py")
    words = [["Ada", "sings"], ["the", "Γάτα"]]
    command = [sys.executable, "-S", "-E", "-W", "error", str(tmp_path / "tags.py")]
    lines = "".join(" ".join(s) + "\n" for s in words).encode()
    shown = subprocess.run(command, input=lines, capture_output=True, check=True, cwd=tmp_path)
    assert [line.split() for line in shown.stdout.decode().splitlines()] == tagger.predict(words)
    shown = subprocess.run(
        [*command, "--text"], input=b"Ada sings.\n", capture_output=True, check=True
    )
    assert [each["text"] for each in json.loads(shown.stdout)] == ["Ada", "sings", "."]


def test_models_of_crfsuite_and_wapiti(taggers, tmp_path):
    tagger, take = taggers["lists"]
    write_crfsuite(tmp_path / "a.crfsuite", crfsuite_from_tagger(tagger))
    run("export", tmp_path / "a.crfsuite", tmp_path / "a.py")
    tag = runpy.run_path(str(tmp_path / "a.py"))["tag"]
    s = take(cases.COLUMNS[7])
    edged = [["<s>", *s[0]], *s[1:-1], [*s[-1], "</s>"]]
    assert tag(edged) == tagger.predict([s])[0]
    tagger, take = taggers["wapiti"]
    write_wapiti(tmp_path / "b.wapiti", wapiti_from_tagger(tagger))
    run("export", tmp_path / "b.wapiti", tmp_path / "b.py")
    tag = runpy.run_path(str(tmp_path / "b.py"))["tag"]
    assert tag(take(cases.COLUMNS[7])) == tagger.predict([cases.COLUMNS[7]])[0]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"features": ["pos", lambda s: [["x"] for _ in s]]}, "function <lambda>"),
        ({"features": "pos", "document_features": True}, "document_features"),
        ({"features": "pos", "stages": 2, "passes": 1}, "first stage"),
    ],
)
def test_what_cannot_be_exported_is_refused_by_name(settings, reason, tmp_path):
    tagger = SequenceTagger(**settings).fit(cases.WORDS[:20], cases.ENTITIES[:20])
    with pytest.raises(InputError, match=reason):
        export_model(tagger, tmp_path / "a.py")
    assert not list(tmp_path.iterdir())


def test_a_learned_tokenizer_is_refused_by_name_and_rules_serve_instead(tmp_path):
    tagger = SequenceTagger(features="pos").fit(cases.WORDS[:20], cases.ENTITIES[:20])
    tagger.tokenizer_ = LearnedTokenizer(SequenceTagger(passes=1)).fit(cases.TREES[:20])
    with pytest.raises(InputError, match="a tokenizer that was learned"):
        export_model(tagger, tmp_path / "a.py")
    assert not list(tmp_path.iterdir())
    tagger.tokenizer_ = Tokenizer()
    assert export_model(tagger, tmp_path / "a.py").files


def test_a_parser_and_matrices_are_refused(tmp_path):
    parser = DependencyParser(hash_bits=10, passes=1).fit(cases.TREES[:5])
    with pytest.raises(
        InputError, match="DependencyParser cannot be exported to python, only to wasm"
    ):
        export_model(parser, tmp_path / "a.py")
    tagger = SequenceTagger(features="attributes").fit([np.eye(2)], [["A", "B"]])
    with pytest.raises(InputError, match="matrices"):
        export_model(tagger, tmp_path / "a.py")
    assert not list(tmp_path.iterdir())


def test_nothing_that_somebody_wrote_is_overwritten(taggers, tmp_path):
    taggers["tags"][0].save(tmp_path / "m.dstruct")
    (tmp_path / "mine.py").write_text("x = 1\n")
    said = refusal("export", tmp_path / "m.dstruct", tmp_path / "mine.py")
    assert "mine.py exists and was not exported by dualstruct" in said
    assert (tmp_path / "mine.py").read_text() == "x = 1\n"
    assert "ends in .py" in refusal("export", tmp_path / "m.dstruct", tmp_path / "a.txt")
    assert "no target 'cobol'" in refusal(
        "export", tmp_path / "m.dstruct", tmp_path / "a.py", "--target", "cobol"
    )
    run("export", tmp_path / "m.dstruct", tmp_path / "a.py")
    run("export", tmp_path / "m.dstruct", tmp_path / "a.py", "--weights", "beside")


def test_hashes_are_those_of_the_core():
    from dualstruct import _core

    features = _core.TemplateFeatures([("t", ["t=", ""], [(0, 0, False, -1, [])])], None, [], 0)
    for word in ["", "a", "ab", "abc", "abcd", "Éire", "12345678", "123456789", "x" * 40]:
        from dualstruct.exporting.runtime.hashing import combine

        assert combine(hash_text("t"), hash_text(word)) == _core.feature_hash(features, 0, [word])


def test_the_quick_way_is_left_where_rounding_could_change_labels(taggers):
    tagger, take = taggers["tags"]
    header, arrays = unpack(pack(tagger).to_bytes())
    chain = Chain(len(header["labels"]), arrays["transition"], arrays.get("allowed"))
    weights = Weights(arrays, "emission", header["shift"])
    features = Templates(header["templates"], arrays, weights, "emission")
    quick = 0
    for s in [*cases.COLUMNS[:20], *cases.sentences(8, 40)]:
        rows = features.rows(take(s))
        found = chain.quick_best(rows)
        assert found in (None, chain.best(chain.emissions(rows), chain.steps(None, len(rows))))
        quick += found is not None
    assert quick > 30
    nothing = [[] for _ in range(3)]
    flat = Chain(3, [0.0] * 16, None)  # all labellings are equally good
    assert flat.quick_best(nothing) is None
    assert flat.best(flat.emissions(nothing), flat.steps(None, 3)) == [0, 0, 0]
