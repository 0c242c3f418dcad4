"""What is said to a RoboArena server: a reset for every episode, observations with the session's id."""

from __future__ import annotations

import uuid
from collections.abc import Mapping as Map
from typing import Any, Final

import msgspec

from proctor.errors import PolicyRaisedError, ProtocolError
from proctor.policy.chunk import ActionChunk
from proctor.policy.context import EpisodeContext
from proctor.policy.observation import Observation
from proctor.wire.mapper import Mapper
from proctor.wire.numpy_msgpack import Packer
from proctor.wire.roboarena.terms import check_fit, read_terms
from proctor.wire.websocket.exchange import Metadata, last_line, read_reply

ENDPOINT: Final = "endpoint"
SESSION: Final = "session_id"
RESET: Final = "reset"
INFER: Final = "infer"

_SUCCESS: Final = "success"
_TRACEBACK: Final = "Traceback (most recent call last)"


class RoboarenaExchange:
    """Implements `proctor.wire.websocket.exchange.Exchange`."""

    def __init__(self, metadata: Metadata, mapper: Mapper, session: Map[str, Any]) -> None:
        """Raises as `read_terms` and `check_fit` do."""
        terms = read_terms(metadata)
        check_fit(terms, mapper)
        self.details: dict[str, Any] = msgspec.to_builtins(terms)
        self.terms = {key: metadata[key] for key in self.details if key in metadata}
        self._mapper = mapper
        self._packer = Packer()
        self._session_id = ""

    def opening(self, context: EpisodeContext) -> bytearray:
        """A reset under a new session id."""
        self._session_id = str(uuid.uuid4())
        return self._packer.pack({ENDPOINT: RESET, SESSION: self._session_id})

    def opened(self, frame: bytes | str) -> None:
        """A text that speaks of success, as "reset successful" does; any other says what failed."""
        if not isinstance(frame, str):
            raise ProtocolError("a reset is answered with text, not with a map")
        if _SUCCESS not in frame.lower() or _TRACEBACK in frame:
            raise PolicyRaisedError(f"the server failed in reset: {last_line(frame)}")

    def request(self, observation: Observation) -> bytearray:
        """The features under the mapping's keys, the endpoint, and the session's id."""
        message = self._mapper.to_wire(observation.features)
        message[ENDPOINT] = INFER
        message[SESSION] = self._session_id
        return self._packer.pack(message)

    def chunk(self, frame: bytes | str) -> ActionChunk:
        """The chunk under the mapping's key, `actions` unless it says otherwise."""
        return self._mapper.chunk_of(read_reply(frame))
