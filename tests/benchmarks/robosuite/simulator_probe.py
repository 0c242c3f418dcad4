"""Looks at the robosuite family from inside its simulator. Run by the environment's interpreter:

    python simulator_probe.py PROBE [ARGUMENTS...]

prints one JSON value. The tests beside it say what it must be.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from proctor.benchmarks.contract import Environment, Episode
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.benchmarks.orders import answers
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robosuite import FAMILY
from proctor.benchmarks.robosuite.settings import Settings, TaskSettings, settings_of, task_settings_of
from proctor.benchmarks.robosuite_sensors import SamplingClock
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import ProctorError
from proctor.policy import EpisodeContext, Observation
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine
from proctor.testing.traces import beside

ORACLE = str(Path(__file__).parents[3] / "examples" / "policies" / "robosuite_oracle.py") + ":RobosuiteOracle"
STATES = ("state.proprioception", "state.eef_quaternion", "state.eef_axis_angle")
FAST = RenderProfile(name="fast", shadows=False, multisamples=0, reflections=False)


def version_of(task: str) -> BenchmarkVersion:
    return find_version("robosuite-two-arm-v1" if task.startswith("two-arm") else "robosuite-v1")


def episode(task: str, index: int) -> Episode:
    return next(each for each in version_of(task).episodes if (each.task, each.index) == (task, index))


def lane(task: str, definition: BenchmarkDefinition | None = None) -> Environment:
    definition = definition or version_of(task).definition
    found = next(each for each in definition.tasks if each.id == task)
    return FAMILY.open(definition, found, definition.actions[0])


def cameras(task: str) -> dict[str, str]:
    """Upstream's camera of every image feature."""
    features = version_of(task).definition.features
    return {each.name: str(each.camera) for each in features if each.kind == "image"}


def settings(task: str) -> tuple[Settings, TaskSettings]:
    definition = version_of(task).definition
    return settings_of(definition), task_settings_of(
        next(each for each in definition.tasks if each.id == task)
    )


