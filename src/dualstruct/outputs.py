"""What ``predict`` answers: a list, which scikit-learn can slice and join."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


class Outputs(list[T]):
    """One output per example.

    It is a list in every way. Only numpy sees something else: where outputs are sequences or
    objects, an array with one entry per example, however long they are. So ``cross_val_predict``,
    which puts the answers of the folds together as arrays, works, and its answer is such an array.

    Examples
    --------
    >>> Outputs([["DET", "NOUN"], ["VERB"]])
    [['DET', 'NOUN'], ['VERB']]
    >>> np.concatenate([Outputs([["DET", "NOUN"]]), Outputs([["VERB"]])])
    array([list(['DET', 'NOUN']), list(['VERB'])], dtype=object)
    >>> np.asarray(Outputs(["cat", "dog"]))
    array(['cat', 'dog'], dtype='<U3')
    """

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if all(np.isscalar(output) for output in self):
            return np.array(list(self), dtype)
        return object_array(self) if dtype is None else object_array(self).astype(dtype)


def object_array(examples: Any) -> NDArray[Any]:
    """An array with one entry per example, whatever the examples are."""
    array = np.empty(len(examples), object)
    for i, example in enumerate(examples):
        array[i] = example
    return array
