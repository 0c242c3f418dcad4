"""Looks at the libero family from inside its simulator. Run by the environment's interpreter:

    python simulator_probe.py PROBE [ARGUMENTS...]

prints one JSON value. The tests beside it say what it must be.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from proctor.benchmarks.contract import Environment, Episode, StepResult
from proctor.benchmarks.definition import BenchmarkDefinition, RenderProfile
from proctor.benchmarks.libero import FAMILY, resources
from proctor.benchmarks.libero.settings import TaskSettings, task_settings_of
from proctor.benchmarks.orders import answers
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robosuite_sensors import SamplingClock
from proctor.benchmarks.spec import benchmark_spec
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import ProctorError
from proctor.policy import EpisodeContext, Observation, SessionContext
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine
from proctor.testing.traces import beside

POLICIES = Path(__file__).parents[3] / "examples" / "policies"
ORACLES = str(POLICIES / "libero_oracle.py")
sys.path.append(str(POLICIES))
IMAGES = ("images.primary", "images.wrist")
STATES = ("state.proprioception", "state.eef_axis_angle")
NAMES = (*IMAGES, *STATES)
SETTLING = [0.0] * 6 + [-1.0]
FRAMES_ONE_BY_ONE = 40
FAST = RenderProfile(name="fast", shadows=False, multisamples=0, reflections=False)


def version_of(task: str) -> BenchmarkVersion:
    if task.startswith("90-"):
        return find_version("libero-90-v1")
    if "-with-" in task:
        return find_version("libero-pro-things-v1")
    return find_version("libero-pro-v1" if task.count("-") == 2 else "libero-v1")


def episode(task: str, index: int, version: BenchmarkVersion | None = None) -> Episode:
    version = version or version_of(task)
    return next(each for each in version.episodes if (each.task, each.index) == (task, index))


def lane(task: str, definition: BenchmarkDefinition | None = None) -> Environment:
    definition = definition or version_of(task).definition
    found = next(each for each in definition.tasks if each.id == task)
    return FAMILY.open(definition, found, definition.actions[0])


def actions(steps: int) -> np.ndarray:
    """A hand that wanders down to the table and closes and opens every 15 steps."""
    drawn = np.random.default_rng(3).normal(0, 0.5, (steps, 7))
    drawn[:, 2] -= 0.2
    drawn[:, 6] = np.where(np.arange(steps) // 15 % 2, 1, -1)
    return np.clip(drawn, -1, 1).astype(np.float32)


def upstreams_environment(task: str) -> tuple[Any, np.ndarray]:
    """Upstream's own environment of a task, and its starts."""
    from libero.libero.envs import OffScreenRenderEnv

    settings = task_settings_of(next(t for t in version_of(task).definition.tasks if t.id == task))
    scene = str(resources.scene_file(settings))
    environment = OffScreenRenderEnv(bddl_file_name=scene, camera_heights=256, camera_widths=256)
    return environment, resources.official_states(settings)


def upstreams(task: str, index: int, steps: int) -> list[dict[str, Any]]:
    """What upstream's own loop sees before every step and after the last, in episode `index` of its list."""
    environment, states = upstreams_environment(task)
    environment.seed(7)
    for state in states[: index + 1]:
        environment.reset()
        environment.set_init_state(state)
    for _ in range(10):
        seen, *_ = environment.step(SETTLING)
    trace = [upstreams_view(seen, False)]
    for action in actions(steps):
        seen, _, success, _ = environment.step(action.tolist())
        trace.append(upstreams_view(seen, success))
    environment.close()
    return trace


def upstreams_view(seen: dict[str, Any], success: bool) -> dict[str, Any]:
    """As the evaluation scripts around upstream take an observation apart."""
    from robosuite.utils.transform_utils import quat2axisangle

    position, quaternion, fingers = (
        seen[f"robot0_{name}"] for name in ("eef_pos", "eef_quat", "gripper_qpos")
    )
    sixteen = np.concatenate([position, quaternion, fingers, seen["robot0_joint_pos"]])
    eight = np.concatenate([position, quat2axisangle(quaternion.copy()), fingers])
    return {
        "images.primary": np.ascontiguousarray(seen["agentview_image"][::-1, ::-1]),
        "images.wrist": np.ascontiguousarray(seen["robot0_eye_in_hand_image"][::-1, ::-1]),
        "state.proprioception": sixteen.astype(np.float32),
        "state.eef_axis_angle": eight.astype(np.float32),
        "success": bool(success),
    }


