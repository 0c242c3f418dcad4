"""Every dialect but the local one, and what stands beside it: servers and clients for `roundtrip.py`.

Where proctor serves a dialect, its client speaks to its server. StarVLA, vla-eval and X-VLA are only spoken
to: their servers here are a few lines over the `websockets` library and `http.server`, which decode nothing.
A server writes its address to the path that its clients are given.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

import msgspec
import numpy as np
from websockets.sync.client import connect
from websockets.sync.server import ServerConnection, serve

from benches.scene import DIMENSION, JPEG, RAW, Ask, ConstantPolicy, arrays, asking
from proctor.policy import BenchmarkSpec, SessionContext
from proctor.wire.dialect import Access
from proctor.wire.dialects import find_dialect, find_shell
from proctor.wire.endpoint import parse_endpoint
from proctor.wire.exposure import Guard
from proctor.wire.mapping import ImageMapping, Mapping, StateMapping
from proctor.wire.serving import Address, ServedPolicy

Serve = Callable[[Path], None]
Asker = Callable[[Path, int], AbstractContextManager[Ask]]

_CONTEXT = {"control_hz": 10.0}
_PACK = msgspec.msgpack.encode
_ACTIONS = np.zeros((1, DIMENSION), np.float32)


def _mapping(*keys: str, instruction: str, actions: str = "actions", codec: str = "raw") -> Mapping:
    """The last key is the state's."""
    cameras = ("images.primary", "images.left_wrist", "images.right_wrist")
    return Mapping(
        name="bench",
        images=tuple(
            ImageMapping(key=key, feature=(name,), codec=codec)
            for key, name in zip(keys[:-1], cameras, strict=False)
        ),
        states=(StateMapping(key=keys[-1], feature=("state.joints",)),),
        instruction=instruction,
        actions=actions,
    )


MAPPINGS: dict[str, Mapping | None] = {
    "evostudio": None,
    "episode-http": _mapping(
        "countertop", "left", "right", "state", instruction="instruction", actions="action", codec="jpeg:85"
    ),
    "chunk-ws": _mapping("base_0_rgb", "left_wrist_0_rgb", "state", instruction="prompt"),
    "openpi": _mapping("observation/image", "observation/wrist_image", "state", instruction="prompt"),
    "roboarena": _mapping(
        "observation/exterior_image_0_left",
        "observation/wrist_image_left",
        "observation/joint_position",
        instruction="prompt",
    ),
    "starvla": _mapping(
        "examples.0.image.0",
        "examples.0.image.1",
        "examples.0.state",
        instruction="examples.0.lang",
        actions="data.actions.0",
    ),
    "vla-eval": _mapping("images.front", "images.wrist", "states", instruction="task_description"),
    "xvla": _mapping("image0", "image1", "proprio", instruction="language_instruction", actions="action"),
}
SERVED = ("evostudio", "episode-http", "chunk-ws", "openpi", "roboarena")


def spec_for(dialect: str) -> BenchmarkSpec:
    """Three JPEG of 320 × 240 for the episode protocol, two raw frames of 256 × 256 for all others."""
    return JPEG if dialect == "episode-http" else RAW


def serve_dialect(dialect: str, path: Path) -> None:
    """proctor's server, until the process is killed."""
    mapping, context = MAPPINGS[dialect], SessionContext("bench", "", spec_for(dialect), _CONTEXT)
    served = ServedPolicy(ConstantPolicy(), context=None if mapping is None else context, mapping=mapping)
    served.load(context if mapping is None else None)
    at = Address(path=f"{path}.sock") if mapping is None else Address()
    _announce(path, find_shell(dialect).start(served, at, Guard()).address)
    Event().wait()


@contextmanager
def ask_dialect(dialect: str, path: Path, client: int) -> Iterator[Ask]:
    """proctor's session."""
    session = find_dialect(dialect).open_session(
        parse_endpoint(path.read_text()), spec_for(dialect), MAPPINGS[dialect], Access(), act_timeout_s=10
    )
    with asking(session, spec_for(dialect), client) as ask:
        yield ask


# --- servers that are only spoken to ----------------------------------------------------------------


