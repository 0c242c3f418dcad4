"""Deadlines of open attempts on the owner's monotonic clock.

Nothing here is durable: an owner that restarts grants every open attempt a full lease again, and the wall
clock is never asked. Every method may be called from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from proctor.coordinator.transaction import Holder


class LeaseBook:
    """Who holds what until when."""

    def __init__(self, lease_s: float, clock: Callable[[], float]) -> None:
        self.lease_s = lease_s
        self._clock = clock
        self._deadlines: dict[Holder, float] = {}
        self._looked = clock()
        self._lock = threading.Lock()

    def grant(self, holders: Iterable[Holder]) -> None:
        """Start a full lease for each."""
        with self._lock:
            deadline = self._clock() + self.lease_s
            self._deadlines.update((holder, deadline) for holder in holders)

    def renew(self, holder: Holder, leases: int = 1) -> bool:
        """Start a full lease again, or one as long as several; False when this attempt holds none.

        The next renewal counts, and not the longest.
        """
        with self._lock:
            if holder not in self._deadlines:
                return False
            self._deadlines[holder] = self._clock() + leases * self.lease_s
            return True

    def end(self, holders: Iterable[Holder]) -> None:
        """Forget leases of attempts that have ended."""
        with self._lock:
            for holder in holders:
                self._deadlines.pop(holder, None)

    def take_due(self) -> list[Holder]:
        """Remove and return the leases that have run out.

        When this was not called for a third of a lease the owner itself was away (stopped, swapped out) and
        could not hear heartbeats: every deadline moves by that time, and nothing is due.
        """
        with self._lock:
            now = self._clock()
            away, self._looked = now - self._looked, now
            if away > self.lease_s / 3:
                self._deadlines = {holder: at + away for holder, at in self._deadlines.items()}
                return []
            due = [holder for holder, at in self._deadlines.items() if at <= now]
            for holder in due:
                del self._deadlines[holder]
            return due

    def put_back(self, holders: Iterable[Holder]) -> None:
        """Make leases due again whose end could not be recorded."""
        with self._lock:
            now = self._clock()
            self._deadlines.update((holder, now) for holder in holders)
