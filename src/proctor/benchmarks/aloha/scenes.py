"""The two scenes of gym-aloha: their models, where their objects start, and upstream's own step loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from dm_control import mujoco
from dm_control.rl import control
from gym_aloha.constants import ASSETS_DIR, DT
from gym_aloha.tasks.sim import BOX_POSE, InsertionTask, TransferCubeTask
from gym_aloha.utils import sample_box_pose, sample_insertion_pose
from numpy.typing import NDArray

from proctor.benchmarks.definition import RenderProfile
from proctor.benchmarks.rendering import set_multisamples
from proctor.errors import UnknownNameError


@dataclass(frozen=True)
class Scene:
    """One model and task of gym-aloha."""

    model: str
    task: type[Any]
    sample: Callable[[int], NDArray[np.float64]]
    """Start pose of every object, (7 per object,): position (m) and quaternion wxyz."""


class _Unobserved:
    """Makes a gym-aloha task return no observation, so that a step renders nothing."""

    def get_observation(self, physics: Any) -> dict[str, Any]:
        return {}


class _TransferCube(_Unobserved, TransferCubeTask):  # type: ignore[misc]  # the base is untyped
    pass


class _Insertion(_Unobserved, InsertionTask):  # type: ignore[misc]
    pass


def _sample_peg_and_socket(seed: int) -> NDArray[np.float64]:
    return np.concatenate(sample_insertion_pose(seed))


SCENES: Final = {
    "transfer_cube": Scene("bimanual_viperx_transfer_cube.xml", _TransferCube, sample_box_pose),
    "insertion": Scene("bimanual_viperx_insertion.xml", _Insertion, _sample_peg_and_socket),
}


def find_scene(name: str) -> Scene:
    """Look a scene up. Raises `UnknownNameError`."""
    if name not in SCENES:
        raise UnknownNameError("scene", name, SCENES)
    return SCENES[name]


def make_control(scene: Scene, profile: RenderProfile) -> control.Environment:
    """Upstream's step loop around a fresh model, without its rendering."""
    physics = mujoco.Physics.from_xml_path(str(ASSETS_DIR / scene.model))
    set_multisamples(physics.model, profile)
    return control.Environment(physics, scene.task(random=0), control_timestep=DT)


def reset(loop: control.Environment, scene: Scene, seed: int) -> None:
    """Put the scene into the start that belongs to `seed`.

    The pose goes through the module global that upstream's reset reads, and is set each time: nothing of an
    earlier episode, of this scene or another one, is left.
    """
    BOX_POSE[0] = scene.sample(seed)
    loop.reset()
