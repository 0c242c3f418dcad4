"""The class a model author writes, and the states its replica goes through."""

from __future__ import annotations

from abc import ABC, abstractmethod

from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext, SessionContext
from proctor.policy.observation import Observation
from proctor.policy.vocabulary import Vocabulary


class PolicyState(Vocabulary):
    """States of one replica. Only a failed `load` or a dead process ends it; a failed call does not."""

    CREATED = "created"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"
    UNLOADING = "unloading"
    CLOSED = "closed"


class Policy(ABC):
    """A model behind one lifecycle: load, { reset, act ..., end_episode } ..., unload.

    All hooks run on one and the same thread, never two at a time. Episodes of several workers interleave on
    one object: keep what an episode needs under its `episode_id`, from `reset` to `end_episode`. `reset` may
    come a second time for the same id. Observations carry the benchmark's canonical features; resizing,
    normalising and layout changes are the policy's own work.

    An exception in `reset`, `act` or `end_episode` ends that episode as `policy_error`, and nothing else.
    """

    @abstractmethod
    def load(self, context: SessionContext) -> PolicyCapabilities:
        """Get ready, once, and declare what this policy can do."""

    @abstractmethod
    def act(self, observation: Observation) -> ActionChunk:
        """The actions that follow this observation."""

    def act_batch(self, observations: tuple[Observation, ...]) -> tuple[ActionChunk, ...]:
        """One chunk per observation, in order. Called only if `max_batch_size` is above 1.

        If it raises, each observation is given to `act` alone: raise before any episode's state has changed.
        """
        return tuple(self.act(observation) for observation in observations)

    def reset(self, context: EpisodeContext) -> None:  # noqa: B027 - a policy without memory needs none
        """An episode begins."""

    def end_episode(self, episode_id: str) -> None:  # noqa: B027
        """An episode is over, whatever happened; release what was kept for it."""

    def unload(self) -> None:  # noqa: B027
        """The replica ends."""
