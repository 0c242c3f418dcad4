"""Starts scripts of other projects' environments."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PEERS = Path(__file__).parent / "peers"


@contextmanager
def listening(python: Path, script: str, *arguments: str) -> Iterator[int]:
    """Run a server that prints its port; the port, while it runs."""
    command = [python, PEERS / script, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.kill()
