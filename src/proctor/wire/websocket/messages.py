"""Frames put together into messages."""

from __future__ import annotations

from websockets.frames import Frame, Opcode

_DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)


class Assembler:
    """Takes frames in order; the protocol that made them holds their sum to the limit."""

    def __init__(self) -> None:
        self._fragments: bytearray | None = None
        self._text = False

    def take(self, event: object) -> bytes | str | None:
        """The message that this event completes, if it is a frame that does."""
        if not isinstance(event, Frame) or event.opcode not in _DATA:
            return None
        if event.opcode is not Opcode.CONT:
            self._text = event.opcode is Opcode.TEXT
            if event.fin:
                return self._whole(event.data)
            self._fragments = bytearray(event.data)
            return None
        assert self._fragments is not None
        self._fragments += event.data
        return self._whole(self._fragments) if event.fin else None

    def _whole(self, data: bytes | bytearray | memoryview) -> bytes | str:
        whole = bytes(data)
        return whole.decode("utf-8", "replace") if self._text else whole
