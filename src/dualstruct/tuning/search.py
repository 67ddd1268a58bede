"""The search: candidates race over folds of the training data until a budget is used up.

1. What was given, with one thing changed: the loss, C, the label scheme, the minimum count, a group
   of features left out, the order of a parser. All on one fold; the better ones on a second, the
   best on all. One that a paired comparison says is worse than the best is dropped before.
2. The changes that helped, together, with the best losses.
3. The winner with other C, with more passes; and trained to convergence, along a path of C.
4. While there is time: the best few and what was given on folds divided in another way, in another
   order of the examples.
5. The best of those that were tried most, if a paired comparison says that it is better than the
   settings that were given, by more than the best of all would be by chance; these otherwise.

Settings that are not as they are by default were chosen by somebody, and stay as they are.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from dualstruct.errors import InputError
from dualstruct.estimators.base import Estimator
from dualstruct.metrics.comparing import compared
from dualstruct.printable import plural
from dualstruct.renamed import old_parameters
from dualstruct.solvers import Iterate
from dualstruct.training.settings import untrained
from dualstruct.tuning.budget import Budget
from dualstruct.tuning.candidates import Candidate, Candidates
from dualstruct.tuning.choices import Choices
from dualstruct.tuning.trials import Folds, Trial, Way, refusal, run_trial, seconds_of_a_pass
from dualstruct.tuning.verdict import Verdict

#: How many continue from the first folds to the next, and from these to all.
SURVIVORS = (5, 2)
#: How many are tried on folds that are divided in another way, and in how many ways at most.
FINALISTS, DIVISIONS = 3, 4
#: How many standard errors worse than the best a candidate is dropped for.
HOPELESS = 2.0
#: How many losses with their C are tried with the changes that helped.
LOSSES = 2
#: Held-out examples are judged in so many blocks: a standard error from few of them says little.
BLOCKS = 40
#: A run takes at most this share of what all cores can do.
SHARE_OF_A_RUN = 1 / 50
#: What is judged on the way makes a run longer by so much.
JUDGING = 1.3
#: Passes that say how long others take, the first having no cuts to revisit; fewer where they take
#: more than this share of the budget.
PROBE, SHARE_OF_THE_PROBE = 3, 1 / 30
#: The most that the training at the end may take, unless what was given takes more.
SHARE_OF_THE_END = 0.4
#: Less than this share of the examples says little about all of them.
LEAST_SHARE = 0.15


@old_parameters(features="other_features")
def tune(
    estimator: Estimator[Any],
    X: Any,
    y: Any = None,
    *,
    dev: Any = None,
    budget: float | None = 60.0,
    trials: int | None = None,
    metric: str | None = None,
    other_features: Sequence[Any] = (),
    fixed: Iterable[str] = (),
    folds: int = 5,
    threads: int | None = None,
    watch: Callable[[str], object] | None = None,
    **weights: Any,
) -> Any:
    """Choose the settings of an estimator on training data, and train it with them.

    Parameters
    ----------
    estimator : SequenceTagger, DependencyParser or StructuredSVM
        It is not changed. Settings that differ from their defaults are kept.
    X, y
        What ``fit`` takes.
    dev : optional
        Development data, as ``fit`` takes them: candidates are judged on them instead of on folds.
    budget : float, optional
        Seconds for choosing and training together; None for no limit.
    trials : int, optional
        The maximum number of runs. With this and no budget the choice depends only on
        the data and the seed.
    metric : str, optional
        ``f1`` or ``accuracy`` of a tagger, ``las`` or ``uas`` of a parser; by default what the
        estimator is judged by.
    other_features : sequence
        Other values of the setting ``features`` to try, one at a time.
    fixed : iterable of str
        Settings to keep although they have their defaults.
    folds : int
        The number of parts of the training data if there are no development data.
    threads : int, optional
        The number of runs at a time; by default the number of cores.
    watch : callable, optional
        Called from time to time with a line about the progress.
    **weights
        ``sample_weight`` and ``token_weight``, as ``fit`` takes them.

    Returns
    -------
    A trained estimator with two attributes more: ``settings_``, the settings that were chosen, and
    ``candidates_``, a table of everything that was tried (:class:`Candidates`).

    Examples
    --------
    >>> from dualstruct import SequenceTagger
    >>> from dualstruct.datasets import load_english
    >>> some = load_english("train")[:60]
    >>> X, y = [s.forms for s in some], [s.entities for s in some]
    >>> tagger = tune(SequenceTagger(features="ner"), X, y, budget=None, trials=4)
    >>> len(tagger.candidates_), tagger.candidates_.metric
    (4, 'F1')
    """
    if not hasattr(estimator, "bind"):  # a pipeline has estimators to tune
        raise InputError(
            "tune takes a SequenceTagger, DependencyParser or StructuredSVM, not "
            f"{type(estimator).__name__}"
        )
    return _Search(
        estimator,
        (X,) if y is None else (X, y),
        dev,
        weights,
        Budget(budget, trials),
        Choices(estimator, other_features, frozenset(fixed)),
        metric=metric,
        folds=folds,
        threads=threads or cores(),
        watch=watch,
    ).run()


@dataclass(frozen=True)
class _Stage:
    """Folds to run, and those on which candidates are compared then."""

    runs: list[int]
    compared_on: list[int]


class _Search:
    def __init__(
        self,
        estimator: Estimator[Any],
        data: tuple[Any, ...],
        dev: Any,
        weights: dict[str, Any],
        budget: Budget,
        choices: Choices,
        *,
        metric: str | None,
        folds: int,
        threads: int,
        watch: Callable[[str], object] | None,
    ) -> None:
        estimator.check_settings()
        if folds < 2:
            raise InputError(f"folds is {folds}; there must be at least 2")
        self._given, self._data, self._dev, self._weights = estimator, data, dev, weights
        self._budget, self._choices, self._metric = budget, choices, metric
        self._count, self._threads, self._watch = folds, threads, watch
        self._trials: list[Trial] = []
        self._features = 0.0  # seconds that making them takes, for all examples

    def run(self) -> Any:
        self._divide()
        stages = self._stages()
        given = Trial({})
        self._trials = [given]
        self._probe(given)
        try:
            best = self._race([given, *self._new(self._choices.starts())], stages, given)
            best = self._race([best, *self._new(self._together(given))], stages, given, best)
            further = self._choices.scales(best.settings) + self._choices.longer(best.settings)
            others = self._new(further)
            path = self._new(self._choices.path(best.settings))
            self._race([best, *others, *path], stages, given, best, path)
            self._repeat(stages, given)
        except KeyboardInterrupt:
            self._budget.stopped = True
        done = [stage.compared_on for stage in stages if self._ran(given, stage)]
        return self._trained(given, done[-1] if done else [0])

    def _new(self, found: list[dict[str, Any]]) -> list[Trial]:
        """Trials of settings that were not tried before."""
        trials: list[Trial] = []
        for settings in found:
            if all(each.settings != settings for each in [*self._trials, *trials]):
                trials.append(Trial(settings))
        self._trials += trials
        return trials

    def _divide(self) -> None:
        train = self._given.examples(*self._data, **self._weights)
        dev = None if self._dev is None else self._given.dev_examples(self._dev)
        needed = 2 * self._count if dev is None else 1
        if len(train.numbers) < needed:
            raise InputError(
                f"the data has {plural(len(train.numbers), 'example')}, too few to choose "
                "settings on: "
                f"{self._count} folds need at least {needed}"
            )
        if dev is not None and not len(dev.numbers):
            raise InputError("the development data is empty")
        self._folds = Folds(
            self._given,
            train,
            dev,
            count=self._count,
            blocks=BLOCKS,
            metric=self._metric,
            seed=self._given.seed,
        )

    def _stages(self) -> list[_Stage]:
        if self._folds.count == 1:
            return [_Stage([0], [0])]
        everything = list(range(self._folds.count))
        return [_Stage([0], [0]), _Stage([1], [0, 1]), _Stage(everything[2:], everything)]

    def _probe(self, given: Trial) -> None:
        """How long training takes: too long for the budget, or so long that trials have to do with
        fewer examples."""
        started = time.perf_counter()
        self._bind([given], [0])
        self._features = (time.perf_counter() - started) / self._folds.trained_on
        if given.refused is not None:  # nothing to choose from then
            raise InputError(given.refused)
        self._judge = self._folds.bind({}, 0).judges[0]
        known = self._folds.bind({}, 0).known
        self._choices.see(known.offered(), known.structure.feature_mass)
        if self._budget.seconds is None:
            return
        _, passes = self._given.usual_end
        probe = self._folds.estimator({"passes": PROBE, "gap": None})
        cpu, wall = seconds_of_a_pass(probe, known, SHARE_OF_THE_PROBE * self._budget.seconds)
        # Of a machine that is busy at the moment only the CPU time says something.
        whole = cpu * passes / self._folds.trained_on
        if self._budget.too_short_for(whole):
            raise InputError(
                f"budget is {self._budget.seconds:g} s, but to train once takes about "
                f"{max(whole, 0.01):.2g} s"
            )
        whole = self._features + wall * passes / self._folds.trained_on
        most = max(whole, SHARE_OF_THE_END * self._budget.seconds)
        self._choices.end_within(passes * most / whole)
        self._budget.set_aside(whole)
        affordable = SHARE_OF_A_RUN * self._threads * max(self._budget.left, 0.0)
        run = JUDGING * passes * wall
        if run > affordable:
            self._folds.thin_out(max(affordable / run, LEAST_SHARE))

    def _seconds_to_train(self, trial: Trial, way: Way) -> float:
        """How long the training at the end would take, by the runs on folds; 0 if not known."""
        in_passes = trial.seconds_on(1 / self._folds.trained_on, way)
        return 0.0 if in_passes is None else self._features + in_passes

    def _set_aside(self, best: Trial, folds: list[int], given: Trial) -> None:
        """Time for the training at the end: with the best so far, if it does not take too long."""
        found = best.best(folds, self._score)
        if self._budget.seconds is None or found is None or not given.passes:
            return
        usual = self._seconds_to_train(given, self._choices.default_way)
        most = max(usual, SHARE_OF_THE_END * self._budget.seconds)
        self._budget.set_aside(max(usual, min(self._seconds_to_train(best, found[0]), most)))

    def _bind(self, trials: list[Trial], folds: Iterable[int]) -> None:
        """Make features, and find out which settings cannot be tried."""
        for trial in trials:
            for k in folds:
                if trial.refused is not None or self._budget.over:
                    break
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # fit says it once more at the end
                        self._folds.bind(trial.settings, k)
                except InputError as problem:
                    trial.refused = refusal(problem)

    def _race(
        self,
        trials: list[Trial],
        stages: list[_Stage],
        given: Trial,
        keep: Trial | None = None,
        path: Sequence[Trial] = (),
    ) -> Trial:
        """Let trials run until few are left that have run on all folds; the best one.

        Those of a ``path`` run one after the other, each from where the one before ended.
        """
        racing = trials
        for n, stage in enumerate(stages):
            # One that is kept has been through this before.
            runners = [trial for trial in racing if trial is not keep]
            self._bind(runners, stage.runs)
            together = [trial for trial in runners if trial in path]
            alone = [[trial] for trial in runners if trial not in path]
            self._run_all([(some, k) for some in [*alone, together] for k in stage.runs])
            ranked = self._ranked(racing, stage.compared_on)
            if not ranked:
                break
            self._tell(ranked[0], stage.compared_on)
            self._set_aside(ranked[0], stage.compared_on, given)
            if n < len(stages) - 1:
                others = [
                    each
                    for each in ranked
                    if each is given or not each.does_as(given, stage.compared_on)
                ]
                ranked = [
                    trial
                    for trial in others[: SURVIVORS[n]]
                    if not self._hopeless(trial, ranked[0], stage.compared_on)
                ]
            # What was given first: without it on the same folds nothing can be chosen.
            racing = [each for each in (given, keep) if each in trials] + ranked
            racing = list(dict.fromkeys(racing))
            self._folds.forget([trial.settings for trial in racing])
        if not self._full(trials):
            return given if keep is None else keep
        return self._ranked(trials, stages[-1].compared_on)[0]

    def _repeat(self, stages: list[_Stage], given: Trial) -> None:
        """The best few and what was given on other divisions of the data."""
        count = self._folds.count
        for division in range(1, DIVISIONS):
            before = stages[-1].compared_on
            gains = {
                trial: gain
                for trial in self._ranked(self._trials, before)
                if trial is not given and (gain := self._verdict(given).gain(trial)) is not None
            }
            finalists = [given, *(trial for trial in gains if gains[trial] > 0)][: 1 + FINALISTS]
            if len(finalists) == 1 or not self._ran(given, stages[-1]):
                return
            runs = list(range(division * count, (division + 1) * count))
            self._folds.forget()
            self._bind(finalists, runs)
            self._run_all([([trial], k) for k in runs for trial in finalists])
            ended = [k for k in runs if all(k in trial.folds for trial in finalists)]
            if ended:
                stages.append(_Stage(ended, before + ended))
                self._tell(self._ranked(finalists, before + ended)[0], before + ended)
            if len(ended) < len(runs):
                return

    def _hopeless(self, trial: Trial, best: Trial, folds: list[int]) -> bool:
        """Whether a paired comparison says that it is worse than the best."""
        gain, error = compared(
            trial.at_best(folds, self._score), best.at_best(folds, self._score), self._score
        )
        return gain < -HOPELESS * error

    def _ran(self, given: Trial, stage: _Stage) -> bool:
        """Whether the settings given, and others, have run on the folds of a stage."""
        if given.on(self._choices.default_way, stage.compared_on) is None:
            return False
        return len(self._ranked(self._trials, stage.compared_on)) > 1

    def _full(self, trials: list[Trial]) -> bool:
        return bool(self._ranked(trials, list(range(self._folds.count))))

    def _ranked(self, trials: list[Trial], folds: list[int]) -> list[Trial]:
        """Those that have run on these folds, the best first."""
        scored = []
        for trial in trials:
            best = trial.best(folds, self._score)
            if best is not None:
                scored.append((best[1], trial))
        return [trial for _, trial in sorted(scored, key=lambda each: -each[0])]

    def _score(self, sums: Sequence[float]) -> float:
        return float(self._judge.score(sums))

    def _run_all(self, runs: list[tuple[list[Trial], int]]) -> None:
        """Each list of trials on a fold, on all cores; Ctrl-C ends the runs after their passes."""
        budget = self._budget

        def one_after_another(trials: list[Trial], k: int) -> None:
            start: Iterate | None = None
            for trial in trials:
                if trial.refused is not None or budget.over:
                    continue
                passes = self._choices.passes_of(trial.settings)
                averages = bool(passes) and self._choices.averages(trial.settings)
                try:
                    start = run_trial(
                        trial, k, self._folds, passes, averages, lambda: budget.over, start
                    )
                except InputError as problem:
                    trial.refused = refusal(problem)

        # Who may run is said here and in order, so that threads make no difference.
        allowed = [
            ([trial for trial in trials if trial.refused is None and budget.take()], k)
            for trials, k in runs
        ]
        # Trials that share a structure which changes as it learns must not run at once.
        changes = any(
            self._folds.bind(trial.settings, k).known.structure.has_unknown_truth
            for trials, k in allowed
            for trial in trials
            if not budget.over
        )
        with ThreadPoolExecutor(1 if changes else self._threads) as pool:
            jobs = [pool.submit(one_after_another, trials, k) for trials, k in allowed]
            try:
                wait(jobs)
            except KeyboardInterrupt:
                budget.stopped = True
                raise
        for job in jobs:
            job.result()

    def _together(self, given: Trial) -> list[dict[str, Any]]:
        """The changes that helped: the best one, the best two and all, with the best losses."""
        losses: list[tuple[float, dict[str, Any]]] = [(0.0, {})]
        others: list[tuple[float, dict[str, Any]]] = []
        for trial in self._trials:
            gain = self._verdict(given).gain(trial)
            if trial is given or gain is None or gain <= 0:
                continue
            of_loss = trial.settings.keys() <= {"loss", "C"}
            (losses if of_loss else others).append((gain, trial.settings))
        for found in (losses, others):
            found.sort(key=lambda each: -each[0])
        helped: list[dict[str, Any]] = []
        seen: set[str] = set()
        for _, change in others:  # of each setting the best value; groups of features add up
            if not seen & change.keys() or "without" in change:
                helped.append(change)
                seen |= change.keys()
        joined = []
        for _, loss in losses[:LOSSES]:
            for count in sorted({1, 2, len(helped)}):
                settings = loss
                for change in helped[:count]:
                    settings = self._choices.joined(settings, change)
                joined.append(settings)
        return joined

    def _verdict(self, given: Trial) -> Verdict:
        return Verdict(self._trials, given, self._choices.default_way, self._score)

    def _trained(self, given: Trial, folds: list[int]) -> Any:
        """The estimator with the settings that came out, trained on everything."""
        verdict = self._verdict(given)
        chosen, way = verdict.chosen(
            folds, lambda *each: self._budget.allows(self._seconds_to_train(*each))
        )
        settings = verdict.settings(chosen, way)
        candidates = Candidates(
            verdict.rows(chosen, way), self._judge.metric, verdict.certain(folds)
        )
        self._folds.forget()
        estimator = untrained(self._given).set_params(**settings)
        if self._watch is not None:
            self._watch("training with what was chosen")
        here = self._given.engine is None and self._budget.seconds is not None
        in_time = {"callbacks": [self._budget.leaves_no_pass]} if here else {}
        estimator.fit(*self._data, **self._weights, **in_time)  # as it was judged: dev ends no run
        if estimator.result_.stopped_by == "callback":  # so that the same can be trained again
            settings = {**settings, "passes": estimator.result_.passes}
            estimator.set_params(passes=estimator.result_.passes)
            if self._watch is not None:
                ended = estimator.result_.passes
                self._watch(f"the budget is over: training ended after {plural(ended, 'pass')}")
        estimator.settings_ = settings
        estimator.candidates_ = candidates
        return estimator

    def _tell(self, best: Trial, folds: list[int]) -> None:
        if self._watch is None:
            return
        found = best.best(folds, self._score)
        assert found is not None
        runs = sum(trial.runs for trial in self._trials)
        left = "" if math.isinf(self._budget.left) else f" · {max(self._budget.left, 0):.0f} s left"
        name = Candidate(best.settings, 0.0, 0.0, 0.0, 0.0, 0, 0.0, None, False).name
        self._watch(f"{runs} runs · best {self._judge.metric} {100 * found[1]:.2f} ({name}){left}")


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
