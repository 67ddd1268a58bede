"""Tuning: what it says of a candidate is true, its choice is the best, and it keeps its limits."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import run_command
from dualstruct import (
    DependencyParser,
    InputError,
    Multiclass,
    NotFittedError,
    ParsingPipeline,
    SequenceTagger,
    StructuredSVM,
    load_model,
    tune,
    write_columns,
    write_conllu,
)
from dualstruct.datasets import load_english
from dualstruct.metrics import evaluate, evaluate_trees
from dualstruct.metrics.comparing import by_luck, compared, spread_of, without_each
from dualstruct.training.results import TracePoint
from dualstruct.tuning.budget import Budget
from dualstruct.tuning.candidates import Candidate, Candidates
from dualstruct.tuning.choices import Choices
from dualstruct.tuning.trials import Folds, Trial, Way, seconds_of_a_pass
from dualstruct.tuning.verdict import NO_TIME, Verdict

SOME = load_english("train")[:100]
X, Y = [s.forms for s in SOME], [s.entities for s in SOME]
TAGS = [s.upos for s in SOME]
TREES = load_english("train").select(range(80))


def parts(count: int, folds: int = 5, seed: int = 0) -> list[np.ndarray]:
    """The examples that each fold leaves out."""
    return np.array_split(np.random.default_rng(seed).permutation(count), folds)


def crossed(estimator, settings: dict, X, y, folds: int = 5) -> list:
    """Predictions for all examples, each by a model that has not seen it."""
    answers: list = [None] * len(X)
    for left_out in parts(len(X), folds):
        kept = sorted(set(range(len(X))) - set(left_out.tolist()))
        model = type(estimator)(**{**estimator.get_params(), **settings})
        model.fit([X[i] for i in kept], [y[i] for i in kept])
        for i, answer in zip(left_out, model.predict([X[i] for i in left_out]), strict=True):
            answers[i] = answer
    return answers


def full(model) -> list[Candidate]:
    return [each for each in model.candidates_ if each.folds == 5]


@pytest.fixture
def one_division(monkeypatch):
    """Every example is judged once."""
    from dualstruct.tuning import search

    monkeypatch.setattr(search, "DIVISIONS", 1)


def most_tried(model) -> list[Candidate]:
    most = max(each.folds for each in model.candidates_)
    return [each for each in model.candidates_ if each.folds == most]


@pytest.mark.parametrize(("labels", "metric"), [(Y, None), (Y, "accuracy"), (TAGS, None)])
@pytest.mark.usefixtures("one_division")
def test_scores_are_those_of_plain_cross_validation(labels, metric):
    tagger = SequenceTagger(features="pos", unseen_labels="count")
    tuned = tune(tagger, X, labels, budget=None, trials=45, metric=metric)
    assert len(full(tuned)) >= 3
    for candidate in full(tuned):
        found = evaluate(labels, crossed(tagger, candidate.settings, X, labels))
        by_f1 = labels is Y and metric is None
        assert tuned.candidates_.metric == ("F1" if by_f1 else "accuracy")
        expected = found.f1 if by_f1 else found.accuracy
        assert candidate.score == pytest.approx(expected, abs=2e-3)  # w is rebuilt at the end


@pytest.mark.usefixtures("one_division")
def test_scores_of_parsers_are_those_of_plain_cross_validation():
    parser = DependencyParser(hash_bits=12)
    tuned = tune(parser, TREES, budget=None, trials=14, folds=2)
    assert tuned.candidates_.metric == "LAS"
    candidate = next(each for each in tuned.candidates_ if each.folds == 2)
    right = words = 0
    for left_out in parts(len(TREES), 2):
        kept = np.sort(np.setdiff1d(np.arange(len(TREES)), left_out))
        model = DependencyParser(**{**parser.get_params(), **candidate.settings})
        gold = TREES.select(np.sort(left_out))
        found = evaluate_trees(gold, model.fit(TREES.select(kept)).predict(gold))
        right += found.las * len(gold.heads)
        words += len(gold.heads)
    assert candidate.score == pytest.approx(right / words, abs=2e-3)


def test_any_structure_is_tuned_by_its_cost():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(60, 3))
    outputs = np.argmax(inputs + 0.3 * rng.normal(size=(60, 3)), axis=1)
    given = StructuredSVM(Multiclass(), C=2.0)
    tuned = tune(given, inputs, outputs, budget=None, trials=30)
    assert tuned.candidates_.metric == "score"
    assert {each.settings.get("C") for each in tuned.candidates_} == {None}  # C was chosen
    losses = {each.settings.get("loss", given.loss) for each in tuned.candidates_}
    assert losses == {"hinge", "squared_hinge", "crf", "softmax_margin"}
    assert len(tuned.predict(inputs)) == 60


def test_the_same_trials_come_to_the_same_choice():
    def rows(model):
        return [(each.settings, each.score, each.spread, each.folds) for each in model.candidates_]

    one, *others = (
        tune(SequenceTagger("pos"), X, Y, budget=None, trials=30, threads=threads)
        for threads in (1, 1, 2, 3)
    )
    assert rows(one) == rows(others[0])
    for again in others:
        assert one.settings_ == again.settings_
        assert one.predict(X) == again.predict(X)


def test_the_choice_is_the_best_or_what_was_given():
    given = SequenceTagger("pos")
    for labels, seed in ((Y, 0), (TAGS, 0), (Y, 3)):
        tuned = tune(given.set_params(seed=seed), X, labels, budget=None, trials=40)
        [chosen] = [each for each in tuned.candidates_ if each.chosen]
        certain = tuned.candidates_.certain
        assert certain > 1
        if tuned.settings_:
            assert chosen.settings == tuned.settings_
            rest = [e for e in most_tried(tuned) if e.gain > certain * e.gain_spread]
            assert chosen.gain - chosen.gain_spread == max(e.gain - e.gain_spread for e in rest)
            assert chosen.gain > certain * chosen.gain_spread
        else:
            best = max(most_tried(tuned), key=lambda each: each.score)
            assert best.gain <= certain * best.gain_spread
        for name, value in tuned.settings_.items():
            assert getattr(tuned, name) == value
        again = SequenceTagger(**{**given.get_params(), **tuned.settings_}).fit(X, labels)
        assert again.predict(X) == tuned.predict(X)
    with pytest.raises(NotFittedError):
        given.predict(X)


def test_what_was_set_or_fixed_is_not_changed():
    given = SequenceTagger("pos", loss="hinge", passes=2)
    tuned = tune(given, X, Y, budget=None, trials=25, fixed=["averaged", "min_count", "without"])
    tried = {name for each in tuned.candidates_ for name in each.settings}
    assert tried == {"C", "scheme"}


def test_development_data_judge_instead_of_folds():
    tagger = SequenceTagger("pos", unseen_labels="count")
    tuned = tune(tagger, X[:70], Y[:70], dev=(X[70:], Y[70:]), budget=None, trials=40)
    given = next(each for each in tuned.candidates_ if not each.settings)
    assert {each.folds for each in tuned.candidates_ if each.score is not None} == {1, given.folds}
    answers = []
    for seed in range(given.folds):  # other seeds, judged on the same sentences
        plain = SequenceTagger("pos", passes=10, seed=seed).fit(X[:70], Y[:70])
        answers += plain.predict(X[70:])
    expected = evaluate(given.folds * Y[70:], answers).f1
    assert given.score == pytest.approx(expected, abs=2e-3)
    # The model is what was judged, and what the settings give again.
    again = SequenceTagger(**{**tagger.get_params(), **tuned.settings_}).fit(X[:70], Y[:70])
    assert again.predict(X[70:]) == tuned.predict(X[70:])


def test_weights_count_in_every_fold():
    """Sentences of weight 0 might as well not be there."""
    wrong = [["B-PER"] * len(x) for x in X]
    weights = [1.0] * len(X) + [0.0] * len(X)
    tuned = tune(
        SequenceTagger("pos"), X + X, Y + wrong, budget=None, trials=3, sample_weight=weights
    )
    assert evaluate(Y, tuned.predict(X)).f1 > 0.9


def test_settings_that_cannot_be_are_listed_with_the_reason():
    tuned = tune(SequenceTagger("pos", loss="hinge"), X, TAGS, budget=None, trials=40)
    notes = {each.name: each.note for each in tuned.candidates_ if each.score is None}
    assert notes
    assert all("scheme" in name and "mark no spans" in note for name, note in notes.items())
    assert "mark no spans" in tuned.candidates_.table()


def test_templates_are_compared():
    tuned = tune(SequenceTagger("word[0]\n"), X, Y, budget=None, trials=60, other_features=["ner"])
    assert any(each.settings.get("features") == "ner" for each in tuned.candidates_)
    assert tuned.settings_["features"] == "ner"


def test_ctrl_c_trains_with_the_best_so_far():
    told = []

    def interrupt(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            raise KeyboardInterrupt

    tuned = tune(SequenceTagger("pos"), X, Y, budget=None, trials=200, watch=interrupt)
    assert 0 < len(tuned.candidates_) < 20
    assert len(tuned.predict(X)) == len(X)


def test_a_budget_is_kept(monkeypatch):
    """A clock of our own: each look at it is a second later."""
    from dualstruct.tuning import budget

    now = iter(range(10_000))
    monkeypatch.setattr(budget.time, "perf_counter", lambda: float(next(now)))
    limit = Budget(10.0, None)
    limit.reserve = 4.0
    taken = 0
    while limit.take():
        taken += 1
    assert taken == 5
    assert limit.over
    many = Budget(None, 3)
    assert [many.take() for _ in range(4)] == [True, True, True, False]


def test_training_ends_before_a_pass_for_which_there_is_no_time(monkeypatch):
    """And the settings say after which pass, so that the same model can be trained again."""
    tagger = SequenceTagger("pos", C=0.2)
    monkeypatch.setattr(Budget, "leaves_no_pass", lambda _, point, __: point.passes == 3)
    told: list[str] = []
    tuned = tune(tagger, X, Y, budget=1000.0, trials=2, watch=told.append)
    assert tuned.result_.passes == tuned.passes == tuned.settings_["passes"] == 3
    settings = {**tagger.get_params(), **tuned.settings_}
    assert tuned.predict(X) == SequenceTagger(**settings).fit(X, Y).predict(X)
    assert told[-1] == "the budget is over: training ended after 3 passes"


@pytest.mark.parametrize(("now", "ends"), [(99.0, False), (100.0, False), (103.1, True)])
def test_a_pass_is_begun_if_it_ends_in_time_or_a_little_later(monkeypatch, now, ends):
    """Passes take 2 s; 100 s from the beginning is the end, and 5 s more do not matter."""
    from dualstruct.tuning import budget

    clock = [0.0]
    monkeypatch.setattr(budget.time, "perf_counter", lambda: clock[0])
    limit = Budget(100.0, None)
    clock[0] = now
    point = TracePoint(4, 8.0, None, None, None, None, None, 0, 0)
    assert limit.leaves_no_pass(point, None) is ends
    assert Budget(None, 3).leaves_no_pass(point, None) is False


def test_what_time_was_set_aside_for_can_be_chosen_when_the_search_is_over(monkeypatch):
    """Runs end a second after there is no time for more of them."""
    from dualstruct.tuning import budget

    clock = [0.0]
    monkeypatch.setattr(budget.time, "perf_counter", lambda: clock[0])
    limit = Budget(100.0, None)
    limit.reserve = 30.0
    clock[0] = 71.0
    assert limit.over
    assert limit.allows(limit.reserve)
    assert not limit.allows(55.0)
    assert Budget(None, 3).allows(1e9)


def test_what_there_is_no_time_to_train_with_is_not_chosen():
    given, better, best = Trial({}), Trial({"C": 1.0}), Trial({"C": 3.0})
    for trial, right in ((given, 5), (better, 7), (best, 9)):
        trial.counts[Way(10, False)] = {0: {n: np.array([right + n % 2, 20.0]) for n in range(20)}}
    best.runs, best.passes, best.in_passes = 2, 20, 4.0
    verdict = Verdict([given, better, best], given, Way(10, False), lambda n: n[0] / n[1])
    assert verdict.chosen([0])[0] is best
    assert verdict.chosen([0], lambda trial, _: trial is not best)[0] is better
    # Two runs of 10 passes took 4 s, on an eighth of the examples.
    assert best.seconds_on(8.0, Way(20, True)) == best.seconds_on(16.0, Way(None, False)) == 32.0
    assert better.seconds_on(8.0, Way(20, True)) is None


def test_the_time_of_a_pass_is_known_after_the_first_if_that_is_long():
    tagger = SequenceTagger("pos", passes=3)
    known = tagger.bind(tagger.examples(X, TAGS))
    seen: list[int] = []
    optimise = type(tagger).optimise

    class Watched(SequenceTagger):
        def optimise(self, known, callbacks, start=None):
            count = [lambda point, _: seen.append(point.passes)]
            return optimise(self, known, [*callbacks, *count], start)

    for enough, passes in ((1e-9, [1]), (1e9, [1, 2, 3])):
        seen.clear()
        cpu, wall = seconds_of_a_pass(Watched("pos", passes=3), known, enough)
        assert cpu > 0
        assert wall > 0
        assert seen == passes


def test_passes_for_which_there_is_no_time_are_not_tried():
    choices = Choices(SequenceTagger(), (), frozenset())
    assert choices.passes == (5, 10)
    assert choices.longer({"C": 1.0}) == [{"C": 1.0, "passes": 20}]
    choices.end_within(3)
    assert choices.passes == (10,)  # that is what was given
    assert choices.longer({}) == []


def test_more_passes_are_judged_at_their_end_in_both_ways():
    choices = Choices(SequenceTagger(), (), frozenset())
    assert choices.passes_of({"passes": 20}) == (20,)
    assert choices.passes_of({"C": 1.0}) == (5, 10)
    assert choices.longer({}) == [{"passes": 20}]
    assert Choices(SequenceTagger(passes=3), (), frozenset()).longer({}) == []


def test_the_same_settings_in_other_words_are_tried_once():
    """The labels here are IOB2 already."""
    tuned = tune(SequenceTagger("pos"), X, Y, budget=None, trials=40)
    [same] = [each for each in tuned.candidates_ if each.settings == {"scheme": "iob2"}]
    assert same.folds == 1
    assert same.gain == 0


@pytest.mark.parametrize("after", range(1, 60, 2))
def test_a_search_that_ends_at_any_instant_trains_a_model(after, monkeypatch):
    """Also between two judgements of one run."""
    asked = [0]

    def over(_) -> bool:
        asked[0] += 1
        return asked[0] > after

    monkeypatch.setattr(Budget, "over", property(over))
    tuned = tune(SequenceTagger("pos"), X[:20], Y[:20], budget=None, trials=9)
    assert sum(each.chosen for each in tuned.candidates_) == 1
    assert tuned.candidates_.table().count("*") == 1
    assert len(tuned.predict(X[:20])) == 20


@settings(max_examples=300)
@given(st.data())
def test_rows_are_those_of_the_folds_that_each_way_was_judged_on(data):
    ways = [Way(5, False), Way(5, True), Way(10, False), Way(10, True)]
    trials = [Trial({"C": float(n)}) for n in range(data.draw(st.integers(1, 3)))]
    for trial in trials:
        for way in ways:
            for k in data.draw(st.sets(st.integers(0, 2))):
                right = data.draw(st.integers(0, 9))
                trial.counts.setdefault(way, {})[k] = {
                    20 * k + n: np.array([right + n % 2, 20.0]) for n in range(20)
                }
    compared_on = sorted(data.draw(st.sets(st.integers(0, 2), min_size=1)))
    verdict = Verdict(trials, trials[0], ways[2], lambda n: n[0] / n[1])
    chosen, way = verdict.chosen(compared_on)
    rows = verdict.rows(chosen, way)
    assert [row.settings["C"] for row in rows if row.chosen] == [chosen.settings["C"]]
    for row in rows:
        trial = trials[int(row.settings["C"])]
        own = Way(row.settings.get("passes", 10), row.settings.get("averaged", False))
        assert row.folds == len(trial.counts.get(own, {}))
        assert (row.score is None) == (row.folds == 0)


def test_without_time_to_judge_anything_what_was_given_is_trained(monkeypatch):
    monkeypatch.setattr(Budget, "take", lambda _: False)
    tuned = tune(SequenceTagger("pos", passes=2), X[:30], Y[:30], budget=None, trials=5)
    [row] = tuned.candidates_
    assert (row.chosen, row.score, row.note) == (True, None, NO_TIME)
    assert tuned.settings_ == {}
    assert tuned.candidates_.table().splitlines()[1] == f"* as given   {NO_TIME}"
    assert tuned.candidates_.svg().startswith("<svg")
    plain = SequenceTagger("pos", passes=2).fit(X[:30], Y[:30])
    assert tuned.predict(X) == plain.predict(X)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"budget": 1e-6}, "but to train once takes"),
        ({"budget": 0}, "budget is 0; it must be a number of seconds above 0"),
        ({"trials": 0}, "trials is 0; it must be at least 1"),
        ({"folds": 1}, "folds is 1; there must be at least 2"),
        ({"metric": "las"}, "metric is 'las'; it must be f1 or accuracy"),
        ({"dev": ([], [])}, "the development data is empty"),
    ],
)
def test_what_cannot_be_is_one_sentence(change, sentence):
    with pytest.raises(InputError, match=sentence):
        tune(SequenceTagger("pos"), X, Y, **{"trials": 2, **change})


def test_too_few_examples_and_other_estimators_are_refused():
    with pytest.raises(InputError, match="the data has 4 examples, too few"):
        tune(SequenceTagger("pos"), X[:4], Y[:4])
    with pytest.raises(InputError, match=r"tune takes a SequenceTagger, .* not ParsingPipeline"):
        tune(ParsingPipeline(), TREES)


def test_spreads_are_those_of_the_jackknife():
    rng = np.random.default_rng(0)
    one, other = rng.integers(5, 10, (2, 8, 1)).astype(float)
    one, other = (np.concatenate([each, np.full((8, 1), 10.0)], axis=1) for each in (one, other))

    def ratio(n):
        return n[0] / n[1]

    left = [np.delete(one, j, axis=0).sum(axis=0) for j in range(8)]
    values = np.array([ratio(each) for each in left])
    assert without_each(one, ratio) == pytest.approx(values)
    # Of a mean it is the usual standard error.
    usual = np.std(one[:, 0] / 10, ddof=1) / np.sqrt(8)
    assert spread_of(values) == pytest.approx(usual)
    gain, error = compared(one, other, ratio)
    assert gain == pytest.approx((one[:, 0] - other[:, 0]).mean() / 10)
    assert error == pytest.approx(np.std((one[:, 0] - other[:, 0]) / 10, ddof=1) / np.sqrt(8))
    assert spread_of(values[:1]) == np.inf


@pytest.mark.parametrize(("count", "luck"), [(1, 0.2), (30, 0.1), (30, 0.5)])
def test_the_luckiest_of_many_is_as_far_ahead_as_many_searches_show(count, luck):
    """Candidates that are no better, judged on blocks: how often one of them passes."""
    rng = np.random.default_rng(count)
    blocks, searches = 60, 200
    passed = 0
    for _ in range(searches):
        common = rng.normal(size=(1, blocks))
        gains = 0.6 * common + 0.8 * rng.normal(size=(count, blocks))
        left_out = (gains.sum(axis=1, keepdims=True) - gains) / (blocks - 1)
        errors = np.array([spread_of(each) for each in left_out])
        certain = by_luck(left_out, luck, rounds=500)
        passed += bool((gains.mean(axis=1) > certain * errors).any())
    spread = (luck * (1 - luck) / searches) ** 0.5
    assert abs(passed / searches - luck) < 4 * spread


def test_blocks_that_were_not_judged_do_not_count():
    rng = np.random.default_rng(3)
    some = rng.normal(size=(5, 8))
    wide = np.full((5, 12), np.nan)
    wide[:, 4:] = some
    draws = rng.normal(size=(200_000, 8))
    centred = some - some.mean(axis=1, keepdims=True)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    expected = np.quantile((draws @ centred.T).max(axis=1), 0.8)
    assert by_luck(wide, 0.2) == pytest.approx(expected, abs=0.05)
    assert by_luck(np.zeros((3, 4)), 0.2) == 0


def test_every_division_leaves_out_everything_once():
    tagger = SequenceTagger(features="word[0]\n", passes=1)
    share = tagger.examples(X[:36], Y[:36])
    folds = Folds(tagger, share, None, count=3, blocks=12, metric=None, seed=0)
    divisions = [[set(folds.bind({}, k).judges) for k in range(d, d + 3)] for d in (0, 3, 6)]
    for division in divisions:
        assert sorted(block for some in division for block in some) == list(range(12))
        assert {len(some) for some in division} == {4}
    assert divisions[0] != divisions[1] != divisions[2]
    assert [folds.division(k) for k in range(7)] == [0, 0, 0, 1, 1, 1, 2]
    assert all(len(folds.bind({}, k).known.structure) == 24 for k in range(9))


def test_what_was_judged_several_times_is_summed_up_by_block():
    way = Way(10, False)
    runs = {0: {0: np.array([1.0, 2]), 1: np.array([2.0, 2])}, 1: {1: np.array([0.0, 2])}}
    trial = Trial({}, {way: runs})
    assert trial.on(way, [0]).tolist() == [[1, 2], [2, 2]]
    assert trial.on(way, [0, 1]).tolist() == [[1, 2], [2, 4]]
    assert trial.on(way, [0, 2]) is None
    assert runs[0][1].tolist() == [2, 2]  # nothing is changed by it


def test_the_best_few_are_tried_on_other_divisions():
    """Suffixes that say it all were left out: the candidate that has them surely is better."""
    tuned = tune(
        SequenceTagger("word[0]\n", passes=3),
        X,
        TAGS,
        budget=None,
        trials=60,
        folds=2,
        other_features=["word[0]\nsuffix(word[0],2)\n"],
        fixed=["loss", "C", "averaged", "min_count", "scheme", "without"],
    )
    assert [each.folds for each in tuned.candidates_] == [8, 8]
    [chosen] = [each for each in tuned.candidates_ if each.chosen]
    assert "suffix" in chosen.settings["features"]
    assert chosen.gain > tuned.candidates_.certain * chosen.gain_spread


def test_losses_have_scales_of_their_own():
    starts = Choices(SequenceTagger(), (), frozenset()).starts()
    assert {"loss": "hinge"} in starts
    assert {"loss": "crf"} in starts
    assert {"C": 0.3} in starts
    choices = Choices(SequenceTagger(), (), frozenset())
    around = [{"loss": "crf", "C": C} for C in (0.9, 1.65, 5.4, 9.0)]
    assert choices.scales({"loss": "crf"}) == around
    choices.see({}, 10_000.0)  # dense features
    assert choices.scales({"loss": "crf"})[0]["C"] == 0.09
    assert {} not in starts
    kept = Choices(SequenceTagger(), (), frozenset({"loss", "C"}))
    assert all({"loss", "C"}.isdisjoint(each) for each in kept.starts())
    assert kept.scales({}) == kept.path({}) == []


def test_the_table_and_the_picture_show_every_candidate():
    rows = [
        Candidate({}, 0.8, 0.01, 0.0, 0.0, 5, 1.0, None, False),
        Candidate({"C": 0.3, "averaged": True}, 0.82, 0.01, 0.02, 0.005, 5, 2.0, 0.1, True, True),
        Candidate({"C": 0.1}, 0.81, 0.01, 0.01, 0.005, 5, 2.0, 0.0123, False),
        Candidate({"scheme": "bilou"}, None, None, None, None, 0, 0.0, None, False, note="no <b>"),
    ]
    found = Candidates(rows, "F1")
    lines = found.table().splitlines()
    assert [line[0] for line in lines] == [" ", "*", " ", " ", " "]
    assert "C 0.3, averaged yes" in lines[1]
    assert "82.00  1.00  +2.00  0.50" in lines[1]
    ends = [line[lines[0].index("gap") + 3 :].strip(" ─●") for line in lines[1:4]]
    assert ends == ["", "", ""]  # nothing but the plot is right of the certificates
    shown = [line[: lines[0].index("gap") + 3].split("2.0 ")[-1] for line in lines[1:3]]
    assert [each.strip() for each in shown] == ["10 %", "~1.2 %"]
    assert lines[3][: lines[0].index("gap") + 3].endswith(" none")
    assert "no <b>" in lines[4]
    wide = max(map(len, lines))
    for width in (wide, wide - 1, wide - 12, len(lines[0])):  # the plot gives way
        narrow = found.table(width).splitlines()
        assert max(map(len, narrow)) <= width
        assert any("●" in line for line in narrow) == (width > len(lines[0]))
        whole = [line[: len(lines[0])].rstrip() for line in lines]
        assert [line[: len(lines[0])].rstrip() for line in narrow] == whole
    assert found.table(wide) == found.table()
    assert [row["chosen"] for row in found.to_dicts()] == [True, False, False, False]
    assert [row["certified"] for row in found.to_dicts()] == [True, False, False, False]
    import xml.etree.ElementTree as ET

    texts = [each.text for each in ET.fromstring(found.svg()).iter() if each.text]
    assert "C 0.3, averaged yes" in texts
    assert "82.00" in texts


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuning")
    write_columns(folder / "train.txt", X[:70], Y[:70])
    write_columns(folder / "dev.txt", X[70:], Y[70:])
    write_conllu(folder / "trees.conllu", TREES.select(range(60)))
    return folder


def test_the_command_tells_what_it_tried_and_how_to_train_it_again(files, tmp_path):
    model = tmp_path / "m.dstruct"
    more = ["--features", "pos", "--trials", "40", "--model", model, "--plot", tmp_path / "p.svg"]
    done = run_command("tune", files / "train.txt", *more)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum(line.startswith("* ") for line in lines) == 1
    assert any(line.startswith("trained: ") and " gap " in line for line in lines)
    [again] = [line.partition(": ")[2] for line in lines if line.startswith("the same again")]
    other = tmp_path / "again.dstruct"
    command = [str(other) if part == str(model) else part for part in again.split()[1:]]
    assert run_command(*command).returncode == 0
    found, expected = load_model(other), load_model(model)
    assert found.result_.w.array.tobytes() == expected.result_.w.array.tobytes()
    assert (tmp_path / "p.svg").read_text(encoding="utf-8").startswith("<svg")


def test_train_tunes_first_if_it_is_told_to(files, tmp_path):
    model = tmp_path / "m.dstruct"
    data = [files / "train.txt", "--dev", files / "dev.txt"]
    done = run_command(
        "train", *data, "--model", model, "--tune", "30", "--loss", "hinge", "--json"
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["metric"] == "F1"
    assert all("loss" not in each["settings"] for each in report["candidates"])
    assert load_model(model).loss == "hinge"
    bad = run_command("train", files / "train.txt", "--model", model, "--tune", "9", "--threads", 2)
    assert bad.stderr == "dualstruct: --tune does without --threads\n"


def test_the_command_tunes_parsers(files, tmp_path):
    more = ["--task", "parse", "--trials", "3", "--hash-bits", "12", "--json"]
    done = run_command("tune", files / "trees.conllu", *more)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["metric"] == "LAS"
    assert report["certified"]
    assert all(each["gap"] > 0 and each["certified"] for each in report["candidates"])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--task", "tag+parse"], "--task is 'tag+parse'; tune supports tag and parse"),
        (["--metric", "las"], "metric is 'las'; it must be f1 or accuracy"),
        (["--budget", "0"], "--budget is 0; it must be a number of seconds above 0"),
        (["--order", "2"], "--order is for --task parse"),
    ],
)
def test_the_command_says_in_one_sentence_what_is_wrong(files, options, sentence):
    done = run_command("tune", files / "train.txt", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"dualstruct: {sentence}\n"


def test_a_group_of_features_that_misleads_is_left_out():
    """Suffixes that tell the labels of one fold wrongly in another: words are enough."""
    rng = np.random.default_rng(0)
    words = [f"{stem}{end}" for stem in "abcdefgh" for end in ("xx", "yy")]
    truth = {word: "B-X" if word[0] in "abcd" else "O" for word in words}
    sentences = [[words[i] for i in rng.integers(16, size=4)] for _ in range(60)]
    labels = [[truth[word] for word in sentence] for sentence in sentences]
    tagger = SequenceTagger("word[0]\nsuffix(word[0],1)\nword[-1] & word[0]\n")
    tuned = tune(tagger, sentences, labels, budget=None, trials=40)
    tried = {each.settings.get("without") for each in tuned.candidates_} - {None}
    assert {"affixes", "conjunctions"} <= tried
    assert (
        "affixes,conjunctions"
        in Choices(tagger, (), frozenset())
        .joined({"without": "affixes"}, {"without": "conjunctions"})
        .values()
    )


def test_presets_are_tried_where_features_are_left_to_us():
    tuned = tune(SequenceTagger(), X[:30], Y[:30], budget=None, trials=20)
    assert "pos" in {each.settings.get("features") for each in tuned.candidates_}
    named = tune(SequenceTagger("ner"), X[:30], Y[:30], budget=None, trials=15)
    assert {each.settings.get("features") for each in named.candidates_} == {None}


@pytest.mark.usefixtures("one_division")
def test_a_path_of_converged_runs_is_what_single_runs_come_to():
    """Warm starts change how long it takes, not where it ends."""
    tagger = SequenceTagger("pos", loss="hinge", C=None, unseen_labels="count")
    kept = ["min_count", "scheme", "without"]
    some, tags = X[:30], TAGS[:30]
    tuned = tune(tagger, some, tags, budget=None, trials=40, fixed=kept, folds=2)
    path = [each for each in tuned.candidates_ if each.settings.get("gap")]
    assert len({each.settings["C"] for each in path}) == 3
    full = [each for each in path if each.folds == 2]
    assert full
    for candidate in full:
        found = evaluate(tags, crossed(tagger, candidate.settings, some, tags, 2))
        assert candidate.score == pytest.approx(found.accuracy, abs=0.02)


def test_development_data_without_a_known_label_is_one_sentence():
    words = [list(x) for x in X[:5]]
    with pytest.raises(InputError, match=r"no label that training saw, only .*: are the labels in"):
        tune(SequenceTagger("pos"), X, Y, dev=(X[:5], words), trials=2)


@pytest.fixture
def bad(tmp_path, monkeypatch):
    """A folder of files that are wrong in one way each, to be in."""
    monkeypatch.chdir(tmp_path)
    texts = {
        "unlabelled.txt": "\n\n".join("\n".join(x) for x in X[70:]) + "\n",
        "nothing.txt": "# no template\n",
        "ragged.txt": "the 1 2 3\nof 1 2\n",
        "nan.txt": "the 1 2 3\nof 1 nan 2\n",
        "paths.txt": "0010\tThe_\t5\n0011\tOf_\t5\n",
        "clusters.txt": "clusters paths.txt\ncluster(word[0])\nword[0]\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--budget", "0.0001"], "budget is 0.0001 s, but to train once takes about 0."),
        (["--trials", "2", "--dev", "unlabelled.txt"], "unlabelled.txt: its only column was taken"),
        (["--trials", "2", "--features", "nothing.txt"], "nothing.txt: it has no templates"),
        (["--trials", "2", "--vectors", "ragged.txt"], "ragged.txt, line 2: a word and 3 numbers"),
        (["--trials", "2", "--vectors", "nan.txt"], "nan.txt, line 2: a number is infinite or NaN"),
    ],
)
@pytest.mark.usefixtures("bad")
def test_what_is_wrong_with_a_file_is_one_sentence(files, options, sentence):
    done = run_command("tune", files / "train.txt", *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"dualstruct: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("bad")
def test_the_share_of_tokens_that_clusters_cover_is_always_said(files):
    more = ["--features", "clusters.txt", "--trials", "1"]
    done = run_command("tune", files / "train.txt", *more)
    assert done.returncode == 0, done.stderr
    assert "\nclusters paths.txt: 0.0 % of the tokens\n" in done.stdout
    assert done.stderr.count("covers 0.0 % of the tokens: is it for another") == 1


@pytest.mark.usefixtures("bad")
def test_templates_that_cannot_be_are_listed_and_the_others_are_tuned(files):
    more = ["--features", "ner", "--features", "nothing.txt", "--trials", "2", "--json"]
    done = run_command("tune", files / "train.txt", *more)
    assert done.returncode == 0, done.stderr
    notes = [each["note"] for each in json.loads(done.stdout)["candidates"]]
    assert "nothing.txt: it has no templates" in notes


def test_features_that_make_no_attribute_are_one_sentence():
    with pytest.raises(InputError, match="no token has a feature: the templates or attributes"):
        tune(SequenceTagger(), [[[] for _ in x] for x in X], Y, trials=2)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.15, 0.5, 1.0])
def test_runs_on_fewer_examples_have_a_share_of_every_fold(share):
    tagger = SequenceTagger(features="word[0]\n", passes=1)
    folds = Folds(tagger, tagger.examples(X, Y), None, count=5, blocks=20, metric=None, seed=0)
    whole = [len(folds.bind({}, k).known.structure) for k in range(5)]
    folds.thin_out(share)
    few = [len(folds.bind({}, k).known.structure) for k in range(5)]
    assert few == [max(int(share * each), 1) for each in whole]


@pytest.mark.parametrize(
    ("loss", "solver", "ends_at_a_gap"),
    [
        ("squared_hinge", "auto", False),
        ("squared_hinge", "dcd", False),
        ("hinge", "sdm", False),
        ("crf", "lbfgs", True),
    ],
)
def test_passes_are_chosen_unless_training_ends_at_a_gap(loss, solver, ends_at_a_gap):
    choices = Choices(SequenceTagger(loss=loss, solver=solver), (), frozenset())
    assert bool(choices.passes) != ends_at_a_gap
