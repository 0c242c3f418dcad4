"""Looks at the metaworld family from inside its simulator. Run by the environment's interpreter:

    python simulator_probe.py PROBE [ARGUMENT]

prints one JSON value. The tests in `test_environment.py` say what it must be.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from metaworld.env_dict import ALL_V3_ENVIRONMENTS, ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE
from metaworld.types import Task
from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.benchmarks.freezing import verify_states
from proctor.benchmarks.metaworld import FAMILY, manifest
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError
from proctor.policy import EpisodeContext, Observation
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine

EXPERT = str(Path(__file__).parents[3] / "examples" / "policies" / "metaworld_expert.py") + ":MetaworldExpert"
VERSION = find_version("metaworld-mt50-v1")
TASKS = {task.id: task for task in VERSION.definition.tasks}
STATE = "privileged.state"
CAMERAS = {feature.name: feature for feature in VERSION.definition.features if feature.kind == "image"}
CROPPED = find_version("metaworld-mt50-crop224-v1").definition
GOALS = find_version("metaworld-mt50-4cam-v1")
FAST = RenderProfile(name="fast", shadows=False, multisamples=0, reflections=False)


def _cameras(features: dict[str, dict[str, Any]], cameras: dict[str, Any]) -> BenchmarkDefinition:
    """MT50 with these of its cameras alone, changed, and with these settings of cameras."""
    changed = tuple(msgspec.structs.replace(CAMERAS[name], **fields) for name, fields in features.items())
    others = tuple(feature for feature in VERSION.definition.features if feature.kind != "image")
    return msgspec.structs.replace(
        VERSION.definition, features=(*changed, *others), settings={"cameras": cameras}
    )


SETUPS = {
    "as-it-is": _cameras({"images.primary": {}}, {}),
    "cropped": CROPPED,
    "moved": _cameras(
        {"images.primary": {"shape": (240, 320, 3)}}, {"images.primary": {"position": [0.75, 0.075, 0.7]}}
    ),
    "turned": _cameras(
        {
            "images.primary": {"orientation": "rotated-90", "shape": (160, 96, 3)},
            "images.quaternary": {"orientation": "rotated-270", "shape": (128, 128, 3)},
        },
        {"images.quaternary": {"render": [96, 201], "center_crop": 0.7}},
    ),
    "four": VERSION.definition,
}
"""Camera set-ups that are compared with upstream's renderer."""


def episode(task: str, index: int) -> Episode:
    return next(each for each in VERSION.episodes if (each.task, each.index) == (task, index))


def lane(task: str, definition: BenchmarkDefinition = VERSION.definition) -> Environment:
    return FAMILY.open(definition, TASKS[task], definition.actions[0])


def actions(steps: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, (steps, 4)).astype(np.float32)


def upstream_new(task: str, **options: Any) -> Any:
    return ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE[f"{task}-goal-observable"](seed=0, **options)


def begin_upstream(environment: Any, start: Episode) -> np.ndarray:
    """Take a new upstream environment to a start; returns its first observation."""
    environment.seeded_rand_vec, environment._freeze_rand_vec = True, False
    environment.seed(start.seed)
    return environment.reset()[0]


def upstream(start: Episode) -> tuple[Any, np.ndarray]:
    """A new upstream environment at its start, and its first observation."""
    environment = upstream_new(start.task)
    return environment, begin_upstream(environment, start)


def own_trace(environment: Environment, start: Episode) -> list[Any]:
    reset = environment.begin(start, (STATE,))
    trace = [*reset.initial_state, *reset.observation[STATE]]
    for action in actions(15):
        result = environment.step(action, (STATE,))
        trace += [*result.observation[STATE], result.success, result.metrics["unscaled_reward"]]
    return [float(value) for value in trace]


def upstream_trace(task: str, start: Episode) -> list[Any]:
    environment, first = upstream(start)
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


