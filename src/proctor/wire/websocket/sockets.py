"""What both ends of a WebSocket set on their sockets."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

_IDLE_S: Final = 60
_INTERVAL_S: Final = 15
_PROBES: Final = 4


def keep_alive(sock: socket.socket) -> None:
    """Have the kernel find out, within two minutes, that the other machine is gone; and send at once."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", _IDLE_S),
        ("TCP_KEEPINTVL", _INTERVAL_S),
        ("TCP_KEEPCNT", _PROBES),
    ):
        with contextlib.suppress(AttributeError):  # not on every platform under this name
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
