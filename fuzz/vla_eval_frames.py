"""Frames of vla-eval: frame first, payload then."""

from __future__ import annotations

import contextlib

import msgspec
import numpy as np
from fuzzing import instrumented, run

with instrumented():
    from proctor.errors import ProtocolError
    from proctor.wire.vla_eval.codec import decode_frame, decode_payload, encode_frame

_PACK = msgspec.msgpack.encode

SEEDS = (
    encode_frame("action", {"actions": np.arange(6, dtype=np.float32).reshape(2, 3)}, 3, 1.5),
    encode_frame("hello", {"protocol_version": 1, "action_spec": {"a": {"format": "xyz"}}}, 0, 0.0),
    encode_frame("observation", {"images": {"a": np.zeros((2, 2, 3), np.uint8)}, "text": "go"}, 1, 0.0),
    _PACK({"type": "a", "payload": {"x": {b"nd": True}}, "seq": 1, "timestamp": 0}),
    _PACK(
        {
            "type": "a",
            "payload": {"x": [[[{"__ndarray__": True, "dtype": ">f8"}]]]},
            "seq": 1,
            "timestamp": 0.5,
        }
    ),
)


def check(data: bytes) -> None:
    """Decode both; and a payload on its own, which the fuzzer reaches sooner."""
    with contextlib.suppress(ProtocolError):
        decode_payload(decode_frame(data).payload)
    with contextlib.suppress(ProtocolError):
        payload = decode_payload(msgspec.Raw(data))
        encode_frame("again", payload, 0, 0.0)


if __name__ == "__main__":
    run(check, SEEDS)
