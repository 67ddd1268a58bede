"""Programs that train on Ray or under MPI, often while something goes wrong; tests run them.

Faults come from the work itself, at a given sum of a given rank, so that they always hit the same
place.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from dualstruct import (
    DCD,
    MIRA,
    InputError,
    Problem,
    SequenceTagger,
    Stopping,
    fit,
    write_columns,
)
from dualstruct.cli.shards import Labelling
from dualstruct.data.shards import deal, find_shards
from dualstruct.data.streams import StreamedFiles
from dualstruct.datasets import load_english, make_chains
from dualstruct.distributed import (
    ADMM,
    BQO,
    DistributedLBFGS,
    IterativeMixing,
    RampBQO,
    SimpleAverage,
    partition,
    run_mpi,
    run_ray,
)
from dualstruct.structures import Subset
from dualstruct.tasks.tagging import large
from dualstruct.workers.communicator import SingleWorker
from dualstruct.workers.sparse import SparseVector
from patience import HANGS

STRATEGIES = {
    "bqo": (BQO(), "squared_hinge"),
    "admm": (ADMM(), "hinge"),
    "iterative mixing": (IterativeMixing(MIRA(k=2), weighted=True), "hinge"),
    "simple average": (SimpleAverage(DCD()), "squared_hinge"),
    "l-bfgs": (DistributedLBFGS(), "crf"),
    "ramp": (RampBQO(passes_per_round=3), "ramp"),
}
PASSES = 8
#: Seconds after which a worker that hangs is noticed; no other may be that late.
SILENCE = 40


def train(workers, name: str = "bqo", *, passes: int = PASSES, **options) -> list:
    """What came of it, to the last bit."""
    strategy, loss = STRATEGIES[name]
    structure = make_chains(sentences=30, tokens=5, labels=3, features=30, seed=3).structure()
    own = Subset(structure, partition(len(structure), workers.size)[workers.rank])
    problem = Problem(own, loss, 0.2, communicator=workers)
    result = fit(problem, strategy, Stopping(passes=passes), checkpoint_every=2, **options)
    weights = hashlib.sha256(result.w.array.tobytes()).hexdigest()
    return [result.stopped_by, result.passes, result.primal, result.dual, result.cuts, weights]


def train_all(workers) -> list:
    """Every strategy, and every way to talk."""
    found: list = [train(workers, name) for name in STRATEGIES]
    # Long enough to be cut into parts, and not to be divided evenly.
    long = np.random.default_rng(workers.rank).normal(size=100_001).astype(np.float32)
    found.append(hashlib.sha256(workers.allreduce(long).tobytes()).hexdigest())
    square = workers.allreduce(long[:90_000].reshape(300, 300))
    found.append([*square.shape, hashlib.sha256(square.tobytes()).hexdigest()])
    for dimension in (400, 100_001):  # what goes through Ray's board, and what is cut into parts
        places = np.flatnonzero(long[:dimension] > 0.5).astype(np.uint32)
        moved = workers.allreduce_sparse(SparseVector(places, long[places]), dimension)
        found.append([hashlib.sha256(each.tobytes()).hexdigest() for each in moved])
    found.append(workers.broadcast(np.array([workers.rank]), root=workers.size - 1).tolist())
    return found


def fail(workers) -> None:
    if workers.rank == 1:
        raise InputError("sentence 7 is broken")
    workers.barrier()


def differ(workers) -> None:
    workers.allreduce(np.zeros(3 + workers.rank))


def once(path: Path) -> bool:
    """Whether this is the first time that somebody comes here, on any machine."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def fault_at(workers, number: int, fault) -> None:
    """Let something happen when this worker is about to take part in its n-th sum."""
    allreduce, sums = workers.allreduce, 0

    def counted(array):
        nonlocal sums
        sums += 1
        if sums == number:
            fault()
        return allreduce(array)

    workers.allreduce = counted


def kill(pid: int | None = None) -> None:
    os.kill(os.getpid() if pid is None else pid, signal.SIGKILL)


