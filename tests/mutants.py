"""Mutation testing: which small changes of the package no test would notice.

    make mutants                  # some mutants of every file
    make mutants MUTANTS=all      # all of them
    python tests/mutants.py --number 30 losses.py solvers/dcd.py

First every test file runs once, and coverage says which test runs which line. Then each mutant
gets a process of its own, in which the tests that run its line judge it: those that judged well
before, then the quickest; the first that fails, or does not end, kills it. A test that fails
without a mutant, too, does not judge. What survives is printed and left in build/mutants.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from mutation import Mutant, mutants_of, sampled  # noqa: E402

MUTATED = [
    "problem.py",
    "losses.py",
    "training/*.py",
    "distributed/bqo.py",
    "solvers/*.py",
    "estimators/*.py",
    "tasks/*/*.py",
    "metrics/*.py",
]
#: Test files that judge no mutant: they start processes of their own, in which there is none, or
#: are about other parts and slow.
NO_JUDGES = {
    "test_attributes.py",
    "test_chain.py",
    "test_cli.py",
    "test_cli_trees.py",
    "test_compat_pycrfsuite.py",
    "test_corpora.py",
    "test_crfsuite_pickles.py",
    "test_datasets.py",
    "test_drawing.py",
    "test_engines.py",
    "test_examples.py",
    "test_experiments.py",
    "test_faults.py",
    "test_graphs.py",
    "test_mutation.py",
    "test_serving.py",
    "test_serving_page.py",
    "test_serving_schema.py",
    "test_structures.py",
    "test_template_features.py",
    "test_tree_algorithms.py",
}
#: Imported once, before processes fork: everything heavy that is not ours.
PRELOADED = [
    "coverage",
    "hypothesis.strategies",
    "numpy.testing",
    "rich.live",
    "safetensors.numpy",
    "scipy.optimize",
    "scipy.sparse",
    "sklearn.base",
    "sklearn.model_selection",
]
#: Of pytest's plugins only these: the others take a second to import, in each process.
PLUGINS = ["pytest_timeout", "_hypothesis_pytestplugin"]
#: CPU seconds of tests that judge one mutant at most.
MOST_SECONDS = 15.0
#: A mutant is stopped when a test takes this many times its CPU seconds, and some more.
SLOWER = 10
#: Seconds after which a mutant that waits for something is stopped; a busy machine is no reason.
WAITS = 1200


@dataclass
class Judges:
    """The tests, how long they take, and which run a line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(dict))
    #: How many mutants a test has killed, in a file and ("") anywhere.
    good: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    #: Tests that were tried without a mutant, after they had killed one: whether they passed.
    passed: dict[str, bool] = field(default_factory=dict)
    grace: float = 10.0  #: CPU seconds that a test may take more

    def limit(self, test: str) -> float:
        return self.grace + SLOWER * self.seconds.get(test, 0.0)

    def of(self, mutant: Mutant) -> list[str]:
        lines = self.lines[mutant.path]
        tests = set().union(*(lines.get(line, set()) for line in mutant.judged_by))
        here, anywhere = self.good[mutant.path], self.good[""]
        order = sorted(
            (test for test in tests if self.passed.get(test, True)),
            key=lambda test: (-here[test], -anywhere[test], self.seconds[test], test),
        )
        chosen, total = [], 0.0
        for test in order:
            total += self.seconds[test]
            if chosen and total > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen


def _cpu_seconds() -> float:
    """Of this process and those it has started and that have ended."""
    return sum(os.times()[:4])


class Observer:
    """A pytest plugin: which test runs which line, and for how long."""

    def __init__(self, coverage: Any) -> None:
        self.coverage = coverage
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.coverage.switch_context(nodeid)
        self.seconds[nodeid] = -_cpu_seconds()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] += _cpu_seconds()
        self.coverage.switch_context("")


class Found(importlib.machinery.SourceFileLoader):
    """Finds and loads the one module that is changed."""

    def __init__(self, module: str, file: str, mutant: Mutant) -> None:
        super().__init__(module, file)
        self.mutant = mutant

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> Any:
        return self.mutant.compiled(str(self.path))


