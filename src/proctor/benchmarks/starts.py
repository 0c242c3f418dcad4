"""The start that an environment made, beside the one that the version records."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.contract import Episode
from proctor.errors import BenchmarkFault


def digest_of_start(state: NDArray[np.float64]) -> str:
    """SHA-256, hexadecimal, of the state's bytes as little-endian float64."""
    return hashlib.sha256(np.ascontiguousarray(state, "<f8").tobytes()).hexdigest()


def require_finite(state: NDArray[np.float64], episode: Episode) -> None:
    """Raise `BenchmarkFault` for a start that is not finite: it can be neither recorded nor compared."""
    if not np.isfinite(state).all():
        raise BenchmarkFault(
            f"episode {episode.id}: value {np.argmin(np.isfinite(state))} of the start is not finite"
        )


def deviation_of_start(state: NDArray[np.float64], episode: Episode) -> float | None:
    """Largest absolute difference between the start made and the one recorded; None if none is recorded.

    Raises `BenchmarkFault` for another length and for a start that is not finite.
    """
    require_finite(state, episode)
    if episode.initial_state is None:
        return None
    if len(episode.initial_state) != state.size:
        raise BenchmarkFault(
            f"episode {episode.id}: the start has {state.size} values,"
            f" {len(episode.initial_state)} are recorded"
        )
    return float(np.abs(_difference(state, episode.initial_state)).max(initial=0.0))


def check_start(state: NDArray[np.float64], episode: Episode, tolerance: float) -> float | None:
    """`deviation_of_start`, and `BenchmarkFault` naming the value where it is beyond `tolerance`."""
    deviation = deviation_of_start(state, episode)
    if deviation is not None and episode.initial_state is not None and deviation > tolerance:
        worst = int(np.abs(_difference(state, episode.initial_state)).argmax())
        raise BenchmarkFault(
            f"episode {episode.id}: value {worst} of the start is {float(state[worst])!r}, recorded is "
            f"{episode.initial_state[worst]!r}; they may differ by {tolerance:g}"
        )
    return deviation


def _difference(state: NDArray[np.float64], recorded: tuple[float, ...]) -> NDArray[np.float64]:
    return state - np.asarray(recorded, np.float64)
