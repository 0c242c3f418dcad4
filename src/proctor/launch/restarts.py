"""How often something may be started again, and how soon."""

from __future__ import annotations

import time
from collections.abc import Callable

from proctor.errors import InfrastructureFault
from proctor.limits import RETRY_FIRST_S, RETRY_LONGEST_S


class Restarts:
    """A budget of restarts with pauses that double. `renew` says that the last one was worth it."""

    def __init__(self, budget: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget, self._clock = budget, clock
        self._used = 0
        self._due_at: float | None = None

    def due(self, reason: str) -> bool:
        """Ask once a turn while the thing is down: True when it is to be started now.

        Raises InfrastructureFault with `reason` when the budget is spent.
        """
        if self._due_at is None:
            if self._used >= self._budget:
                raise InfrastructureFault(f"{reason}\ngave up after {self._used} restarts")
            self._due_at = self._clock() + min(RETRY_FIRST_S * 2**self._used, RETRY_LONGEST_S)
        if self._clock() < self._due_at:
            return False
        self._due_at = None
        self._used += 1
        return True

    def renew(self) -> None:
        """Give the whole budget back."""
        self._used = 0
