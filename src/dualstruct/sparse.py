"""scipy's sparse matrices, without its import where there are none: that takes 0.25 s."""

from __future__ import annotations

import sys
from typing import Any, TypeGuard


def is_sparse(value: Any) -> TypeGuard[Any]:
    """Whether this is a sparse matrix or array of scipy."""
    # There are none where scipy.sparse was never imported.
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(value))
