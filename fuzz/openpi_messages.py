"""Messages of the openpi family: what is taken comes back the same after it was packed again."""

from __future__ import annotations

import contextlib

import numpy as np
from fuzzing import instrumented, run

with instrumented():
    from proctor.errors import ProtocolError
    from proctor.wire.numpy_msgpack import decode, encode

SEEDS = (
    encode({"x": np.arange(6, dtype=np.float32).reshape(2, 3), "y": [1, -2.5, None, True, "text", b"bytes"]}),
    encode({"examples": [{"image": [np.zeros((2, 2, 3), np.uint8)], "lang": "go"}], "n": np.float32(1.5)}),
    encode({"x": np.zeros((0, 3), np.float64), "i": np.array(-(1 << 63)), "b": np.array([True])}),
    b"\x81\xa1x\x84\xc4\x0b__ndarray__\xc3\xc4\x04data\xc4\x02\x01\x02\xc4\x05dtype\xa3>i2\xc4\x05shape\x91\x01",
    b"\x81\xa1x\x83\xc4\x0e__npgeneric__\xc3\xc4\x04data\x07\xc4\x05dtype\xa3|u1",
    b"\x81\xa1x\xdc\x00\x02\x91\x90\xde\x00\x01\xa1y\xdf\x00\x00\x00\x00",
    b'{"actions": []}',
)


def check(data: bytes) -> None:
    """Decode, and encode what was decoded."""
    with contextlib.suppress(ProtocolError):
        message = decode(data)
        packed = encode(message)
        assert encode(decode(packed)) == packed


if __name__ == "__main__":
    run(check, SEEDS)
