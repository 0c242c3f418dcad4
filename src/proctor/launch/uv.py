"""Finds and runs uv, which builds simulator environments and compiles their locks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.errors import EnvironmentMissing, InfrastructureFault, UsageError


def find_uv(environ: Mapping[str, str] = os.environ) -> Path:
    """Return PROCTOR_UV, the uv beside this interpreter, the one in ./.tools/bin, or the one on PATH.

    Raises UsageError if PROCTOR_UV is not a program, EnvironmentMissing if there is none at all.
    """
    named = environ.get("PROCTOR_UV")
    if named:
        if not os.access(named, os.X_OK):
            raise UsageError(f"PROCTOR_UV is {named!r}, which is not a program")
        return Path(named)
    candidates = [Path(sys.executable).with_name("uv"), Path.cwd() / ".tools" / "bin" / "uv"]
    on_path = shutil.which("uv", path=environ.get("PATH"))
    if on_path:
        candidates.append(Path(on_path))
    for candidate in candidates:
        if os.access(candidate, os.X_OK):
            return candidate
    raise EnvironmentMissing(
        "uv was not found; it builds simulator environments. Install it with 'python3 -m pip install uv', "
        "or set PROCTOR_UV to its path"
    )


def run_uv(*arguments: str | Path, cwd: Path | None = None) -> None:
    """Run uv quietly. Raises InfrastructureFault with the end of what it said."""
    command: Sequence[str | Path] = [find_uv(), "--quiet", *arguments]
    # A virtual environment that happens to be active must not be the one that is changed.
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-12:]
        raise InfrastructureFault("\n    ".join([f"uv {arguments[0]} failed:", *said]))