class Bench:
    """A pytest plugin: these tests alone, in this order, each with its time."""

    def __init__(self, tests: Sequence[str], judges: Judges, loader: Found | None) -> None:
        self.place = {test: place for place, test in enumerate(tests)}
        self.judges = judges
        self.loader = loader
        self.failed: str | None = None
        self.pytest_sessionstart()  # conftest.py imports the package before the session starts

    def pytest_sessionstart(self) -> None:
        """Pytest loads a module with doctests itself, unless somebody is before it."""
        if self.loader is not None:
            sys.meta_path.insert(0, self.loader)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        # Ends the process, wherever it is.
        signal.setitimer(signal.ITIMER_PROF, self.judges.limit(nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class Package:
    """The files of dualstruct, wherever Python finds it; not imported here."""

    def __init__(self, name: str = "dualstruct") -> None:
        spec = importlib.util.find_spec(name)
        assert spec is not None, f"{name} is not installed"
        self.name = name
        self.folder = Path(spec.origin or "").resolve().parent

    def files(self, patterns: Sequence[str]) -> list[str]:
        found = [
            file.relative_to(self.folder).as_posix()
            for pattern in patterns
            for file in sorted(self.folder.glob(pattern))
        ]
        assert found, f"no file of {self.folder} is like {', '.join(patterns)}"
        return found

    def mutants(self, file: str) -> list[Mutant]:
        return mutants_of((self.folder / file).read_text("utf-8"), file)

    def loader(self, mutant: Mutant) -> Found:
        parts = [self.name, *Path(mutant.path).with_suffix("").parts]
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        return Found(module, str(self.folder / mutant.path), mutant)


def pytest_run(plugin: Any, arguments: Sequence[str]) -> int:
    """Pytest as the project runs it, with the same random cases each time and no shrinking."""
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    class Profile:
        @pytest.hookimpl(trylast=True)
        def pytest_configure(self) -> None:
            settings.register_profile(
                "mutants",
                settings.default,
                derandomize=True,
                database=None,
                deadline=None,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            settings.load_profile("mutants")

    options = ["-q", "-p", "no:cacheprovider"]
    for name in PLUGINS:
        options += ["-p", name]
    preloaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *preloaded, *arguments], plugins=[plugin, Profile()]))


@dataclass
class Job:
    """Work for a process of its own, which leaves an answer in a file."""

    work: Callable[[], Any]
    then: Callable[[Any], None]  #: called with the answer, or with how the process ended
    waits: float = WAITS


def run_all(jobs: list[Job], at_once: int, folder: Path) -> None:
    """Runs jobs, the last first; those that come of them may be added meanwhile."""
    running: dict[int, tuple[Job, Path, float]] = {}
    number = 0
    try:
        while jobs or running:
            while jobs and len(running) < at_once:
                job, place = jobs.pop(), folder / f"job-{number}"
                number += 1
                place.mkdir(parents=True)
                running[_fork(job.work, place)] = (job, place, time.monotonic())
            time.sleep(0.02)
            for pid, (job, place, since) in list(running.items()):
                ended, status = os.waitpid(pid, os.WNOHANG)
                if not ended and time.monotonic() - since < job.waits:
                    continue
                _end(pid)  # and whatever it started
                if not ended:
                    status = os.waitpid(pid, 0)[1]
                del running[pid]
                answer = place / "answer.json"
                job.then(
                    json.loads(answer.read_text()) if answer.exists() else _death(status, place)
                )
                shutil.rmtree(place, ignore_errors=True)
    finally:
        for pid in running:
            _end(pid)
        shutil.rmtree(folder, ignore_errors=True)


def _death(status: int, place: Path) -> str:
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return {"SIGPROF": "time", "SIGKILL": "waited too long"}.get(name, name)
    raise RuntimeError((place / "out.txt").read_text("utf-8", "replace")[-5000:])  # our own fault


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _fork(work: Callable[[], Any], place: Path) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        out = os.open(place / "out.txt", os.O_WRONLY | os.O_CREAT)
        for stream, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
            os.dup2(stream, number)
        for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT", "HYPOTHESIS_STORAGE_DIRECTORY"):
            os.environ[name] = str(place)
        answer = work()
        (place / "answer.tmp").write_text(json.dumps(answer))
        (place / "answer.tmp").rename(place / "answer.json")
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def observed(package: Package, files: Sequence[str], arguments: Sequence[str]) -> dict[str, Any]:
    """In a process of its own: which test of these runs which line."""
    import coverage

    paths = {str(package.folder / file): file for file in files}
    watch = coverage.Coverage(data_file=None, config_file=False, include=list(paths))
    observer = Observer(watch)
    watch.start()
    pytest_run(observer, arguments)
    watch.stop()
    data = watch.get_data()
    lines = {
        file: {
            line: [test for test in tests if test and test not in observer.failed]
            for line, tests in data.contexts_by_lineno(path).items()
        }
        for path, file in paths.items()
    }
    seconds = {t: s for t, s in observer.seconds.items() if t not in observer.failed}
    return {"seconds": seconds, "lines": lines, "failed": sorted(observer.failed)}


