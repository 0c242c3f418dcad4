"""Upstream's environment, reset without being built again, and read only where somebody looks.

Upstream makes the whole model anew at every reset: seconds, for the same model. Here the model and the
simulation are put back to what they were when they were made, and then upstream's own reset runs, so that
every draw, placement and controller is what it would have been; tests compare the two bit by bit.

Upstream seeds its draws once per task: the fixtures of episode n stand where the nth reset since then put
them, whatever the official start says of positions. And it renders both cameras at every control step.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import robosuite
from numpy.typing import NDArray
from robosuite.utils.errors import RandomizationError
from robosuite.utils.transform_utils import convert_quat

from proctor.benchmarks.robosuite_sensors import Unread

Arrays = dict[str, NDArray[Any]]
Pose = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Position (3,) m and quaternion (4,) xyzw, in the world."""

START_DIGITS: Final = 6
"""Decimals that a start is recorded with: micrometres and microradians."""

_NEVER_WRITTEN: Final = ("bvh_", "mesh_", "tex_", "hfield_", "skin_", "name")
"""Prefixes of model arrays that hold geometry and names, which nothing changes."""


class _Random:
    """Upstream's draws before a reset: numpy's global generator, and how often the scene had been loaded."""

    def __init__(self, loads: int) -> None:
        self.state = np.random.get_state()
        self.loads = loads

    def restore(self) -> None:
        np.random.set_state(self.state)


