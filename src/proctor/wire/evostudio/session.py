"""The protocol as the rollout sees it."""

from __future__ import annotations

import contextlib
from typing import TypeVar

from proctor.errors import (
    InvalidActionError,
    ProctorError,
    ProtocolError,
    RequestRefusedError,
)
from proctor.limits import END_TIMEOUT_S, RESET_TIMEOUT_S
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.lifecycle import PolicyState
from proctor.policy.observation import Observation
from proctor.policy.spec import BenchmarkSpec
from proctor.policy.validation import validate_action_chunk, validate_observation
from proctor.wire.evostudio import messages as m
from proctor.wire.evostudio.client import EvoStudioClient, EvoStudioRemoteError
from proctor.wire.evostudio.codec import decode_array
from proctor.wire.session import SessionDescription

_Result = TypeVar("_Result")


class EvoStudioSession:
    """Implements `proctor.wire.session.PolicySession` over a client, which it closes with itself.

    The SDK's own server accepts nothing more, from anybody, after one wrong observation or one exception.
    Observations are therefore checked before they are sent, and a server in that state is told to unload, so
    that whoever supervises its process starts it anew.
    """

    def __init__(
        self,
        client: EvoStudioClient,
        benchmark: BenchmarkSpec,
        description: SessionDescription,
        act_timeout_s: float,
    ) -> None:
        self.description = description
        self._client, self._benchmark, self._act_timeout_s = client, benchmark, act_timeout_s
        self._episode: str | None = None
        self._lost = False

    @property
    def late_replies(self) -> int:
        """Replies that were dropped because their deadline had passed."""
        return self._client.late_replies

    def begin(self, context: EpisodeContext) -> None:
        """Announce an episode and wait until the policy's reset is done."""
        self._episode = context.episode_id
        timeout_s = max(RESET_TIMEOUT_S, self._act_timeout_s)
        self._ask("reset", {"context": context.to_dict()}, m.State, timeout_s)

    def act(self, observation: Observation) -> ActionChunk:
        """The actions that follow this observation, of the benchmark's dtype and dimension, and finite."""
        if observation.episode_id != self._episode:
            raise RequestRefusedError(f"episode {observation.episode_id!r} is not open; reset comes first")
        validate_observation(observation, self._benchmark, self.description.capabilities)
        payload = {"observation": observation.to_dict()}
        result = self._ask("act", payload, m.ActResult, self._act_timeout_s)
        try:
            chunk = ActionChunk(decode_array(result.action_chunk.actions))
        except (ProtocolError, TypeError, ValueError) as error:
            raise InvalidActionError(str(error)) from None
        validate_action_chunk(chunk, self._benchmark)
        return chunk

    def end(self, episode_id: str, outcome: str) -> None:
        """Say that the episode is over; whatever the policy makes of it is its own affair now."""
        if episode_id != self._episode:
            return
        self._episode = None
        with contextlib.suppress(ProctorError):
            self._ask("end_episode", {"episode_id": episode_id}, m.State, END_TIMEOUT_S)
        if self._lost:
            retire(self._client)

    def close(self) -> None:
        """Leave. Idempotent; the policy stays loaded for others."""
        self._client.close()

    def _ask(self, operation: str, payload: object, kind: type[_Result], timeout_s: float) -> _Result:
        try:
            return self._client.ask(operation, payload, kind, timeout_s)
        except EvoStudioRemoteError as error:
            self._lost = self._lost or error.state == PolicyState.FAILED.value
            raise error.fault() from error


def retire(client: EvoStudioClient) -> None:
    """Tell a failed server to unload, which ends it."""
    with contextlib.suppress(ProctorError):
        client.ask("unload", {}, m.State, END_TIMEOUT_S)
    client.close()
