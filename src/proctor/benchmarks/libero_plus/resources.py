"""The files of a variant: its scene and goal, its start, and the sentence that it is asked for with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from bddl.parsing import scan_tokens
from numpy.typing import NDArray

from proctor.benchmarks.libero.upstream import Upstream
from proctor.benchmarks.libero_plus.package import (
    ROOT,
    VARIABLE,
    assets_root,
    look_for_assets_in,
    problem_class,
)
from proctor.benchmarks.libero_plus.saved_arrays import read_array
from proctor.benchmarks.libero_plus.settings import TaskSettings
from proctor.benchmarks.libero_plus.variants import Variant
from proctor.errors import BenchmarkFault, EnvironmentMissing, did_you_mean

SCENES: Final = ROOT / "bddl_files"
STARTS: Final = ROOT / "init_files"
OWN_STARTS: Final = STARTS / "libero_newobj"


def scene_file(task: TaskSettings, variant: Variant) -> Path:
    """Where the variant's BDDL file lies. Raises `BenchmarkFault` where there is none."""
    name = f"{task.name}_{variant.scene}" if variant.scene else task.name
    return _existing(SCENES / task.suite / f"{name}.bddl")


def start_of(task: TaskSettings, variant: Variant) -> NDArray[np.float64]:
    """(1 + nq + nv,): time, positions and velocities. Raises `BenchmarkFault` for a missing file."""
    if variant.has_own_start:
        file = OWN_STARTS / task.suite / f"{task.name}_{variant.name}.pruned_init"
        return read_array(_existing(file)).reshape(-1)
    starts = read_array(_existing(STARTS / task.suite / f"{task.name}.pruned_init"))
    return np.asarray(starts[0])


def sentence_of(task: TaskSettings, variant: Variant) -> str:
    """What the robot is asked for: a perturbed scene's own sentence under `language`, else LIBERO's.

    LIBERO's is made of its file's name. Upstream makes it of the variant's, and so ends in numbers.
    """
    if variant.dimension == "language":
        return " ".join(_section(scene_file(task, variant), ":language"))
    return sentence_of_name(task.name)


def sentence_of_name(name: str) -> str:
    """LIBERO's sentence for a task: the words of its name, without the scene that some begin with.

    >>> sentence_of_name("KITCHEN_SCENE8_put_both_moka_pots_on_the_stove")
    'put both moka pots on the stove'
    """
    return re.sub(r"^[A-Z_]+SCENE\d+_", "", name).replace("_", " ")


def objects_of_interest(scene: Path) -> tuple[str, ...]:
    """What the goal is about, in the scene's order."""
    return tuple(_section(scene, ":obj_of_interest"))


def open_scene(task: TaskSettings, variant: Variant, on_sample: Callable[[], None]) -> Upstream:
    """Upstream's environment of a variant.

    Raises `EnvironmentMissing` naming an asset that is not there, and how to get it.
    """
    scene, look = scene_file(task, variant), variant.look
    look_for_assets_in(assets_root())
    try:
        return Upstream(
            problem_class(scene),
            scene,
            on_sample,
            robots=[look.robot],
            horizon_view=look.horizon_view,
            vertical_view=look.vertical_view,
            scale_factor=look.scale_factor,
            end_point_rot=look.end_point_rot,
            end_point_vertical=look.end_point_vertical,
            init_state=look.init_state,
        )
    except FileNotFoundError as error:
        raise EnvironmentMissing(
            f"variant {variant.name} of {task.name}: {error.filename} is missing; it comes with the assets "
            "of LIBERO-plus: run proctor env check libero-plus, which says how to get them "
            f"({VARIABLE} names another place)"
        ) from None


def _existing(file: Path) -> Path:
    if not file.is_file():
        raise BenchmarkFault(f"the simulator's package lacks {file.relative_to(ROOT)}{_nearest(file)}")
    return file


def _nearest(file: Path) -> str:
    """What its suite has that is called alike; the nearest suite where there is none of that name."""
    wanted = file if file.parent.is_dir() else file.parent
    return did_you_mean(wanted.name, (each.name for each in wanted.parent.iterdir()))


def _section(scene: Path, name: str) -> list[Any]:
    """What a section of the scene holds."""
    for group in scan_tokens(filename=str(scene))[1:]:
        if group[0] == name:
            return list(group[1:])
    raise BenchmarkFault(f"{scene}: no section ({name} ...)")
