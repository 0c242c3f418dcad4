"""The dialects by name."""

from __future__ import annotations

from typing import Final, cast

from proctor.errors import ProtocolError
from proctor.plugins import Plugins
from proctor.wire.dialect import Dialect

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


def find_dialect(name: str) -> Dialect:
    """Load the dialect with this name. Raises `UnknownNameError` naming the nearest one."""
    return cast(Dialect, DIALECTS.load(name))
