"""Which episodes are open in a policy, who began them, and what may be asked of them."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import RequestRefusedError
from proctor.limits import LEASE_S
from proctor.policy.calls import Owner


@dataclass(slots=True)
class _Open:
    owner: Owner
    last_used: float
    failed: bool = False


class Episodes:
    """Open episodes by id. Times are seconds of one monotonic clock, given by the caller.

    Every method that refuses raises `RequestRefusedError` and changes nothing.
    """

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def __len__(self) -> int:
        return len(self._open)

    def active(self) -> int:
        """Open episodes that did not fail: those whose next observation may come."""
        return sum(not episode.failed for episode in self._open.values())

    def begin(self, episode_id: str, owner: Owner, now: float) -> None:
        """Open an episode, or begin it again; refused while another owner uses it.

        An owner that asked for nothing within a lease was a worker that stood still, and has lost its work to
        whoever begins the episode now.
        """
        known = self._open.get(episode_id)
        if known is not None and known.owner is not owner and now - known.last_used < LEASE_S:
            raise RequestRefusedError(f"episode {episode_id!r} is in use by another connection")
        self._open[episode_id] = _Open(owner, now)

    def use(self, episode_id: str, owner: Owner, now: float) -> None:
        """An observation of an episode arrived; refused unless it is open, this owner's, and did not fail."""
        episode = self._owned(episode_id, owner)
        if episode.failed:
            raise RequestRefusedError(f"episode {episode_id!r} failed before; end it or reset it")
        episode.last_used = now

    def fail(self, episode_id: str) -> None:
        """The policy failed in this episode: it accepts nothing more but its end or another reset."""
        self._open[episode_id].failed = True

    def end(self, episode_id: str, owner: Owner) -> None:
        """Close an episode; refused unless it is open and this owner's."""
        self._owned(episode_id, owner)
        del self._open[episode_id]

    def remove(self, episode_id: str) -> None:
        """Close an episode, whoever began it."""
        del self._open[episode_id]

    def owner_of(self, episode_id: str) -> Owner | None:
        """Who began an open episode."""
        episode = self._open.get(episode_id)
        return None if episode is None else episode.owner

    def owned_by(self, owner: Owner) -> list[str]:
        """Open episodes that this owner began."""
        return [name for name, episode in self._open.items() if episode.owner is owner]

    def unused_since(self, moment: float) -> list[str]:
        """Open episodes that nothing was asked of since `moment`."""
        return [name for name, episode in self._open.items() if episode.last_used < moment]

    def all(self) -> list[str]:
        """Every open episode."""
        return list(self._open)

    def _owned(self, episode_id: str, owner: Owner) -> _Open:
        episode = self._open.get(episode_id)
        if episode is None:
            raise RequestRefusedError(f"episode {episode_id!r} is not open; reset comes first")
        if episode.owner is not owner:
            raise RequestRefusedError(f"episode {episode_id!r} was begun by another connection")
        return episode
