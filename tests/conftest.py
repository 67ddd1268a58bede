"""What all tests share.

Hypothesis: `make test` tries the same cases on every machine, however slow; `make fuzz` (fuzz.py)
looks for new ones.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from dualstruct import cli
from engines_here import job, run
from random_cases import SHARE, share_of

settings.register_profile(
    "fixed",
    max_examples=share_of(100),
    derandomize=True,
    deadline=None,
    database=None,
    # A busy machine is no reason to fail. Under sanitizers few cases are tried, and some of them
    # are ties, which tests leave out: the share of these is judged where all cases are tried.
    suppress_health_check=[HealthCheck.too_slow, *([HealthCheck.filter_too_much] * (SHARE < 1))],
)
settings.register_profile(
    "fuzz",
    parent=settings.get_profile("fixed"),
    derandomize=False,
    max_examples=300,  # where a test does not say; then other seeds have their turn
    print_blob=True,
)
settings.load_profile("fixed")

#: The files that take longest come first, so that no process is left alone with one at the end;
#: those that wait (for a cluster of Ray) beside those that compute.
LONG = [
    "test_faults.py",
    "test_examples.py",
    "test_streams.py",
    "test_workers.py",
    "test_smooth.py",
    "test_structures.py",
    "test_chain.py",
    "test_gallery.py",
    "test_published.py",
    "test_tuning.py",
    "test_experiments.py",
    "test_cli.py",
    "test_cli_trees.py",
    "test_template_features.py",
    "test_tree_algorithms.py",
    "test_silly_numbers.py",
    "test_mutation.py",
    "test_label_page.py",
    "test_serving.py",
    "test_serving_page.py",
    "test_serving_schema.py",
]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    """A file of tests that cannot be imported is an error: doctest's search only skips it."""
    report = yield
    if report.skipped and collector.path.is_relative_to(Path(__file__).parent):
        reason = str(report.longrepr)
        if "unable to import module" in reason:
            report.outcome, report.longrepr = "failed", reason
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONG)))


# A run in the background starts with Ctrl-C ignored; the tests that send it need it heard. Child
# processes get the default back.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def ctrl_c_is_as_it_was() -> Iterator[None]:
    """What a command does with Ctrl-C must not outlive it: later tests would wait forever."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture(name="run")
def command(monkeypatch, capsys):
    """The command in this process: exit code, standard output, standard error."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["dualstruct", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capsys.readouterr()
        return stopped.value.code or 0, out, err

    return command


@pytest.fixture(scope="session")
def ray_folder(tmp_path_factory):
    """One for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "ray"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def one_at_a_time(folder: Path) -> Iterator[None]:
    """The first process that comes does the work, and the others find what it left."""
    import fcntl  # which Windows does not have, where Ray is not tested

    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def lost_driver(ray_folder):
    """A program that was killed while its workers trained."""
    kept = ray_folder / "driver.json"
    with one_at_a_time(ray_folder):
        if not kept.exists():
            done = run(*job("ray-driver", ray_folder))
            kept.write_text(json.dumps([[], done.returncode, done.stdout, done.stderr]))
    return subprocess.CompletedProcess(*json.loads(kept.read_text()))


@pytest.fixture(scope="session")
def on_ray(ray_folder, lost_driver):
    """What came of all that the tests do on Ray: starting a cluster takes a while."""
    found = ray_folder / "found.json"
    with one_at_a_time(ray_folder):
        if not found.exists():
            done = run(*job("ray", ray_folder))
            assert done.returncode == 0, done.stderr
    return json.loads(found.read_text())
