"""Where in a policy's own code something was raised."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path
from typing import Final

_NOT_THE_POLICYS: Final = (
    str(Path(__file__).resolve().parent.parent),
    sysconfig.get_path("stdlib"),
    sysconfig.get_path("purelib"),
    sysconfig.get_path("platlib"),
)


def place_of(error: BaseException) -> str:
    """For example ` (/home/me/policy.py:12)`: the last line before proctor, Python or a package was entered.

    Empty where no line is anybody else's.
    """
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith((*_NOT_THE_POLICYS, "<")):
            return f" ({frame.filename}:{frame.lineno})"
    return ""
