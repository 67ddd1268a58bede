"""From the parameters of papers and programs to C, and back.

Here C is the weight of one example's loss: P(w) = ½‖w‖² + C Σ_i ℓ_i(w). Others divide the same
objective by something.

>>> C_from_lambda(1e-4, examples=1000)          # λ/2‖w‖² + (1/n) Σ_i ℓ_i(w)
10.0
>>> C_from_total(100.0, examples=1000)          # ½‖w‖² + (C/N) Σ_i ℓ_i(w)
0.1
>>> C_from_c2(1.0)                              # CRFsuite: Σ_i −log p(y_i|x_i) + c2‖w‖²
0.5
"""

from __future__ import annotations

from dualstruct.errors import InputError


def C_from_lambda(lambda_: float, examples: int) -> float:  # noqa: N802
    """C = 1/(λn): λ of the mean loss, as in Pegasos and (with m for n) Martins et al. 2010.

    >>> C_from_lambda(0.01, examples=200)
    0.5
    """
    return 1 / (_positive("lambda", lambda_) * _examples(examples))


def lambda_from_C(C: float, examples: int) -> float:  # noqa: N802
    """λ = 1/(Cn), the inverse of :func:`C_from_lambda`.

    >>> lambda_from_C(0.5, examples=200)
    0.01
    """
    return 1 / (_positive("C", C) * _examples(examples))


def C_from_total(total: float, examples: int) -> float:  # noqa: N802
    """C = C_paper/N: from the weight of the mean loss, as in Mančev 2015 and SVM-struct.

    >>> C_from_total(50.0, examples=200)
    0.25
    """
    return _positive("C", total) / _examples(examples)


def total_from_C(C: float, examples: int) -> float:  # noqa: N802
    """C_paper = C·N, the inverse of :func:`C_from_total`.

    >>> total_from_C(0.25, examples=200)
    50.0
    """
    return _positive("C", C) * _examples(examples)


def C_from_c2(c2: float) -> float:  # noqa: N802
    """C = 1/(2 c2): CRFsuite minimises Σ_i −log p(y_i|x_i) + c2‖w‖², 2 c2 times P.

    >>> C_from_c2(0.05)
    10.0
    """
    return 1 / (2 * _positive("c2", c2))


def c2_from_C(C: float) -> float:  # noqa: N802
    """c2 = 1/(2C), the inverse of :func:`C_from_c2`.

    >>> c2_from_C(10.0)
    0.05
    """
    return 1 / (2 * _positive("C", C))


def _positive(name: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise InputError(f"{name} is {value}; it must be positive and finite")
    return value


def _examples(number: int) -> int:
    if number < 1:
        raise InputError(f"examples is {number}; it must be at least 1")
    return number
