"""DependencyParser and ParsingPipeline as their users meet them."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest

from corpora_here import corpus_here
from dualstruct import (
    DCD,
    DependencyParser,
    InputError,
    NotFittedError,
    ParsingPipeline,
    SequenceTagger,
    Treebank,
    evaluate_trees,
    load_model,
    read_conllu,
)
from dualstruct.data.arrays import read_arrays, write_arrays
from dualstruct.datasets import load_english
from dualstruct.estimators.parser import SkippedSentences
from dualstruct.structures.second_order_tree import PrunedArcs
from dualstruct.tasks.parsing.learning import interleaved

TRAIN, TEST = load_english("train"), load_english("test")
SOME = TRAIN[:60]


def quick(**parameters):
    return DependencyParser(**{"hash_bits": 14, "passes": 2, **parameters})


@pytest.fixture(scope="module")
def parser():
    return DependencyParser(hash_bits=16, passes=6).fit(TRAIN)


@pytest.fixture(scope="module")
def pipeline():
    return ParsingPipeline(parser=quick(passes=4), folds=2).fit(TRAIN)


def test_a_parser_learns_the_embedded_corpus(parser):
    scores = parser.evaluate(TEST)
    assert scores.uas > 0.82
    assert scores.las > 0.77
    assert parser.score(TEST) == scores.las
    assert parser.evaluate(TRAIN).las > 0.95
    assert parser.projective_
    assert parser.single_root_
    assert set(parser.classes_) == {r for s in TRAIN for r in s.relations}


def test_predictions_are_trees_and_leave_all_else_as_it_was(parser):
    blank = TEST.replace(
        heads=np.full(len(TEST.heads), -1), relations=[["_"] * len(s) for s in TEST]
    )
    parsed = parser.predict(blank)
    parsed.check_trees(single_root=True)
    assert not parsed.crossing_arcs().any()
    assert bytes(parsed.replace(heads=TEST.heads, relations=TEST.relations)) == bytes(TEST)
    assert parser.predict(TEST) == parsed
    assert parser.predict(list(TEST)) == parsed
    assert parser.set_params(threads=2).predict(TEST) == parsed
    parser.set_params(threads=1)


def test_a_saved_parser_parses_the_same(parser, tmp_path):
    parser.save(tmp_path / "p.dstruct")
    loaded = load_model(tmp_path / "p.dstruct")
    assert isinstance(loaded, DependencyParser)
    assert loaded.predict(TEST) == parser.predict(TEST)
    assert loaded.get_params() == parser.get_params()
    assert str(loaded.result_) == str(parser.result_)
    assert pickle.loads(pickle.dumps(parser)).predict(TEST[:5]) == parser.predict(TEST[:5])
    assert copy.deepcopy(parser).predict(TEST[:5]) == parser.predict(TEST[:5])


def test_the_same_seed_gives_the_same_parser():
    def weights(seed):
        return quick(seed=seed).fit(SOME).result_.w.array

    np.testing.assert_array_equal(weights(3), weights(3))
    assert (weights(3) != weights(4)).any()


def test_dev_data_stop_training_and_the_best_pass_is_kept():
    parser = quick(passes=None, patience=2).fit(SOME, dev=TEST)
    result = parser.result_
    assert result.stopped_by == "dev"
    assert result.passes == result.best_pass + 2
    assert parser.score(TEST) == pytest.approx(result.dev_score)
    assert result.dev_score == max(point.dev_score for point in result.trace)


def test_a_resumed_run_ends_at_the_same_parser(tmp_path):
    whole = quick(passes=4).fit(SOME)
    quick(passes=2, checkpoint=tmp_path / "c").fit(SOME)
    resumed = quick(passes=4, checkpoint=tmp_path / "c", resume=True).fit(SOME)
    np.testing.assert_array_equal(resumed.result_.w.array, whole.result_.w.array)


def test_partial_fit_keeps_what_was_learned_and_takes_new_relations(parser):
    words = [["Zorkan", "blorps", "."]] * 3
    new = Treebank.from_columns(
        words,
        heads=[[2, 0, 2]] * 3,
        relations=[["dragon", "root", "punct"]] * 3,
        upos=[["PROPN", "VERB", "PUNCT"]] * 3,
        lemmas=[["Zorkan", "blorp", "."]] * 3,
    )
    before = parser.score(TEST)
    grown = copy.deepcopy(parser).set_params(C=1.0).partial_fit(new)
    assert grown.predict(new)[0].relations == ["dragon", "root", "punct"]
    assert "dragon" in grown.classes_
    assert "dragon" not in parser.classes_
    assert grown.score(TEST) > before - 0.05
    assert quick().partial_fit(SOME).score(SOME) > 0.6


def test_k_best_trees_are_distinct_and_begin_with_the_best(parser):
    for sentence, trees in zip(
        parser.predict(TEST[:10]), parser.predict_k_best(TEST[:10], 4), strict=True
    ):
        scores = [score for score, _ in trees]
        assert scores == sorted(scores, reverse=True)
        assert trees[0][1] == sentence
        assert len({(*t.heads, *t.relations) for _, t in trees}) == len(trees) == 4


def test_marginals_are_distributions_over_heads(parser):
    for sentence, table in zip(TEST[:10], parser.predict_marginals(TEST[:10], beta=5), strict=True):
        n = len(sentence)
        assert table.shape == (n, n + 1)
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-4)
        np.testing.assert_allclose(table[:, 0].sum(), 1, atol=1e-4)  # one root
        assert not table[np.arange(n), np.arange(1, n + 1)].any()


def test_minimum_risk_predicts_the_most_heads_in_expectation(parser):
    some = TEST[:20]
    careful = copy.deepcopy(parser).set_params(minimum_risk=10.0)
    cautious = careful.predict(some)
    cautious.check_trees(single_root=True)
    best = parser.predict(some)
    differs = False
    for i, table in enumerate(parser.predict_marginals(some, beta=10.0)):
        words = np.arange(len(table))
        expected = table[words, cautious[i].heads].sum()
        assert expected >= table[words, best[i].heads].sum() - 1e-4
        differs |= cautious[i].heads != best[i].heads
    assert differs
    sharp = copy.deepcopy(parser).set_params(minimum_risk=1000.0)
    agreement = evaluate_trees(best, sharp.predict(some))
    assert agreement.uas > 0.98


@pytest.fixture(scope="module")
def second():
    return quick(order=2, grandparents=False, passes=4).fit(TRAIN)


def test_a_second_order_parser_learns_and_parses_trees(second, tmp_path):
    parsed = second.predict(TEST)
    parsed.check_trees(single_root=True)
    assert evaluate_trees(TEST, parsed).uas > 0.8
    assert 0.9 < second.pruning_recall_ <= 1
    second.save(tmp_path / "p.dstruct")
    assert load_model(tmp_path / "p.dstruct").predict(TEST) == parsed
    assert pickle.loads(pickle.dumps(second)).predict(TEST[:5]) == parsed[:5]
    for table in second.predict_marginals(TEST[:3], beta=1.0):
        np.testing.assert_allclose(table.sum(axis=1), 1, atol=1e-3)
    careful = copy.deepcopy(second).set_params(minimum_risk=20.0).predict(TEST[:10])
    careful.check_trees(single_root=True)
    assert evaluate_trees(parsed[:10], careful).las > 0.9
    with pytest.raises(InputError, match="k best trees need a parser of order 1"):
        second.predict_k_best(TEST[:1])


def test_a_second_order_parser_goes_on_with_new_relations(second):
    relations = [["new" if r == "det" else r for r in s] for s in TEST[:3].relations]
    new = TEST[:3].replace(relations=relations)
    grown = copy.deepcopy(second).set_params(C=1.0).partial_fit(new)
    assert "new" in grown.classes_
    assert grown.score(new) > second.score(new)


def test_arcs_of_folds_come_back_in_the_order_of_the_sentences():
    arcs = [[(0, 1)], [(2, 1), (0, 2)], [], [(1, 2)], [(0, 1), (1, 3)]]
    parts = []
    for fold in range(2):
        mine = arcs[fold::2]
        flat = [arc for sentence in mine for arc in sentence]
        offsets = np.cumsum([0, *map(len, mine)])
        heads, modifiers = (np.array([arc[k] for arc in flat], np.uint16) for k in (0, 1))
        parts.append(PrunedArcs(offsets, heads, modifiers, 2 * len(mine), 0.5 + fold / 2))
    merged = interleaved(parts)
    pairs = list(zip(merged.heads.tolist(), merged.modifiers.tolist(), strict=True))
    found = [pairs[a:b] for a, b in pairwise(merged.offsets.tolist())]
    assert found == arcs
    assert merged.words == 10
    assert merged.recall == pytest.approx((6 * 0.5 + 4 * 1.0) / 10)


def crossing_treebank(n=30):
    """A hearing is held on it today: an arc from the noun to its modifier crosses the verb's."""
    return Treebank.from_columns(
        [["hearing", "held", "issue", "today"]] * n,
        heads=[[2, 0, 1, 2]] * n,
        relations=[["nsubj", "root", "nmod", "obl"]] * n,
        upos=[["N", "V", "I", "T"]] * n,
    )


