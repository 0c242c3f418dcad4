"""openpi's WebSocket protocol, as its `WebsocketPolicyServer` speaks it.

The server's first frame is a map that says nothing binding. A request is the packed observation and nothing
else; the reply holds the chunk, and timing that nobody needs. There is no reset: a connection is an episode.
"""

from __future__ import annotations

from typing import Final

from proctor.wire.openpi.codec import OpenpiExchange
from proctor.wire.websocket.dialect import WebSocketDialect

DIALECT: Final = WebSocketDialect(
    name="openpi",
    protocol="openpi",
    cannot=("load", "reset", "seed", "batch", "request ids", "declared capabilities"),
    default_mapping=None,
    exchange=OpenpiExchange,
)
