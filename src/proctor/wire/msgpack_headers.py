"""The first bytes of a msgpack value: what it is, and how many entries it announces."""

from __future__ import annotations


def is_map(code: int) -> bool:
    """Whether a value that begins with this byte is a map."""
    return 0x80 <= code <= 0x8F or code in (0xDE, 0xDF)


def is_list(code: int) -> bool:
    """Whether a value that begins with this byte is a list."""
    return 0x90 <= code <= 0x9F or code in (0xDC, 0xDD)


def is_bytes(code: int) -> bool:
    """Whether a value that begins with this byte is binary."""
    return 0xC4 <= code <= 0xC6


def header_bytes(code: int) -> int:
    """Length of the header of a map or list."""
    return 1 if code < 0xA0 else 3 if code in (0xDC, 0xDE) else 5


def count(value: bytes | memoryview) -> int:
    """Entries that the header of a map or list announces."""
    length = header_bytes(value[0])
    return value[0] & 0x0F if length == 1 else int.from_bytes(value[1:length], "big")
