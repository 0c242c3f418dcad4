"""What a dialect's server answers, sans I/O: frames in, requests to the policy and frames out.

A `Service` belongs to a server, a `Conversation` to one connection. Both are used on the server's
input/output thread only, and never wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from proctor.errors import ProtocolError
from proctor.policy.calls import Act, Answer, EndEpisode, Request, Reset
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import FeatureValue, Observation
from proctor.policy.seeds import noise_seed, policy_seed
from proctor.wire import numpy_msgpack
from proctor.wire.mapper import INSTRUCTION, Mapper


def read_request(frame: bytes | str) -> dict[str, Any]:
    """A client's message. Raises `ProtocolError` for anything but a packed map."""
    if isinstance(frame, str):
        raise ProtocolError(f"requests are binary msgpack messages, not text: {frame[:40]!r}")
    return numpy_msgpack.decode(frame)


def write_chunk(mapper: Mapper, answer: Answer) -> bytes:
    """The reply that holds a chunk, always as (n, dimension)."""
    assert isinstance(answer, ActionChunk)
    return numpy_msgpack.encode(mapper.reply(np.atleast_2d(answer.actions)))


class Service(Protocol):
    """The server side of one dialect, for one policy."""

    @property
    def greeting(self) -> bytes:
        """The frame that every connection begins with."""
        ...

    @property
    def max_bytes(self) -> int:
        """Most bytes of one message of a client."""
        ...

    def converse(self) -> Conversation:
        """A new connection."""
        ...


@dataclass(frozen=True)
class Turn:
    """What a message asks of the policy, in order, and how the last of its answers is put.

    Where one of the requests fails, the client is told so instead.
    """

    requests: tuple[Request, ...]
    reply: Callable[[Answer], bytes | bytearray | str]


class Conversation(Protocol):
    """One connection."""

    def receive(self, frame: bytes | str) -> Turn:
        """Read a message. Raises `ProtocolError` for what cannot be answered."""
        ...

    def leave(self) -> tuple[Request, ...]:
        """What the policy is told when the connection is gone."""
        ...


class Narrator:
    """Tells a policy of the episodes of one connection, on wires that name neither episodes nor steps.

    An episode begins with its first observation, or with a reset. `step` counts observations, since nobody
    says how many rows of a chunk were applied. Seeds are a function of the dialect and of these counts alone,
    so that equal sequences of observations are answered equally, whatever other clients ask.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._episode_id = ""
        self._episodes = 0
        self._observations = 0
        self._seed = 0

    def begin(self, instruction: str | None = None, seed: int | None = None) -> tuple[Request, ...]:
        """The request that begins an episode; `seed` replaces the one drawn here."""
        self._episode_id = f"{self._dialect}-{secrets.token_hex(8)}"
        self._seed = policy_seed(0, self._dialect, self._episodes) if seed is None else seed
        self._episodes += 1
        self._observations = 0
        context = EpisodeContext(
            self._episode_id, self._dialect, policy_seed=self._seed, instruction=instruction
        )
        return (Reset(context),)

    def observe(self, features: dict[str, FeatureValue], seed: int | None = None) -> tuple[Request, ...]:
        """The requests that bring an observation to the policy, in a new episode where none is open."""
        said = features.get(INSTRUCTION)
        opening = () if self._episode_id else self.begin(said if isinstance(said, str) else None, seed)
        index = self._observations
        self._observations += 1
        drawn = noise_seed(self._seed, index) if seed is None else seed
        observation = Observation(self._episode_id, index, features, inference_index=index, seed=drawn)
        return (*opening, Act(observation))

    def end(self) -> tuple[Request, ...]:
        """The request that ends the episode, if one is open."""
        episode_id, self._episode_id = self._episode_id, ""
        return (EndEpisode(episode_id),) if episode_id else ()
