"""What a dialect asks of a policy, and what it gets: the language between `wire` and the policy's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.observation import Observation

FailureCode = Literal["refused", "policy_raised", "invalid_action", "load_failed", "policy_gone"]
"""`refused`: wrong here and now, nothing changed. The others stand for classes of `proctor.errors`."""


@dataclass(frozen=True)
class Load:
    """Load the policy; once."""

    operation: ClassVar[str] = "load"
    context: SessionContext


@dataclass(frozen=True)
class Reset:
    """An episode begins."""

    operation: ClassVar[str] = "reset"
    context: EpisodeContext


@dataclass(frozen=True)
class Act:
    """What follows this observation?"""

    operation: ClassVar[str] = "act"
    observation: Observation


@dataclass(frozen=True)
class ActBatch:
    """What follows each of these observations?"""

    operation: ClassVar[str] = "act_batch"
    observations: tuple[Observation, ...]


@dataclass(frozen=True)
class EndEpisode:
    """An episode is over."""

    operation: ClassVar[str] = "end_episode"
    episode_id: str


@dataclass(frozen=True)
class Unload:
    """Unload the policy and leave."""

    operation: ClassVar[str] = "unload"


Request = Load | Reset | Act | ActBatch | EndEpisode | Unload


@dataclass(frozen=True)
class Failure:
    """Why a request was not fulfilled. Terse: the traceback is in this process's log, under `error_id`."""

    code: FailureCode
    error_type: str
    message: str
    error_id: str
    """Empty where nothing was logged."""


Answer = ActionChunk | tuple[ActionChunk, ...] | PolicyCapabilities | Failure | None


class Owner(Protocol):
    """Who sent a request. An episode belongs to the owner that began it; owners are compared by identity."""

    def has_left(self) -> bool:
        """Whether the other side is known to be gone, asked on the policy's thread."""
        ...


@dataclass(slots=True)
class Call:
    """One request on its way to the policy. `reply` is called exactly once, on the policy's thread."""

    request: Request
    owner: Owner
    reply: Callable[[Answer], None]


class Source(Owner, Protocol):
    """A connection that the policy's thread itself reads: the fast path, without a hand-over between threads.

    After `attach` every method is called on the policy's thread. No method may block.
    """

    backlog: bool
    """A request that was already received waits; `receive` must be called again without polling."""

    def fileno(self) -> int:
        """Descriptor to poll."""
        ...

    def interest(self) -> int:
        """Poll events wanted: `select.POLLIN`, or `select.POLLOUT` while an answer waits to be drained."""
        ...

    def receive(self) -> Call | None:
        """The next request, if one is complete.

        Raises `EOFError` or `OSError` when the connection ended, `ProtocolError` when it must be closed.
        """
        ...

    def flush(self) -> None:
        """Send more of the waiting answer."""
        ...

    def overdue(self) -> bool:
        """Whether an answer has waited for too long."""
        ...

    def close(self, error: Exception | None) -> None:
        """Close the connection, naming `error` to the other side if there is one. Never raises."""
        ...
