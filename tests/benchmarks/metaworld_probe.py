"""Looks at the metaworld family from inside its simulator. Run by the environment's interpreter:

    python metaworld_probe.py PROBE

prints one JSON value. The tests in `test_metaworld.py` say what it must be.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE

from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.benchmarks.freezing import verify_states
from proctor.benchmarks.metaworld import FAMILY
from proctor.benchmarks.registry import find_version
from proctor.errors import UnknownNameError
from proctor.policy import EpisodeContext, Observation
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine

EXPERT = str(Path(__file__).parents[2] / "examples" / "policies" / "metaworld_expert.py") + ":MetaworldExpert"
VERSION = find_version("metaworld-mt50-v1")
TASKS = {task.id: task for task in VERSION.definition.tasks}
STATE = "privileged.state"
CAMERAS = {feature.name: feature for feature in VERSION.definition.features if feature.kind == "image"}
FAST = RenderProfile(name="fast", shadows=False, multisamples=0, reflections=False)


def episode(task: str, index: int) -> Episode:
    return next(each for each in VERSION.episodes if (each.task, each.index) == (task, index))


def lane(task: str, definition: BenchmarkDefinition = VERSION.definition) -> Environment:
    return FAMILY.open(definition, TASKS[task], definition.actions[0])


def actions(steps: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (steps, 4)).astype(np.float32)


def upstream(task: str, seed: int, **options: Any) -> tuple[Any, np.ndarray]:
    """A new upstream environment at its start, and its first observation."""
    environment = ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[f"{task}-goal-observable"](seed=0, **options)
    environment.seeded_rand_vec, environment._freeze_rand_vec = True, False
    environment.seed(seed)
    return environment, environment.reset()[0]


def own_trace(environment: Environment, start: Episode) -> list[Any]:
    reset = environment.begin(start, (STATE,))
    trace = [*reset.initial_state, *reset.observation[STATE]]
    for action in actions(15):
        result = environment.step(action, (STATE,))
        trace += [*result.observation[STATE], result.success, result.metrics["unscaled_reward"]]
    return [float(value) for value in trace]


def upstream_trace(task: str, start: Episode) -> list[Any]:
    environment, first = upstream(task, start.seed)
    data = environment.data
    trace = [*data.qpos, *data.qvel, *environment._last_rand_vec, *first.astype(np.float32)]
    for action in actions(15):
        observation, _, _, _, info = environment.step(action)
        trace += [*observation.astype(np.float32), bool(info["success"]), info["unscaled_reward"]]
    return [float(value) for value in trace]


def purity() -> dict[str, list[str]]:
    """Tasks whose second and third episode are not those of a new upstream environment."""
    used, recorded = [], []
    tolerance = VERSION.definition.initial_state_tolerance
    for task in TASKS:
        environment, start = lane(task), episode(task, 0)
        own_trace(environment, episode(task, 1))
        trace = own_trace(environment, start)
        if not np.array_equal(trace, upstream_trace(task, start), equal_nan=True):
            used.append(task)
        state = np.array(start.initial_state)
        if np.abs(trace[: state.size] - state).max() > tolerance:
            recorded.append(task)
        environment.close()
    return {"unlike upstream": used, "unlike the record": recorded}


def frames() -> list[str]:
    """Frames, seen only at steps 0 and 10, that are not those upstream's own renderer makes at every step."""
    task, differing = "drawer-open-v3", []
    start = episode(task, 0)
    environment = lane(task)
    seen = {0: environment.begin(start, CAMERAS).observation}
    for step, action in enumerate(actions(10), start=1):
        result = environment.step(action, CAMERAS if step == 10 else ())
        seen[step] = result.observation
    environment.close()
    for name, feature in CAMERAS.items():
        reference, _ = upstream(task, start.seed, render_mode="rgb_array")
        reference.mujoco_renderer.camera_id = reference.model.camera(feature.camera).id
        expected = [reference.render()]
        for action in actions(10):
            reference.step(action)
            expected.append(reference.render())
        reference.close()
        for step in (0, 10):
            frame = expected[step][::-1, ::-1] if feature.orientation == "rotated-180" else expected[step]
            if not np.array_equal(frame, seen[step][name]):
                differing.append(f"{name} at step {step}")
    return differing


