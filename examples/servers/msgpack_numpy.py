"""Arrays in msgpack as openpi packs them. `from openpi_client import msgpack_numpy` does the same."""

from typing import Any

import msgspec
import numpy as np


def packb(message: Any) -> bytes:
    """Pack a message; arrays become maps with four bytes keys."""
    return msgspec.msgpack.encode(message, enc_hook=_map_of)


def unpackb(data: Any) -> Any:
    """Unpack a message, its arrays included."""
    return _with_arrays(msgspec.msgpack.decode(data))


def _map_of(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    return {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": array.shape}


def _with_arrays(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_arrays(item) for item in value]
    if not isinstance(value, dict):
        return value
    if b"__ndarray__" in value:
        return np.frombuffer(value[b"data"], value[b"dtype"]).reshape(value[b"shape"])
    return {key: _with_arrays(item) for key, item in value.items()}