def test_crossing_arcs_and_several_roots_are_noticed():
    crossing = crossing_treebank()
    parser = quick(passes=5).fit(crossing)
    assert not parser.projective_
    assert parser.predict(crossing).heads.tolist() == crossing.heads.tolist()
    forced = quick(passes=5, projective=True).fit(crossing)
    assert forced.projective_
    assert forced.lifted_ == len(crossing)
    assert not forced.predict(crossing).crossing_arcs().any()
    roots = crossing.replace(heads=[[2, 0, 2, 0]] * 30)
    parser = quick(passes=5).fit(roots)
    assert not parser.single_root_
    assert parser.predict(roots).heads.tolist() == roots.heads.tolist()
    with pytest.raises(InputError, match="words 2 and 4 are both roots: two trees in one sentence"):
        quick(single_root=True).fit(roots)


def test_bad_trees_stop_training_or_are_counted():
    heads = [s.heads for s in SOME]
    heads[3] = [2, 1, *heads[3][2:]]
    bad = SOME.replace(heads=heads)
    with pytest.raises(InputError, match=r"line \d+ \(sent_id news-004\): the heads go round"):
        quick().fit(bad)
    with pytest.warns(SkippedSentences, match=r"1 of 60 sentences were left out: .*news-004"):
        parser = quick(bad_trees="skip").fit(bad)
    assert parser.skipped_ == 1
    np.testing.assert_array_equal(
        parser.result_.w.array,
        quick().fit(SOME.select([i for i in range(60) if i != 3])).result_.w.array,
    )


