"""StarVLA's WebSocket server: requests with a type and an id, replies that say whether they are good.

There is no reset and no seed: a connection is an episode, and a flow head answers equal observations with
different actions.
"""

from __future__ import annotations

from typing import Final

from proctor.wire.starvla.codec import StarvlaExchange
from proctor.wire.websocket.dialect import WebSocketDialect

DIALECT: Final = WebSocketDialect(
    name="starvla",
    protocol="starvla",
    cannot=("load", "reset", "seed", "declared capabilities"),
    default_mapping="starvla",
    exchange=StarvlaExchange,
)
