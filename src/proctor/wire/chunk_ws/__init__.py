"""`qvla.policy_server/1`: chunks of actions over WebSocket, from noise that the client draws.

The server's first frame is a handshake that fixes shapes, rates and units. A request is the packed
observation with the noise in it, the reply a chunk. There is no reset: a connection is an episode.
"""

from __future__ import annotations

from typing import Final

from proctor.wire.chunk_ws.codec import ChunkExchange
from proctor.wire.chunk_ws.handshake import PROTOCOL
from proctor.wire.websocket.dialect import WebSocketDialect

DIALECT: Final = WebSocketDialect(
    name="chunk-ws",
    protocol=PROTOCOL,
    cannot=("load", "reset", "batch", "request ids", "declared capabilities"),
    default_mapping="qvla",
    exchange=ChunkExchange,
    seeds="used",
)
