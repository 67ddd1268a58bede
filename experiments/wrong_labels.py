"""Wrong labels: when the ramp loss pays, and what else helps. A study of ours, beside Mančev 2015.

CoNLL-2000 chunking, where a share of the training sentences has labels drawn at random, or those of
a weaker annotator, a model that has seen a hundred sentences; held-out and test sentences are
right. Five ways to learn from that: the hinge with the C of right labels; the hinge with a C chosen
for the wrong ones; the ramp with its C; the hinge without the sentences that ``suspects`` finds
(those whose score is above 0.5); and, as the most there is to gain, the hinge without the wrong
sentences. Each twice: with all features, of which every sentence has some to itself, so that many
wrong labels can be memorised; and with 2^12 numbers for all of them, where few can. C is chosen by
every tenth sentence, held out with right labels. All learners are averaged and have three rounds of
ten passes of SDM as published. Whether wrong labels can be learned from others, and so do not look
wrong, says a model of four fifths of the sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualstruct import Problem, Stopping, fit
from dualstruct.printable import plural
from dualstruct.solvers import DCD, Iterate
from dualstruct.structures import Chain, Subset
from dualstruct.suspecting.search import judge
from dualstruct.tasks.tagging.suspecting import ChainCase, quick_settings

from .curves import Keep, Run, choose, learn
from .mancev_2015 import facts_of, solver_of
from .options import Options
from .report import Line, Panel, Report, percent, signed
from .tasks import Task, load_task, with_outliers

CS = (0.004, 0.02, 0.1, 0.5)
RANDOM, WEAKER = "at random", "a weaker annotator's"
#: What is wrong, and in which share of the sentences.
NOISES = ((RANDOM, 0.0), (RANDOM, 0.10), (RANDOM, 0.20), (WEAKER, 0.40))
#: What the weaker annotator has learned from.
SEEN_BY_WEAKER = 100
PASSES = 30
TASKS = {"chunking": "CoNLL-2000"}
QUICK = {"English POS": "parts of speech"}
#: Numbers for features: all of them, or 2 to the power of so many.
BITS: tuple[int | None, ...] = (None, 12)
SUSPECT = 0.5
FIFTH = 5
HINGE, SMALL, RAMP, REMOVED, LEFT_OUT = WAYS = (
    "hinge, C of right labels",
    "hinge, C chosen anew",
    "ramp",
    "suspects removed",
    "wrong ones left out",
)
#: The same at the head of a table.
SHORT = ("hinge", "C anew", "ramp", "no suspects", "none wrong")


@dataclass(frozen=True)
class Noisy:
    """Sentences of which some are wrong."""

    task: Task
    structure: Chain
    wrong: NDArray[np.bool_]
    what: str  #: in a few words

    @property
    def choosing(self) -> Task:
        """The task in which settings are chosen: wrong sentences to learn from, right ones held
        out."""
        assert isinstance(self.task.choosing, Subset)
        return replace(self.task, choosing=Subset(self.structure, self.task.choosing.examples))


def run(options: Options, report: Report) -> None:
    noises = NOISES[::2] if options.quick else NOISES
    rows: list[list[str]] = []
    panels: list[Panel] = []
    for name, corpus in report.each(options.chosen(TASKS if options.data is not None else QUICK)):
        for bits in BITS:
            loaded = load_task(name, options, hash_bits=bits)
            features = "all features" if bits is None else f"2^{bits} hashed features"
            task = replace(loaded, name=f"{name}, {features}")
            report.note(f"{task.sizes()}; {corpus}")
            report.progress(task.sizes())
            scores: dict[str, list[float]] = {way: [] for way in WAYS}
            C, _ = chosen(options, task, "hinge", "right")
            for kind, share in noises:
                noisy = made_wrong(task, kind, share, options.seed)
                found, facts = ways(options, report, noisy, C)
                for way, score in found.items():
                    scores[way].append(score)
                rows.append([features, noisy.what, *(percent(found[way]) for way in WAYS), *facts])
            at_random = [100 * share for kind, share in noises if kind == RANDOM]
            panels.append(
                Panel(
                    task.name, "% of sentences with labels at random", f"test {task.metric}",
                    [Line(way, at_random, [100 * s for s in scores[way][: len(at_random)]])
                     for way in WAYS],
                )
            )  # fmt: skip
    report.table(
        "Scores on test data: hinge with the C of right labels, with one chosen anew, ramp, "
        "suspects removed, wrong ones left out; then % of wrong labels that the first memorised",
        ["features", "wrong", *SHORT, "memorised", "suspects", "wrong ones"],
        rows,
    )
    report.figure("figure1", "Five ways to learn from wrong labels", panels)


def made_wrong(task: Task, kind: str, share: float, seed: int) -> Noisy:
    """The task with wrong labels of a kind in a share of its sentences."""
    what = "nothing" if share == 0 else f"{100 * share:.0f} % {kind}"
    structure, wrong = with_outliers(task.structure, share, seed)
    if kind == RANDOM:
        return Noisy(task, structure, wrong, what)
    whole = task.structure
    assert isinstance(whole, Chain)
    assert whole.truth is not None
    seen = np.flatnonzero(~wrong)[:SEEN_BY_WEAKER]
    weaker = fit(Problem(Subset(whole, seen), "squared_hinge", 0.1), DCD(), Stopping(passes=5))
    tokens = np.repeat(wrong, np.diff(whole.sentences))
    truth = np.where(tokens, whole.decode_all(weaker.w), whole.truth).astype(np.int32)
    return Noisy(task, Chain(whole.rows, whole.labels, truth), wrong, what)


def chosen(options: Options, task: Task, loss: str, part: str) -> tuple[float, dict[float, float]]:
    """The best C, and the scores of all of them on the sentences held out."""
    return choose(
        task, f"SDM, {loss}, {part}", loss, (0.02, 0.1) if options.quick else CS,
        solver_of("SDM", loss), passes=PASSES, seconds=options.seconds, seed=options.seed,
    )  # fmt: skip


def ways(
    options: Options, report: Report, noisy: Noisy, C: float
) -> tuple[dict[str, float], list[str]]:
    """The score of each way, and what the table says besides."""
    small, held_out = chosen(options, noisy.choosing, "hinge", noisy.what)
    capped, _ = chosen(options, noisy.choosing, "ramp", noisy.what)
    task = replace(noisy.task, name=f"{noisy.task.name}, {noisy.what}")
    common: dict[str, Any] = {"passes": PASSES, "seconds": options.seconds, "seed": options.seed,
                              "every": 1000}  # fmt: skip

    def train(way: str, loss: str, C: float, examples: Any = None, keep: Any = None) -> Run:
        part = noisy.structure if examples is None else Subset(noisy.structure, examples)
        found = learn(
            task, way, loss, C, solver_of("SDM", loss), structure=part, keep=keep, **common
        )
        report.add(found)
        return found

    keep = facts_of(noisy.task, noisy.structure, noisy.wrong)
    hinge = train(HINGE, "hinge", C, keep=keep)
    runs = {
        HINGE: hinge,
        SMALL: train(SMALL, "hinge", small, keep=keep),
        RAMP: train(RAMP, "ramp", capped, keep=keep),
    }
    suspects = suspected(noisy, C, options.seed)
    runs[REMOVED] = train(REMOVED, "hinge", C, np.flatnonzero(~suspects))
    runs[LEFT_OUT] = train(LEFT_OUT, "hinge", C, np.flatnonzero(~noisy.wrong))
    caught = int((suspects & noisy.wrong).sum())
    facts = [percent(hinge.kept.get("memorised")), f"{int(suspects.sum())}", f"{caught}"]
    scores = {way: found.score for way, found in runs.items()}
    if noisy.wrong.any():
        gained = 100 * (held_out[small] - held_out[C])
        unseen = train("four fifths", "hinge", C, *said_unseen(noisy)).kept["said"]
        better = f"the C chosen anew was {signed(gained)} better"
        reasons = why_not(noisy, runs, suspects, unseen, better)
        compare(report, noisy, scores, reasons, small != C)
    report.note(f"{task.name} wrong: C = {C:g} for right labels, {small:g} anew, ramp {capped:g}")
    return scores, facts


def suspected(noisy: Noisy, C: float, seed: int) -> NDArray[np.bool_]:
    """Which sentences ``suspects`` finds more likely wrong than right."""
    chain, names = noisy.structure, noisy.task.names
    case = ChainCase(
        chain, names, None, quick_settings(chain, C), own=chain.new_weights, words=lambda _: (),
        given=(), to_outer=list,
    )  # fmt: skip
    verdict = judge(case, folds=5, duals=None, seed=seed, threads=1)
    return verdict.scores > SUSPECT


def said_unseen(noisy: Noisy) -> tuple[NDArray[np.int64], Keep]:
    """Four fifths of the sentences to learn from, and what share of the wrong labels of the last
    fifth the learner says itself."""
    chain = noisy.structure
    unseen = np.arange(len(chain)) % FIFTH == 0

    def keep(iterate: Iterate) -> dict[str, float]:
        tokens = np.repeat(noisy.wrong & unseen, np.diff(chain.sentences))
        said = chain.decode_all(iterate.answer())
        return {"said": float((said == chain.truth)[tokens].mean())}

    return np.flatnonzero(~unseen), keep


def why_not(
    noisy: Noisy, runs: dict[str, Run], suspects: NDArray[np.bool_], unseen: float, held_out: str
) -> dict[str, str]:
    """What was measured besides, of each way that may not be the better one."""
    wrong = noisy.wrong
    count = int(wrong.sum())
    memorised = {way: percent(runs[way].kept["memorised"]) for way in (HINGE, SMALL, RAMP)}
    most = signed(100 * (runs[LEFT_OUT].score - runs[SMALL].score))
    given_up = np.array(runs[RAMP].kept["given_up"], dtype=np.int64)
    caught, both = int(wrong[given_up].sum()), int((suspects & wrong).sum())
    end = f"; leaving all {count:,} wrong sentences out gains {most} over the hinge, C chosen anew"
    said = "of the wrong labels the hinge says itself in the end"
    anew = f"{memorised[SMALL]} % with the C chosen anew"
    return {
        SMALL: f"on the sentences held out {held_out}; {said} {memorised[HINGE]} %, and {anew}",
        RAMP: f"the ramp gave up {plural(len(given_up), 'sentence')}, {caught:,} of them wrong; "
        f"{said} {anew}, and the ramp {memorised[RAMP]} %" + end,
        REMOVED: f"of the {int(suspects.sum()):,} suspects {both:,} are wrong, of {count:,} wrong "
        f"sentences in all; a model of four fifths of the sentences says {percent(unseen)} % of "
        "the wrong labels of the last fifth itself" + end,
    }


def compare(
    report: Report,
    noisy: Noisy,
    found: dict[str, float],
    reasons: dict[str, str],
    other_C: bool,
) -> None:
    claim = f"{noisy.task.name}, {noisy.what}: "
    pairs = [(RAMP, SMALL), (REMOVED, SMALL), (REMOVED, RAMP)]
    for better, worse in [(SMALL, HINGE), *pairs] if other_C else pairs:
        report.compare(
            f"{claim}{better} above {worse}", found[better], found[worse], why=reasons[better]
        )
