"""Where a policy server listens: the socket's path, its permissions, and who is at the other end."""

from __future__ import annotations

import os
import socket
import struct
import tempfile
from pathlib import Path
from typing import Final

from proctor.errors import UsageError

_VARIABLES: Final = ("PROCTOR_POLICY_SOCKET", "EVOSTUDIO_INFERENCE_SOCKET")
_DEFAULT_NAME: Final = "evostudio-inference.sock"
_PATH_BYTES: Final = 107
"""What the kernel has room for in a socket address, without the final NUL."""

_CREDENTIALS: Final = struct.Struct("3i")


def default_socket_path() -> Path:
    """PROCTOR_POLICY_SOCKET, else EVOSTUDIO_INFERENCE_SOCKET, else a file in the temporary directory."""
    for variable in _VARIABLES:
        value = os.environ.get(variable)
        if value:
            return Path(value)
    return Path(tempfile.gettempdir()) / _DEFAULT_NAME


def listen(path: Path) -> socket.socket:
    """A listening socket of mode 0600; a missing directory is made with mode 0700.

    A socket that nobody listens on any more is replaced. Raises `UsageError` if the path is too long, or
    taken by another server or by something that is no socket.
    """
    if len(os.fsencode(path)) > _PATH_BYTES:
        raise UsageError(f"socket path {str(path)!r} is longer than {_PATH_BYTES} bytes")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_way(path)
        return _bound(path)
    except OSError as error:
        raise UsageError(f"cannot listen at {str(path)!r}: {error.strerror}") from error


def peer_uid(sock: socket.socket) -> int | None:
    """User id of the process at the other end, None where the platform does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    _, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return int(uid)


def same_user(sock: socket.socket) -> bool:
    """Whether the other end is of this process's user, as far as the platform tells."""
    return peer_uid(sock) in (None, os.geteuid())


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(listener.fileno(), 0o600)  # on Linux the file is born with this mode
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _make_way(path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        return
    if not path.is_socket():
        raise UsageError(f"{str(path)!r} exists and is not a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise UsageError(f"another policy server listens at {str(path)!r}")
