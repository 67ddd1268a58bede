"""Training on several workers: each has a share of the examples; the result is one model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dualstruct.lazy import lazy_names
from dualstruct.renamed import old_names

if TYPE_CHECKING:
    from dualstruct.data.sources import ColumnFiles as ColumnFiles
    from dualstruct.data.sources import TreeFiles as TreeFiles
    from dualstruct.distributed.admm import ADMM as ADMM
    from dualstruct.distributed.bqo import BQO as BQO
    from dualstruct.distributed.lbfgs import DistributedLBFGS as DistributedLBFGS
    from dualstruct.distributed.local import fit_local as fit_local
    from dualstruct.distributed.mixing import IterativeMixing as IterativeMixing
    from dualstruct.distributed.mixing import SimpleAverage as SimpleAverage
    from dualstruct.distributed.ramp import RampBQO as RampBQO
    from dualstruct.workers.communicator import CommunicationError as CommunicationError
    from dualstruct.workers.communicator import Communicator as Communicator
    from dualstruct.workers.communicator import RecoveryWarning as RecoveryWarning
    from dualstruct.workers.communicator import SingleWorker as SingleWorker
    from dualstruct.workers.communicator import partition as partition
    from dualstruct.workers.engines import run_on as run_on
    from dualstruct.workers.local import run_local as run_local
    from dualstruct.workers.mpi import run_mpi as run_mpi
    from dualstruct.workers.ray import run_ray as run_ray

_HOMES = {
    "data.sources": "ColumnFiles TreeFiles",
    "distributed.admm": "ADMM",
    "distributed.bqo": "BQO",
    "distributed.lbfgs": "DistributedLBFGS",
    "distributed.local": "fit_local",
    "distributed.mixing": "IterativeMixing SimpleAverage",
    "distributed.ramp": "RampBQO",
    "workers.communicator": (
        "CommunicationError Communicator RecoveryWarning SingleWorker partition"
    ),
    "workers.engines": "run_on",
    "workers.local": "run_local",
    "workers.mpi": "run_mpi",
    "workers.ray": "run_ray",
}

_old_name = old_names(__name__, {"Alone": "workers.communicator.SingleWorker"})
__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES, _old_name)
