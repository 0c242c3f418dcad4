"""RoboArena's policy servers: openpi's wire with a reset, sessions, and a first frame that says what to send.

Every row of a chunk is applied before the next inference, as RoboArena's own evaluator does.
"""

from __future__ import annotations

from typing import Final

from proctor.wire.roboarena.codec import RoboarenaExchange
from proctor.wire.websocket.dialect import WebSocketDialect

DIALECT: Final = WebSocketDialect(
    name="roboarena",
    protocol="roboarena",
    cannot=("load", "seed", "batch", "request ids", "declared capabilities"),
    default_mapping="roboarena",
    exchange=RoboarenaExchange,
    chunk_owner="server",
)
