"""The checks of each dialect, by its name; a dialect without an entry is examined through sessions alone."""

from __future__ import annotations

from typing import Final, cast

from proctor.errors import ProtocolError
from proctor.plugins import Plugins
from proctor.wire.checks.subject import DialectChecks

CHECKS: Final = Plugins(
    what="checks of dialect",
    group="proctor.checks",
    built_in={
        "episode-http": "proctor.wire.episode_http.checks:CHECKS",
        "chunk-ws": "proctor.wire.chunk_ws.checks:CHECKS",
        "openpi": "proctor.wire.websocket.checks:CHECKS",
        "roboarena": "proctor.wire.websocket.checks:CHECKS",
        "starvla": "proctor.wire.websocket.checks:CHECKS",
        "vla-eval": "proctor.wire.vla_eval.checks:CHECKS",
        "xvla": "proctor.wire.xvla.checks:CHECKS",
    },
    fault=ProtocolError,
)


def checks_of(dialect: str) -> DialectChecks:
    """What is added for this dialect."""
    return cast(DialectChecks, CHECKS.load(dialect)) if dialect in CHECKS.names() else DialectChecks()
