"""What robosuite 1.4 and 1.5 share of observing: when they read, and how an environment is left unread.

A control step is 25 steps of the physics. Each sensor has a timer of its own, which runs on through forced
readings: a loop over upstream's environment sees what was measured at the end of a control step after one
forced reading, a little before it after two. All sensors have the same rate and are forced together, so one
timer stands for all. The additions are upstream's, one by one, because their rounding decides.

Imports no simulator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

PHYSICS_S: Final = 0.002
"""Simulated seconds of one step of the physics."""
PERIOD_S: Final = 1.0 / 20
"""Between two readings of a sensor: one control step."""


class SamplingClock:
    """The timer of upstream's sensors."""

    def __init__(self) -> None:
        self._elapsed_s = 0.0
        self._sampled = False

    def reset(self) -> None:
        """What a reset of the environment does to it: the time since the last reading is forgotten."""
        self._elapsed_s = 0.0

    def tick(self, *, force: bool = False) -> bool:
        """A step of the physics, or a forced reading. Returns whether sensors are read now."""
        self._elapsed_s += PHYSICS_S
        reads = force or (not self._sampled and self._elapsed_s <= PERIOD_S)
        self._sampled = self._sampled or reads
        if self._elapsed_s >= PERIOD_S:
            reads = reads or not self._sampled
            self._elapsed_s %= PERIOD_S
            self._sampled = False
        return reads


class Unread:
    """Mixed into upstream's class of a scene: nothing is rendered or read, but the moments are told."""

    sim: Any

    def __init__(self, *args: Any, on_sample: Callable[[], None], **kwargs: Any) -> None:
        """`on_sample` is called at every moment at which upstream reads its sensors."""
        self._clock, self._on_sample = SamplingClock(), on_sample
        super().__init__(*args, **kwargs)

    def _reset_internal(self) -> None:
        # Upstream makes a render context here, which computes the scene once more: the solver starts from it.
        self.sim.forward()
        self._clock.reset()
        super()._reset_internal()  # type: ignore[misc]

    def _setup_observables(self) -> dict[str, Any]:
        return {}

    def _update_observables(self, force: bool = False) -> None:
        if self._clock.tick(force=force):
            self._on_sample()
