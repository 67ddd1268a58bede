"""The embedded corpus is sound, and generated chains are what they say."""

from __future__ import annotations

import io
from collections import Counter

import numpy as np
import pytest

from dualstruct import DCD, InputError, Problem, Stopping, fit
from dualstruct.data.conllu import read_conllu
from dualstruct.data.treebank import UPOS
from dualstruct.datasets import load_english, make_chains

RELATIONS = {
    "acl",
    "advcl",
    "advmod",
    "amod",
    "appos",
    "aux",
    "case",
    "cc",
    "ccomp",
    "compound",
    "conj",
    "cop",
    "csubj",
    "dep",
    "det",
    "discourse",
    "expl",
    "fixed",
    "flat",
    "iobj",
    "list",
    "mark",
    "nmod",
    "nsubj",
    "nummod",
    "obj",
    "obl",
    "orphan",
    "parataxis",
    "punct",
    "root",
    "vocative",
    "xcomp",
}
ENTITIES = {"PER", "LOC", "ORG", "DATE", "QTY"}
SENTENCES = load_english()


def test_the_corpus_is_large_and_varied():
    assert len(SENTENCES) >= 400
    kinds = Counter(sentence.sent_id.split("-")[0] for sentence in SENTENCES)
    assert len(kinds) >= 5
    assert min(kinds.values()) >= 50
    assert len({sentence.text for sentence in SENTENCES}) == len(SENTENCES)
    assert len({sentence.sent_id for sentence in SENTENCES}) == len(SENTENCES)


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.sent_id)
def test_every_sentence_is_a_tree_with_valid_tags_and_spans(sentence):
    n = len(sentence.forms)
    assert set(sentence.upos) <= UPOS
    assert {relation.split(":")[0] for relation in sentence.relations} <= RELATIONS
    assert all(0 <= head <= n for head in sentence.heads)
    roots = [t for t, head in enumerate(sentence.heads) if head == 0]
    assert [sentence.relations[t] for t in roots] == ["root"]
    assert sentence.relations.count("root") == 1
    for t in range(n):  # no cycles: every word reaches the root
        steps, at = 0, t
        while sentence.heads[at] != 0:
            at = sentence.heads[at] - 1
            steps += 1
            assert steps <= n
    before = "O"
    for label in sentence.entities:
        assert label == "O" or (label[:2] in ("B-", "I-") and label[2:] in ENTITIES)
        assert not label.startswith("I-") or before[2:] == label[2:]
        before = label
    assert all(
        lemma not in ("", "_") or form == "_"
        for form, lemma in zip(sentence.forms, sentence.lemmas, strict=True)
    )
    glued = [sentence.misc_of(t).get("SpaceAfter") == "No" for t in range(n)]
    spaced = "".join(
        form + ("" if no else " ") for form, no in zip(sentence.forms, glued, strict=True)
    )
    assert spaced.strip() == sentence.text


def test_the_parts_do_not_overlap_and_are_the_whole():
    train, test = load_english("train"), load_english("test")
    assert len(train) + len(test) == len(SENTENCES)
    assert 0.1 < len(test) / len(SENTENCES) < 0.25
    assert not {s.text for s in train} & {s.text for s in test}


def test_conllu_ranges_and_empty_nodes_are_left_out():
    rows = ["# sent_id = x", "1-2\tcannot" + "\t_" * 8, "1\tcan\tcan\tAUX\t_\t_\t0\troot\t_\t_"]
    rows += ["1.1\tghost" + "\t_" * 8, "2\tnot\tnot\tPART\t_\t_\t1\tadvmod\t_\tEntity=O"]
    [sentence] = read_conllu(io.StringIO("\n".join(rows)))
    assert sentence.forms == ["can", "not"]
    assert sentence.heads == [0, 1]
    assert sentence.sent_id == "x"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\ta", "line 1: 2 columns where CoNLL-U has 10"),
        ("2\ta\ta\tX\t_\t_\t0\troot\t_\t_", "line 1: word '2' where 1 was expected"),
        ("1\ta\ta\tX\t_\t_\tx\troot\t_\t_", "line 1: the head is 'x'"),
    ],
)
def test_broken_conllu_names_the_line(line, message):
    with pytest.raises(InputError, match=message):
        read_conllu(io.StringIO(line))


def test_generated_chains_follow_their_sizes_and_can_be_learned():
    data = make_chains(sentences=200, tokens=10, labels=7, features=300, noise=0.1, seed=3)
    assert len(data.structure()) == 200
    assert data.truth.max() == 6
    assert data.rows.ids.max() < 300
    result = fit(Problem(data.structure(), C=0.1), DCD(), Stopping(passes=10))
    fresh = make_chains(sentences=200, tokens=10, labels=7, features=300, noise=0.1, seed=4)
    predicted = fresh.structure().decode_all(result.w)
    assert (predicted == fresh.truth).mean() > 0.9
    again = make_chains(sentences=200, tokens=10, labels=7, features=300, noise=0.1, seed=3)
    np.testing.assert_array_equal(again.rows.ids, data.rows.ids)
