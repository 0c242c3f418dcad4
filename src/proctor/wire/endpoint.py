"""Where a policy server is, as a user writes it.

    unix:/path/to/socket                    a local socket
    http://host:port  https://host:port     the episode protocol
    ws://host:port  wss://host:port  host:port
                                            a WebSocket server, told apart by its first frame
    vla-eval+ws://host:port  xvla+http://host:port
                                            dialects whose servers do not speak first

Secrets are never part of an address: tokens come from a file (`--token-file`).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

from proctor.errors import UnknownNameError, UsageError

SCHEMES: Final = (
    "unix",
    "http",
    "https",
    "ws",
    "wss",
    "vla-eval+ws",
    "vla-eval+wss",
    "xvla+http",
    "xvla+https",
)


class Endpoint(msgspec.Struct, frozen=True):
    """One address, taken apart."""

    text: str
    """As it is recorded; holds no secret."""
    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""
    """Of the socket, or of the URL without a trailing slash."""

    @property
    def url(self) -> str:
        """What a client connects to: the scheme without the dialect's prefix."""
        transport = self.scheme.rpartition("+")[2]
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{transport}://{host}:{self.port}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether nothing leaves this machine."""
        return self.scheme == "unix" or self.host in ("localhost", "::1") or self.host.startswith("127.")


def parse_endpoint(text: str) -> Endpoint:
    """Take an address apart. Raises `UsageError` naming what is wrong and what would be valid."""
    if text.startswith("unix:"):
        path = text.removeprefix("unix:")
        if not path.startswith("/"):
            raise UsageError(f"endpoint {text!r} needs an absolute path: unix:/path/to/socket")
        return Endpoint(text=text, scheme="unix", path=path)
    full = text if "://" in text else f"ws://{text}"
    parts = urlsplit(full)
    if parts.scheme not in SCHEMES:
        raise UnknownNameError("endpoint scheme", parts.scheme, SCHEMES)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            f"endpoint on {parts.hostname!r}: secrets and parameters do not belong in an address"
        )
    try:
        port = parts.port
    except ValueError:
        raise UsageError(f"endpoint {text!r}: the port must be a number from 1 to 65535") from None
    if not parts.hostname:
        raise UsageError(f"endpoint {text!r} names no host; write host:port or scheme://host:port")
    default = 443 if parts.scheme.endswith("s") else 80
    if "://" not in text and port is None:
        raise UsageError(f"endpoint {text!r} names no port; write host:port")
    return Endpoint(
        text=text,
        scheme=parts.scheme,
        host=parts.hostname,
        port=port or default,
        path=parts.path.rstrip("/"),
    )