def fidelity(setup: str) -> dict[str, list[str]]:
    """What is not, bit by bit, as in upstream's own loop, which renders every camera at every step.

    By chunk: the frames and the state that are handed out at its end.
    """
    definition, found = SETUPS[setup], {}
    cameras = [feature.name for feature in definition.features if feature.kind == "image"]
    start, sent = episode("drawer-open-v3", 0), actions(20)
    expected = upstream_loop(definition, start, sent)
    for chunk in (1, 4, 10):
        environment = lane(start.task, definition)
        seen = {0: environment.begin(start, [*cameras, STATE]).observation}
        for step, action in enumerate(sent, start=1):
            asked = [*cameras, STATE] if step % chunk == 0 else ()
            seen[step] = environment.step(action, asked).observation
        environment.close()
        found[f"{setup}, chunk {chunk}"] = differing(seen, expected)
    return found


def whole_episode() -> dict[str, Any]:
    """An expert's whole episode in chunks of ten beside upstream's own loop: steps, and what differs."""
    task, start = "drawer-close-v3", episode("drawer-close-v3", 0)
    sent = expert_actions(task, start)
    expected = upstream_loop(VERSION.definition, start, sent)
    environment = lane(task)
    names = [*CAMERAS, STATE]
    seen = {0: environment.begin(start, names).observation}
    for step, action in enumerate(sent, start=1):
        result = environment.step(action, names if step % 10 == 0 or step == len(sent) else ())
        seen[step] = result.observation
    environment.close()
    steps = differing(seen, expected)
    return {"steps": len(sent), "success": result.success, "differing": steps}


def differing(seen: dict[int, Any], expected: list[dict[str, Any]]) -> list[str]:
    """Features handed out that are not those of upstream's loop at that step."""
    return [
        f"{feature} at step {step}"
        for step, features in seen.items()
        for feature, value in features.items()
        if not np.array_equal(value, expected[step][feature])
    ]


def upstream_loop(definition: BenchmarkDefinition, start: Episode, sent: Any) -> list[dict[str, Any]]:
    """What upstream's own environment and renderer show after every step, turned, cropped and scaled."""
    cameras = [feature for feature in definition.features if feature.kind == "image"]
    loops = [_upstream_views(definition, start, sent, feature) for feature in cameras]
    return [{name: value for view in at for name, value in view.items()} for at in zip(*loops, strict=True)]


def rendered_size(definition: BenchmarkDefinition, feature: Any) -> tuple[int, int]:
    camera = definition.settings.get("cameras", {}).get(feature.name, {})
    height, width = camera.get("render", (feature.shape or (0, 0))[:2])
    quarter = feature.orientation in ("rotated-90", "rotated-270") and "render" not in camera
    return (width, height) if quarter else (height, width)


def _upstream_views(
    definition: BenchmarkDefinition, start: Episode, sent: Any, feature: Any
) -> list[dict[str, Any]]:
    """One upstream environment for one camera, as upstream is used: it renders one size of one camera."""
    settings = definition.settings.get("cameras", {}).get(feature.name, {})
    height, width = rendered_size(definition, feature)
    reference = upstream_new(start.task, render_mode="rgb_array")
    renderer, buffer = reference.mujoco_renderer, reference.model.vis.global_
    renderer.height, renderer.width = buffer.offheight, buffer.offwidth = height, width
    renderer.camera_id = camera = reference.model.camera(feature.camera).id
    if "position" in settings:
        reference.model.cam_pos[camera] = settings["position"]
    state = begin_upstream(reference, start)
    views = [{STATE: state.astype(np.float32), feature.name: picture(reference.render(), feature, settings)}]
    for action in sent:
        state = reference.step(action)[0]
        frame = picture(reference.render(), feature, settings)
        views.append({STATE: state.astype(np.float32), feature.name: frame})
    reference.close()
    return views


