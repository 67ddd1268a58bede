"""A model of ours in a pipeline of spaCy, by the real library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from dualstruct import DependencyParser, ParsingPipeline, SequenceTagger, Treebank
from dualstruct.datasets import load_english

spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install dualstruct[spacy]")
component = import_module("dualstruct.plugins.spacy_component")

SENTENCES = load_english("train")[:200]
TEXT = "Ada lives in Lisbon. Tom sold two  boats."


@pytest.fixture
def nlp():
    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    return made


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    words = [s.forms for s in SENTENCES]
    SequenceTagger(features="ner").fit(words, [s.entities for s in SENTENCES]).save(folder / "ner")
    SequenceTagger(features="pos").fit(words, [s.upos for s in SENTENCES]).save(folder / "pos")
    parser = DependencyParser(hash_bits=14, passes=2)
    pipeline = ParsingPipeline(parser=parser, folds=2)
    pipeline.fit(SENTENCES)
    pipeline.save(folder / "trees")
    return folder


def test_entities_are_those_of_the_model(nlp, models):
    nlp.add_pipe("dualstruct", config={"model": str(models / "ner")})
    doc = nlp(TEXT)
    tagger = SequenceTagger.load(models / "ner")
    words = [[t.text for t in s if not t.is_space] for s in doc.sents]
    assert len(words) == 2
    labels = [
        t.ent_iob_ + (f"-{t.ent_type_}" if t.ent_type_ else "") for t in doc if not t.is_space
    ]
    assert labels == [label for row in tagger.predict(words) for label in row]
    assert "Lisbon" in [each.text for each in doc.ents]
    first, *_ = nlp.pipe([TEXT, "", "Hello"])
    assert [each.text for each in first.ents] == [each.text for each in doc.ents]


def test_tags_heads_and_relations_are_set(nlp, models):
    nlp.add_pipe("dualstruct", config={"model": str(models / "pos")})
    assert nlp("a dog")[0].tag_ == "DET"
    other = spacy.blank("en")
    other.add_pipe("sentencizer")
    other.add_pipe("dualstruct", config={"model": str(models / "trees")})
    doc = other(TEXT)
    expected = ParsingPipeline.load(models / "trees").predict(
        Treebank.from_columns([[t.text for t in s if not t.is_space] for s in nlp(TEXT).sents])
    )
    words = [t for t in doc if not t.is_space]
    numbers = {t.i: k for k, t in enumerate(words)}
    heads, before = [], 0
    for sentence in expected:
        heads += [before + k if h == 0 else before + h - 1 for k, h in enumerate(sentence.heads)]
        before += len(sentence)
    assert [numbers[t.head.i] for t in words] == heads
    assert [t.pos_ for t in words] == [tag for s in expected for tag in s.upos]
    roots = [t.dep_ for t in words if t.head == t]
    assert set(roots) == {"ROOT"}


def test_a_pipeline_keeps_its_model(nlp, models, tmp_path):
    nlp.add_pipe("dualstruct", config={"model": str(models / "ner")})
    expected = [each.text for each in nlp(TEXT).ents]
    nlp.config["components"]["dualstruct"]["model"] = None  # where it came from may be gone
    nlp.to_disk(tmp_path / "pipeline")
    loaded = spacy.load(tmp_path / "pipeline")
    assert [each.text for each in loaded(TEXT).ents] == expected
    again = spacy.blank("en")
    again.add_pipe("sentencizer")
    again.add_pipe("dualstruct")
    again.from_bytes(nlp.to_bytes())
    assert [each.text for each in again(TEXT).ents] == expected


def test_initialize_trains_on_examples(nlp):
    from spacy.training import Example

    made = nlp.add_pipe("dualstruct", config={"settings": {"features": "ner", "passes": 3}})
    with pytest.raises(Exception, match="the component dualstruct has no model"):
        nlp("Ada")
    rows = [("Ada sings", [(0, 3, "PER")]), ("Bo left Rome", [(0, 2, "PER"), (8, 12, "LOC")])]
    examples = [
        Example.from_dict(nlp.make_doc(text), {"entities": marked}) for text, marked in rows
    ]
    nlp.initialize(lambda: examples)
    assert set(made.model.classes_) == {"B-LOC", "B-PER", "O"}
    assert [(e.text, e.label_) for e in nlp("Ada left Rome").ents] == [
        ("Ada", "PER"),
        ("Rome", "LOC"),
    ]


def test_spacy_finds_it_by_its_entry_point():
    tomllib = pytest.importorskip("tomllib", reason="it came with Python 3.11")
    project = tomllib.loads(Path(__file__).parents[2].joinpath("pyproject.toml").read_text())
    named = project["project"]["entry-points"]["spacy_factories"]["dualstruct"]
    module, _, name = named.partition(":")
    assert getattr(import_module(module), name) is component.make_component
