"""Upstream's environment of one start: made, reset once, and read only where somebody looks.

A seed says everything only of an environment that nothing was drawn from: making one draws, and so does its
reset; the size of a cube is part of its model. So every start has an environment of its own, as upstream has
it after `robosuite.make(..., seed=seed)` and `reset()`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import robosuite
from numpy.typing import NDArray
from robosuite.environments.base import REGISTERED_ENVS
from robosuite.utils.transform_utils import convert_quat, mat2quat

from proctor.benchmarks.robosuite.settings import Settings, TaskSettings
from proctor.benchmarks.robosuite_sensors import Unread
from proctor.errors import BenchmarkFault, UnknownNameError

Pose = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Position (3,) m and quaternion (4,) xyzw, in the world."""

START_DIGITS: Final = 6
"""Decimals that a start is recorded with: micrometres, microradians, milligrams."""

ARM: Final = "right"
"""Upstream's name for the only arm of a robot."""

_SCENES: Final = dict(REGISTERED_ENVS)
"""Upstream's own classes by name, before any of `_unread` joins them."""


class Upstream:
    """One environment, for one start."""

    def __init__(
        self,
        settings: Settings,
        task: TaskSettings,
        control_hz: float,
        seed: int,
        on_sample: Callable[[], None],
    ) -> None:
        """Make it; `reset` must follow. `on_sample` is called when upstream reads its sensors.

        Raises `UnknownNameError` for a task that upstream does not have, `BenchmarkFault` for what it raises.
        """
        if task.environment not in _SCENES:
            raise UnknownNameError("robosuite task", task.environment, _SCENES)
        with _blamed(f"{task.environment} with seed {seed}"):
            self._scene = _unread(task.environment)(
                robots=list(settings.robots),
                env_configuration=settings.arrangement,
                controller_configs=[settings.controller.as_upstream() for _ in settings.robots],
                initialization_noise={"magnitude": settings.initial_joint_noise_rad, "type": "gaussian"},
                lite_physics=settings.lite_physics,
                control_freq=control_hz,
                seed=seed,
                ignore_done=True,
                use_camera_obs=False,
                has_offscreen_renderer=False,
                on_sample=on_sample,
            )
        self._name, self._seed = task.environment, seed

    @property
    def model(self) -> Any:
        """The `mujoco.MjModel`; `reset` makes another."""
        return self._scene.sim.model._model

    @property
    def data(self) -> Any:
        """The `mujoco.MjData`; `reset` makes another."""
        return self._scene.sim.data._data

    @property
    def action_dimension(self) -> int:
        """How many numbers `step` takes."""
        return int(self._scene.action_dim)

    def reset(self) -> None:
        """Go to the start. Raises `BenchmarkFault` for what upstream raises, such as for want of room."""
        with _blamed(f"{self._name} with seed {self._seed}"):
            self._scene.reset()

    def step(self, action: NDArray[Any]) -> bool:
        """Advance one control step. Returns whether the goal holds."""
        self._scene.step(np.asarray(action, np.float64))
        return bool(self._scene._check_success())

    def start(self) -> NDArray[np.float64]:
        """What an episode begins from, rounded to 1e-6: qpos, then per thing of the task where its model
        stands (position m, quaternion wxyz) and its mass (kg), which tells its size."""
        model = self.model
        things = [model.body(thing.root_body) for thing in self._scene.model.mujoco_objects]
        numbers = [np.concatenate([each.pos, each.quat, each.subtreemass]) for each in things]
        return np.round(np.concatenate([self.data.qpos, *numbers]), START_DIGITS) + 0.0

    def hand_poses(self) -> list[Pose]:
        """Per robot: the point between the fingers and, as upstream's `eef_quat`, the hand's orientation."""
        data = self._scene.sim.data
        return [
            (
                np.array(data.site_xpos[robot.eef_site_id[ARM]]),
                np.array(convert_quat(data.get_body_xquat(robot.robot_model.eef_name[ARM]), to="xyzw")),
            )
            for robot in self._scene.robots
        ]

    def fingers(self) -> list[NDArray[np.float64]]:
        """Per robot: (2,) positions of the two fingers, m, of opposite signs."""
        return [
            np.array(self.data.qpos[robot._ref_gripper_joint_pos_indexes[ARM]])
            for robot in self._scene.robots
        ]

    def joints(self) -> list[NDArray[np.float64]]:
        """Per robot: (7,) rad."""
        return [np.array(self.data.qpos[robot._ref_joint_pos_indexes]) for robot in self._scene.robots]

    def require_named(self, name: str) -> None:
        """Raise `UnknownNameError` for what is neither a body nor a site."""
        model = self._scene.sim.model
        known = [each for each in (*model.body_names, *model.site_names) if each is not None]
        if name not in known:
            raise UnknownNameError(f"body or site of {self._name}", name, known)

    def pose_of(self, name: str) -> Pose:
        """Of a body, or of a site where no body has this name."""
        model, data = self._scene.sim.model, self._scene.sim.data
        if name in model._body_name2id:
            return np.array(data.get_body_xpos(name)), convert_quat(data.get_body_xquat(name), to="xyzw")
        return np.array(data.get_site_xpos(name)), mat2quat(data.get_site_xmat(name))

    def close(self) -> None:
        """Let go of the simulation. Nothing here holds a render context."""
        self._scene.close()


@functools.cache
def _unread(name: str) -> Any:
    # The name must be another than upstream's: making the class registers it.
    return type(f"Unread{name}", (Unread, _SCENES[name]), {})


@contextmanager
def _blamed(what: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise BenchmarkFault(
            f"{what}: robosuite {robosuite.__version__} raised {type(error).__name__}: {error}"
        ) from error