def actions(task: str, steps: int) -> np.ndarray:
    """Hands that wander down to the table and close and open every 15 steps."""
    robots = len(settings(task)[0].robots)
    drawn = np.random.default_rng(3).normal(0, 0.5, (steps, robots, 7))
    drawn[..., 2] -= 0.2
    drawn[..., 6] = np.where(np.arange(steps) // 15 % 2, 1, -1)[:, None]
    return np.clip(drawn, -1, 1).astype(np.float32).reshape(steps, -1)


def made(task: str, seed: int, **changes: Any) -> Any:
    """Upstream's own environment, with its own default controller, observed by its cameras at every step.

    Under its default renderer, a reset leaves the render context of `make` to the garbage collector
    (`collected`); under `mujoco` it is freed in time.
    """
    import robosuite

    ours, named = settings(task)
    given = {
        "robots": list(ours.robots),
        "seed": seed,
        "control_freq": 20,
        "renderer": "mujoco",
        "ignore_done": True,
        "use_camera_obs": True,
        "camera_names": list(cameras(task).values()),
        "camera_heights": 256,
        "camera_widths": 256,
    }
    return robosuite.make(named.environment, **{**given, **changes})


def upstreams(task: str, seed: int, steps: int) -> list[dict[str, Any]]:
    """What upstream's own loop sees at the start and after every step."""
    environment = made(task, seed)
    trace = [upstreams_view(task, environment.reset(), False)]
    for action in actions(task, steps):
        seen, *_ = environment.step(action.astype(float))
        trace.append(upstreams_view(task, seen, environment._check_success()))
    environment.close()
    return trace


def collected() -> dict[str, float]:
    """By how much a frame of upstream's own environment changes, on average, while nothing moves and garbage
    is collected: under its default renderer, and under the one that frees contexts in time."""
    import gc

    found = {}
    for renderer in ("mjviewer", "mujoco"):
        gc.disable()
        environment = made("lift", 0, renderer=renderer)
        before = environment.reset()["agentview_image"].astype(int)
        gc.enable()
        gc.collect()
        after = environment._get_observations(force_update=True)["agentview_image"]
        found[renderer] = float(np.abs(before - after).mean())
        environment.close()
    return found


def upstreams_view(task: str, seen: dict[str, Any], success: bool) -> dict[str, Any]:
    """As clients of upstream take an observation apart: frames the right way up, states by their keys."""
    from robosuite.utils.transform_utils import quat2axisangle

    found: dict[str, Any] = {name: [] for name in STATES}
    for number in range(len(settings(task)[0].robots)):
        position, quaternion, fingers, joints = (
            seen[f"robot{number}_{key}"] for key in ("eef_pos", "eef_quat", "gripper_qpos", "joint_pos")
        )
        found[STATES[0]] += [position, quaternion, fingers, joints]
        found[STATES[1]] += [position, quaternion, fingers]
        found[STATES[2]] += [position, quat2axisangle(quaternion.copy()), fingers]
    states = {name: np.concatenate(values).astype(np.float32) for name, values in found.items()}
    images = {name: seen[f"{camera}_image"][::-1] for name, camera in cameras(task).items()}
    return {**images, **states, "success": bool(success)}


def own(environment: Environment, task: str, start: Episode, steps: int, chunk: int) -> list[dict[str, Any]]:
    """What the lane shows where a policy with chunks of this length looks, and whether the goal holds."""
    names = (*cameras(task), *STATES)
    reset = environment.begin(start, names)
    trace: list[dict[str, Any]] = [{**reset.observation, "success": False}]
    for number, action in enumerate(actions(task, steps), start=1):
        result = environment.step(action, names if number % chunk == 0 else ())
        trace.append({**result.observation, "success": result.success})
    return trace


def fidelity(task: str, index: str, steps: str) -> dict[str, Any]:
    """Where what the lane shows is not, bit for bit, what upstream's loop saw; another episode ran before."""
    count, start = int(steps), episode(task, int(index))
    expected = upstreams(task, start.seed, count)
    environment = lane(task)
    own(environment, task, episode(task, int(index) + 2), 20, 20)
    found = beside(expected, lambda chunk: own(environment, task, start, count, chunk))
    environment.close()
    return found


def moments() -> bool:
    """Whether the clock tells the moments at which upstream's own sensor reads, over a long episode."""
    from robosuite.utils.observables import Observable, sensor

    clock, reads = SamplingClock(), []

    @sensor(modality="test")
    def probe(_: Any) -> np.ndarray:
        reads.append(True)
        return np.zeros(3)

    observable = Observable("probe", probe, sampling_rate=20)
    observable.reset()
    clock.reset()
    for number in range(1 + 25 * 700):
        reads.clear()
        observable.update(0.002, {}, force=number < 1)
        if clock.tick(force=number < 1) != bool(reads):
            return False
    return True


def controller() -> dict[str, Any]:
    """The version's controller, and upstream's default for a Panda."""
    from robosuite.controllers import load_composite_controller_config

    versions = [find_version(name) for name in ("robosuite-v1", "robosuite-fast-v1", "robosuite-two-arm-v1")]
    return {
        "ours": [settings_of(each.definition).controller.as_upstream() for each in versions],
        "upstream's": load_composite_controller_config(robot="Panda"),
    }


def digest(task: str, environment: Environment, index: int = 0) -> str:
    """Of the first frames of an episode, and of one after three steps."""
    names, (*before, last) = tuple(cameras(task)), actions(task, 3)
    seen = environment.begin(episode(task, index), names).observation
    for action in before:
        environment.step(action)
    seen |= {"last": environment.step(last, names[:1]).observation[names[0]]}
    return hashlib.sha256(b"".join(seen[name].tobytes() for name in (*names, "last"))).hexdigest()


def alone(task: str, index: str) -> str:
    """The frames of an episode in a process of its own."""
    environment = lane(task)
    found = digest(task, environment, int(index))
    environment.close()
    return found


def together() -> dict[str, list[str]]:
    """Frames of two lanes in one process: both open, one after the other was closed, in any order."""
    first, second = lane("lift"), lane("door")
    lift, door = [digest("lift", first)], [digest("door", second)]
    digest("lift", first, 3)  # a cube of another size
    lift.append(digest("lift", first))
    first.close()
    door.append(digest("door", second))
    third = lane("lift")
    lift.append(digest("lift", third))
    door.append(digest("door", second))
    second.close()
    lift.append(digest("lift", third))
    third.close()
    return {"lift": lift, "door": door}


def contexts() -> dict[str, Any]:
    """How many render contexts a lane made for episodes whose cubes differ in size."""
    from proctor.benchmarks import mujoco_frames

    made: list[bool] = []
    inner = mujoco_frames._Context.__init__

    def counted(*args: Any) -> None:
        made.append(True)
        inner(*args)

    mujoco_frames._Context.__init__ = counted  # type: ignore[method-assign]
    environment = lane("lift")
    sizes = set()
    for index in range(3):
        environment.begin(episode("lift", index), ["images.primary"])
        sizes.add(float(environment._upstream.model.geom("cube_g0").size[0]))  # type: ignore[attr-defined]
    environment.close()
    return {"contexts": len(made), "sizes": len(sizes)}


def refusals() -> dict[str, str]:
    """What is said of definitions and episodes that cannot be run."""
    definition = version_of("lift").definition
    task, features = definition.tasks[0], definition.features

    def changed_task(**changes: Any) -> str:
        tasks = (replace(task, settings={**task.settings, **changes}),)
        return refusal(lambda: lane("lift", replace(definition, tasks=tasks)))

    def changed(**changes: Any) -> str:
        return refusal(lambda: lane("lift", replace(definition, **changes)))

    arm = definition.settings["controller"]["arm"]
    said = {
        "task": changed_task(environment="Lfit"),
        "no gripper": changed_task(environment="Wipe", poses=[]),
        "pose": changed_task(poses=["cube_mian"]),
        "setting": changed_task(robot="Panda"),
        "mujoco": changed(packages={"mujoco": "4.0.0"}),
        "robosuite": changed(packages={"robosuite": "1.4.0"}),
        "robot": changed(settings={**definition.settings, "robots": ["Sawyer"]}),
        "controller": changed(
            settings={**definition.settings, "controller": {"type": "BASIC", "arm": {**arm, "kp": "high"}}}
        ),
        "feature": changed(features=(*features[:2], replace(features[2], name="state.jointz"))),
        "camera": changed(features=(replace(features[0], camera="agentvue"), *features[1:])),
        "representation": changed(
            actions=(replace(definition.actions[0], representation="robosuite.two-arm-delta-eef-v1"),)
        ),
        "orientation": changed(features=(replace(features[0], orientation="upright"), *features[1:])),
        "settling": changed(settle_steps=10),
    }
    environment, start = lane("lift"), episode("lift", 0)
    for name, wrong in (
        ("seed", replace(start, seed=-1)),
        ("predicate", replace(start, segments=(replace(start.segments[0], predicate="other"),))),
    ):
        said[name] = refusal(lambda wrong=wrong: environment.begin(wrong, ()))
    said["raises in reset"] = refusal(lambda: without_room(environment, start))
    said["afterwards"] = "starts" if environment.begin(start, ()).initial_state.size else ""
    environment.close()
    return said


def without_room(environment: Environment, start: Episode) -> None:
    """Begin where upstream's own sampler finds no place for the cube."""
    from robosuite.utils.placement_samplers import UniformRandomSampler

    UniformRandomSampler.sample, kept = no_room, UniformRandomSampler.sample
    try:
        environment.begin(start, ())
    finally:
        UniformRandomSampler.sample = kept


def no_room(*_: Any, **__: Any) -> None:
    from robosuite.utils.errors import RandomizationError

    raise RandomizationError("Cannot place all objects ):")


def refusal(attempt: Callable[[], object]) -> str:
    try:
        made = attempt()
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    if hasattr(made, "close"):
        made.close()
    return ""


def fast_profile() -> dict[str, Any]:
    """What the fast profile changes: the frame, and nothing of the state."""
    found, definition = [], version_of("lift").definition
    for profile in (definition.render, FAST):
        environment = lane("lift", replace(definition, render=profile))
        found.append(own(environment, "lift", episode("lift", 0), 5, 5)[-1])
        environment.close()
    reference, fast = found
    difference = np.abs(reference["images.primary"].astype(int) - fast["images.primary"]).mean()
    same = all(np.array_equal(reference[name], fast[name]) for name in STATES)
    return {"same state": same, "mean difference": float(difference)}


def oracle(*tasks: str) -> dict[str, list[int]]:
    """Control steps to success, 0 for a failure, of the first episodes of every task, given as TASK:COUNT."""
    return {task: _oracle(task, int(count)) for task, _, count in (name.partition(":") for name in tasks)}


def _oracle(task: str, count: int) -> list[int]:
    environment, names = lane(task), ("state.proprioception", "privileged.poses")
    steps = []
    for index in range(count):
        policy, start = make_policy(ORACLE, {}), episode(task, index)
        segment = start.segments[0]
        policy.reset(EpisodeContext(start.id, task, instruction=segment.instruction))
        seen, taken = environment.begin(start, names).observation, 0
        for step in range(segment.horizon):
            chunk = policy.act(Observation(episode_id=start.id, step=step, features=seen))
            actions = np.asarray(chunk.actions)
            result = environment.step(actions.reshape(-1, actions.shape[-1])[0], names)
            seen = result.observation
            if result.success:
                taken = step + 1
                break
        steps.append(taken)
    environment.close()
    return steps


def starts(*tasks: str) -> float:
    """Largest deviation of the first, the last and a middle start of every task from the record."""
    worst = 0.0
    for task in tasks:
        environment = lane(task)
        for index in (49, 0, 23):
            start = episode(task, index)
            made = environment.begin(start, ()).initial_state
            worst = max(worst, float(np.abs(made - np.array(start.initial_state)).max()))
            assert not environment._upstream.data.qvel.any()  # type: ignore[attr-defined]
        environment.close()
    return worst


def conformance(task: str) -> list[str]:
    """Rules of the contract that a task does not keep."""
    return [f"{each.check}: {each.problem}" for each in examine(version_of(task), [task]) if each.problem]


def packages() -> dict[str, str]:
    return dict(FAMILY.packages())


def main(arguments: Sequence[str]) -> None:
    """Run one probe by its name."""
    with answers() as stream:
        found = globals()[arguments[0]](*arguments[1:])
        print(json.dumps(found), file=stream)


if __name__ == "__main__":
    main(sys.argv[1:])
