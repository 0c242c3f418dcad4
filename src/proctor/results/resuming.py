"""How a run that is not complete is gone on with, as a command to copy."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def resume_command(command: Sequence[str], name: str) -> str:
    """The command line that goes on with the run `name`, made of the one that started it.

    Values that were not written down still stand there as `(hidden)`. Without a command line, as from a
    script, the call that does the same.
    """
    if not command:
        return f"proctor.evaluate(..., name={name!r}, resume=True)"
    words = list(command)
    if not any(word == "--run" or word.startswith("--run=") for word in words):
        words += ["--run", name]
    if "--resume" not in words:
        words.append("--resume")
    return shlex.join(words)
