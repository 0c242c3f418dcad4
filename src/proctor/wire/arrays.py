"""Arrays as they travel on any wire: a dtype from an allow-list, a bounded shape, exactly that many bytes.

Nothing outside this module turns bytes from outside into arrays. Bytes are little-endian and C-contiguous.
NaN and infinity pass through unchanged: what a value may be is decided where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from mmap import mmap
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.errors import ProtocolError
from proctor.limits import MAX_ARRAY_BYTES, MAX_ARRAY_RANK

_NAMES: Final = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
DTYPES: Final[dict[str, np.dtype[Any]]] = {name: np.dtype(name).newbyteorder("<") for name in _NAMES}
"""Every dtype that travels, by its name on the wire."""

Bytes = bytes | bytearray | memoryview | mmap
"""What arrays are read from."""

_NAME_OF: Final = {dtype: name for name, dtype in DTYPES.items()}
_NUMPY_NAMES: Final = {name: name for name in _NAMES} | {dtype.str: name for name, dtype in DTYPES.items()}
_BIG_ENDIAN: Final = {
    dtype.newbyteorder(">").str: name for name, dtype in DTYPES.items() if dtype.itemsize > 1
}


def dtype_name(array: NDArray[Any]) -> str:
    """The wire's name of an array's dtype. Raises `ProtocolError` for one that does not travel."""
    name = _NAME_OF.get(array.dtype)
    if name is None:
        raise ProtocolError(f"dtype {array.dtype.str!r} does not travel; valid: {', '.join(_NAMES)}")
    return name


def array_bytes(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of such an array. Raises `ProtocolError` for a dtype, rank, dimension or size out of bounds."""
    known = DTYPES.get(dtype)
    if known is None:
        raise ProtocolError(f"dtype {dtype!r} does not travel; valid: {', '.join(_NAMES)}")
    if len(shape) > MAX_ARRAY_RANK:
        raise ProtocolError(f"array has {len(shape)} dimensions, at most {MAX_ARRAY_RANK} travel")
    elements = bound = 1
    for size in shape:
        if size < 0:
            raise ProtocolError(f"array shape {tuple(shape)} has a negative dimension")
        elements *= size
        bound *= size or 1
    if bound * known.itemsize > MAX_ARRAY_BYTES:
        raise ProtocolError(f"array shape {tuple(shape)} is over {MAX_ARRAY_BYTES} bytes")
    return elements * known.itemsize


def copier(dtype: str, shape: Sequence[int], memory: Bytes, offset: int = 0) -> Callable[[], NDArray[Any]]:
    """A function that copies the array lying at `offset` of `memory` out of it, each time it is called.

    Raises `ProtocolError` if the array would reach beyond `memory`. Any non-zero byte of a bool array is
    True: numpy knows no other bit patterns.
    """
    end = offset + array_bytes(dtype, shape)
    available = memoryview(memory).nbytes
    if offset < 0 or end > available:
        raise ProtocolError(f"{dtype} array of shape {tuple(shape)} at byte {offset} ends beyond {available}")
    if dtype == "bool":
        return partial(np.ndarray(tuple(shape), np.uint8, memory, offset).astype, np.bool_)
    view: NDArray[Any] = np.ndarray(tuple(shape), DTYPES[dtype], memory, offset)
    return view.copy


def decode_array(dtype: str, shape: Sequence[int], data: Bytes) -> NDArray[Any]:
    """A new writable array made of exactly these bytes. Raises `ProtocolError` where they do not fit."""
    expected = array_bytes(dtype, shape)
    if len(data) != expected:
        raise ProtocolError(f"{dtype} array of shape {tuple(shape)} takes {expected} bytes, got {len(data)}")
    if dtype == "bool":
        return np.frombuffer(data, np.uint8).reshape(shape).astype(np.bool_)
    return np.frombuffer(data, DTYPES[dtype]).reshape(shape).copy()


def decode_numpy_array(dtype: str, shape: Sequence[int], data: Bytes) -> NDArray[Any]:
    """`decode_array` for a dtype written as numpy writes it: `<f4`, `|u1` or `float32`.

    Big-endian dtypes are taken too; the array is little-endian all the same, with equal values.
    """
    swapped = _BIG_ENDIAN.get(dtype)
    name = swapped or _NUMPY_NAMES.get(dtype)
    if name is None:
        raise ProtocolError(f"dtype {dtype!r} does not travel; valid: {', '.join(_NAMES)}")
    array = decode_array(name, shape, data)
    return array.byteswap(inplace=True) if swapped else array
