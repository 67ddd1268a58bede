"""The papers' tables and figures, one file per paper; ``dualstruct experiment NAME`` runs one. One
of them is ours (``wrong-labels``).

A file names its tasks, trains what the paper trained, and gives a :class:`~.report.Report` tables,
curves and the relations that the paper claims. What the five share: where sentences come from
(``tasks``), training with a score at each pass (``curves``), what is printed, drawn and written
(``report``), trainings that are kept so that an interrupted experiment continues (``store``), the
same again with other seeds (``repeats``), and the page of the documentation (``page``). Here C is
the weight of one example's loss throughout; each file says what its paper calls it. Settings are
chosen on development data; test data are for the tables and curves alone.
"""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path

from .curves import CHOICES, STORE, read_run
from .options import Options
from .repeats import repeated
from .report import Report
from .store import Store
from .tasks import read_limits

#: Every experiment: its module, and what it reproduces.
EXPERIMENTS = {
    "chang-yih-2013": ("chang_yih_2013", "Dual coordinate descent for structural SVMs"),
    "balamurugan-2011": ("balamurugan_2011", "The sequential dual method"),
    "martins-2010": ("martins_2010", "Dual coordinate ascent from CRF to SVM"),
    "mancev-2015": ("mancev_2015", "The ramp loss and wrong labels"),
    "wrong-labels": ("wrong_labels", "When the ramp loss pays, and what else helps"),
    "lee-2015": ("lee_2015", "Training on several machines"),
}

__all__ = [
    "EXPERIMENTS",
    "FULL_REPEATS",
    "Options",
    "Report",
    "read_limits",
    "repeated",
    "run_experiment",
]

#: Runs with different seeds in full.
FULL_REPEATS = 5


def run_experiment(
    name: str, options: Options, repeats: int = 1, folder: Path | None = None
) -> Report:
    """Run one of them; what it found, not yet written. Ctrl-C ends it with the results so far.

    Trainings are kept in ``folder`` and taken from there; with repeats, every run is kept in a
    folder of its own within it, beside the trainings that settings are chosen by.
    """

    def run(of_seed: Options, place: Path | None, part: tuple[int, int], begun: float) -> Report:
        module, title = EXPERIMENTS[name]
        report = Report(name, title, of_seed, part=part, begun=begun)
        store = Store(None if place is None else place / f"{name}-trainings.jsonl", read_run)
        chosen = Store(None if folder is None else folder / f"{name}-choices.jsonl", read_run)
        tokens = [(STORE, STORE.set(store)), (CHOICES, CHOICES.set(chosen))]
        try:
            import_module(f".{module}", __name__).run(of_seed, report)
        except KeyboardInterrupt:
            report.interrupted = True
            report.note("Interrupted: this is what was found; the same command continues.")
        finally:
            for variable, token in tokens:
                variable.reset(token)
        if store.taken + chosen.taken:
            report.progress(f"{store.taken + chosen.taken} trainings were taken from {folder}")
        return report

    if repeats > 1 and folder is not None:
        return repeated(run, name, options, repeats, folder)
    return run(options, folder, (0, 1), time.time())
