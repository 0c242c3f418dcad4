"""Upstream's own environment, seeded, and rendered only where somebody looks.

Upstream measures everything at its own moments inside a control step; frames too. So it is left to step and
to observe by itself, and its cameras alone are asked whether they are wanted: one that is not hands out
black.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import BenchmarkFault, text_of

IMAGE: Final = "_image"
"""How upstream's names of cameras' observables end."""

Observed = Mapping[str, Any]


class Kitchen:
    """One of upstream's Gymnasium environments, unwrapped. What it raises becomes `BenchmarkFault`."""

    def __init__(self, made: Any) -> None:
        self._made = made
        self._looking = True

    def reset(self, seed: int) -> Observed:
        """Make everything anew from a seed, and look.

        Upstream's reset seeds numpy's global generator at most, and draws from one of its own that was made
        without a seed: it is given one.
        """
        with _blamed("reset"):
            random.seed(seed)
            self._made.env.rng = np.random.default_rng(seed)
            self._looking = True
            observed: Observed = self._made.reset(seed=seed)[0]
            self._put_shutters_on()
            return observed

    def step(self, command: dict[str, NDArray[Any]], *, look: bool) -> tuple[Observed, bool]:
        """One control step; what upstream observes after it, frames black unless `look`, and success."""
        with _blamed("step"):
            self._looking = look
            observed, _, _, _, info = self._made.step(command)
            return observed, bool(info["success"])

    def look(self) -> Observed:
        """What upstream observes now, without a step."""
        with _blamed("observation"):
            self._looking = True
            raw = self._made.env._get_observations(force_update=True)
            if hasattr(self._made, "get_groot_observation"):
                return self._made.get_groot_observation(self._made.get_basic_observation(raw))  # type: ignore[no-any-return]
            return self._made.get_observation(raw)  # type: ignore[no-any-return]

    def start(self) -> NDArray[np.float64]:
        """Time, positions and velocities of the whole simulation."""
        with _blamed("get_state"):
            return np.asarray(self._made.env.sim.get_state().flatten(), np.float64)

    def close(self) -> None:
        """Close upstream's environment."""
        with _blamed("close"):
            self._made.close()

    def _put_shutters_on(self) -> None:
        """A reset makes cameras anew."""
        inner = self._made.env
        for name in [each for each in inner.observation_names if each.endswith(IMAGE)]:
            sensor = inner._observables[name]._sensor
            inner.modify_observable(name, "sensor", self._shuttered(sensor))

    def _shuttered(self, sensor: Callable[[Any], NDArray[Any]]) -> Callable[[Any], NDArray[Any]]:
        shape: list[tuple[int, ...]] = []

        @functools.wraps(sensor)  # with the mark that says that it is a camera's
        def look(cache: Any) -> NDArray[Any]:
            if self._looking or not shape:
                frame = sensor(cache)
                shape[:] = [frame.shape]
                return frame
            return np.zeros(shape[0], np.uint8)

        return look


@contextmanager
def _blamed(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise BenchmarkFault(f"RoboCasa's {what} raised {type(error).__name__}: {text_of(error)}") from error
