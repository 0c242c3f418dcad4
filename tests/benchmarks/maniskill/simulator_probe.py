"""Run in ManiSkill's own interpreter: prints, as JSON, what the tests look at.

python simulator_probe.py fidelity VERSION TASK INDEX STEPS   lanes in chunks beside upstream's own loop
python simulator_probe.py alone TASK INDEX                    digests of an episode in this new process
python simulator_probe.py after TASK INDEX                    the same after others, and after another lane
python simulator_probe.py turns                               which way a turn goes
python simulator_probe.py holding                             how far a waiting robot moves
python simulator_probe.py conformance VERSION TASK            rules of the contract that a task does not keep
python simulator_probe.py refusals                            what is said to what a lane does not do
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import mani_skill.envs  # noqa: F401  (registers the environments)
import numpy as np
from msgspec.structs import replace

from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.maniskill.environment import CONTROL_MODES
from proctor.benchmarks.maniskill.settings import task_settings_of
from proctor.benchmarks.maniskill.tasks import TASKS
from proctor.benchmarks.registry import find_family, find_version
from proctor.errors import ProctorError
from proctor.testing.benchmarks import examine

CHUNKS = (1, 4, 10)
STATES = {"state.joints": ("agent", "qpos"), "state.joint_velocities": ("agent", "qvel")}
FRAMES = {"images.primary": "base_camera", "images.wrist": "hand_camera"}
VERSION = find_version("maniskill-v1")


def opened(version: Any, task: str, action: int = 0, **changes: Any) -> Environment:
    definition = replace(version.definition, **changes)
    wanted = next(each for each in definition.tasks if each.id == task)
    return find_family("maniskill").open(definition, wanted, definition.actions[action])


def episode_of(version: Any, task: str, index: int) -> Episode:
    return next(each for each in version.episodes if (each.task, each.index) == (task, index))


def actions(steps: int, action: int = 0) -> list[np.ndarray]:
    """Down onto the table and along it, so that things are touched, and beyond what upstream's controller
    takes as it is; joints: about the start."""
    random = np.random.RandomState(7)
    if action == 0:
        drift = np.array([0.2, 0.0, -0.3, 0.0, 0.0, 0.0, 0.0])
        return [(random.uniform(-1.4, 1.4, 7) + drift).astype(np.float32) for _ in range(steps)]
    rest = np.array([0.0, 0.6, 0.0, -1.96, 0.0, 2.36, 0.785, 0.0])
    return [(rest + random.uniform(-0.3, 0.3, 8)).astype(np.float32) for _ in range(steps)]


def digest(value: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()


def upstreams(version: Any, task: str, index: int, steps: int, action: int) -> list[dict[str, Any]]:
    """What upstream's own loop observes at the start and after every step, under the names of features."""
    definition = version.definition
    settings = task_settings_of(next(each for each in definition.tasks if each.id == task))
    made: Any = gymnasium.make(
        settings.environment,
        obs_mode="rgb",
        control_mode=CONTROL_MODES[definition.actions[action].representation],
        robot_uids=settings.robot,
        sim_backend="physx_cpu",
    )
    observation, info = made.reset(seed=episode_of(version, task, index).seed)
    seen = [_named(observation, info, settings.environment)]
    for each in actions(steps, action):
        observation, _, _, _, info = made.step(each)
        seen.append(_named(observation, info, settings.environment))
    made.close()
    return seen


def _named(observation: Any, info: Any, environment: str) -> dict[str, Any]:
    known = TASKS[environment]
    extra = observation["extra"]
    found = {
        name: observation["sensor_data"][camera]["rgb"][0].numpy()
        for name, camera in FRAMES.items()
        if camera in observation["sensor_data"]
    }
    found |= {name: observation[group][key][0].numpy() for name, (group, key) in STATES.items()}
    found["state.tcp_pose"] = extra["tcp_pose"][0].numpy()
    found["state.goal_position"] = extra[known.goal][0].numpy() if known.goal else np.zeros(3, np.float32)
    grasped = bool(extra[known.grasp]) if known.grasp else False
    found["state.is_grasped"] = np.array([grasped], np.float32)
    return {**{name: digest(value) for name, value in found.items()}, "success": bool(info["success"])}