def _tagged(marks: tuple[Any, Any, Any, Any]) -> dict[Any, Any]:
    mark, data, dtype, shape = marks
    return {mark: True, data: _ACTIONS.tobytes(), dtype: "<f4", shape: [1, DIMENSION]}


class _StarvlaRequest(msgspec.Struct):
    request_id: str


class _VlaEvalFrame(msgspec.Struct):
    type: str
    seq: int


_Kind = TypeVar("_Kind")


def _read(message: bytes | str, kind: type[_Kind]) -> _Kind:
    assert isinstance(message, bytes)
    return msgspec.msgpack.decode(message, type=kind)


def _starvla(websocket: ServerConnection) -> None:
    array = _tagged((b"__ndarray__", b"data", b"dtype", b"shape"))
    array[b"shape"] = [1, 1, DIMENSION]
    websocket.send(_PACK({"action_chunk_size": 1}))
    for message in websocket:
        request = _read(message, _StarvlaRequest)
        websocket.send(_PACK({"ok": True, "request_id": request.request_id, "data": {"actions": array}}))


def _vla_eval(websocket: ServerConnection) -> None:
    array = _tagged(("__ndarray__", "data", "dtype", "shape"))
    for message in websocket:
        asked = _read(message, _VlaEvalFrame)
        kind, payload = {
            "hello": ("hello", {"model_server": "bench", "protocol_version": 1}),
            "observation": ("action", {"actions": array}),
        }.get(asked.type, ("", {}))
        if kind:
            websocket.send(_PACK({"type": kind, "seq": asked.seq, "timestamp": 0.0, "payload": payload}))


def _serve_websocket(scheme: str, handler: Callable[[ServerConnection], None], path: Path) -> None:
    with serve(handler, "127.0.0.1", 0, compression=None, max_size=None) as server:
        _announce(path, f"{scheme}://127.0.0.1:{server.socket.getsockname()[1]}")
        server.serve_forever()


class _ActServer(BaseHTTPRequestHandler):
    """Answers every request with one action."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    answer = json.dumps({"action": _ACTIONS.tolist()}).encode()

    def do_POST(self) -> None:
        """Read the body, decode nothing."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


def _serve_act(path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _ActServer) as server:
        _announce(path, f"xvla+http://127.0.0.1:{server.server_address[1]}")
        server.serve_forever()


# --- bare websockets + msgpack ----------------------------------------------------------------------


def _echo(websocket: ServerConnection) -> None:
    for message in websocket:
        request = _read(message, dict)
        kept = [np.frombuffer(request[name], np.uint8).copy() for name in ("front", "wrist")]
        state = np.frombuffer(request["state"], np.float32).copy()
        websocket.send(_PACK({"actions": state.tobytes()}))
        del kept


@contextmanager
def ask_echo(path: Path, client: int) -> Iterator[Ask]:
    """The same arrays as bytes, without shapes, checks, episodes or deadlines."""
    front, wrist, state = arrays(RAW).values()
    with connect(path.read_text(), compression=None, max_size=None, proxy=None) as websocket:
        websocket.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def ask(step: int) -> None:
            websocket.send(_PACK({"front": front.data, "wrist": wrist.data, "state": state.data}))
            reply = websocket.recv()
            assert isinstance(reply, bytes)
            assert np.frombuffer(msgspec.msgpack.decode(reply)["actions"], np.float32).shape == (DIMENSION,)

        yield ask


def _announce(path: Path, address: str) -> None:
    unready = path.with_suffix(".unready")
    unready.write_text(address)
    unready.rename(path)


_FOREIGN: dict[str, Serve] = {
    "starvla": partial(_serve_websocket, "ws", _starvla),
    "vla-eval": partial(_serve_websocket, "vla-eval+ws", _vla_eval),
    "xvla": _serve_act,
}
WIRES: dict[str, tuple[Serve, Asker]] = {
    **{name: (partial(serve_dialect, name), partial(ask_dialect, name)) for name in SERVED},
    **{name: (server, partial(ask_dialect, name)) for name, server in _FOREIGN.items()},
}
ECHO: tuple[Serve, Asker] = (partial(_serve_websocket, "ws", _echo), ask_echo)
