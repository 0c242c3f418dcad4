"""A model server as vla-eval's behaves, around a proctor policy: what the client is tested against.

Each connection is a session; frames are answered in order; `episode_start` is answered only where it failed,
and errors do not close the connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

from proctor.errors import ProctorError
from proctor.policy import EpisodeContext, Observation
from proctor.wire.serving import ServedPolicy, Visitor
from proctor.wire.vla_eval.codec import Frame, decode_frame, decode_payload, encode_frame

HELLO: dict[str, Any] = {
    "harness_version": "0.8.0",
    "protocol_version": 1,
    "model_server": "Peer",
    "capabilities": {},
    "action_spec": {"position": {"name": "position", "dims": 3, "format": "absolute_xyz"}},
}

Respond = Callable[[Frame], list[bytes]]
"""From a client's frame to the frames that are sent back."""


def frame(kind: str, payload: dict[str, Any], seq: int) -> bytes:
    return encode_frame(kind, payload, seq, time.time())


class PolicyPeer:
    """One connection's answers from a policy."""

    def __init__(self, served: ServedPolicy) -> None:
        self._served = served
        self._visitor: Visitor = served.visitor()
        self._episode_id = ""
        self._step = 0

    def respond(self, asked: Frame) -> list[bytes]:
        payload = decode_payload(asked.payload)
        if asked.type == "hello":
            return [frame("hello", HELLO, asked.seq)]
        try:
            if asked.type == "episode_start":
                self._start(payload["task"])
            elif asked.type == "observation":
                return [frame("action", self._act(payload), asked.seq)]
            elif asked.type == "episode_end":
                self._visitor.end(self._episode_id)
        except ProctorError as error:
            if asked.type == "episode_end":
                return []
            what = {"episode_start": "episode_start_failed", "observation": "observation_failed"}[asked.type]
            return [frame("error", {"error": f"{what}: {type(error).__name__}: {error}"}, asked.seq)]
        return []

    def leave(self) -> None:
        self._visitor.leave()

    def _start(self, task: dict[str, Any]) -> None:
        self._episode_id, self._step = task["episode_id"], 0
        context = EpisodeContext(
            self._episode_id,
            task["name"],
            policy_seed=task.get("policy_seed"),
            horizon=task.get("max_steps"),
            control_hz=task.get("control_hz"),
            instruction=task.get("instruction"),
            segment=task["segment"],
        )
        self._visitor.begin(context)

    def _act(self, payload: dict[str, Any]) -> dict[str, Any]:
        features = self._served.mapper.from_wire(payload)
        observation = Observation(self._episode_id, self._step, features)
        self._step += 1
        return self._served.mapper.reply(self._visitor.act(observation).actions)


@contextmanager
def serve_peer(connected: Callable[[], tuple[Respond, Callable[[], None]]]) -> Iterator[str]:
    """The address of a server that answers each connection as `connected()` says; what it returns second is
    called at the connection's end."""

    def handle(connection: ServerConnection) -> None:
        respond, leave = connected()
        try:
            for message in connection:
                for answer in respond(decode_frame(message)):
                    connection.send(answer)
        except ConnectionClosed:
            pass
        finally:
            leave()

    with serve(handle, "127.0.0.1", 0, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"vla-eval+ws://127.0.0.1:{_port(server)}"
        finally:
            server.shutdown()
            thread.join()


def _port(server: Server) -> int:
    return int(server.socket.getsockname()[1])
