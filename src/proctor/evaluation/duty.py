"""What a worker is doing right now, as its heartbeats tell it, and what they were told in return.

Written by the thread that runs episodes, read by the one that beats, and the other way round; single
attributes, so no lock.
"""

from __future__ import annotations

from typing import Final

from proctor.evaluation.protocol import AttemptRef, HeartbeatRequest
from proctor.evaluation.record import Phase
from proctor.evaluation.stopping import StopRequest
from proctor.evaluation.watchdog import Watchdog

IDLE: Final = "idle"


class Duty:
    """One worker's present. It is the `Monitor` of the episodes that the worker runs."""

    def __init__(self, worker: str, stop: StopRequest, watchdog: Watchdog) -> None:
        self._worker, self._stop, self._watchdog = worker, stop, watchdog
        self.phase: Phase | None = None
        """Where in an episode the worker is; None between items."""
        self._step = 0
        self._episode_id: str | None = None
        self.attempt: AttemptRef | None = None
        self.lost = False
        """The lease is gone: whatever comes of this attempt is refused."""
        self.run_cancelled = False
        """The coordinator wants the run to stop."""

    def take(self, attempt: AttemptRef) -> None:
        """An item was claimed."""
        self.lost, self.attempt = False, attempt

    def drop(self) -> None:
        """The item is done with."""
        self._watchdog.rest()
        self.phase, self._episode_id, self._step, self.attempt = None, None, 0, None

    def begin_episode(self, episode_id: str) -> None:
        """The next episode of the item."""
        self._episode_id, self._step = episode_id, 0

    def enter(self, phase: Phase, step: int = 0) -> None:
        """A phase starts; if native code runs in it, its time does too."""
        self.phase, self._step = phase, step
        self._watchdog.watch(phase)

    def rest(self) -> None:
        """No native code is running."""
        self._watchdog.rest()

    def cancelled(self) -> bool:
        """Whether the running episode has to stop at this step."""
        return self.lost or self.run_cancelled or self._stop.overdue

    def leaving(self) -> bool:
        """Whether no further episode may begin."""
        return self.lost or self.run_cancelled or self._stop.requested

    def beat(self) -> HeartbeatRequest:
        """The next heartbeat."""
        return HeartbeatRequest(
            worker=self._worker,
            attempt=self.attempt,
            phase=self.phase or IDLE,
            episode_id=self._episode_id,
            step=self._step,
        )