def judged(loader: Found | None, tests: list[str], judges: Judges) -> tuple[int, str | None]:
    """In a process of its own: pytest's exit code, and the test that failed."""

    def run(group: list[str]) -> tuple[int, str | None]:
        bench = Bench(group, judges, loader)
        files = list(dict.fromkeys(test.partition("::")[0] for test in group))
        code = pytest_run(bench, ["-x", *(group if len(group) < 20 else files)])
        return code, bench.failed

    for group in (tests[:3], tests[3:20], tests[20:]):  # most are killed before many are collected
        if not group:
            break
        code, failed = run(group)
        if code and failed is None:  # could not be imported, or found
            code, failed = next(((1, test) for test in group if run([test])[0]), (0, None))
        if code:
            return code, failed
    return 0, None


def _helpers(folder: Path) -> list[Path]:
    """What tests share."""
    ours = {"mutants.py", "mutation.py"}
    files = sorted(folder.glob("*.py"))
    return [file for file in files if not file.name.startswith("test_") and file.name not in ours]


def find_judges(
    package: Package, files: Sequence[str], tests: Sequence[str], at_once: int, folder: Path
) -> Judges:
    """The tests, file by file; what did not change since the last time is not run again."""
    judges = Judges()
    shared = hashlib.sha256()
    for file in [*(package.folder / file for file in files), *_helpers(Path("tests"))]:
        shared.update(file.read_bytes())
    kept = folder / "judges"
    kept.mkdir(parents=True, exist_ok=True)
    jobs, done = [], 0

    def add(found: dict[str, Any] | str, name: str, file: Path | None) -> None:
        nonlocal done
        done += 1
        if isinstance(found, str):
            print(f"{name}: ended by {found}; its tests judge nothing")
            return
        if file is not None:
            file.write_text(json.dumps(found))
            for test in found["failed"]:
                print(f"{test}: fails or is skipped without a mutant, and judges nothing")
            print(f"{done}/{len(tests)} {name}: {sum(found['seconds'].values()):.0f} s", flush=True)
        judges.seconds |= found["seconds"]
        for path, lines in found["lines"].items():
            for line, names in lines.items():
                judges.lines[path].setdefault(int(line), set()).update(names)

    for name in tests:
        own = shared.copy()
        target = Path(name)
        own.update(target.read_bytes() if target.exists() else b"")
        file = kept / f"{target.stem}-{own.hexdigest()[:16]}.json"
        if file.exists():
            add(json.loads(file.read_text()), name, None)
            continue
        for old in kept.glob(f"{target.stem}-*.json"):
            old.unlink()
        arguments = [name] if target.exists() else ["--pyargs", name]  # doctests
        jobs.append(
            Job(
                lambda arguments=arguments: observed(package, files, arguments),
                lambda found, name=name, file=file: add(found, name, file),
                waits=3600,
            )
        )
    run_all(jobs, at_once, folder / f"running-{os.getpid()}")
    return judges


@dataclass
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    killer: str | None  #: a test, or how the process ended; None if it survived


