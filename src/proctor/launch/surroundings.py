"""What children run with: environment variables, and the way into foreign interpreters."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from proctor.launch.graphics import Graphics

BOOTSTRAP: Final = Path(__file__).resolve().parents[1] / "_bootstrap.py"
"""Runs a module of this very proctor in any interpreter."""

ONE_THREAD: Final = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""A worker is one lane on one core: thread pools of several workers would fight over the same cores."""

FEW_ARENAS: Final = {"MALLOC_ARENA_MAX": "2"}
"""Frames are freed as they are made: a heap per thread would only hold on to their memory."""

_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")


def worker_environment(graphics: Graphics | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for a worker in a simulator environment: nothing of our interpreter's own, one thread.

    A thread count or allocator setting of the user's own is kept. `graphics` None leaves MUJOCO_GL alone.
    """
    own = {name: value for name, value in environ.items() if name not in _FOREIGN}
    fixed = {"PYTHONUNBUFFERED": "1", "PYTHONNOUSERSITE": "1"}
    if graphics is not None:
        fixed["MUJOCO_GL"] = graphics.backend
    return {**ONE_THREAD, **FEW_ARENAS, **own, **fixed}


def host_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Variables for a child that runs in our interpreter or the user's: all of ours, output unbuffered."""
    return {**environ, "PYTHONUNBUFFERED": "1"}
