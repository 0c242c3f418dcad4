"""What is said to an openpi server: observations, nothing else."""

from __future__ import annotations

from collections.abc import Mapping as Map
from typing import Any

from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.wire.mapper import Mapper
from proctor.wire.numpy_msgpack import Packer
from proctor.wire.websocket.exchange import Metadata, plain, read_reply


class OpenpiExchange:
    """Implements `proctor.wire.websocket.exchange.Exchange`."""

    def __init__(self, metadata: Metadata, mapper: Mapper, session: Map[str, Any]) -> None:
        """Any metadata will do, and may change."""
        self.terms: dict[str, Any] = {}
        self.details = {"metadata": plain(metadata)} if metadata else {}
        self._mapper = mapper
        self._packer = Packer()

    def opening(self, context: EpisodeContext) -> None:
        """Nothing is said."""

    def opened(self, frame: bytes | str) -> None:
        """Nothing is answered."""

    def request(self, observation: Observation) -> bytearray:
        """The features under the mapping's keys."""
        return self._packer.pack(self._mapper.to_wire(observation.features))

    def chunk(self, frame: bytes | str) -> ActionChunk:
        """The chunk under the mapping's key."""
        return self._mapper.chunk_of(read_reply(frame))
