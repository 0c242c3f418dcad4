"""The closed vocabularies of a store: what a run, an item and an attempt can be, and what can happen."""

from __future__ import annotations

from enum import StrEnum


class RunState(StrEnum):
    """Whether a run hands out work."""

    OPEN = "open"
    CANCELLED = "cancelled"


class ItemState(StrEnum):
    """Where a Work Item is. `done` and `quarantined` are settled."""

    PENDING = "pending"
    LEASED = "leased"
    DONE = "done"
    QUARANTINED = "quarantined"


class AttemptState(StrEnum):
    """How an attempt ended, if it has."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    RELEASED = "released"
    EXPIRED = "expired"
    LOST = "lost"
    ABANDONED = "abandoned"
    """Left open by an earlier launch of the run."""


class EventKind(StrEnum):
    """What the history is written in."""

    CREATED = "created"
    STARTED = "started"
    RESUMED = "resumed"
    CANCELLED = "cancelled"
    HELLO = "hello"
    CLAIMED = "claimed"
    ACCEPTED = "accepted"
    EPISODE_ERROR = "episode_error"
    CONFLICT = "conflict"
    REFUSED = "refused"
    ENDED = "ended"
    QUARANTINED = "quarantined"
