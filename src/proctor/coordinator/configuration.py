"""What a coordinator process is told and what it tells; light, for whoever starts one."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from proctor.coordinator.store import Start
from proctor.limits import LEASE_S

DATABASE_FILE: Final = "run.db"
JOURNAL_FILE: Final = "episodes.jsonl"
ERRORS_FILE: Final = "errors.jsonl"

EXIT_USAGE: Final = 2
EXIT_FAULT: Final = 5


class ServerConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a coordinator is told on its standard input."""

    directory: str
    """The run directory; the store and the journal are in it."""
    start: Start
    token: Annotated[str, msgspec.Meta(min_length=32)]
    """The run token every request must carry."""
    port: Annotated[int, msgspec.Meta(ge=0, le=65535)] = 0
    """0: any free one. Whoever restarts a coordinator names the port its workers know."""
    lease_s: Annotated[float, msgspec.Meta(gt=0)] = LEASE_S


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """What a coordinator says once it serves."""

    url: str
    epoch: int
