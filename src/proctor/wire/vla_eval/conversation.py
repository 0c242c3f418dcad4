"""One connection to a model server: numbered requests, and replies matched by their number.

The protocol acknowledges neither `episode_start`, of which it only reports that one failed, nor
`episode_end`. So a `hello` follows each: servers answer in order, and its reply means that the episode has
begun, or ended. The report of a failure is never taken for the answer to what was sent next.
"""

from __future__ import annotations

import time
from collections.abc import Mapping as Map
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from proctor.errors import PolicyRaisedError, ProctorError, ProtocolError
from proctor.limits import MAX_ERROR_TEXT
from proctor.policy.spec import BenchmarkSpec
from proctor.wire.vla_eval.codec import (
    PROTOCOL_VERSION,
    Frame,
    decode_frame,
    decode_payload,
    encode_frame,
)
from proctor.wire.websocket.client import WebSocketClient

_RECORDED: Final = 64
"""Entries of a server's spec that are recorded."""

_TEXT: Final = 200


class Conversation:
    """One connection, on which requests are numbered."""

    def __init__(self, connection: WebSocketClient, benchmark: BenchmarkSpec) -> None:
        self.dropped = 0
        """Replies that answer nothing that was waited for."""
        self._connection = connection
        self._hello = {
            "harness_version": f"proctor {_version()}",
            "protocol_version": PROTOCOL_VERSION,
            "benchmark": benchmark.protocol_version,
        }
        self._seq = 0

    def greet(self, deadline: float) -> dict[str, Any]:
        """Exchange hellos: what the server says of itself. Raises `ProtocolError` for another version."""
        seq = self.send("hello", self._hello, deadline)
        return _introduction(self.answer(deadline, seq))

    def start(self, task: Map[str, Any], deadline: float) -> None:
        """Begin an episode, and wait until it has begun. Raises `PolicyRaisedError` where it did not."""
        started = self.send("episode_start", {"task": task}, deadline)
        following = self.send("hello", self._hello, deadline)
        reply = self.answer(deadline, started, following)
        if reply.seq == started:
            raise fault_of(reply)
        _introduction(reply)

    def finish(self, result: Map[str, Any], deadline: float) -> None:
        """End an episode, and wait until it has ended."""
        self.send("episode_end", result, deadline)
        self.greet(deadline)

    def send(self, kind: str, payload: Map[str, Any], deadline: float) -> int:
        """Send a message; the number that its reply repeats."""
        self._seq += 1
        message = encode_frame(kind, payload, self._seq, time.time())
        self._connection.send(message, max(0.001, deadline - time.monotonic()))
        return self._seq

    def answer(self, deadline: float, *wanted: int) -> Frame:
        """The first reply to one of these requests."""
        while True:
            frame = decode_frame(self._connection.receive(deadline - time.monotonic()))
            if frame.seq in wanted:
                return frame
            self.dropped += 1

    def close(self) -> None:
        """Say goodbye."""
        self._connection.close()

    def abort(self) -> None:
        """Leave without a word."""
        self._connection.abort()


def _introduction(reply: Frame) -> dict[str, Any]:
    """What is recorded of a server's hello."""
    if reply.type == "error":
        raise fault_of(reply)
    if reply.type != "hello":
        raise ProtocolError(f"the server answers hello with {reply.type[:40]!r}")
    said = decode_payload(reply.payload)
    spoken = said.get("protocol_version", PROTOCOL_VERSION)
    if spoken != PROTOCOL_VERSION:
        raise ProtocolError(f"the server speaks version {spoken!r} of vla-eval's protocol, not 1")
    recorded = {key: str(said.get(key, ""))[:_TEXT] for key in ("model_server", "harness_version")}
    specs = ("action_spec", "observation_spec", "observation_params")
    return {**recorded, **{key: _formats(said[key]) for key in specs if key in said}}


def _formats(spec: Any) -> dict[str, Any]:
    """Of each entry its format, or the value where there is none."""
    entries = list(spec.items())[:_RECORDED] if isinstance(spec, dict) else []
    return {name: _shown(entry) for name, entry in entries}


def _shown(entry: Any) -> Any:
    value = entry.get("format") if isinstance(entry, dict) else entry
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)[:_TEXT]


def fault_of(reply: Frame) -> ProctorError:
    """What a reply means that is not the one hoped for."""
    if reply.type != "error":
        return ProtocolError(f"the server answers with {reply.type[:40]!r}")
    said = decode_payload(reply.payload).get("error")
    return PolicyRaisedError(f"the server reports: {str(said)[:MAX_ERROR_TEXT]}")


def _version() -> str:
    try:
        return version("proctor")
    except PackageNotFoundError:
        return "unknown"
