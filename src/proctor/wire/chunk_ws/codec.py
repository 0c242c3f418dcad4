"""What is said to a `qvla.policy_server/1` server: observations with the noise of their inference."""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Any, Final

import msgspec

from proctor.errors import RequestRefusedError
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.wire.chunk_ws.handshake import check_fit, read_handshake
from proctor.wire.mapper import Mapper
from proctor.wire.noise import NoiseSource
from proctor.wire.numpy_msgpack import Packer
from proctor.wire.websocket.exchange import Metadata, read_reply

NOISE: Final = "__noise__"
"""Key of the noise in a request; servers take it out before they look at the rest."""


class ChunkExchange:
    """Implements `proctor.wire.websocket.exchange.Exchange`."""

    def __init__(self, metadata: Metadata, mapper: Mapper, session: Map[str, Any]) -> None:
        """Raises as `read_handshake` and `check_fit` do."""
        handshake = read_handshake(metadata)
        check_fit(handshake, mapper, session.get("control_hz"))
        self.details: dict[str, Any] = msgspec.to_builtins(handshake)
        self.terms = {key: metadata[key] for key in self.details}
        self._noise_shape = (handshake.action_horizon, handshake.action_dim)
        self._mapper = mapper
        self._packer = Packer()
        self._noise = NoiseSource()

    def opening(self, context: EpisodeContext) -> None:
        """Nothing is said."""

    def opened(self, frame: bytes | str) -> None:
        """Nothing is answered."""

    def request(self, observation: Observation) -> bytearray:
        """The features under the mapping's keys, and noise drawn from the observation's seed."""
        if observation.seed is None:
            raise RequestRefusedError(
                "an observation for this server needs a seed, from which noise is drawn"
            )
        message = self._mapper.to_wire(observation.features)
        message[NOISE] = self._noise.draw(observation.seed, self._noise_shape)
        return self._packer.pack(message)

    def chunk(self, frame: bytes | str) -> ActionChunk:
        """The chunk under the mapping's key, `actions` unless it says otherwise."""
        return self._mapper.chunk_of(read_reply(frame))
