"""One of upstream's environments: stepped without looking, and looked at without stepping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import mani_skill.envs  # noqa: F401  (registers the environments)
import numpy as np
import sapien
from numpy.typing import NDArray

from proctor.benchmarks.maniskill.settings import TaskSettings
from proctor.benchmarks.maniskill.tasks import TASKS
from proctor.benchmarks.sapien_devices import finds_no_vulkan_device, sapiens_device
from proctor.errors import EnvironmentMissing

Row = NDArray[np.float32]


class Upstream:
    """Upstream's own start, step and evaluation; frames and states only when asked for.

    Its observation has no part in the simulation: `tests/benchmarks/maniskill` compares states and frames
    with those of upstream observed at every step, bit by bit.
    """

    def __init__(self, settings: TaskSettings, control_mode: str) -> None:
        """Raises `EnvironmentMissing` where there is no Vulkan device that SAPIEN renders on."""
        self._known = TASKS[settings.environment]
        try:
            made: Any = gymnasium.make(
                settings.environment,
                obs_mode="none",  # what is observed is read below, when it is asked for
                reward_mode="none",
                control_mode=control_mode,
                robot_uids=settings.robot,
                sim_backend="physx_cpu",
            )
        except RuntimeError as error:
            if not finds_no_vulkan_device(error):
                raise
            raise EnvironmentMissing(
                f"SAPIEN finds no Vulkan device to render on ({error}); run: proctor env check maniskill"
            ) from None
        self._env = made.unwrapped  # without the step limit, which is the rollout's
        self._info: Mapping[str, Any] = {}
        self.drawn_by = ""
        """Vulkan's device, once it has drawn a frame."""

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras."""
        return tuple(self._env._sensors)

    def begin(self, seed: int) -> NDArray[np.float64]:
        """Make everything anew and place it by the seed.

        Upstream's reset alone keeps what the physics engine remembers of the last episode. Returns upstream's
        state, then what else the seed decided.
        """
        self._info = self._env.reset(seed=seed, options={"reconfigure": True})[1]
        geometry = [_row(getattr(self._env, name)) for name in self._known.geometry]
        return np.concatenate([_row(self._env.get_state()), *geometry]).astype(np.float64)

    def step(self, action: NDArray[Any]) -> None:
        """One control step: five physics steps of 0.01 s."""
        self._info = self._env.step(action)[4]

    def success(self) -> bool:
        """Upstream's evaluation after the latest step, or of the start."""
        return bool(self._info["success"])

    def render(self, camera: str) -> NDArray[np.uint8]:
        """(height, width, 3), a copy; what upstream hides from policies is hidden."""
        self.drawn_by = self.drawn_by or _drawn_by(self._env.backend.render_device)
        for hidden in self._env._hidden_objects:
            hidden.hide_visual()
        self._env.scene.update_render(update_sensors=True, update_human_render_cameras=False)
        sensor = self._env._sensors[camera]
        sensor.capture()
        frame = sensor.get_obs(rgb=True, depth=False, position=False, segmentation=False)["rgb"]
        return np.array(frame[0].cpu().numpy(), np.uint8)

    def joints(self) -> Row:
        """(9,): seven joints (rad) and both fingers (m)."""
        return _row(self._env.agent.robot.get_qpos())

    def joint_velocities(self) -> Row:
        """(9,): of the same."""
        return _row(self._env.agent.robot.get_qvel())

    def told(self) -> Mapping[str, Any]:
        """What upstream tells a policy that sees frames, beside its own joints."""
        found: Mapping[str, Any] = self._env._get_obs_extra(self._info)
        return found

    def tool(self) -> Row:
        """(7,): the point between the fingers, x y z (m) and quaternion w x y z."""
        return _row(self.told()["tcp_pose"])

    def goal(self) -> Row:
        """(3,): the place that upstream tells (m); zeros where it tells none."""
        return _row(self.told()[self._known.goal]) if self._known.goal else np.zeros(3, np.float32)

    def grasped(self) -> Row:
        """(1,): 1 where upstream tells that the object is grasped."""
        told = self._known.grasp and bool(self.told()[self._known.grasp])
        return np.array([1.0 if told else 0.0], np.float32)

    def close(self) -> None:
        """Release the simulation."""
        self._env.close()


def _drawn_by(device: Any) -> str:
    cuda_id = device.cuda_id if device.is_cuda() else None
    return f"vulkan: {sapiens_device(sapien.render.get_device_summary(), cuda_id)}"


def _row(values: Any) -> Row:
    """The only row of a batch of one, whatever kind of tensor it is."""
    values = getattr(values, "raw_pose", values)
    return np.array(values.cpu().numpy()[0], np.float32).reshape(-1)