def fast_profile() -> dict[str, Any]:
    """What the fast profile changes: the frame, its time, and the state."""
    start, found = episode("push-v3", 0), []
    for profile in (VERSION.definition.render, FAST):
        environment = lane("push-v3", msgspec.structs.replace(VERSION.definition, render=profile))
        environment.begin(start, ["images.primary"])
        began = time.perf_counter()
        for action in actions(5):
            result = environment.step(action, ["images.primary", STATE])
        found.append((result.observation, time.perf_counter() - began))
        environment.close()
    (reference, slow_s), (fast, fast_s) = found
    difference = np.abs(reference["images.primary"].astype(int) - fast["images.primary"]).mean()
    same = bool(np.array_equal(reference[STATE], fast[STATE]))
    return {"same state": same, "mean difference": float(difference), "speed-up": slow_s / fast_s}


def contexts() -> bool:
    """Whether a lane renders the same after another lane, made earlier, was closed."""
    first, second = lane("push-v3"), lane("push-v3")
    first.begin(episode("push-v3", 1), ["images.primary"])
    before = second.begin(episode("push-v3", 0), ["images.primary"]).observation
    first.close()
    after = second.begin(episode("push-v3", 0), ["images.primary"]).observation
    second.close()
    return bool(np.array_equal(before["images.primary"], after["images.primary"]))


def expert() -> dict[str, int]:
    """Control steps to success of the first episode of every task, 0 for a failure."""
    policy = make_policy(EXPERT, {})
    found = {}
    for task in TASKS:
        environment, start = lane(task), episode(task, 0)
        policy.reset(EpisodeContext(start.id, task))
        observation = environment.begin(start, [STATE]).observation
        found[task] = 0
        for step in range(500):
            action = policy.act(Observation(start.id, step, observation)).actions
            result = environment.step(np.clip(action, -1, 1), [STATE])
            observation = result.observation
            if result.success:
                found[task] = step + 1
                break
        policy.end_episode(start.id)
        environment.close()
    return found


def manners() -> dict[str, bool]:
    """Small promises of a lane."""
    environment, start = lane("pick-place-v3"), episode("pick-place-v3", 0)
    reset = environment.begin(start, [STATE, "state.proprioception", "language.instruction"])
    seen = reset.observation
    closing = np.array([0.5, 0, 0, 1], np.float32)
    environment.step(closing)
    held = [environment.step(environment.hold_action(closing), [STATE]).observation[STATE] for _ in range(40)]
    promises = {
        "proprioception leads the state": np.array_equal(seen["state.proprioception"], seen[STATE][:4]),
        "the goal is visible": bool(np.any(seen[STATE][-3:])),
        "the instruction is the episode's": seen["language.instruction"] == start.segments[0].instruction,
        "hold keeps the hand": bool(np.abs(held[-1][:3] - held[0][:3]).max() < 0.01),
        "hold keeps the gripper": held[-1][3] < seen[STATE][3],
        "hold is open at first": environment.hold_action(None).tolist() == [0, 0, 0, -1],
    }
    environment.close()
    return {name: bool(kept) for name, kept in promises.items()}


def refusals() -> dict[str, str]:
    """Messages for what a definition may get wrong."""
    definition, task = VERSION.definition, TASKS["push-v3"]
    image, state = CAMERAS["images.primary"], definition.features[4]
    wrong = {
        "task": (definition, msgspec.structs.replace(task, id="pushh-v3")),
        "camera": (_with(msgspec.structs.replace(image, camera="corner5")), task),
        "feature": (_with(msgspec.structs.replace(state, name="state.joints")), task),
    }
    found = {}
    for name, (changed, which) in wrong.items():
        try:
            FAMILY.open(changed, which, changed.actions[0])
        except UnknownNameError as error:
            found[name] = str(error)
    return found


def _with(feature: Any) -> BenchmarkDefinition:
    return msgspec.structs.replace(VERSION.definition, features=(feature,))


def starts() -> float:
    """Largest difference between recorded and rebuilt starts of all of MT10."""
    return max(difference for _, difference in verify_states(find_version("metaworld-mt10-v1")))


def conformance() -> list[str]:
    """What the kit finds wrong with a task."""
    findings = examine(VERSION, ["push-v3"])
    return [f"{finding.check}: {finding.problem}" for finding in findings if finding.problem]


def packages() -> dict[str, str]:
    return dict(FAMILY.packages())


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]]()))
