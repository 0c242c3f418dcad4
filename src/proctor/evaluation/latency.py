"""Distributions of waiting times."""

from __future__ import annotations

import math
from collections.abc import Sequence

from proctor.evaluation.record import Latency


def summarise(seconds: Sequence[float]) -> Latency | None:
    """Percentiles of durations given in seconds, in milliseconds; None of nothing.

    By nearest rank, so that every figure is a duration that did occur.
    """
    if not seconds:
        return None
    ordered = sorted(seconds)

    def rank(percent: int) -> float:
        return ordered[math.ceil(percent * len(ordered) / 100) - 1] * 1e3

    return Latency(count=len(ordered), p50=rank(50), p95=rank(95), p99=rank(99), max=ordered[-1] * 1e3)
