"""What a worker is doing right now, as its heartbeats tell it, and what they were told in return.

Written by the thread that runs episodes, read by the one that beats, and the other way round; single
attributes, so no lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from proctor.evaluation.policy_link import Absence
from proctor.evaluation.protocol import AttemptRef, HeartbeatRequest, Waiting
from proctor.evaluation.record import Phase
from proctor.evaluation.stopping import StopRequest
from proctor.evaluation.watchdog import Watchdog

IDLE: Final = "idle"


class Duty:
    """One worker's present. It is the `Monitor` of the episodes that the worker runs."""

    def __init__(
        self,
        worker: str,
        stop: StopRequest,
        watchdog: Watchdog,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._worker, self._stop, self._watchdog, self._clock = worker, stop, watchdog, clock
        self.phase: Phase | None = None
        """Where in an episode the worker is; None between items."""
        self._step = 0
        self._episode_id: str | None = None
        self.attempt: AttemptRef | None = None
        self.absence: Absence | None = None
        """The policy server that is waited for; over with the next phase."""
        self.lost = False
        """The lease is gone: whatever comes of this attempt is refused."""
        self.run_cancelled = False
        """The coordinator wants the run to stop."""
        self._opening = False

    def take(self, attempt: AttemptRef) -> None:
        """An item was claimed."""
        self.lost, self.attempt = False, attempt

    def drop(self) -> None:
        """The item is done with."""
        self._watchdog.rest()
        self.phase, self._episode_id, self._step, self.attempt = None, None, 0, None
        self.absence, self._opening = None, False

    def begin_episode(self, episode_id: str) -> None:
        """The next episode of the item."""
        self._episode_id, self._step = episode_id, 0

    def enter(self, phase: Phase, step: int = 0) -> None:
        """A phase starts; if native code runs in it, its time does too.

        A lane is being opened from `boot` on, until what follows its first `begin`.
        """
        self._opening = phase == "boot" or (phase == "begin" and self._opening)
        self.phase, self._step, self.absence = phase, step, None
        self._watchdog.watch(phase)

    def rest(self) -> None:
        """No native code is running."""
        self._watchdog.rest()

    def miss(self, absence: Absence) -> None:
        """The policy server does not answer and is waited for."""
        self.absence = absence

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
            waiting=self._waiting(),
            opening=self._opening,
        )

    def _waiting(self) -> Waiting | None:
        absence, now = self.absence, self._clock()
        if absence is None:
            return None
        return Waiting(
            server=absence.server,
            why=absence.why,
            silent_s=max(0.0, now - absence.since),
            left_s=max(0.0, absence.until - now),
        )
