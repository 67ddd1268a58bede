"""The progress line says what is known, and how long training still takes."""

import pytest

from dualstruct.training.progress import ProgressLine
from dualstruct.training.results import TracePoint
from dualstruct.training.stopping import Stopping


def point(**changed):
    metadata = {
        "passes": 4,
        "seconds": 10.0,
        "primal": None,
        "dual": None,
        "gap": None,
        "gap_estimate": None,
        "dev_score": None,
        "cuts": 0,
        "inference_calls": 0,
    }
    return TracePoint(**{**metadata, **changed})


def line(stopping, **changed):
    return ProgressLine(stopping, show=False).describe(point(**changed))


@pytest.mark.parametrize(
    ("stopping", "left"),
    [
        (Stopping(passes=10), 15),  # 2.5 s a pass, 6 to come
        (Stopping(passes=4), 0),
        (Stopping(seconds=25.0), 15),
        (Stopping(seconds=9.0), 0),  # a pass takes as long as it takes
        (Stopping(passes=10, seconds=12.0), 2),  # whatever comes first
        (Stopping(passes=5, seconds=100.0), 2),
    ],
)
def test_the_time_left_is_that_of_the_limit_reached_first(stopping, left):
    assert line(stopping).split(" · ")[-1] == f"{left} s left"


def test_no_time_is_left_to_tell_where_only_a_gap_ends_training():
    assert "left" not in line(Stopping(gap=0.01))


def test_a_certified_gap_is_told_rather_than_an_estimate():
    stopping = Stopping(gap=0.01)
    assert "gap 2 %" in line(stopping, gap=0.02, gap_estimate=0.5)
    assert "gap ~50 %" in line(stopping, gap_estimate=0.5)
    assert "gap" not in line(stopping)


def test_the_best_score_so_far_stands_beside_the_last():
    progress = ProgressLine(Stopping(passes=10), show=False)
    lines = [progress.describe(point(dev_score=score)) for score in (0.5, 0.75, 0.625)]
    assert "50.00 (best 50.00)" in lines[0]
    assert "75.00 (best 75.00)" in lines[1]
    assert "62.50 (best 75.00)" in lines[2]


@pytest.mark.parametrize("show", [False, True])
def test_the_line_is_shown_only_where_it_is_wanted_and_goes_when_training_ends(show, monkeypatch):
    happened = []

    class Live:
        def __init__(self, text, *, console, transient):
            happened.append(f"transient {transient}, standard error {console.stderr}")

        def start(self):
            happened.append("start")

        def update(self, text):
            happened.append(str(text))

        def stop(self):
            happened.append("stop")

    monkeypatch.setattr("rich.live.Live", Live)
    progress = ProgressLine(Stopping(passes=10), show=show)
    with progress:
        progress.update(point(), None)
    text = progress.describe(point())
    expected = ["transient True, standard error True", "start", text, "stop"]
    assert happened == (expected if show else [])
