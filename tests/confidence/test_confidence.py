"""Confidence: temperatures, probabilities of sequences, entities and trees, reliability."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_trees
from dualstruct import DependencyParser, InputError, ParsingPipeline, SequenceTagger, load_model
from dualstruct.confidence import UncalibratedWarning
from dualstruct.confidence.temperature import fit_temperature
from dualstruct.data.conllu import Treebank
from dualstruct.datasets import load_english
from dualstruct.drawing.reliability import draw_reliability, reliability_svg
from dualstruct.labels.schemes import spans
from dualstruct.metrics import reliability
from dualstruct.tasks.tagging.confidence import Spans
from naive import random_chain
from random_cases import cases

SCHEMES = [
    ["O", "B-A", "I-A", "B-B", "I-B"],
    ["O", "I-A", "B-A", "I-B"],
    ["O", "B-A", "I-A", "L-A", "U-A"],
]


def noisy(seed: int, sentences: int) -> tuple[list, list]:
    """Sentences whose labels words tell most of the time."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        true = rng.integers(0, 3, rng.integers(2, 7))
        seen = np.where(rng.random(len(true)) < 0.8, true, rng.integers(0, 3, len(true)))
        X.append([f"w{k}{rng.integers(0, 6)}" for k in seen])
        y.append([("O", "B-A", "B-B")[k] for k in true])
    return X, y


@pytest.fixture(scope="module")
def calibrated():
    return SequenceTagger(features="word[0]\n", passes=5).fit(*noisy(0, 200), dev=noisy(1, 150))


@pytest.fixture(scope="module")
def uncalibrated():
    return SequenceTagger(features="word[0]\n", passes=5).fit(*noisy(0, 200))


def every_labelling(chain, w, i, beta, n_labels):
    """All labellings and their probabilities."""
    n = chain.tokens(i)
    outputs = list(np.ndindex(*[n_labels] * n))
    scores = np.array([beta * chain.score(w, i, list(y)) for y in outputs])
    p = np.exp(scores - scores.max())
    return outputs, p / p.sum()


@cases(30)
@given(st.integers(0, 10**6), st.sampled_from(SCHEMES), st.floats(0.3, 3.0))
def test_entities_have_the_probability_of_all_labellings_with_them(seed, names, beta):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, sentences=1, labels=len(names)).fast()
    w = chain.new_weights(rng.normal(size=chain.core.dimension).astype(np.float32))
    outputs, p = every_labelling(chain, w, 0, beta, len(names))
    found = chain.expectation(w, 0, beta)
    expected: dict = {}
    for y, probability in zip(outputs, p, strict=True):
        for span in spans([names[k] for k in y]):
            expected[span] = expected.get(span, 0.0) + probability
    marked = Spans(names)
    sure = marked.probabilities(found, list(expected))
    assert sure == pytest.approx(list(expected.values()), abs=2e-5)
    n = chain.tokens(0)
    places = [(a, b) for a in range(n) for b in range(a + 1, n + 1)]
    outside = [
        sum(q for y, q in zip(outputs, p, strict=True) if all(names[k] == "O" for k in y[a:b]))
        for a, b in places
    ]
    starts, ends = np.array(places, dtype=np.intp).reshape(-1, 2).T
    assert marked.outside_probabilities(found, starts, ends) == pytest.approx(outside, abs=2e-5)


def test_sequences_have_their_share_of_the_sum(calibrated):
    sentence = ["w00", "w11", "w25"]
    [found] = calibrated.predict_confidence([sentence], k=4)
    model = calibrated.model_
    chain = model.chain([sentence])
    beta = 1 / calibrated.temperature_
    allowed = {tuple(y) for _, y in chain.k_best(model.w, 0, 1000)}
    outputs, p = every_labelling(chain, model.w, 0, beta, len(model.labels))
    mass = sum(q for y, q in zip(outputs, p, strict=True) if y in allowed)
    best = sorted((q / mass for y, q in zip(outputs, p, strict=True) if y in allowed), reverse=True)
    assert [each.probability for each in found.k_best] == pytest.approx(best[:4], abs=1e-5)
    assert found.probability == found.k_best[0].probability
    assert found.labels == calibrated.predict([sentence])[0]


def test_the_temperature_makes_the_true_labels_most_likely(calibrated):
    X, y = noisy(1, 150)
    model = calibrated.model_
    chain = model.chain(X)
    truth = model.labels.encode(y, chain.sentences)

    def surprise(beta):
        marginals = chain.marginals_all(model.w, beta)
        return -np.log(np.maximum(marginals[np.arange(len(truth)), truth], 1e-12)).sum()

    fitted = surprise(1 / calibrated.temperature_)
    assert all(fitted <= surprise(beta) + 1e-3 for beta in np.geomspace(0.01, 100, 60))


