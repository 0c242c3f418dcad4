"""What `proctor bench check-server` looks at in a model server of vla-eval beside what a session shows."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Final

from proctor.policy.observation import Observation
from proctor.wire.checks.looks import largest_taken, packed_as
from proctor.wire.checks.subject import DialectChecks, Server
from proctor.wire.vla_eval.codec import decode_payload, encode_frame
from proctor.wire.vla_eval.conversation import Conversation, fault_of
from proctor.wire.vla_eval.session import task_of
from proctor.wire.websocket.client import WebSocketClient
from proctor.wire.websocket.sizes import reply_bytes

_Payload = dict[str, Any]


def first_answer(server: Server, observation: Observation) -> Any:
    """Implements `DialectChecks.first_answer`."""
    return server.actions_of(_ask(server, server.mapper.to_wire(observation.features)))


def look_at_size(server: Server) -> str:
    """Whether the largest observation is taken, and a message just above what servers take by default."""
    payload = server.mapper.to_wire(server.episode("first").observations[0].features)

    def send(padding: int) -> int:
        padded = {**payload, "padding": " " * padding} if padding else payload
        _ask(server, padded)
        return len(encode_frame("observation", padded, 1, 0.0))

    return largest_taken(send)


def _ask(server: Server, payload: _Payload) -> _Payload:
    """The answer to the first observation of an episode."""
    deadline = time.monotonic() + server.timeout_s
    connection = WebSocketClient(
        server.endpoint,
        server.wire.access,
        max_bytes=reply_bytes(server.benchmark),
        timeout_s=server.timeout_s,
    )
    with contextlib.closing(Conversation(connection, server.benchmark)) as conversation:
        conversation.greet(deadline)
        conversation.start(task_of(server.episode("first").context), deadline)
        reply = conversation.answer(deadline, conversation.send("observation", payload, deadline))
        if reply.type != "action":
            raise fault_of(reply)
        return decode_payload(reply.payload)


CHECKS: Final = DialectChecks(
    looks={"array-encoding": packed_as("vla-eval packs them"), "message-size": look_at_size},
    first_answer=first_answer,
)
