"""Counts are read from headers, of every width msgpack has."""

from __future__ import annotations

import msgspec
import pytest

from proctor.wire.msgpack_headers import count, header_bytes, is_bytes, is_list, is_map


@pytest.mark.parametrize("size", [0, 1, 15, 16, 300, 65535, 65536])
def test_a_list_and_a_map_say_how_long_they_are(size: int) -> None:
    packed = msgspec.msgpack.encode([0] * size)
    assert is_list(packed[0])
    assert not is_map(packed[0])
    assert count(packed) == size
    assert len(packed) == header_bytes(packed[0]) + size
    mapped = msgspec.msgpack.encode(dict.fromkeys(range(size)))
    assert is_map(mapped[0])
    assert not is_list(mapped[0])
    assert count(mapped) == size


@pytest.mark.parametrize("value", [None, True, 7, -7, 1.5, "text", b"bytes", 1 << 40])
def test_other_values_are_neither(value: object) -> None:
    code = msgspec.msgpack.encode(value)[0]
    assert not is_list(code)
    assert not is_map(code)
    assert is_bytes(code) == isinstance(value, bytes)