def own(
    environment: Environment, start: Episode, commands: np.ndarray, chunk: int, names: Sequence[str] = NAMES
) -> list[dict[str, Any]]:
    """What the lane shows where a policy with chunks of this length looks, and whether the goal holds.

    With chunks of one action, frames are looked at in the first steps alone: they are dear, and the longer
    chunks show them to the end.
    """
    reset = environment.begin(start, names)
    trace: list[dict[str, Any]] = [{**reset.observation, "success": False}]
    for number, action in enumerate(commands, start=1):
        asked = [name for name in names if chunk > 1 or number <= FRAMES_ONE_BY_ONE or name not in IMAGES]
        result: StepResult = environment.step(action, asked if number % chunk == 0 else ())
        trace.append({**result.observation, "success": result.success})
    return trace


def compared(
    environment: Environment, start: Episode, commands: np.ndarray, expected: list[dict[str, Any]]
) -> dict[str, Any]:
    """Where what the lane shows is not, bit for bit, what upstream's loop saw; and how much was compared."""
    names = [name for name in expected[0] if name != "success"]
    return beside(expected, lambda chunk: own(environment, start, commands, chunk, names))


def fidelity(task: str, index: str, steps: str) -> dict[str, Any]:
    """A lane beside upstream's loop, another episode having run in it before."""
    expected = upstreams(task, int(index), int(steps))
    environment = lane(task)
    own(environment, episode(task, int(index) + 2), actions(20), 20)
    found = compared(environment, episode(task, int(index)), actions(int(steps)), expected)
    environment.close()
    return found


def targets(task: str, index: str, steps: str) -> dict[str, Any]:
    """The same of `libero-xvla-v1`, beside a loop as its client runs one: an environment for the episode, and
    targets. Each is where upstream's controller would go for a displacement, from where it is."""
    from libero_oracle import target_of

    environment, states = upstreams_environment(task)
    environment.seed(142 + int(index))
    environment.reset()
    environment.set_init_state(states[int(index)])
    for _ in range(10):
        seen, *_ = environment.step(SETTLING)
    controller = environment.env.robots[0].controller
    controller.use_delta = False
    expected, commands = [clients_view(seen, controller, False)], []
    for action in actions(int(steps)):
        commands.append(target_of(action.astype(np.float64), expected[-1]["state.ee_rot6d_columns"]))
        seen, _, success, _ = environment.step(commands[-1])
        expected.append(clients_view(seen, controller, success))
    environment.close()
    version = find_version("libero-xvla-v1")
    own_lane = lane(task, version.definition)
    own(own_lane, episode(task, int(index) + 2, version), np.array(commands[:20]), 20)
    found = compared(own_lane, episode(task, int(index), version), np.array(commands), expected)
    own_lane.close()
    return found


def clients_view(seen: dict[str, Any], controller: Any, success: bool) -> dict[str, Any]:
    """As X-VLA's client takes an observation apart: the wrist's frame as it is, the controller's own pose."""
    matrix = controller.ee_ori_mat
    state = np.zeros(20, np.float32)
    state[:9] = np.concatenate([controller.ee_pos, matrix[:3, 0], matrix[:3, 1]])
    return {
        **upstreams_view(seen, success),
        "images.wrist": np.array(seen["robot0_eye_in_hand_image"]),
        "state.ee_rot6d_columns": state,
    }


def target_or_displacement(task: str) -> float:
    """How far, in m, the hand comes apart in 20 steps, told to move or told where that would lead it."""
    from libero_oracle import target_of

    version = find_version("libero-xvla-v1")
    absolute, delta = version.definition.actions
    found = next(each for each in version.definition.tasks if each.id == task)
    names = ("state.proprioception", "state.ee_rot6d_columns")
    hands = []
    for action in (delta, absolute):
        environment = FAMILY.open(version.definition, found, action)
        seen = environment.begin(episode(task, 0, version), names).observation
        for move in actions(20):
            command = target_of(move.astype(np.float64), np.asarray(seen[names[1]], np.float64))
            seen = environment.step(command if action is absolute else move, names).observation
        hands.append(np.asarray(seen[names[0]])[:3])
        environment.close()
    return float(np.abs(hands[0] - hands[1]).max())


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
    for number in range(2 + 25 * 600):
        reads.clear()
        observable.update(0.002, {}, force=number < 2)
        if clock.tick(force=number < 2) != bool(reads):
            return False
    return True


