"""The local dialect as the rollout sees it."""

from __future__ import annotations

import contextlib

from proctor.errors import PolicyFault, ProtocolError
from proctor.limits import END_TIMEOUT_S, RESET_TIMEOUT_S
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.policy.spec import BenchmarkSpec
from proctor.policy.validation import validate_action_chunk
from proctor.wire.local.client import PolicyClient
from proctor.wire.local.remote import PolicyRemoteError
from proctor.wire.session import SessionDescription


class LocalSession:
    """Implements `proctor.wire.session.PolicySession` over a client, which it closes with itself."""

    def __init__(
        self, client: PolicyClient, benchmark: BenchmarkSpec, description: SessionDescription
    ) -> None:
        self.description = description
        self._client = client
        self._benchmark = benchmark

    @property
    def late_replies(self) -> int:
        """Answers that came after their deadline and were dropped."""
        return self._client.late_replies

    def begin(self, context: EpisodeContext) -> None:
        """Announce an episode and wait until the policy's reset is done."""
        try:
            self._client.reset(context, max(RESET_TIMEOUT_S, self._client.timeout_s))
        except PolicyRemoteError as error:
            raise error.fault() from error

    def act(self, observation: Observation) -> ActionChunk:
        """The actions that follow this observation, of the benchmark's dtype and dimension, and finite."""
        try:
            chunk = self._client.act(observation)
        except PolicyRemoteError as error:
            raise error.fault() from error
        validate_action_chunk(chunk, self._benchmark)
        return chunk

    def end(self, episode_id: str, outcome: str) -> None:
        """Say that the episode is over; whatever the policy makes of it is its own affair now."""
        with contextlib.suppress(PolicyFault, ProtocolError, PolicyRemoteError):
            self._client.end_episode(episode_id, outcome, END_TIMEOUT_S)

    def close(self) -> None:
        """Leave. Idempotent; the policy stays loaded for others."""
        self._client.close()