@pytest.mark.parametrize("best", [0.004, 0.37, 1.0, 55.0])
def test_temperatures_of_any_scale_are_found(best):
    found = fit_temperature(lambda beta: abs(math.log(beta * best)))
    assert found == pytest.approx(best, rel=0.02)


def test_calibration_changes_no_prediction_and_lowers_the_error(calibrated, uncalibrated):
    X, y = noisy(2, 150)
    assert calibrated.temperature_ is not None
    again = SequenceTagger(features="word[0]\n", passes=5).fit(*noisy(0, 200))
    before = again.reliability(X, y, beta=1.0)["tokens"].ece
    predicted = again.predict(X)
    again.calibrate(*noisy(1, 150))
    assert again.predict(X) == predicted
    assert again.reliability(X, y)["tokens"].ece < min(before, 0.05)


def test_generators_of_development_data_are_calibrated_on(calibrated):
    X, y = noisy(1, 150)
    lazily = SequenceTagger(features="word[0]\n", passes=5)
    lazily.fit(*noisy(0, 200), dev=((x for x in X), (labels for labels in y)))
    assert lazily.temperature_ == calibrated.temperature_


def test_the_temperature_is_kept_in_the_file(calibrated, tmp_path):
    calibrated.save(tmp_path / "m.dstruct")
    again = load_model(tmp_path / "m.dstruct")
    assert again.temperature_ == calibrated.temperature_
    X = noisy(3, 2)[0]
    assert again.predict_confidence(X) == calibrated.predict_confidence(X)


def test_confidence_without_calibration_is_refused(uncalibrated):
    assert uncalibrated.temperature_ is None
    with pytest.raises(InputError, match="squared_hinge does not make scores probabilities"):
        uncalibrated.predict_confidence([["w00"]])
    with pytest.raises(InputError, match="never calibrated"):
        uncalibrated.reliability(*noisy(1, 3))
    with pytest.warns(UncalibratedWarning, match="calibrate"):
        [unasked] = uncalibrated.predict_marginals([["w00"]])
    [plain] = uncalibrated.predict_marginals([["w00"]], beta=1.0)
    np.testing.assert_array_equal(unasked, plain)
    assert uncalibrated.predict_confidence([["w00"]], beta=2.0)[0].labels == ["O"]


def test_a_crf_needs_no_calibration():
    crf = SequenceTagger(features="word[0]\n", loss="crf", passes=3)
    crf.fit(*noisy(0, 50), dev=noisy(1, 20))
    assert crf.temperature_ == 1.0
    assert crf.model_.temperature is None
    crf.predict_marginals([["w00"]])


def test_softmax_margin_starts_from_its_own_beta():
    model = SequenceTagger(features="word[0]\n", loss="softmax_margin", beta=4.0, passes=2)
    assert model.fit(*noisy(0, 30)).temperature_ == 0.25


def test_development_data_without_known_labels_cannot_calibrate(uncalibrated):
    with pytest.raises(InputError, match="training has seen none of these labels"):
        uncalibrated.calibrate([["w00"]], [["B-NEW"]])


def test_empty_sentences_are_sure(calibrated):
    [found] = calibrated.predict_confidence([[]])
    assert (found.labels, found.probability, found.marginals, found.entities) == ([], 1.0, [], [])


def test_a_damaged_temperature_is_refused(calibrated, tmp_path):
    metadata, arrays = calibrated.state()
    metadata["temperature"] = "warm"
    with pytest.raises(InputError, match="temperature is 'warm'"):
        SequenceTagger().restore(metadata, arrays)


def test_ece_is_the_mean_gap_of_the_bins():
    rng = np.random.default_rng(0)
    p, right = rng.random(500), rng.random(500) < 0.6
    found = reliability("tokens", p, right, bins=10)
    expected = 0.0
    for k in range(10):
        inside = [i for i in range(500) if k / 10 < p[i] <= (k + 1) / 10]
        if inside:
            expected += len(inside) * abs(np.mean(p[inside]) - np.mean(right[inside])) / 500
    assert found.ece == pytest.approx(expected)
    assert found.count == 500
    assert found.accuracy == pytest.approx(right.mean())


def test_bins_hold_what_lies_above_their_lower_end_up_to_the_upper_one():
    p = [0.0, 0.05, 0.1, 0.1 + 1e-9, 0.95, 1.0, 1.0 + 1e-12]  # the last one by rounding
    found = reliability("tokens", p, [True] * 7)
    assert [(b.low, b.high, b.count) for b in found.bins] == [
        (0.0, 0.1, 3),
        (0.1, 0.2, 1),
        (0.9, 1.0, 3),
    ]