def test_the_model_looks_at_what_the_treebank_has_and_the_switches_allow():
    assert quick(passes=1).fit(SOME).sources_ == ("form", "lemma", "coarse")
    assert quick(passes=1, lemma=False).fit(SOME).sources_ == ("form", "coarse")
    rich = SOME.replace(feats=[["A=b"] * len(s) for s in SOME], xpos=SOME.upos)
    parser = quick(passes=1).fit(rich)
    assert parser.sources_ == ("form", "lemma", "coarse", "fine", "morphology")
    with pytest.raises(InputError, match="there are no XPOS tags, but the parser was trained with"):
        parser.predict(SOME)
    with pytest.raises(InputError, match="there are no lemmas"):
        quick(passes=1).fit(SOME).predict([["only", "words"]])


def test_clusters_are_kept_in_the_model(tmp_path):
    forms = sorted({form for s in SOME for form in s.forms})
    lines = [f"{k % 8:03b}\t{form}\t5\n" for k, form in enumerate(forms)]
    (tmp_path / "paths.txt").write_text("".join(lines), encoding="utf-8")
    parser = quick(clusters=tmp_path / "paths.txt").fit(SOME)
    assert (parser.result_.w.array != quick().fit(SOME).result_.w.array).any()
    parsed = parser.predict(SOME)
    assert parsed.misc == SOME.misc
    parser.save(tmp_path / "p.dstruct")
    (tmp_path / "paths.txt").unlink()
    assert DependencyParser.load(tmp_path / "p.dstruct").predict(SOME) == parsed


