"""Which requests are answered together, and for how long the first of them waits for the others.

Merging changes floating-point results unless the policy is batch invariant, so it happens only where the
policy promises that, or the user accepts it. Rules of a merged request:

* at most `max_batch_size` observations, never two of one episode;
* nobody waits once every open episode has its observation in, the batch is full, or the wait is over;
* the wait is at most BATCH_WAIT_S, and at most what one inference takes: merging cannot save more.
"""

from __future__ import annotations

from typing import Final, Literal

from proctor.limits import BATCH_WAIT_S
from proctor.policy.calls import Call, Owner
from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.observation import Observation

Batching = Literal["none", "invariant", "accepted"]

_CLOSE_ENOUGH_S: Final = 0.0005
"""Polling cannot wait for less than a millisecond, so a shorter rest of the wait is let go."""


def batching_of(capabilities: PolicyCapabilities, *, accepted: bool) -> Batching:
    """Whether requests to such a policy are merged, and at whose word."""
    if capabilities.max_batch_size < 2:
        return "none"
    if capabilities.batch_invariant:
        return "invariant"
    return "accepted" if accepted else "none"


class Batch:
    """Observations that wait to be answered together. Times are seconds of one monotonic clock."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: dict[str, tuple[Observation, Call]] = {}
        self._until = 0.0
        self._inference_s = BATCH_WAIT_S

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, observation: Observation, call: Call, now: float) -> None:
        """Let a call wait; the batch must be neither full nor hold one of the same episode."""
        if not self._waiting:
            self._until = now + min(BATCH_WAIT_S, self._inference_s)
        self._waiting[observation.episode_id] = (observation, call)

    def full(self) -> bool:
        """Whether no further call fits."""
        return len(self._waiting) >= self._limit

    def holds(self, episode_id: str) -> bool:
        """Whether a call of this episode waits."""
        return episode_id in self._waiting

    def holds_any_of(self, owner: Owner) -> bool:
        """Whether a call of this owner waits."""
        return any(call.owner is owner for _, call in self._waiting.values())

    def remaining_s(self, now: float) -> float:
        """Seconds for which the batch may still wait, never negative."""
        return max(0.0, self._until - now)

    def due(self, now: float, expected: int) -> bool:
        """Whether to answer now; `expected` counts the episodes whose observations may come."""
        return len(self._waiting) >= min(expected, self._limit) or self._until - now <= _CLOSE_ENOUGH_S

    def take(self) -> tuple[list[Observation], list[Call]]:
        """Remove and return what waits, oldest first."""
        waiting, self._waiting = self._waiting, {}
        return [observation for observation, _ in waiting.values()], [call for _, call in waiting.values()]

    def discard(self, owner: Owner) -> None:
        """Drop the calls of an owner that left."""
        self._waiting = {name: held for name, held in self._waiting.items() if held[1].owner is not owner}

    def took(self, inference_s: float) -> None:
        """An inference took this long. Longer ones are forgotten slowly: one quick call changes little."""
        self._inference_s = max(inference_s, 0.8 * self._inference_s + 0.2 * inference_s)
