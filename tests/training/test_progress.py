"""The progress line says what is known, and how long training still takes."""

import io
from types import SimpleNamespace

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


class Screen(io.StringIO):
    """A line of a terminal: what is on it after each carriage return."""

    terminal = True

    def isatty(self):
        return self.terminal

    def seen(self):
        shown, states = "", []
        for part in self.getvalue().split("\r")[1:]:
            shown = (part + shown[len(part) :]).rstrip()
            states.append(shown)
        return states


@pytest.fixture
def screen(monkeypatch):
    made = Screen()
    monkeypatch.setattr("dualstruct.training.progress.sys", SimpleNamespace(stderr=made))
    monkeypatch.setenv("COLUMNS", "200")
    return made


def test_the_line_is_shown_where_it_is_wanted_and_goes_when_training_ends(screen):
    progress = ProgressLine(Stopping(passes=10), show=True)
    with progress:
        progress.update(point(), None)
        progress.update(point(dev_score=0.5), None)
        progress.update(point(), None)
    long, short = progress.describe(point(dev_score=0.5)), progress.describe(point())
    states = [state for state in screen.seen() if state]
    assert states == ["training …", short, long, short]
    assert screen.seen()[-1] == ""


@pytest.mark.parametrize(("show", "terminal"), [(False, True), (True, False)])
def test_the_line_is_not_shown_elsewhere(show, terminal, screen):
    screen.terminal = terminal
    with ProgressLine(Stopping(passes=10), show=show) as progress:
        progress.update(point(), None)
    assert screen.getvalue() == ""


def test_in_a_narrow_terminal_the_line_is_cut(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    with ProgressLine(Stopping(passes=10), show=True) as progress:
        progress.update(point(dev_score=0.5), None)
    cut = screen.seen()[1]
    assert len(cut) == 19
    assert cut.endswith("…")