def test_every_loss_trains_a_parser():
    for loss in ("squared_hinge", "hinge", "crf", "perceptron"):
        assert quick(loss=loss, C=0.1, passes=3).fit(SOME).score(SOME) > 0.6
    parser = quick(solver=DCD(revisits=2), averaged=False).fit(SOME)
    assert pickle.loads(pickle.dumps(parser)).solver.settings() == parser.solver.settings()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"projective": "maybe"}, "projective is 'maybe'"),
        ({"bad_trees": "mend"}, "bad_trees is 'mend'"),
        ({"hash_bits": 40}, "hash_bits is 40"),
        ({"order": 3}, "order is 3; it must be 1 or 2"),
        ({"most_heads": 0}, "most_heads is 0"),
        ({"C": -1}, "C is -1"),
        ({"loss": "hinges"}, "hinges"),
        ({"clusters": "no such file"}, "no such file"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        quick(**parameters).fit(SOME)


def test_what_cannot_be_learned_or_parsed_is_explained(parser):
    with pytest.raises(NotFittedError, match="this DependencyParser is not trained yet"):
        DependencyParser().predict(TEST)
    with pytest.raises(NotFittedError, match="this ParsingPipeline is not trained yet"):
        ParsingPipeline().predict(TEST)
    with pytest.raises(InputError, match="there are no trees to learn from"):
        DependencyParser().fit([])
    with pytest.raises(InputError, match="word 1 has no head"):
        DependencyParser().fit(Treebank.from_columns([["a", "b"]]))
    with pytest.raises(InputError, match="lists of words are expected"):
        parser.predict(["a sentence"])
    long = Treebank.from_columns([["w"] * 5000], upos=[["X"] * 5000], lemmas=[["w"] * 5000])
    with pytest.raises(InputError, match=r"line 1: a sentence of 5,000 words; at most 4,095"):
        parser.predict(long)


def test_long_sentences_are_parsed(parser):
    sentence = TEST[0]
    copies = 30
    n = len(sentence)
    long = Treebank.from_columns(
        [sentence.forms * copies], upos=[sentence.upos * copies], lemmas=[sentence.lemmas * copies]
    )
    parsed = parser.predict(long)
    assert len(parsed.heads) == n * copies > 500
    parsed.check_trees(single_root=True)


def test_scikit_learns_tools_take_parsers():
    from sklearn.base import clone
    from sklearn.model_selection import cross_val_score

    assert clone(quick(C=0.5)).C == 0.5
    scores = cross_val_score(quick(), list(TRAIN[:90]), cv=3)
    assert (scores > 0.4).all()


def test_a_damaged_parser_is_refused(parser, tmp_path):
    path = tmp_path / "p.dstruct"
    parser.save(path)
    metadata, arrays = read_arrays(path, "dualstruct parser")
    write_arrays(
        path, "dualstruct parser", {**metadata, "labels": metadata["labels"][:-20]}, arrays
    )
    with pytest.raises(InputError, match=r"p.dstruct is damaged"):
        DependencyParser.load(path)
    with pytest.raises(InputError, match="not a dualstruct tagger file, but a dualstruct parser"):
        SequenceTagger.load(path)


def test_a_pipeline_starts_from_words(pipeline, tmp_path):
    words = [s.forms for s in TEST]
    parsed = pipeline.predict(words)
    parsed.check_trees(single_root=True)
    scores = pipeline.evaluate(TEST)
    assert scores.tags["upos"] > 0.85
    assert str(scores) == scores.table()
    assert f"UPOS{100 * scores.tags['upos']:28.2f}" in str(scores)
    assert scores.trees.uas > 0.68
    assert parsed.forms == words
    assert evaluate_trees(TEST, parsed).las == scores.trees.las == pipeline.score(TEST)
    assert f"{100 * scores.tags['upos']:.2f}" in scores.table()
    pipeline.save(tmp_path / "p.dstruct")
    loaded = load_model(tmp_path / "p.dstruct")
    assert isinstance(loaded, ParsingPipeline)
    assert loaded.predict(words) == parsed
    assert pickle.loads(pickle.dumps(pipeline)).predict(words[:3]) == parsed[:3]


def test_a_pipeline_is_not_told_the_true_tags(pipeline):
    wrong = TEST.replace(upos=[["X"] * len(s) for s in TEST])
    assert pipeline.predict(wrong) == pipeline.predict(TEST)


def test_the_pipelines_parser_learned_from_tags_of_taggers_that_had_not_seen_them():
    folds = 3
    pipeline = ParsingPipeline(parser=quick(), folds=folds).fit(SOME)
    tags = [None] * len(SOME)
    for fold in range(folds):
        others = [s for i, s in enumerate(SOME) if i % folds != fold]
        tagger = SequenceTagger().fit([s.forms for s in others], [s.upos for s in others])
        for i in range(fold, len(SOME), folds):
            [tags[i]] = tagger.predict([SOME[i].forms])
    assert tags != list(SOME.upos)
    expected = quick(lemma=False).fit(SOME.replace(upos=tags))
    np.testing.assert_array_equal(pipeline.parser_.result_.w.array, expected.result_.w.array)


def test_pipelines_that_cannot_be_trained_are_explained():
    with pytest.raises(InputError, match="folds is 1"):
        ParsingPipeline(folds=1).fit(SOME)
    with pytest.raises(InputError, match="2 sentences cannot be divided into 5 folds"):
        ParsingPipeline().fit(SOME[:2])
    with pytest.raises(InputError, match="the column XPOS is empty"):
        ParsingPipeline(tags=["xpos"]).fit(SOME)
    with pytest.raises(InputError, match="tags has 'deps'"):
        ParsingPipeline(tags=["deps"]).fit(SOME)
    bare = SOME.replace(upos=[["_"] * len(s) for s in SOME])
    with pytest.raises(InputError, match="no tags to learn"):
        ParsingPipeline().fit(bare)


def test_morphology_can_be_tagged_too():
    rich = SOME.replace(feats=[["N=" + tag for tag in s.upos] for s in SOME])
    pipeline = ParsingPipeline(tags=("upos", "feats"), parser=quick(), folds=2).fit(rich)
    assert pipeline.parser_.sources_ == ("form", "coarse", "morphology")
    assert set(pipeline.taggers_) == {"upos", "feats"}
    assert pipeline.predict([["Storm", "leaves"]])[0].feats != ["_", "_"]


def test_real_treebanks_reach_a_fair_score_quickly():
    danish = read_conllu(corpus_here("ddt_conllx/test.conllx.xz"))
    parser = quick(hash_bits=16, passes=3).fit(danish[:200])
    assert not parser.single_root_
    assert parser.evaluate(danish[200:]).uas > 0.65


def with_xpos(treebank, words):
    """The treebank with an XPOS tag on its first words, and none on the others."""
    tags = [["_"] * len(s.forms) for s in treebank]
    places = [(i, t) for i, row in enumerate(tags) for t in range(len(row))][:words]
    for i, t in places:
        tags[i][t] = "X"
    return treebank.replace(xpos=tags)


@pytest.mark.parametrize("engine", [None, "local"])
def test_a_column_that_is_nearly_empty_does_not_count(engine):
    treebank = load_english("test")
    words = len(treebank.heads)
    run = {"engine": engine, "workers": 2 if engine else None}
    few = DependencyParser(hash_bits=12, passes=1, **run).fit(with_xpos(treebank, words // 101))
    assert "fine" not in few.sources_
    assert len(few.predict(treebank)) == len(treebank)
    many = DependencyParser(hash_bits=12, passes=1, **run).fit(with_xpos(treebank, words // 90))
    assert "fine" in many.sources_
    with pytest.raises(InputError, match=r"no XPOS tags, .*\(xpos=False, --no-xpos\)"):
        many.predict(treebank)


def test_columns_that_are_not_wanted_are_not_looked_at():
    treebank = load_english("test")
    full = treebank.replace(xpos=treebank.upos, feats=treebank.upos, lemmas=treebank.forms)
    wanted = {"lemma": "lemma", "xpos": "fine", "morphology": "morphology"}
    for parameter, source in wanted.items():
        assert source in DependencyParser(hash_bits=12, passes=1).fit(full).sources_
        parser = DependencyParser(hash_bits=12, passes=1, **{parameter: False}).fit(full)
        assert source not in parser.sources_
        assert {*parser.sources_, source} == {"form", "coarse", *wanted.values()}
    pipeline = ParsingPipeline(folds=2, parser=DependencyParser(hash_bits=12, passes=1, xpos=False))
    assert list(pipeline.fit(full).taggers_) == ["upos"]


def test_no_tagger_learns_a_column_that_is_nearly_empty():
    treebank = with_xpos(load_english("test"), 3)
    pipeline = ParsingPipeline(folds=2, parser=DependencyParser(hash_bits=12, passes=1))
    assert list(pipeline.fit(treebank).taggers_) == ["upos"]