def picture(frame: Any, feature: Any, settings: Any) -> Any:
    """Upstream's frame, turned, cropped and scaled, written out for the set-ups that are tried."""
    turns = {"upright": 0, "rotated-90": 1, "rotated-180": 2, "rotated-270": 3}[feature.orientation]
    for _ in range(turns):
        frame = frame.swapaxes(0, 1)[::-1]  # a quarter to the left: columns become rows, the last one first
    if "center_crop" in settings:
        kept = [int(side * settings["center_crop"]) for side in frame.shape[:2]]
        top, left = ((side - keep) // 2 for side, keep in zip(frame.shape, kept, strict=False))
        frame = frame[top : top + kept[0], left : left + kept[1]]
    height, width, _ = feature.shape
    if frame.shape[:2] != (height, width):
        frame = Image.fromarray(np.ascontiguousarray(frame)).resize(
            (width, height), Image.Resampling.BILINEAR
        )
    return np.asarray(frame)


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


def expert_actions(task: str, start: Episode) -> list[Any]:
    """What the expert does until its first success."""
    policy, environment, sent = make_policy(EXPERT, {}), lane(task), []
    policy.reset(EpisodeContext(start.id, task))
    observation = environment.begin(start, [STATE]).observation
    for step in range(500):
        sent.append(np.clip(policy.act(Observation(start.id, step, observation)).actions, -1, 1))
        result = environment.step(sent[-1], [STATE])
        observation = result.observation
        if result.success:
            break
    environment.close()
    return sent


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
        "version": (msgspec.structs.replace(definition, packages={"mujoco": "2.3.7"}), task),
        "setting": (msgspec.structs.replace(definition, settings={"camras": {}}), task),
        "representation": (
            msgspec.structs.replace(
                definition,
                actions=(msgspec.structs.replace(definition.actions[0], representation="metaworld.delta"),),
            ),
            task,
        ),
    }
    found = {}
    for name, (changed, which) in wrong.items():
        try:
            FAMILY.open(changed, which, changed.actions[0])
        except (UnknownNameError, BenchmarkFault, EnvironmentMissing) as error:
            found[name] = str(error)
    environment = lane("push-v3")
    try:
        environment.begin(
            msgspec.structs.replace(episode("push-v3", 0), settings={"random_vector": [0.1]}), ()
        )
    except BenchmarkFault as error:
        found["vector"] = str(error)
    environment.close()
    return found


def _with(feature: Any) -> BenchmarkDefinition:
    return msgspec.structs.replace(VERSION.definition, features=(feature,))


def goals() -> dict[str, list[str]]:
    """Tasks whose episodes with upstream's goals are not those of its own `set_task`, or of their record."""
    unlike, beyond = [], []
    for task in ("pick-place-v3", "stick-push-v3", "window-close-v3"):
        environment = lane(task, GOALS.definition)
        for start in (e for e in GOALS.episodes if e.task == task and e.index in (0, 49)):
            reset = environment.begin(start, [STATE])
            vector = np.array(start.settings["random_vector"])
            data = {"env_cls": object, "rand_vec": vector, "partially_observable": False}
            reference = ALL_V3_ENVIRONMENTS[task]()
            reference.set_task(Task(env_name=task, data=pickle.dumps(data)))
            first = reference.reset()[0].astype(np.float32)
            if not np.array_equal(first, reset.observation[STATE]):
                unlike.append(start.id)
            if np.abs(reset.initial_state - np.array(start.initial_state)).max() > 1e-6:
                beyond.append(start.id)
        environment.close()
    return {"unlike set_task": unlike, "unlike the record": beyond}


def drawn_goals() -> list[str]:
    """Episodes whose random vector is not what upstream draws with seed 42."""
    vectors = manifest.goals()
    wanted = {e.start: tuple(e.settings["random_vector"]) for e in GOALS.episodes}
    drawn = {f"{task}/{index}": v for task, each in vectors.items() for index, v in enumerate(each)}
    return sorted(start for start in wanted if drawn[start] != wanted[start])


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
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