def one_lane() -> dict[str, Any]:
    """A second lane while one is open, and the frames of one made after another was closed."""
    first = lane("goal-1")
    first.begin(episode("goal-1", 0), NAMES)
    said = refusal(lambda: lane("goal-0"))
    first.close()
    first.close()
    second = lane("object-0")
    after = second.begin(episode("object-0", 0), NAMES).observation
    second.close()
    return {"second": said, "frame": digest(after)}


def alone() -> str:
    """The first frames of a lane in a process of its own."""
    environment = lane("object-0")
    seen = environment.begin(episode("object-0", 0), NAMES).observation
    environment.close()
    return digest(seen)


def freed_late() -> list[str]:
    """The frames of a lane before and after another lane's context was freed, with nothing to prevent it."""
    from proctor.benchmarks.libero import lane as lanes

    first = lane("goal-1")
    first.begin(episode("goal-1", 0), NAMES)
    lanes._open_lanes.clear()
    second, start = lane("object-0"), episode("object-0", 0)
    before = digest(second.begin(start, NAMES).observation)
    first._frames._context._context.free()  # type: ignore[attr-defined]
    return [before, digest(second.begin(start, NAMES).observation)]


def digest(seen: dict[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(b"".join(np.asarray(seen[name]).tobytes() for name in NAMES)).hexdigest()


def refusals() -> dict[str, str]:
    """What is said of definitions and episodes that cannot be run."""
    version = version_of("goal-1")
    definition, task = version.definition, next(t for t in version.definition.tasks if t.id == "goal-1")

    def changed_task(**changes: Any) -> str:
        tasks = (replace(task, **changes),)
        return refusal(lambda: lane("goal-1", replace(definition, tasks=tasks)))

    def changed(**changes: Any) -> str:
        return refusal(lambda: lane("goal-1", replace(definition, **changes)))

    features = definition.features
    said = {
        "suite": changed_task(settings={"suite": "libero_gaol", "name": "x"}),
        "task": changed_task(settings={"suite": "libero_goal", "name": "put_the_bowl_on_the_stov"}),
        "files": changed_task(settings={"suite": "libero_goal_env", "name": "put_the_bowl_on_the_stove"}),
        "sentence": changed_task(instruction="put the bowl on the fridge"),
        "setting": changed_task(settings={"suite": "libero_goal"}),
        "version": changed(packages={"mujoco": "3.8.1"}),
        "choice": changed(settings={**definition.settings, "instructions": "of the sky"}),
        "feature": changed(features=(*features[2:], replace(features[2], name="state.jointz"))),
        "action": refusal(
            lambda: FAMILY.open(
                definition, task, replace(definition.actions[0], representation="libero.delta-eff-v1")
            )
        ),
        "camera": changed(features=(replace(features[0], camera="agentvue"), *features[1:])),
    }
    environment = lane("goal-1")
    start = episode("goal-1", 0)
    for name, wrong in (
        ("index", replace(start, index=50)),
        ("draws", replace(start, settings={})),
        ("predicate", replace(start, segments=(replace(start.segments[0], predicate="other"),))),
    ):
        said[name] = refusal(lambda wrong=wrong: environment.begin(wrong, ()))
    environment.close()
    return said


def broken() -> dict[str, Any]:
    """What is raised where upstream's own reset raises, and then closes badly too; and the lane after it."""
    environment, start = lane("goal-1"), episode("goal-1", 0)
    domain = environment._upstream._domain  # type: ignore[attr-defined]

    def break_off() -> None:
        raise ValueError("the stove fell off")

    domain.reset = domain.close = break_off
    said = []
    for attempt in (lambda: environment.begin(start, ()), environment.close):
        try:
            attempt()
        except ValueError as error:
            said.append(str(error))
    again = lane("goal-1")
    starts = again.begin(start, ()).initial_state.size > 0
    again.close()
    return {"said": said, "another lane starts": starts}


def refusal(attempt: Callable[[], object]) -> str:
    try:
        made = attempt()
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    if hasattr(made, "close"):
        made.close()
    return ""


def settling() -> dict[str, Any]:
    """A start whose goal holds already, in versions that count it and that do not."""
    version = version_of("goal-1")
    found: dict[str, Any] = {}
    for choice in ("counts", "is ignored"):
        settings = {**version.definition.settings, "success_while_settling": choice}
        environment = lane("goal-1", replace(version.definition, settings=settings))
        environment._upstream._domain._check_success = lambda: True  # type: ignore[attr-defined]
        found[choice] = environment.begin(episode("goal-1", 0), ()).success
        environment.close()
    return found


def fast_profile() -> dict[str, Any]:
    """What the fast profile changes: the frame, its time, and the state."""
    found = []
    version = version_of("goal-1")
    for profile in (version.definition.render, FAST):
        environment = lane("goal-1", replace(version.definition, render=profile))
        environment.begin(episode("goal-1", 0), NAMES)
        began = time.perf_counter()
        for action in actions(5):
            seen = environment.step(action, NAMES).observation
        found.append((seen, time.perf_counter() - began))
        environment.close()
    (reference, slow_s), (fast, fast_s) = found
    difference = np.abs(reference[IMAGES[0]].astype(int) - fast[IMAGES[0]]).mean()
    same = all(np.array_equal(reference[name], fast[name]) for name in STATES)
    return {"same state": same, "mean difference": float(difference), "speed-up": slow_s / fast_s}


def oracle(name: str, oracle: str, *tasks: str) -> dict[str, list[int]]:
    """Control steps to success in a version, 0 for a failure, of the first episodes of every task, given as
    TASK:COUNT."""
    version, found = find_version(name), (task.partition(":") for task in tasks)
    return {task: _oracle(version, oracle, task, int(count)) for task, _, count in found}


def _oracle(version: BenchmarkVersion, oracle: str, task: str, count: int) -> list[int]:
    environment = lane(task, version.definition)
    context = SessionContext("probe", "", benchmark_spec(version.definition))
    steps = []
    for index in range(count):
        policy, start = make_policy(f"{ORACLES}:{oracle}", {}), episode(task, index, version)
        names = policy.load(context).required_features
        segment = start.segments[0]
        policy.reset(EpisodeContext(start.id, task, instruction=segment.instruction))
        seen, taken = environment.begin(start, names).observation, 0
        for step in range(segment.horizon):
            chunk = policy.act(Observation(episode_id=start.id, step=step, features=seen))
            result = environment.step(np.asarray(chunk.actions).reshape(-1, 7)[0], names)
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
        environment.close()
    return worst


def conformance(name: str, task: str) -> list[str]:
    """Rules of the contract that a task of a version does not keep."""
    return [f"{each.check}: {each.problem}" for each in examine(find_version(name), [task]) if each.problem]


def sentences() -> dict[str, str]:
    """What a perturbed task is asked for with, from the scene and from its file's name."""
    name = "open_the_middle_drawer_of_the_cabinet"
    found = {}
    for suite in ("libero_goal", "libero_goal_lan", "libero_goal_task"):
        for source in ("of the scene", "of the file name"):
            found[f"{suite}, {source}"] = resources.instruction(TaskSettings(suite, name), source)
    return found


def packages() -> dict[str, str]:
    return dict(FAMILY.packages())


PROBES: dict[str, Callable[..., Any]] = {
    probe.__name__: probe
    for probe in (
        fidelity,
        targets,
        target_or_displacement,
        moments,
        one_lane,
        alone,
        freed_late,
        refusals,
        broken,
        settling,
        fast_profile,
        oracle,
        starts,
        conformance,
        sentences,
        packages,
    )
}


def main(arguments: Sequence[str]) -> None:
    with answers() as stream:
        found = PROBES[arguments[0]](*arguments[1:])
        print(json.dumps(found), file=stream)


if __name__ == "__main__":
    main(sys.argv[1:])
