"""Training on several workers: each has a share of the examples, and all arrive at one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names
from dualstruct.renamed import old_names

if TYPE_CHECKING:
    from dualstruct.data.sources import ColumnFiles, TreeFiles
    from dualstruct.distributed.admm import ADMM
    from dualstruct.distributed.bqo import BQO
    from dualstruct.distributed.local import fit_local
    from dualstruct.distributed.mixing import IterativeMixing, SimpleAverage
    from dualstruct.workers.communicator import (
        CommunicationError,
        Communicator,
        RecoveryWarning,
        SingleWorker,
        partition,
    )
    from dualstruct.workers.engines import run_on
    from dualstruct.workers.local import run_local
    from dualstruct.workers.mpi import run_mpi
    from dualstruct.workers.ray import run_ray

_HOMES = {
    "data.sources": "ColumnFiles TreeFiles",
    "distributed.admm": "ADMM",
    "distributed.bqo": "BQO",
    "distributed.local": "fit_local",
    "distributed.mixing": "IterativeMixing SimpleAverage",
    "workers.communicator": (
        "CommunicationError Communicator RecoveryWarning SingleWorker partition"
    ),
    "workers.engines": "run_on",
    "workers.local": "run_local",
    "workers.mpi": "run_mpi",
    "workers.ray": "run_ray",
}

__all__ = [
    "ADMM",
    "BQO",
    "ColumnFiles",
    "CommunicationError",
    "Communicator",
    "IterativeMixing",
    "RecoveryWarning",
    "SimpleAverage",
    "SingleWorker",
    "TreeFiles",
    "fit_local",
    "partition",
    "run_local",
    "run_mpi",
    "run_on",
    "run_ray",
]

_old_name = old_names(__name__, {"Alone": "workers.communicator.SingleWorker"})
__getattr__, __dir__ = lazy_names(__name__, _HOMES, _old_name)
