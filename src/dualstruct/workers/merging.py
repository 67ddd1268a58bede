"""What all workers know together, from what each of them knows of its own share of the data.

Facts (label names, settings) go round as JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from dualstruct.errors import InputError
from dualstruct.workers.communicator import Communicator, in_place_of

#: Facts that are longer are not shown in messages.
SHORT = 60


def gather(workers: Communicator, value: Any) -> list[Any]:
    """Every worker's value, in rank order; it must be something that JSON can hold.

    >>> from dualstruct.distributed import run_local
    >>> run_local(2, lambda workers: gather(workers, {"rank": workers.rank}))[1]
    [{'rank': 0}, {'rank': 1}]
    """
    own = np.frombuffer(json.dumps(value).encode(), np.uint8)
    lengths = workers.allreduce(in_place_of(workers, len(own))).astype(np.int64)
    ends = np.cumsum(lengths)
    everything = np.zeros(int(ends[-1]), np.uint8)
    end = int(ends[workers.rank])
    everything[end - len(own) : end] = own
    text = workers.allreduce(everything).tobytes()
    pairs = zip(ends - lengths, ends, strict=True)
    return [json.loads(text[begin:end]) for begin, end in pairs]


def total(workers: Communicator, *counts: int) -> list[int]:
    """The sums of whole numbers over all workers."""
    sums: list[int] = workers.allreduce(np.array(counts, dtype=np.int64)).tolist()
    return sums


def union(workers: Communicator, names: list[str]) -> list[str]:
    """The names that any worker has, sorted."""
    return sorted(set().union(*gather(workers, names)))


def digest(value: Any) -> str:
    """A fingerprint of something that JSON can hold."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def agree(workers: Communicator, values: Mapping[str, Any]) -> None:
    """Refuse workers that do not have the same values, and name one that differs and what it has.

    >>> from dualstruct.distributed import run_local
    >>> run_local(2, lambda workers: agree(workers, {"C": 0.1 if workers.rank else 0.2}))
    Traceback (most recent call last):
    ...
    dualstruct.errors.InputError: the workers differ: C is 0.1 on worker 1, but 0.2 on worker 0
    """
    shown = {name: value if _is_short(value) else None for name, value in values.items()}
    digests = {name: digest(value) for name, value in values.items()}
    everybody = gather(workers, [shown, digests])
    ours, our_digests = everybody[0]
    for rank, (theirs, their_digests) in enumerate(everybody):
        for name in {**our_digests, **their_digests}:
            if our_digests.get(name) == their_digests.get(name):
                continue
            mine, its = ours.get(name), theirs.get(name)
            if mine is None or its is None:
                raise InputError(
                    f"the workers differ: worker {rank} has other {name} than worker 0"
                )
            raise InputError(
                f"the workers differ: {name} is {its} on worker {rank}, but {mine} on worker 0"
            )


def _is_short(value: Any) -> bool:
    return len(json.dumps(value, default=str)) <= SHORT
