"""Explanations: rivals are the best constrained outputs, and contributions add up."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_trees
from dualstruct import (
    CustomStructure,
    DependencyParser,
    InputError,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
)
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.explaining import Alternative, Contribution, TokenExplanation
from dualstruct.explaining.results import by_size
from dualstruct.explaining.text import sides
from dualstruct.tasks.tagging.explaining import explain_chain
from naive import random_chain
from random_cases import cases

X = [["Ada", "lives", "in", "Turin"], ["Bo", "left", "Rome"], ["Rome", "is", "old"]]
Y = [["B-PER", "O", "O", "B-LOC"], ["B-PER", "O", "B-LOC"], ["B-LOC", "O", "O"]]
SENTENCE = ["Bo", "lives", "in", "Turin"]


@pytest.fixture(scope="module")
def tagger():
    return SequenceTagger(features="ner", C=1.0).fit(X, Y)


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(hash_bits=14, passes=2).fit(load_english("train")[:150])


def pair_names_of(chain, i):
    pairs = chain.rows.pairs
    offsets = pairs.offsets[chain.sentences[i] : chain.sentences[i + 1] + 1]
    return [[f"b{k}" for k in pairs.ids[a:b]] for a, b in itertools.pairwise(offsets)]


def explained_chain(chain, w, i, pairs, **gold):
    n = chain.tokens(i)
    offsets = chain.rows.offsets[chain.sentences[i] : chain.sentences[i + 1] + 1]
    return explain_chain(
        chain,
        w,
        i,
        forms=["x"] * n,
        labels=[str(k) for k in range(chain.labels)],
        feature_names=[
            [f"f{k}" for k in chain.rows.ids[a:b]] for a, b in itertools.pairwise(offsets)
        ],
        tokens=range(n),
        predicted=[],
        pair_names=pair_names_of(chain, i) if pairs else (),
        **gold,
    )


def total(alternative):
    return sum(each.amount for each in alternative.contributions)


@cases(80)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.sampled_from([0, 2]))
def test_runner_up_is_the_best_labelling_with_another_label(seed, constrained, real, pairs):
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, constrained=constrained, real=real, pairs=pairs)
    chain = naive.fast()
    w = chain.new_weights(rng.normal(size=chain.core.dimension).astype(np.float32))
    for i in range(len(chain)):
        scored = {y: chain.score(w, i, list(y)) for y in naive.outputs(i)}
        best = max(scored.values())
        for t, token in enumerate(explained_chain(chain, w, i, pairs)):
            others = [s for y, s in scored.items() if str(y[t]) != token.label]
            if not others:
                assert token.runner_up is None
                continue
            assert token.difference == pytest.approx(best - max(others), abs=1e-4)
            assert total(token.runner_up) == pytest.approx(token.difference, abs=1e-9)
            assert token.runner_up.label != token.label


def test_contributions_have_the_names_that_the_user_knows(tagger):
    turin = tagger.explain(SENTENCE)[3]
    assert (turin.form, turin.label) == ("Turin", "B-LOC")
    names = {each.name for each in turin.contributions}
    assert {"word[0]=Turin", "word[-1]=in", "O → B-LOC"} <= names
    sizes = [abs(each.amount) for each in turin.contributions]
    assert sizes == sorted(sizes, reverse=True)


def test_a_contribution_is_the_difference_of_two_weights(tagger):
    turin = tagger.explain(SENTENCE)[3]
    word = next(each for each in turin.contributions if each.name == "word[0]=Turin")
    table = tagger.weights_
    assert word.chosen == table.weight("word[0]=Turin", "B-LOC")
    assert word.other == table.weight("word[0]=Turin", turin.runner_up.label)


def test_hashed_features_are_named_after_loading(tmp_path):
    SequenceTagger(features="ner", C=1.0, hash_bits=14).fit(X, Y).save(tmp_path / "m.dstruct")
    turin = SequenceTagger.load(tmp_path / "m.dstruct").explain(SENTENCE)[3]
    assert "word[0]=Turin" in {each.name for each in turin.contributions}
    assert total(turin.runner_up) == pytest.approx(turin.difference, abs=1e-9)


def test_hashed_attributes_are_named():
    attributes = [[{"w": token} for token in sentence] for sentence in X]
    hashed = SequenceTagger(hash_bits=12, C=1.0).fit(attributes, Y)
    exact = SequenceTagger(C=1.0).fit(attributes, Y)
    for model in (hashed, exact):
        names = {c.name for c in model.explain(attributes[0])[0].contributions}
        assert "w:Ada" in names


def test_one_token_can_be_asked_for(tagger):
    explained = tagger.explain(SENTENCE, token=2)
    assert [token.form for token in explained] == ["lives"]
    with pytest.raises(InputError, match="token 9: the sentence has tokens 1 to 4"):
        tagger.explain(SENTENCE, token=9)


def test_a_label_without_rival_says_so():
    lonely = SequenceTagger(features="pos").fit([["a", "b"]], [["X", "X"]])
    token = lonely.explain(["a"])[0]
    assert token.runner_up is None
    assert "nothing else is possible" in str(token)


def test_an_empty_sentence_has_nothing_to_explain(tagger):
    assert len(tagger.explain([])) == 0


def test_labels_of_another_scheme_are_explained_in_the_one_learned():
    model = SequenceTagger(features="ner", C=1.0, scheme="bilou").fit(X, Y)
    explained = model.explain(SENTENCE)
    assert explained[3].label == "U-LOC"
    assert explained.predicted[3] == "B-LOC"


def test_explanations_are_json(tagger, parser):
    for explained in (tagger.explain(SENTENCE), parser.explain(load_english("test")[0])):
        again = json.loads(json.dumps(explained.to_dict()))
        first = again["tokens"][0]["alternatives"][0]
        amounts = sum(each["amount"] for each in first["contributions"])
        assert amounts == pytest.approx(first["difference"], abs=1e-9)


def test_text_adds_up_with_what_it_leaves_out(tagger):
    shown = str(tagger.explain(SENTENCE)[3])
    stated = float(re.search(r"by (\d+\.\d{4})", shown).group(1))
    rows = re.findall(r"^([+-]\d+\.\d{4})\s+(for )?", shown, re.M)
    totals = [float(amount) for amount, title in rows if title]
    amounts = [float(amount) for amount, title in rows if not title]
    assert len(totals) == 2
    assert totals[0] > 0 > totals[1]
    assert sum(totals) == pytest.approx(stated, abs=1e-3)
    assert sum(amounts) == pytest.approx(stated, abs=1e-3)


numbers = st.lists(st.integers(-20, 20).filter(bool), max_size=25)


@given(numbers, st.integers(1, 8))
def test_what_is_left_out_is_never_more_than_what_is_shown(numbers, most):
    parts = by_size(
        [Contribution(f"f{k}", "feature", 1, "", "", x, 0) for k, x in enumerate(numbers)]
    )
    rival = Alternative("label", "B", None, "B", sum(numbers), (), parts)
    found = sides(TokenExplanation(1, "x", "A", None, "A", (rival,)), rival, most)
    assert [side.output for side in found] == [
        name for name, sign in (("A", 1), ("B", -1)) if any(sign * x > 0 for x in numbers)
    ]
    for side in found:
        mine = [x for x in numbers if (x > 0) == (side.output == "A")]
        shown = [each.amount for each in side.shown]
        assert shown == sorted(mine, key=lambda x: -abs(x))[: len(shown)]
        assert side.hidden == len(mine) - len(shown)
        assert side.rest == sum(mine) - sum(shown)
        assert abs(side.rest) <= abs(sum(shown))
        assert side.total == sum(mine)
    assert sum(len(side.shown) for side in found) >= min(most, len(numbers))


@cases(40)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([0, 2]))
def test_a_wrong_label_is_compared_with_the_best_labelling_that_has_the_right_one(
    seed, constrained, pairs
):
    rng = np.random.default_rng(seed)
    naive = random_chain(rng, constrained=constrained, real=False, pairs=pairs)
    chain = naive.fast()
    w = chain.new_weights(rng.normal(size=chain.core.dimension).astype(np.float32))
    for i in range(len(chain)):
        scored = {y: chain.score(w, i, list(y)) for y in naive.outputs(i)}
        n = chain.tokens(i)
        gold = rng.integers(0, naive.labels + 1, n).tolist()  # the last one is not known
        explained = explained_chain(
            chain, w, i, pairs, gold=[(k, str(k)) for k in gold], only_wrong=True
        )
        best = max(scored.values())
        chosen = chain.decode(w, i).tolist()
        assert [token.token - 1 for token in explained] == [
            t for t in range(n) if chosen[t] != gold[t]
        ]
        for token in explained:
            t = token.token - 1
            right = [s for y, s in scored.items() if y[t] == gold[t]]
            assert token.gold == str(gold[t])
            assert bool(token.alternatives) == bool(right)
            if right:
                assert token.runner_up.label == str(gold[t])
                assert token.difference == pytest.approx(best - max(right), abs=1e-4)
                assert total(token.runner_up) == pytest.approx(token.difference, abs=1e-9)


def test_what_is_right_needs_no_explanation(tagger):
    assert len(tagger.explain(X[0], gold=Y[0])) == 0
    asked = tagger.explain(X[0], token=1, gold=Y[0])[0]
    assert (asked.gold, asked.runner_up.label != "B-PER") == ("", True)
    [wrong] = tagger.explain(X[0], gold=["B-PER", "O", "O", "B-PER"])
    assert (wrong.token, wrong.label, wrong.runner_up.label) == (4, "B-LOC", "B-PER")
    assert "the wrong B-LOC beats the right B-PER by" in str(wrong)
    [new] = tagger.explain(X[0], gold=["B-PER", "O", "O", "B-ORG"])
    assert "B-ORG is right, and the model cannot say so here" in str(new)
    assert "B-ORG is right" in tagger.explain(X[0], gold=["B-PER", "O", "O", "B-ORG"]).html()
    with pytest.raises(InputError, match="4 tokens, but 3 labels"):
        tagger.explain(X[0], gold=["O"] * 3)


def test_html_escapes_and_needs_nothing_else(tagger):
    page = tagger.explain(["<script>alert(1)</script>", "lives", "&amp;"]).html("a < b")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "&amp;amp;" in page
    assert "<title>a &lt; b</title>" in page
    assert "http" not in page
    assert "prefers-color-scheme: dark" in page


def test_edited_weights_decide_and_are_saved(tagger, tmp_path):
    edited = SequenceTagger(features="ner", C=1.0).fit(X, Y)
    edited.set_weight("word[0]=Turin", "B-PER", 25.0)
    assert edited.predict([SENTENCE])[0][3] == "B-PER"
    for before in ("O", "B-PER", "B-LOC"):
        edited.set_transition(before, "B-PER", -60.0)
    assert edited.predict([SENTENCE])[0][3] != "B-PER"
    edited.save(tmp_path / "m.dstruct")
    again = SequenceTagger.load(tmp_path / "m.dstruct")
    assert again.weights_.weight("word[0]=Turin", "B-PER") == 25.0
    assert ("O", "B-PER", -60.0) in again.weights_.transitions()
    assert tagger.predict([SENTENCE])[0][3] == "B-LOC"


def test_weights_of_nothing_are_refused(tagger):
    with pytest.raises(InputError, match="no feature 'word\\[0\\]=Oslo'"):
        tagger.set_weight("word[0]=Oslo", "B-LOC", 1.0)
    with pytest.raises(InputError, match="no label 'B-X'"):
        tagger.set_weight("word[0]=Turin", "B-X", 1.0)
    with pytest.raises(InputError, match="finite"):
        tagger.set_transition("O", "O", float("nan"))
    with pytest.raises(InputError, match="from <s> to </s>"):
        tagger.set_transition("<s>", "</s>", 1.0)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_rivals_of_an_arc_are_the_best_constrained_trees(projective, single_root):
    treebank = load_english("train")[:60]
    parser = DependencyParser(
        hash_bits=12, passes=1, projective=projective, single_root=single_root
    ).fit(treebank)
    short = [sentence for sentence in load_english("test") if len(sentence) <= 5][:3]
    model = parser.model_
    for sentence in short:
        tree = model.tree(Treebank.from_sentences([sentence]))
        n = len(sentence)
        explained = parser.explain(sentence)
        labels = model.labels.names
        labelled = tree.core.part_scores(model.w, 0, 0.0).reshape(n + 1, n + 1, len(labels))
        arcs = labelled.max(axis=2)
        scored = list(naive_trees.scored_trees(arcs, projective, single_root))
        best = max(score for score, _ in scored)
        assert explained.score == pytest.approx(best, abs=1e-4)
        for m, token in enumerate(explained, 1):
            rivals = {each.differs_in: each for each in token.alternatives}
            others = [score for score, heads in scored if heads[m - 1] != token.head]
            assert ("head" in rivals) == bool(others)
            if others:
                assert rivals["head"].difference == pytest.approx(best - max(others), abs=1e-4)
                assert total(rivals["head"]) == pytest.approx(rivals["head"].difference, abs=1e-9)
            of_arc = np.sort(labelled[token.head, m])
            assert rivals["relation"].difference == pytest.approx(of_arc[-1] - of_arc[-2], abs=1e-5)


@pytest.mark.parametrize("projective", [True, False])
def test_a_wrong_arc_is_compared_with_the_best_tree_that_has_the_right_one(projective):
    treebank = load_english("train")[:60]
    parser = DependencyParser(hash_bits=12, passes=1, projective=projective).fit(treebank)
    model, compared = parser.model_, 0
    for sentence in [each for each in load_english("test") if len(each) <= 6][:6]:
        n, labels = len(sentence), model.labels.names
        tree = model.tree(Treebank.from_sentences([sentence]))
        labelled = tree.core.part_scores(model.w, 0, 0.0).reshape(n + 1, n + 1, len(labels))
        single_root = model.shape.single_root
        scored = list(naive_trees.scored_trees(labelled.max(axis=2), projective, single_root))
        best = max(score for score, _ in scored)
        predicted = parser.predict(Treebank.from_sentences([sentence]))[0]
        arcs = list(zip(sentence.heads, sentence.relations, strict=True))
        said = list(zip(predicted.heads, predicted.relations, strict=True))
        explained = parser.explain(sentence, gold=True)
        assert [each.token for each in explained] == [
            m for m, (a, b) in enumerate(zip(arcs, said, strict=True), 1) if a != b
        ]
        for token in explained:
            m = token.token
            head, relation = arcs[m - 1]
            if relation not in labels:
                continue
            with_arc = [score for score, heads in scored if heads[m - 1] == head]
            assert bool(with_arc) == bool(token.alternatives)
            if with_arc:
                at_arc = labelled[head, m]
                lost = at_arc.max() - at_arc[labels.index(relation)]
                assert token.difference == pytest.approx(best - max(with_arc) + lost, abs=1e-4)
                assert token.runner_up.text == token.gold
                compared += 1
    assert compared > 3


def test_second_order_parsers_say_why_a_wrong_arc_won():
    treebank = load_english("train")[:60]
    parser = DependencyParser(hash_bits=12, passes=1, order=2).fit(treebank)
    for sentence in load_english("test")[:5]:
        wrong = parser.explain(sentence, gold=True)
        known = [each for each in wrong if sentence.relations[each.token - 1] in parser.classes_]
        assert known
        for each in known:
            [rival] = each.alternatives
            at = each.token - 1
            assert (rival.head, rival.label) == (sentence.heads[at], sentence.relations[at])
            assert rival.difference > -1e-4


@pytest.mark.parametrize("grandparents", [True, False])
def test_second_order_differences_are_those_of_whole_trees(grandparents):
    treebank = load_english("train")[:60]
    parser = DependencyParser(hash_bits=12, passes=1, order=2, grandparents=grandparents)
    parser.fit(treebank)
    sentence = load_english("test")[1]
    explained = parser.explain(sentence)
    _, model, structure = parser._structure(Treebank.from_sentences([sentence]))
    number = {name: k for k, name in enumerate(model.labels.names)}
    n = len(sentence)
    chosen = structure.decode(model.w, 0)
    best = structure.score(model.w, 0, chosen)
    kinds = set()
    for token in explained:
        for rival in token.alternatives:
            other = chosen.copy()
            for change in rival.changes:
                relation, head = re.fullmatch(
                    r"(\S+) of (?:the root|.* \((\d+)\))", change.other
                ).groups()
                other[change.token - 1] = int(head or 0)
                other[n + change.token - 1] = number[relation]
            difference = best - structure.score(model.w, 0, other)
            assert rival.difference == pytest.approx(difference, abs=1e-4)
            kinds |= {each.kind for each in rival.contributions}
    assert {"arc", "relation", "siblings"} <= kinds
    assert ("grandparent" in kinds) == grandparents


def test_names_of_arcs_say_what_they_look_at(parser):
    sentence = load_english("test")[0]
    token = parser.explain(sentence, token=1)[0]
    names = " ".join(each.name for rival in token.alternatives for each in rival.contributions)
    assert "upos[child]=DET" in names
    assert f"form[head]={sentence.forms[token.head - 1]}" in names
    assert "feats" not in names  # the corpus has none


def test_minimum_risk_is_not_explained(parser):
    risky = DependencyParser(hash_bits=12, passes=1, minimum_risk=1.0)
    risky.fit(load_english("train")[:20])
    with pytest.raises(InputError, match="minimum_risk"):
        risky.explain(load_english("test")[0])


def test_a_pipeline_explains_the_trees_of_words_alone():
    quick = DependencyParser(hash_bits=12, passes=1)
    pipeline = ParsingPipeline(parser=quick, folds=2).fit(load_english("train")[:40])
    words = ["She", "sold", "two", "boats", "."]
    explained = pipeline.explain(words)
    assert [token.head for token in explained] == pipeline.predict([words])[0].heads


class Sign(CustomStructure):
    def decode(self, w, x, truth=None, cost_weight=0):
        return max("+-", key=lambda y: self.value(w, x, y, truth, cost_weight))

    def features(self, x, y):
        return {f"{word}/{y}": 1.0 for word in x.split()}

    def cost(self, truth, y):
        return float(y != truth)


class Ranked(Sign):
    def k_best(self, w, x, k, truth=None, cost_weight=0):
        return sorted("+-", key=lambda y: -self.value(w, x, y, truth, cost_weight))[:k]


def test_custom_structures_are_explained_by_their_features():
    svm = StructuredSVM(Ranked(), C=10.0).fit(["good film", "bad film"], ["+", "-"])
    found = svm.explain("a good film")
    assert (found.chosen, found.other) == ("+", "-")
    assert found.contributions[0].name.startswith("good/")
    w = svm.weights_
    expected = w["good/+"] + w.get("film/+", 0.0) - w.get("good/-", 0.0) - w.get("film/-", 0.0)
    assert found.difference == pytest.approx(expected, abs=1e-6)


def test_without_k_best_the_rival_must_be_named():
    svm = StructuredSVM(Sign(), C=10.0).fit(["good film", "bad film"], ["+", "-"])
    assert svm.explain("good", "-").difference > 0
    with pytest.raises(InputError, match="no method k_best"):
        svm.explain("good")