class Upstream:
    """The environment of one scene."""

    def __init__(self, problem: type, scene: Path, on_sample: Callable[[], None], **settings: Any) -> None:
        """`problem` is upstream's class of such scenes, which takes `settings` beside what its own wrapper
        says. `on_sample` is called at every moment at which upstream reads its sensors."""
        self._domain = _open(problem, scene, on_sample, {"robots": ["Panda"], **settings})
        self._visible = {name: dict(sites) for name, sites in self._visible_sites().items()}
        self._draws: dict[int, list[_Random]] = {}

    @property
    def model(self) -> Any:
        """The `mujoco.MjModel`; the same for the life of this environment."""
        return self._domain.sim.model._model

    @property
    def data(self) -> Any:
        """The `mujoco.MjData`; the same for the life of this environment."""
        return self._domain.sim.data._data

    def begin(self, state: NDArray[np.float64], seed: int, resets_since_seed: int) -> None:
        """Reset as upstream's loop does for the episode after that many resets, then set `state`."""
        self._draw_up_to(seed, resets_since_seed)
        self._draws[seed][resets_since_seed].restore()
        self._reset(self._draws[seed][resets_since_seed].loads)
        domain = self._domain
        domain.sim.set_state_from_flattened(state)
        domain.sim.forward()
        domain._check_success()
        domain._post_process()
        domain._update_observables(force=True)

    def go_to_targets(self) -> None:
        """From now until the next `begin`, actions are targets in the world, not displacements."""
        self._domain.robots[0].controller.use_delta = False

    def step(self, action: NDArray[Any]) -> bool:
        """Advance 0.05 s. Returns whether the goal holds. Upstream computes in the precision of `action`."""
        _, _, success, _ = self._domain.step(action)
        return bool(success)

    def start(self) -> NDArray[np.float64]:
        """What an episode begins from, rounded to 1e-6: qpos, then every fixture's pose."""
        return np.round(np.concatenate([self.data.qpos, self._fixture_poses()]), START_DIGITS) + 0.0

    def _fixture_poses(self) -> NDArray[np.float64]:
        """Per fixture, in the scene's order: position (m), quaternion wxyz, where this reset put it."""
        model, bodies = self.model, self._domain.obj_body_id
        poses = [
            np.concatenate([model.body_pos[bodies[name]], model.body_quat[bodies[name]]])
            for name in self._domain.fixtures_dict
        ]
        return np.concatenate(poses) if poses else np.zeros(0)

    def camera_pose(self, name: str) -> NDArray[np.float64]:
        """(7,) position (m) and quaternion wxyz in the frame that carries it, as the model has it."""
        camera = self.model.camera(name)
        return np.concatenate([camera.pos, camera.quat])

    def preferred_joints(self) -> NDArray[np.float64]:
        """(7,) rad: of the joints that hold the hand where it is to be, those that the controller goes to."""
        return np.array(self._domain.robots[0].controller.initial_joint)

    def hand_pose(self) -> Pose:
        """The point between the fingers and, as upstream reads it, the orientation of the hand's body."""
        robot, data = self._domain.robots[0], self._domain.sim.data
        quaternion = convert_quat(data.get_body_xquat(robot.robot_model.eef_name), to="xyzw")
        return np.array(data.site_xpos[robot.eef_site_id]), np.array(quaternion)

    def controlled_pose(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position (3,) m and matrix (3, 3) of the site between the fingers, as the controller last knew it:
        before the last step of the physics."""
        controller = self._domain.robots[0].controller
        return np.array(controller.ee_pos), np.array(controller.ee_ori_mat)

    def fingers(self) -> NDArray[np.float64]:
        """(2,) positions of the two fingers, m, of opposite signs."""
        return np.array(self.data.qpos[self._domain.robots[0]._ref_gripper_joint_pos_indexes])

    def joints(self) -> NDArray[np.float64]:
        """(7,) rad."""
        return np.array(self.data.qpos[self._domain.robots[0]._ref_joint_pos_indexes])

    def pose_of(self, name: str) -> Pose:
        """Of an object, a fixture, or a named place of one."""
        state = self._domain.object_states_dict[name].get_geom_state()
        quaternion = np.array(state["quat"])
        is_place = self._domain.object_states_dict[name].object_state_type == "site"
        return np.array(state["pos"]), quaternion if is_place else quaternion[[1, 2, 3, 0]]

    def close(self) -> None:
        """Let go of the simulation. Nothing here holds a render context."""
        self._domain.close()

    # --- resetting ---------------------------------------------------------------------------------

    def _draw_up_to(self, seed: int, resets: int) -> None:
        """Know the draws before reset number `resets` after seeding."""
        if seed not in self._draws:
            self._domain.seed(seed)
            self._draws[seed] = [_Random(loads=1)]
        known = self._draws[seed]
        while len(known) <= resets:
            known[-1].restore()
            loads = self._reset(known[-1].loads)
            known.append(_Random(loads))

    def _reset(self, loads: int) -> int:
        """Upstream's reset from here, tried until a placement is found; returns how often it has loaded."""
        while True:
            loads += 1
            self._put_back(loads)
            try:
                self._domain.reset()
            except RandomizationError:
                continue
            return loads

    def _put_back(self, loads: int) -> None:
        """Everything as a new model has it. Upstream's samplers of joints pile up with every load."""
        domain = self._domain
        for name, array in self._domain.made_model.items():
            np.copyto(getattr(self.model, name), array)
        for name, sites in self._visible_sites().items():
            sites.update(self._visible[name])
        gripper = domain.robots[0].gripper
        gripper.current_action = np.zeros(gripper.dof)
        domain._generate_object_state_wrapper()
        domain.object_property_initializers = []
        domain._setup_placement_initializer(None)
        domain.object_property_initializers *= loads

    def _visible_sites(self) -> dict[str, dict[str, Any]]:
        """Marks that upstream shows and hides, such as the glow of a stove, by the object that has them."""
        bodies = {**self._domain.fixtures_dict, **self._domain.objects_dict}
        return {name: body.object_properties["vis_site_names"] for name, body in bodies.items()}


class _Remembering(Unread):
    """Mixed into upstream's class of a scene: knows what its model was made as."""

    def _initialize_sim(self, xml_string: str | None = None) -> None:
        super()._initialize_sim(xml_string)  # type: ignore[misc]
        self.made_model = _copies_of_arrays(self.sim.model._model)

    def _reset_internal(self) -> None:
        self.sim.forward()  # as upstream does with the simulation that it makes anew
        super()._reset_internal()


def _open(problem: type, scene: Path, on_sample: Callable[[], None], settings: dict[str, Any]) -> Any:
    """Upstream's environment as its own evaluation wrapper makes it, but for what is read of it."""
    domain = type(problem.__name__, (_Remembering, problem), {})
    return domain(
        str(scene),
        controller_configs=robosuite.load_controller_config(default_controller="OSC_POSE"),
        initialization_noise=None,
        use_camera_obs=False,
        has_offscreen_renderer=False,
        control_freq=20,
        ignore_done=True,
        hard_reset=False,
        on_sample=on_sample,
        **settings,
    )


def _copies_of_arrays(model: Any) -> Arrays:
    names = (name for name in dir(model) if not name.startswith(("_", *_NEVER_WRITTEN)))
    found = ((name, getattr(model, name)) for name in names)
    return {name: value.copy() for name, value in found if isinstance(value, np.ndarray)}
