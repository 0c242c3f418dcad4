"""Waiting between repetitions: 0.1 s, doubling, at most 2 s. No jitter: a run's timing is reproducible."""

from __future__ import annotations

from collections.abc import Iterator

from proctor import limits


def pauses() -> Iterator[float]:
    """Seconds before the first, second, third ... repetition; endless."""
    pause = limits.RETRY_FIRST_S
    while True:
        yield pause
        pause = min(2 * pause, limits.RETRY_LONGEST_S)
