"""What a lane showed beside what upstream's own loop saw, bit for bit; for tests of simulators.

A trace is one mapping per moment, the start first: what was looked at there, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

Trace = Sequence[Mapping[str, Any]]

CHUNKS: Final = (1, 4, 10)
"""Lengths at which policies look."""
TOLD: Final = 10
"""Differences that are told, so that a lane that is wrong throughout is not told of for ever."""


def beside(expected: Trace, shown: Callable[[int], Trace]) -> dict[str, Any]:
    """Compare `shown(chunk)` for every length of chunk with a trace of the same moments that holds more.

    Returns `differing`, the first differences in words, and `compared`, how many values were looked at.
    Raises `ValueError` for traces of another length.
    """
    differing, compared = [], 0
    for chunk in CHUNKS:
        for step, (ours, theirs) in enumerate(zip(shown(chunk), expected, strict=True)):
            compared += len(ours)
            differing += [
                f"{name} at step {step}, chunk {chunk}"
                for name, value in ours.items()
                if not np.array_equal(value, theirs[name])
            ]
    return {"differing": differing[:TOLD], "compared": compared}
