"""The dialects by name: how their servers are spoken to, and how we serve them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from proctor.errors import ProtocolError, UnknownNameError, UsageError
from proctor.plugins import Plugins
from proctor.wire.dialect import Dialect
from proctor.wire.endpoint import Endpoint

if TYPE_CHECKING:
    from proctor.wire.serving import ServerShell

DIALECTS: Final = Plugins(
    what="dialect",
    group="proctor.dialects",
    built_in={
        "local": "proctor.wire.local.dialect:DIALECT",
        "evostudio": "proctor.wire.evostudio:DIALECT",
        "episode-http": "proctor.wire.episode_http:DIALECT",
        "chunk-ws": "proctor.wire.chunk_ws:DIALECT",
        "openpi": "proctor.wire.openpi:DIALECT",
        "roboarena": "proctor.wire.roboarena:DIALECT",
        "starvla": "proctor.wire.starvla:DIALECT",
        "vla-eval": "proctor.wire.vla_eval:DIALECT",
        "xvla": "proctor.wire.xvla:DIALECT",
    },
    fault=ProtocolError,
)

SHELLS: Final = Plugins(
    what="served dialect",
    group="proctor.servers",
    built_in={
        "local": "proctor.wire.local.shell:SERVER",
        "evostudio": "proctor.wire.evostudio.server:SERVER",
        "episode-http": "proctor.wire.episode_http.server:SERVER",
        "chunk-ws": "proctor.wire.chunk_ws.server:SERVER",
        "openpi": "proctor.wire.openpi.server:SERVER",
        "roboarena": "proctor.wire.roboarena.server:SERVER",
    },
    fault=ProtocolError,
)

SCHEMES_OF: Final[dict[str, tuple[str, ...]]] = {
    "local": ("unix",),
    "evostudio": ("unix",),
    "episode-http": ("http", "https"),
    "chunk-ws": ("ws", "wss"),
    "openpi": ("ws", "wss"),
    "roboarena": ("ws", "wss"),
    "starvla": ("ws", "wss"),
    "vla-eval": ("vla-eval+ws", "vla-eval+wss", "ws", "wss"),
    "xvla": ("xvla+http", "xvla+https", "http", "https"),
}
"""The schemes under which each dialect is reached; a dialect that is not listed takes any."""


def find_dialect(name: str) -> Dialect:
    """Load the dialect with this name. Raises `UnknownNameError` naming the nearest one."""
    return cast(Dialect, DIALECTS.load(name))


def find_shell(name: str) -> ServerShell:
    """Load the server side of this dialect. Raises `UnknownNameError` for one that we do not serve."""
    shell: ServerShell = SHELLS.load(name)
    return shell


def check_scheme(dialect: str, endpoint: Endpoint) -> None:
    """Raise `UsageError` unless the dialect is reached under this kind of address."""
    schemes = SCHEMES_OF.get(dialect, (endpoint.scheme,))
    if endpoint.scheme not in schemes:
        near = UnknownNameError("endpoint scheme", endpoint.scheme, schemes)
        raise UsageError(f"--dialect {dialect} with {endpoint.text}: {near}")
