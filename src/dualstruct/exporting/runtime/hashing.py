"""The 64-bit hashes by which features are known, as the core computes them (core/text/hash.hpp)."""

from __future__ import annotations

MASK = (1 << 64) - 1
ODD_A = 0x9E3779B97F4A7C15
ODD_B = 0xD6E8FEB86659FD93


def _step(h: int, word: int) -> int:
    h = ((h ^ word) * ODD_A) & MASK
    return h ^ h >> 32


def hash_text(text: str) -> int:
    """The hash of a string; never 0, which stands for "no value"."""
    data = text.encode()
    n = len(data)
    h = ODD_B ^ (n * ODD_A & MASK)
    if n >= 8:
        for i in range(0, n - 8, 8):
            h = _step(h, int.from_bytes(data[i : i + 8], "little"))
        h = _step(h, int.from_bytes(data[n - 8 :], "little"))
    elif n >= 4:
        low, high = data[:4], data[n - 4 :]
        h = _step(h, int.from_bytes(low + high, "little"))
    elif n > 0:
        h = _step(h, data[0] | data[n // 2] << 8 | data[n - 1] << 16)
    h = ((h ^ h >> 29) * ODD_B) & MASK
    h ^= h >> 32
    return h or 1


def combine(h: int, value: int) -> int:
    """One more value folded into a hash; the order of values matters."""
    h = ((h + value) * ODD_B) & MASK
    h ^= h >> 32
    h = (h * ODD_A) & MASK
    return h ^ h >> 29