@pytest.mark.parametrize(("p", "right"), [(0.75, True), (0.75, False), (0.5, True)])
def test_one_answer_is_judged_by_itself(p, right):
    found = reliability("tokens", [p], [right])
    assert (found.count, found.confidence, found.accuracy) == (1, p, right)
    assert found.ece == abs(p - right)
    assert found.to_dict() == {
        "count": 1,
        "ece": abs(p - right),
        "confidence": p,
        "accuracy": right,
        "bins": [vars(found.bins[0])],
    }


def test_no_answers_make_no_error():
    found = reliability("tokens", [], [])
    assert (found.count, found.ece, found.confidence, found.accuracy) == (0, 0, 0, 0)


def test_diagrams_are_pictures(tmp_path):
    found = reliability("a < b", [0.9, 0.4], [True, False])
    ElementTree.fromstring(reliability_svg([found, found]))
    draw_reliability([found], tmp_path / "r.svg")
    assert (tmp_path / "r.svg").read_text().startswith("<svg")
    with pytest.raises(InputError, match=r"should end in \.svg or \.png"):
        draw_reliability([found], tmp_path / "r.pdf")


def test_png_needs_matplotlib_and_says_so(tmp_path, monkeypatch):
    found = reliability("tokens", [0.9, 0.4], [True, False])
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(InputError, match="PNG needs matplotlib"):
        draw_reliability([found], tmp_path / "r.png")


@pytest.fixture(scope="module")
def parser():
    treebank = load_english("train")
    return DependencyParser(hash_bits=12, passes=2).fit(treebank[:60], dev=treebank[60:90])


def test_trees_have_their_share_of_the_sum(parser):
    sentence = min(load_english("test"), key=len)
    model = parser.model_
    tree = model.tree(Treebank.from_sentences([sentence]))
    n, n_labels = len(sentence), len(model.labels)
    beta, relation_beta = 1 / parser.temperature_, 1 / model.relation_temperature
    scores = tree.core.part_scores(model.w, 0, 0.0).reshape(n + 1, n + 1, n_labels).astype(float)
    arcs = np.log(np.exp(beta * scores).sum(axis=2))
    total = np.logaddexp.reduce(
        [score for score, _ in naive_trees.scored_trees(arcs, parser.projective_, True)]
    )
    [found] = parser.predict_confidence([sentence])
    [predicted] = parser.predict([sentence])
    number = {name: k for k, name in enumerate(model.labels.names)}
    log_p = -total
    for m, (head, relation) in enumerate(zip(predicted.heads, predicted.relations, strict=True), 1):
        p = np.exp(relation_beta * scores[head, m])
        log_p += arcs[head, m] + math.log(p[number[relation]] / p.sum())
    assert found.probability == pytest.approx(math.exp(log_p), abs=1e-4)
    assert all(a <= h + 1e-6 for a, h in zip(found.arcs, found.heads, strict=True))


def test_parsers_are_calibrated_on_development_data(parser, tmp_path):
    test = load_english("test")[:40]
    before = parser.reliability(test, beta=1.0)["heads"].ece
    after = parser.reliability(test)
    assert after["heads"].ece < before
    assert set(after) == {"heads", "arcs", "trees"}
    parser.save(tmp_path / "p.dstruct")
    assert load_model(tmp_path / "p.dstruct").temperature_ == parser.temperature_


def test_second_order_parsers_are_calibrated_when_asked():
    treebank = load_english("train")
    second = DependencyParser(hash_bits=10, passes=1, order=2).fit(treebank[:30])
    with pytest.raises(InputError, match="never calibrated"):
        second.predict_confidence(treebank[30:31])
    short = [sentence for sentence in treebank if len(sentence) < 8]
    second.calibrate(short[:2])
    [found] = second.predict_confidence(short[2:3])
    assert found.probability is None
    assert all(0 <= p <= 1.001 for p in found.heads)


def test_pipelines_are_calibrated_part_by_part():
    treebank = load_english("train")
    quick = DependencyParser(hash_bits=10, passes=1)
    pipeline = ParsingPipeline(parser=quick, folds=2).fit(treebank[:40])
    pipeline.calibrate(treebank[40:50])
    assert pipeline.parser_.temperature_ is not None
    assert all(tagger.temperature_ is not None for tagger in pipeline.taggers_.values())


def test_workers_calibrate_on_all_of_the_development_data():
    dev = noisy(1, 41)
    together = SequenceTagger(
        features="word[0]\n", C=0.001, passes=3, engine="local", workers=2
    ).fit(*noisy(0, 60), dev=dev)
    found = together.temperature_
    assert together.calibrate(*dev).temperature_ == pytest.approx(found, rel=1e-3)