class Court:
    """Tries mutants, each in a process of its own."""

    def __init__(self, package: Package, mutants: Sequence[Mutant], judges: Judges) -> None:
        self.package = package
        self.judges = judges
        self.verdicts: list[Verdict] = []
        self.number = len(mutants)
        self.jobs: list[Job] = []
        for mutant in reversed(mutants):
            self.call(mutant)

    def call(self, mutant: Mutant) -> None:
        """The tests are chosen when its turn comes: by then it is known which judge well."""

        def work() -> tuple[int, str | None]:
            tests = self.judges.of(mutant)
            return judged(self.package.loader(mutant), tests, self.judges)

        if self.judges.of(mutant):
            self.jobs.append(Job(work, lambda answer: self.hear(mutant, answer)))
        else:
            self.settle(mutant, None, "no test runs it")

    def hear(self, mutant: Mutant, answer: list[Any] | str) -> None:
        passed = self.judges.passed
        if isinstance(answer, str):
            return self.settle(mutant, answer)
        code, killer = answer
        if code == 0:
            self.settle(mutant, None)
        elif killer not in passed:
            self.jobs.append(
                Job(
                    lambda: judged(None, [killer], self.judges),
                    lambda clean: self.doubt(killer, clean, mutant),
                )
            )
        elif passed[killer]:
            for where in (mutant.path, ""):
                self.judges.good[where][killer] += 1
            self.settle(mutant, killer)
        else:
            self.call(mutant)

    def doubt(self, killer: str, clean: list[Any] | str, mutant: Mutant) -> None:
        """A test that killed for the first time: does it pass without a mutant?"""
        self.judges.passed[killer] = not isinstance(clean, str) and clean[0] == 0
        if not self.judges.passed[killer]:
            print(f"{killer}: fails alone without a mutant, and judges nothing")
        self.hear(mutant, [1, killer])

    def settle(self, mutant: Mutant, killer: str | None, remark: str = "") -> None:
        self.verdicts.append(Verdict(mutant, killer))
        text = "killed  " if killer else "SURVIVED"
        print(
            f"{len(self.verdicts)}/{self.number} {text} {mutant}  [{killer or remark}]", flush=True
        )


def table(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """The share killed, by file and in total."""
    files: dict[str, list[bool]] = defaultdict(list)
    for verdict in verdicts:
        files[verdict.mutant.path].append(verdict.killer is not None)
    rows = [*sorted(files.items()), ("total", [killed for of in files.values() for killed in of])]
    yield f"{'file':36} mutants  killed   share"
    for name, killed in rows:
        yield f"{name:36} {len(killed):7} {sum(killed):7} {100 * sum(killed) / len(killed):6.1f}%"


def _placeless(line: str) -> str:
    """A mutant without the number of its line, which other changes move."""
    return re.sub(r":\d+", "", line, count=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="files of dualstruct (default: all that count)")
    parser.add_argument("--number", default="5", help="mutants of a file, or 'all'")
    parser.add_argument("--only", type=Path, help="a report: those that survived, once more")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--least", type=float, default=85.0, help="per cent that must be killed")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--grace", type=float, default=10.0, help="CPU seconds more for a test")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the folder with tests")
    parser.add_argument("--package", default="dualstruct", help="what is changed")
    options = parser.parse_args()
    number = None if options.number == "all" else int(options.number)

    os.chdir(options.root)
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in [*PRELOADED, *PLUGINS]:
        importlib.import_module(name)
    folder = Path("build/mutants").resolve()
    package = Package(options.package)
    files = package.files(MUTATED)
    tests = [str(file) for file in sorted(Path("tests").glob("**/test_*.py"))]
    tests = [test for test in tests if Path(test).name not in NO_JUDGES]
    judges = find_judges(package, files, [*tests, package.name], options.jobs, folder)
    judges.grace = options.grace
    mutants = [
        mutant
        for file in (package.files(options.files) if options.files else files)
        for mutant in sampled(package.mutants(file), number, options.seed)
    ]
    if options.only is not None:
        wanted = {_placeless(line) for line in options.only.read_text("utf-8").splitlines()}
        mutants = [mutant for mutant in mutants if _placeless(str(mutant)) in wanted]
    court = Court(package, mutants, judges)
    run_all(court.jobs, options.jobs, folder / f"running-{os.getpid()}")
    killed = {id(verdict.mutant) for verdict in court.verdicts if verdict.killer is not None}
    survivors = [mutant for mutant in mutants if id(mutant) not in killed]
    lines = [*map(str, survivors), "", *table(court.verdicts)]
    (folder / "report.txt").write_text("\n".join(lines) + "\n", "utf-8")
    print("\nsurvived:", *lines, sep="\n")
    share = 100 * (1 - len(survivors) / len(mutants))
    if share < options.least:
        print(f"{share:.1f} % killed; at least {options.least:g} % must be")
    return int(share < options.least)


if __name__ == "__main__":
    sys.exit(main())