def told(run) -> dict:
    """What a run returned or raised, and what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = {"results": run()}
        except BaseException as error:
            outcome = {"error": f"{type(error).__name__}: {error}"}
    return {**outcome, "warnings": [str(each.message) for each in caught]}


def every_strategy_loses_a_worker(folder: Path):
    def work(workers) -> dict[str, list]:
        found = {}
        for number, name in enumerate(STRATEGIES):
            allreduce = workers.allreduce
            if workers.rank == number % workers.size:
                mark = folder / f"{name} was killed"
                fault_at(workers, 12 + number, lambda mark=mark: once(mark) and kill())
            found[name] = train(workers, name, checkpoint=folder / name)
            workers.allreduce = allreduce
        return found

    return work


def out_of_core(folder: Path, engine: str, dies: bool = False) -> str:
    """A tagger from files; a worker may be killed when it has read the first of its blocks."""
    texts = folder / "texts"
    texts.mkdir(exist_ok=True)
    sentences = load_english("test").select(range(40))
    for k in range(4):
        part = sentences.select(range(k, 40, 4))
        write_columns(texts / f"{k}.txt", part.forms, part.upos)
    mark, read = folder / "killed while features were written", large.columns_reader(-1, None)

    def reading(names):
        for block in read(names):
            yield block
            if dies and once(mark):
                kill()

    source = StreamedFiles(find_shards([texts]), reading, folder / f"disk-{engine}")
    tagger = SequenceTagger("pos", hash_bits=10, passes=3, engine=engine, workers=2)
    tagger._fit(source, None, None, ())
    left = [path.name for path in (folder / f"disk-{engine}").iterdir()]
    return hashlib.sha256(tagger.model_.w.array.tobytes() + str(left).encode()).hexdigest()


def labelling_loses_a_worker(folder: Path) -> list[list[str]]:
    """Files that are labelled on Ray: what is there is as without the fault."""
    model, place = folder / "model.dstruct", folder / "labelled"
    data = load_english("test").select(range(40))
    SequenceTagger("pos", hash_bits=10, passes=1).fit(data.forms, data.upos).save(model)
    place.mkdir()
    shards = find_shards([folder / "texts"])
    labelling = Labelling(str(model), shards, str(place), (), None)

    def work(workers) -> int:
        if workers.rank == 1 and once(folder / "killed while it labelled"):
            first = deal(shards, workers.size)[1][:1]
            replace(labelling, shards=tuple(first))(SingleWorker())
            kill()
        return labelling(workers)

    run_ray(2, work)
    command = [sys.executable, "-m", "dualstruct", "predict", str(model)]
    same = [
        labelling.target(shard).read_bytes() == subprocess.check_output([*command, shard.name])
        for shard in shards
    ]
    return [sorted(path.name for path in place.iterdir()), same]


def hangs(folder: Path):
    def work(workers) -> list:
        if workers.rank == 1 and workers.attempt == 0:
            fault_at(workers, 20, signal.pause)
        return train(workers, checkpoint=folder / "hangs")

    return work


def dies_always(workers) -> None:
    if workers.rank == 1:
        kill()
    workers.barrier()


def goes_on(folder: Path, driver: int):
    """From what a killed driver left, until Ctrl-C."""

    def work(workers) -> list:
        if workers.rank == 0:
            fault_at(workers, 10, lambda: os.kill(driver, signal.SIGINT))
        return train(workers, checkpoint=folder / "driver", resume=True, passes=10**6)

    return work


def interrupts_twice(driver: int):
    def work(workers) -> None:
        if workers.rank == 0:
            os.kill(driver, signal.SIGINT)
            while not workers.interrupted:
                pass
            os.kill(driver, signal.SIGINT)
        while True:
            workers.barrier()

    return work


def kills_its_driver(folder: Path, driver: int):
    def work(workers) -> list:
        (folder / f"pid-{os.getpid()}").touch()
        if workers.rank == 0:
            fault_at(workers, 24, lambda: kill(driver))
        return train(workers, checkpoint=folder / "driver", passes=10**6)

    return work


def descendants(pid: int) -> set[int]:
    """All processes that a process has started, as Linux shows them."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(status.parent.name)] = int(fields[1])
    found: set[int] = set()
    new = {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def ray_loses_its_driver(folder: Path) -> None:
    from dualstruct.workers.ray import start_ray

    start_ray(2)
    for child in descendants(os.getpid()):
        (folder / f"pid-{child}").touch()
    run_ray(2, kills_its_driver(folder, os.getpid()))


def listening() -> list[str]:
    """Addresses on which this process and all that it started wait for others."""
    sockets = set()
    for pid in descendants(os.getpid()) | {os.getpid()}:
        for handle in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                sockets.add(os.readlink(handle))
            except OSError:
                continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                found.append(words[1].partition(":")[0])
    return found


STRANGER = """
import sys
from ray._raylet import GcsClient
try:
    GcsClient(address=sys.argv[1]).internal_kv_get(b"", None, timeout=300)
except Exception as error:
    print(type(error).__name__)
"""


def stranger(address: str) -> str:
    """What happens to somebody who has not got the token."""
    environment = {name: value for name, value in os.environ.items() if "RAY" not in name}
    environment |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a guess"}
    command = [sys.executable, "-c", STRANGER, address]
    return subprocess.check_output(command, env=environment, text=True, timeout=HANGS).strip()


def ray_at_an_address(folder: Path, address: str) -> None:
    """A second program on the same cluster."""
    found = told(lambda: run_ray(2, goes_on(folder, os.getpid()), address=address))
    (folder / "address.json").write_text(json.dumps(found))


def ray_jobs(folder: Path) -> None:
    found = {
        "three": told(lambda: run_ray(3, train_all)),
        "fail": told(lambda: run_ray(2, fail)),
        "differ": told(lambda: run_ray(2, differ)),
        "strategies": told(lambda: run_ray(2, every_strategy_loses_a_worker(folder), restarts=6)),
        "features": told(lambda: out_of_core(folder, "ray", dies=True)),
        "labelling": told(lambda: labelling_loses_a_worker(folder)),
        "hangs": told(lambda: run_ray(2, hangs(folder), timeout=SILENCE)),
        "dies always": told(lambda: run_ray(2, dies_always, restarts=1)),
        "ctrl-c twice": told(lambda: run_ray(2, interrupts_twice(os.getpid()))),
    }
    import ray

    address = ray.get_runtime_context().gcs_address
    command = [sys.executable, __file__, "ray-address", str(folder), address]
    subprocess.run(command, check=True, timeout=HANGS)
    found |= {"address": json.loads((folder / "address.json").read_text())}
    found |= {"stranger": stranger(address), "listening": listening()}
    (folder / "found.json").write_text(json.dumps(found))


def mpi_loses_a_worker(folder: Path, resume: bool):
    def work(workers) -> list:
        if workers.rank == 1 and not resume:
            fault_at(workers, 24, kill)
        return train(workers, checkpoint=folder / "mpi", resume=resume)

    return work


def mpi_hangs(workers) -> None:
    if workers.rank == 1:
        fault_at(workers, 20, signal.pause)
    train(workers)


if __name__ == "__main__":
    name, folder = sys.argv[1], Path(sys.argv[2])
    if name == "ray":
        ray_jobs(folder)
    elif name == "ray-driver":
        ray_loses_its_driver(folder)
    elif name == "ray-address":
        ray_at_an_address(folder, sys.argv[3])
    else:
        work = {
            "mpi": mpi_loses_a_worker(folder, resume=False),
            "mpi-again": mpi_loses_a_worker(folder, resume=True),
            "mpi-hangs": mpi_hangs,
            "mpi-all": train_all,
            "mpi-fail": fail,
            "mpi-differ": differ,
        }[name]
        rank, found = run_mpi(
            lambda workers: (workers.rank, work(workers)),
            timeout=SILENCE if name == "mpi-hangs" else HANGS,
        )
        (folder / f"found-{rank}.json").write_text(json.dumps(found))
