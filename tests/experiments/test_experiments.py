"""Every paper's experiment in its smallest form: it says, draws and writes what it should."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from command_line import called
from dualstruct import Problem, Stopping, experiments
from dualstruct.datasets import make_chains
from dualstruct.distributed import ADMM, BQO, SimpleAverage, fit_local
from dualstruct.errors import InputError
from dualstruct.experiments.curves import GROWING, Point, Run, choose, lead, learn, seconds_to
from dualstruct.experiments.lee_2015 import C as C_OF_LEE
from dualstruct.experiments.lee_2015 import simulate
from dualstruct.experiments.options import Options
from dualstruct.experiments.page import command_of, update
from dualstruct.experiments.repeats import merged_relation, verdict_of
from dualstruct.experiments.report import Line, Panel, Relation, Report
from dualstruct.experiments.tasks import drawn, folds_of, load_task, with_outliers
from dualstruct.solvers import DCD, SDM

TINY = Options(quick=True, sentences=60)


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_every_experiment_runs_in_small_and_has_a_reason_for_each_claim(
    name, tmp_path, monkeypatch
):
    reasons = {}
    tell = Report.relation

    def told(report, claim, holds, measured, why="", *others, **limits):
        reasons[claim] = why
        tell(report, claim, holds, measured, why, *others, **limits)

    monkeypatch.setattr(Report, "relation", told)
    said = called(
        "experiment", name, "--quick", "--sentences", 40, "--seconds", 0.04, "--out", tmp_path
    )
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["seed"] == 0
    assert {"python", "dualstruct", "numpy"} <= record["versions"].keys()
    assert record["machine"]["cores"] >= 1
    assert record["cpu_seconds"] > 0
    assert record["runs"]
    assert all(run["points"] for run in record["runs"])
    text = (tmp_path / f"{name}.md").read_text()
    for relation in record["relations"]:
        assert relation["claim"] in said
        assert relation["claim"] in text
        assert reasons[relation["claim"]]  # shown in full versions, where it is not confirmed
    assert f"of {len(record['relations'])} relations" in said
    for table in record["tables"]:
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    drawn = list(tmp_path.glob(f"{name}-figure*.png"))
    assert drawn
    assert all(path.stat().st_size < 200_000 for path in drawn)


def test_without_data_an_experiment_says_what_to_do():
    with pytest.raises(InputError, match=r"--data .*dualstruct datasets.* or .*--quick"):
        called("experiment", "lee-2015", "--out", "nowhere")


def test_a_missing_corpus_is_one_sentence_that_names_the_command(tmp_path):
    with pytest.raises(InputError, match=r"wnut17.*dualstruct datasets wnut17"):
        called("experiment", "chang-yih-2013", "--data", tmp_path)


def test_an_unknown_experiment_lists_those_that_there_are():
    with pytest.raises(InputError, match="choose one of chang-yih-2013, "):
        called("experiment", "chang-2013", "--quick")
    assert "lee-2015" in called("experiment")


@pytest.mark.parametrize("name", experiments.EXPERIMENTS)
def test_a_single_task_of_an_experiment_can_be_run(name, tmp_path):
    arguments = ["--quick", "--sentences", 40, "--seconds", 0.02, "--out", tmp_path]
    called("experiment", name, *arguments, "--task", "English POS" if name != "martins-2010" else
            "English entities")  # fmt: skip
    record = json.loads((tmp_path / f"{name}.json").read_text())
    assert record["relations"]
    assert not any("heads" in relation["claim"] for relation in record["relations"])
    with pytest.raises(InputError, match=r"no task 'nothing' in this experiment; there is English"):
        called("experiment", name, *arguments, "--task", "nothing")


def test_an_interrupted_experiment_keeps_what_it_found(tmp_path, monkeypatch, run):
    def interrupted(options, report):
        report.add(learn(load_task("English POS", options), "DCD", "hinge", 0.1, SDM(), passes=1))
        raise KeyboardInterrupt

    monkeypatch.setattr("dualstruct.experiments.lee_2015.run", interrupted)
    code, _, _ = run("experiment", "lee-2015", "--quick", "--sentences", 40, "--out", tmp_path)
    assert code == 130
    record = json.loads((tmp_path / "lee-2015.json").read_text())
    assert record["interrupted"]
    assert len(record["runs"]) == 1


def test_the_clock_stands_still_while_weights_are_judged(monkeypatch):
    task = load_task("English POS", TINY)
    clock = SimpleNamespace(now=0.0, process_time=lambda: clock.now)
    monkeypatch.setattr("dualstruct.experiments.curves.time", clock)

    class Timed(DCD):
        def run_pass(self, iterate):
            clock.now += 1
            return super().run_pass(iterate)

    def slow(w):
        clock.now += 100
        return task.test(w)

    quick = learn(task, "x", "squared_hinge", 0.1, DCD(), passes=4)
    judged = learn(task, "x", "squared_hinge", 0.1, Timed(), passes=4, score=slow, primal=True)
    assert [p.score for p in judged.points] == [p.score for p in quick.points]
    assert [p.seconds for p in judged.points] == [1, 2, 3, 4]
    assert judged.points[-1].primal > 0


def test_weights_are_asked_for_where_they_are_judged_and_nowhere_else(monkeypatch):
    task = load_task("English POS", TINY)
    asked = []

    class Asked(SDM):
        def start(self, problem, seed):
            iterate = super().start(problem, seed)
            answer = iterate.answer
            monkeypatch.setattr(iterate, "answer", lambda: asked.append(1) or answer())
            return iterate

    often = learn(task, "x", "hinge", 0.1, SDM(), passes=25)
    learn(task, "x", "hinge", 0.1, Asked(), passes=25, every=25)
    twice = len(asked)  # and what training itself asks for
    fifth = learn(task, "x", "hinge", 0.1, Asked(), passes=25, every=5)
    assert len(asked) - twice == twice + 4
    growing = learn(task, "x", "hinge", 0.1, SDM(), passes=25, every=GROWING)
    scores = {p.passes: p.score for p in often.points}
    for run, judged in ((fifth, [1, 5, 10, 15, 20, 25]),
                        (growing, [*range(1, 12), 13, 15, 17, 19, 21, 24, 25])):  # fmt: skip
        assert [p.passes for p in run.points if p.score is not None] == judged
        assert all(p.score == scores[p.passes] for p in run.points if p.passes in judged)
    ended = learn(
        task, "x", "hinge", 0.1, SDM(), passes=25, every=5, until=lambda point, _: point.passes == 7
    )
    assert ended.score == scores[7]


def test_the_chosen_setting_is_the_best_on_development_data_and_never_sees_the_test():
    task = load_task("English POS", TINY)
    assert len(task.choosing) == 54  # every tenth sentence is held out
    C, scores = choose(task, "x", "squared_hinge", (1e-5, 0.5), DCD(), passes=3)
    assert scores[C] == max(scores.values())
    assert C == 0.5
    alone = learn(
        task, "x", "squared_hinge", C, DCD(), passes=3, score=task.dev, structure=task.choosing
    )
    assert alone.score == scores[C]


def test_settings_are_chosen_once_for_all_seeds(tmp_path, monkeypatch):
    trained = []

    class Counted(DCD):
        def start(self, problem, seed):
            trained.append((seed, len(problem.structure)))
            return super().start(problem, seed)

    def run(options, report):
        task = load_task("English POS", options)
        C, _ = choose(task, "DCD", "squared_hinge", (0.1, 0.5), Counted(), passes=2,
                      seed=options.seed)  # fmt: skip
        report.note(f"C = {C:g}")
        report.add(learn(task, "DCD", "squared_hinge", C, Counted(), passes=2, seed=options.seed))

    monkeypatch.setattr("dualstruct.experiments.lee_2015.run", run)
    report = experiments.run_experiment("lee-2015", TINY, repeats=3, folder=tmp_path)
    assert trained == [(0, 54), (0, 54), (0, 60), (1, 60), (2, 60)]
    assert not any(" to " in note for note in report.notes[:1])  # one C for all
    assert (tmp_path / "lee-2015-choices.jsonl").read_text().count("\n") == 2


def test_each_sentence_is_held_out_once_and_judged_by_its_right_labels():
    task = load_task("English POS", TINY)
    noisy, _ = with_outliers(task.structure, 0.5, 0)
    folds = folds_of(task, 5, noisy)
    assert [len(fold.choosing) for fold in folds] == [48] * 5
    seen = [set(fold.choosing.examples.tolist()) for fold in folds]
    held_out = [set(range(60)) - each for each in seen]
    assert sorted(i for each in held_out for i in each) == list(range(60))
    assert all(fold.choosing.whole is noisy for fold in folds)
    memorised = learn(task, "x", "squared_hinge", 1.0, DCD(), passes=10, score=folds[0].dev)
    assert memorised.score > 0.97  # it has learned from the right labels of the fold
    wrong = learn(
        task, "x", "squared_hinge", 1.0, DCD(), passes=10, score=folds[0].dev, structure=noisy
    )
    assert wrong.score < 0.8  # half of them were others


def test_single_tasks_have_limits_of_their_own(tmp_path):
    said = called("experiment", "lee-2015", "--quick", "--sentences", 60, "--sentences",
                  "English heads=30", "--test-sentences", 25, "--seconds", 0.02,
                  "--out", tmp_path)  # fmt: skip
    assert "60 sentences to learn from, 25 to test on" in said
    assert "30 sentences to learn from, 25 to test on" in said
    options = json.loads((tmp_path / "lee-2015.json").read_text())["options"]
    for wrong in ("English=40", "English heads=x", "3", "many"):
        with pytest.raises(InputError, match=f"--sentences {wrong}: "):
            called("experiment", "lee-2015", "--quick", "--sentences", wrong)
    record = {"experiment": "lee-2015", "options": options, "repeats": 2}
    assert command_of(record) == (
        "dualstruct experiment lee-2015 --quick --sentences 60 --test-sentences 25 --seconds 0.02 "
        "--sentences 'English heads=30' --repeats 2"
    )


def test_times_and_scores_are_read_off_curves():
    run = Run("x", "t", "s", "l", 1.0, [Point(1, 0.5, 0.7), Point(2, 1.0), Point(3, 2.0, 0.9)])
    assert seconds_to(run, 0.7) == 0.5
    assert seconds_to(run, 0.8) == 2.0
    assert seconds_to(run, 0.95) is None
    other = Run("y", "t", "s", "l", 1.0, [Point(1, 0.1, 0.8), Point(2, 4.0, 0.8)])
    times, by = lead(run, other)
    assert (times[0], times[-1]) == (0.1, 2.0)
    assert by[0] == pytest.approx(-80)  # it has no score yet
    assert by[-1] == pytest.approx(10)
    assert times[by >= 0][0] == pytest.approx(1.25, abs=0.01)  # half of the way from 0.7 to 0.9


def test_relations_are_computed_from_the_figures():
    report = Report("name", "title", Options())
    report.compare("a above b", 0.91, 0.905, 0.3)
    report.compare("b above a", 0.90, 0.905, why="because")
    report.quicker("ten times", 1.0, 12.0, factor=10)
    report.quicker("ten times, but cut off", 1.0, None, factor=10, limit=5.0)
    assert [relation.holds for relation in report.relations] == [True, False, True, False]
    assert "by +0.50 (published: +0.3)" in report.markdown()
    assert "by -0.50. Because. |" in report.markdown()
    assert report.verdict().startswith("2 of 4")


def test_repeats_are_judged_by_their_mean_and_made_only_once(tmp_path, monkeypatch):
    seeds = []

    def run(options, report):
        seeds.append(options.seed)
        report.note("always")
        report.note(f"C = {options.seed % 2}")
        report.table("scores", ["learner", "score"], [["DCD", f"{90 + options.seed}.00"]])
        report.compare("a above b", 0.90, 0.91 - 0.02 * options.seed, why=f"seed {options.seed}")
        report.quicker("quick", 1.0, [3.0, 0.5, 4.0][options.seed])
        task = load_task("English POS", options)
        report.add(learn(task, "DCD", "hinge", 0.1, SDM(), passes=1))

    monkeypatch.setattr("dualstruct.experiments.lee_2015.run", run)
    arguments = ["experiment", "lee-2015", "--quick", "--sentences", 40, "--out", tmp_path]
    called(*arguments, "--repeats", 2)
    called(*arguments, "--repeats", 3)
    assert seeds == [0, 1, 2]  # the first two were there
    record = json.loads((tmp_path / "lee-2015.json").read_text())
    assert record["notes"][:2] == ["always", "C = 0 to 1"]
    assert record["tables"][0]["rows"] == [["DCD", "91.00 ± 1.00"]]
    above, quick = record["relations"]
    assert above["holds"]
    assert above["measured"].startswith("by +1.00 ± 2.00, less than twice its standard error; in 2")
    assert quick["measured"] == "3.0 times as fast (0.5 to 4.0); in 2 of 3 runs"
    assert len(record["runs"]) == 3
    of_seeds = [json.loads(path.read_text()) for path in tmp_path.glob("seed-*/lee-2015.json")]
    assert record["cpu_seconds"] == pytest.approx(sum(each["cpu_seconds"] for each in of_seeds))
    called(*arguments, "--sentences", 41, "--repeats", 2)
    assert seeds == [0, 1, 2, 0, 1]  # other options are another experiment


def test_an_interrupted_experiment_continues_after_the_last_training(tmp_path, monkeypatch):
    trained = []

    class Counted(SDM):
        def start(self, problem, seed):
            trained.append(seed)
            return super().start(problem, seed)

    stops = [True, False]

    def run(options, report):
        for name, _ in report.each({"English POS": None, "English entities": None}):
            task = load_task(name, options)
            for C in (0.1, 0.5):
                report.add(learn(task, "SDM", "hinge", C, Counted(), passes=2,
                                 keep=lambda iterate: {"cuts": iterate.cuts}))  # fmt: skip
            if stops.pop(0) if name == "English POS" else False:
                raise KeyboardInterrupt

    monkeypatch.setattr("dualstruct.experiments.lee_2015.run", run)
    first = experiments.run_experiment("lee-2015", TINY, folder=tmp_path)
    assert first.interrupted
    assert len(trained) == 2
    kept = (tmp_path / "lee-2015-trainings.jsonl").read_text()
    (tmp_path / "lee-2015-trainings.jsonl").write_text(kept + '{"key": "cut o')
    second = experiments.run_experiment("lee-2015", TINY, folder=tmp_path)
    assert not second.interrupted
    assert len(trained) == 4  # the two that were missing
    assert [run.points for run in second.runs[:2]] == [run.points for run in first.runs]
    assert all(run.kept["cuts"] > 0 for run in second.runs)
    assert len(second.runs) == 4


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.5, 0.4, 0.6, 0.5, 0.7], "confirmed"),
        ([-0.5, -0.4, -0.6, -0.5, -0.7], "refuted"),
        ([0.5, -0.4, 0.004, -0.1, 0.2], "not distinguishable"),
        ([0.004, 0.0, -0.004, 0.01, -0.01], "not distinguishable"),
    ],
)
def test_a_difference_is_judged_by_a_bootstrap_over_the_seeds(values, verdict):
    relations = [Relation("a", v > 0, "", "", v, "difference") for v in values]
    assert verdict_of(relations) == verdict
    assert merged_relation(relations).answer == verdict


def test_what_a_learner_did_not_reach_is_not_called_refuted():
    missing = Relation("a", False, "not reached", "", 0.0, "ratio", 1.0)
    assert verdict_of([missing, missing, Relation("a", True, "", "", 3.0, "ratio", 1.0)]) == (
        "not reached"
    )


def test_the_page_is_written_from_stored_results_and_the_rest_of_it_stays(tmp_path, monkeypatch):
    def run(options, report):
        task = load_task("English POS", options)
        found = learn(task, "SDM", "hinge", 0.1, SDM(), passes=2, seed=options.seed)
        report.add(found)
        report.compare("a above b", 0.91, 0.90 - 0.001 * options.seed)
        line = Line("SDM", [1, 2], [options.seed, 2 + options.seed])
        report.figure("figure1", "A figure", [Panel("t", "passes", "F1", [line])])

    monkeypatch.setattr("dualstruct.experiments.lee_2015.run", run)
    page, results = tmp_path / "page.md", tmp_path / "results"
    page.write_text("before\n<!-- results of lee-2015 -->\nold\n<!-- end -->\nafter\n")
    with pytest.raises(InputError, match="has no results"):
        update(page, results, ["lee-2015"])
    called("experiment", "lee-2015", "--quick", "--sentences", 40, "--repeats", 3, "--out", results)
    called("experiment", "--page", page, "--out", results)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("<!-- end -->\nafter\n")
    assert "old" not in text
    assert "dualstruct experiment lee-2015 --quick --sentences 40 --repeats 3" in text
    assert "| a above b | confirmed |" in text
    assert "1 confirmed" in text
    assert "θ of BQO is the number of machines" in " ".join(text.split())  # from the module
    record = json.loads((results / "lee-2015.json").read_text())
    drawn = record["figures"][0]["panels"][0]["lines"][0]
    assert (drawn["low"], drawn["y"], drawn["high"]) == ([0, 2], [1, 3], [2, 4])
    assert (tmp_path / "images" / "experiments" / "lee-2015-figure1.svg").exists()
    again = page.read_text()
    called("experiment", "--page", page, "--out", results)
    assert page.read_text() == again


def test_a_mean_has_to_be_between_the_limits_of_its_claim():
    similar = [
        Relation("alike", abs(value) < 0.3, "", "why", value, "difference", -0.3, 0.3)
        for value in (0.5, -0.3, 0.1)
    ]
    assert merged_relation(similar).holds
    assert not merged_relation(similar[:1] * 2).holds
    words = [Relation("most", holds, "so", "why") for holds in (True, False, False)]
    assert not merged_relation(words).holds


def test_why_a_claim_does_not_hold_is_said_by_the_run_nearest_to_the_mean():
    relations = [
        Relation("above", value > 0, "", f"{value}", value, "difference")
        for value in (-3.0, 1.0, -1.1, -0.1)
    ]
    why, _, seen = merged_relation(relations).why.partition("; ")
    assert why == "-1.1"  # of -0.8; the mean does not hold
    assert seen.startswith("4 runs that differ as these do show a difference of 1.")


def test_a_claim_whose_runs_differ_says_why_and_what_they_would_have_shown():
    relations = [
        Relation("above", value > 0, "", "because", value, "difference")
        for value in (0.5, -0.4, 0.4, -0.1, 0.2)
    ]
    merged = merged_relation(relations)
    assert merged.holds
    assert merged.answer == "not distinguishable"
    assert merged.reason == (
        "because; 5 runs that differ as these do show a difference of 0.28 or more"
    )
    report = Report("name", "title", Options(), relations=[merged])
    assert ". Because; 5 runs that differ" in report.markdown()
    shifted = [replace(relation, value=relation.value + 0.3) for relation in relations]
    assert merged_relation(shifted).answer == "confirmed"
    assert merged_relation(shifted).reason == ""


def test_fewer_sentences_are_drawn_from_all_of_them_by_the_seed():
    numbers = drawn(1000, 100, 0)
    assert len(set(numbers.tolist())) == 100
    assert list(numbers) == sorted(numbers)
    assert numbers.max() > 900
    assert not np.array_equal(numbers, drawn(1000, 100, 1))


def test_a_machine_that_stops_by_time_has_no_point_beyond_it():
    task = load_task("English POS", TINY)
    run = simulate(task, "x", "squared_hinge", SimpleAverage(DCD()), 2, 10_000, 0.02, 0)
    assert run.points
    assert run.seconds <= 0.02 or len(run.points) == 1
    passes = [point.passes for point in run.points]
    assert passes == list(range(1, len(passes) + 1))


def test_machines_that_take_turns_learn_the_same_as_those_that_run_together():
    task = load_task("English POS", TINY)
    for solver in (BQO(DCD(), theta=3.0), ADMM(DCD()), SimpleAverage(DCD())):
        scores = []

        def watch(trace, iterate):
            w = iterate.answer()
            if iterate.communicator.rank == 0:
                scores.append(task.test(w))  # noqa: B023
            return False

        problem = Problem(task.structure, "squared_hinge", C_OF_LEE)
        fit_local(problem, solver, Stopping(passes=4), workers=3, seed=2, callbacks=[watch])
        run = simulate(task, "x", "squared_hinge", solver, 3, 4, None, 2)
        assert [point.score for point in run.points] == scores
        assert all(a.seconds < b.seconds for a, b in pairwise(run.points))
        assert run.kept["network"] > 0
        assert run.kept["bytes"] > 0


def test_outliers_are_so_many_sentences_and_nothing_else_changes():
    chain = make_chains(sentences=100, tokens=8, labels=5, seed=3).structure()
    noisy, wrong = with_outliers(chain, 0.2, seed=1)
    assert wrong.sum() == 20
    of_token = np.repeat(wrong, np.diff(chain.sentences))
    changed = noisy.truth != chain.truth
    assert not changed[~of_token].any()
    assert 0.6 < changed[of_token].mean() < 0.95  # of 5 labels one in 5 is right by chance