def fidelity(name: str, task: str, index: str, steps: str) -> dict[str, Any]:
    """Every feature at every look, in chunks, and success after every step, beside upstream's."""
    version, differing, compared = find_version(name), [], 0
    declared = {feature.name for feature in version.definition.features}
    for action in range(2):
        expected = upstreams(version, task, int(index), int(steps), action)
        names = sorted(declared & expected[0].keys())
        lane = opened(version, task, action)
        for chunk in CHUNKS:
            start = lane.begin(episode_of(version, task, int(index)), names)
            looks = [(0, start.observation, start.success)]
            for number, each in enumerate(actions(int(steps), action), start=1):
                result = lane.step(each, names if number % chunk == 0 else ())
                looks.append((number, result.observation, result.success))
            for number, observation, success in looks:
                found = {key: digest(value) for key, value in observation.items()} | {"success": success}
                compared += len(found)
                differing += [
                    [action, chunk, number, key] for key in found if found[key] != expected[number][key]
                ]
        lane.close()
    return {"differing": differing, "compared": compared}


def _played(lane: Environment, task: str, index: int) -> list[str]:
    names = ("images.primary", "state.joints")
    start = lane.begin(episode_of(VERSION, task, index), names)
    seen = [digest(start.initial_state), *(digest(start.observation[name]) for name in names)]
    for number, each in enumerate(actions(30), start=1):
        observation = lane.step(each, names if number % 10 == 0 else ()).observation
        seen += [digest(value) for value in observation.values()]
    return seen


def alone(task: str, index: str) -> list[str]:
    """In a process that did nothing before."""
    return _played(opened(VERSION, task), task, int(index))


def after(task: str, index: str) -> dict[str, list[str]]:
    """After another episode in the lane; beside another lane that is open; after one that was closed."""
    lane = opened(VERSION, task)
    _played(lane, task, int(index) + 1)
    found = {"after another episode": _played(lane, task, int(index))}
    second = opened(VERSION, task)
    _played(second, task, int(index) + 2)
    found["beside an open lane"] = _played(lane, task, int(index))
    lane.close()
    found["after a closed lane"] = _played(second, task, int(index))
    second.close()
    return found


def turns() -> float:
    """Radians about x that five turns of 1 about x make."""
    lane = opened(VERSION, "pick-cube")
    lane.begin(episode_of(VERSION, "pick-cube", 0), ())
    poses = [
        lane.step(np.array([0, 0, 0, turn, 0, 0, 1], np.float32), ("state.tcp_pose",)).observation
        for turn in (0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0)
    ]
    angles = [2 * np.arctan2(pose["state.tcp_pose"][4], pose["state.tcp_pose"][3]) for pose in poses]
    lane.close()
    return float(angles[-1] - angles[0])


def holding() -> list[float]:
    """How far (m) the hand moves while it waits a second, in each representation."""
    moved = []
    for action in range(2):
        lane = opened(VERSION, "pick-cube", action)
        before = lane.begin(episode_of(VERSION, "pick-cube", 0), ("state.tcp_pose",)).observation
        last = None
        for _ in range(20):
            last = lane.hold_action(last)
            now = lane.step(last, ("state.tcp_pose",)).observation
        lane.close()
        moved.append(float(np.abs(now["state.tcp_pose"][:3] - before["state.tcp_pose"][:3]).max()))
    return moved


def conformance(version: str, task: str) -> list[str]:
    """Rules of the contract that a task does not keep."""
    found = examine(find_version(version), [task])
    return [f"{each.check}: {each.problem}" for each in found if each.problem]


def refusals() -> dict[str, str]:
    """What a lane says to what it does not do, by case."""
    definition = VERSION.definition
    action, feature, camera = definition.actions[0], definition.features[1], definition.features[0]
    episode = episode_of(VERSION, "pick-cube", 0)
    segment = replace(episode.segments[0], predicate="other")
    lane = opened(VERSION, "pick-cube")
    return {
        "action": _said(
            lambda: opened(VERSION, "pick-cube", actions=(replace(action, representation="maniskill.pd"),))
        ),
        "feature": _said(
            lambda: opened(VERSION, "pick-cube", features=(replace(feature, name="state.joint"),))
        ),
        "camera": _said(
            lambda: opened(VERSION, "pick-cube", features=(replace(camera, camera="hand_camera"),))
        ),
        "version": _said(lambda: opened(VERSION, "pick-cube", packages={"sapien": "3.0.0"})),
        "predicate": _said(lambda: lane.begin(replace(episode, segments=(segment,)), ())),
        "unasked": _said(lambda: lane.begin(episode, ("images.wrist",))),
    }


def _said(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


if __name__ == "__main__":
    function, *arguments = sys.argv[1:]
    print(json.dumps(globals()[function](*arguments)))
