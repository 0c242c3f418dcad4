"""Which connection uses which episode.

Some clients keep a connection for the life of a worker, others open one for every request. So an episode
passes to whoever asks for it once the connection that used it has closed; while that one is open, others are
refused. A connection that carried more than one request was its worker's own: where it closes, its episodes
end. What a client leaves open that connects for every request ends after EPISODE_TTL_S.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from proctor.errors import RequestRefusedError
from proctor.limits import EPISODE_TTL_S, LEASE_S


class Guest(Protocol):
    """One connection; compared by identity."""

    requests: int
    """Requests it carried so far."""

    def has_left(self) -> bool:
        """Whether the client has closed it."""
        ...


@dataclass
class _Visit:
    guest: Guest
    used: float


class Visits:
    """Episodes in use. For any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._visits: dict[str, _Visit] = {}
        self._lock = threading.Lock()

    def begin(self, episode_id: str, guest: Guest) -> None:
        """An episode begins, or begins anew.

        Raises `RequestRefusedError` while another connection uses it, which did so within a lease.
        """
        with self._lock:
            now = self._clock()
            known = self._visits.get(episode_id)
            if known is not None and _is_others(known, guest) and now - known.used < LEASE_S:
                raise RequestRefusedError(f"episode {episode_id!r} is in use by another connection")
            self._visits[episode_id] = _Visit(guest, now)
            self._forget_unused(now)

    def use(self, episode_id: str, guest: Guest) -> None:
        """Something is asked of an episode. Raises `RequestRefusedError` where it is another connection's."""
        with self._lock:
            known = self._visits.get(episode_id)
            if known is None:
                raise RequestRefusedError(f"episode {episode_id!r} is not open; reset comes first")
            if _is_others(known, guest):
                raise RequestRefusedError(f"episode {episode_id!r} was begun by another connection")
            known.guest, known.used = guest, self._clock()

    def end(self, episode_id: str) -> None:
        """An episode is over."""
        with self._lock:
            self._visits.pop(episode_id, None)

    def abandoned_by(self, guest: Guest) -> list[str]:
        """A connection closed: the episodes that end with it, which are forgotten here."""
        if guest.requests < 2:
            return []
        with self._lock:
            mine = [episode_id for episode_id, visit in self._visits.items() if visit.guest is guest]
            for episode_id in mine:
                del self._visits[episode_id]
            return mine

    def _forget_unused(self, now: float) -> None:
        for episode_id in [e for e, visit in self._visits.items() if now - visit.used > EPISODE_TTL_S]:
            del self._visits[episode_id]


def _is_others(visit: _Visit, guest: Guest) -> bool:
    return visit.guest is not guest and not visit.guest.has_left()
