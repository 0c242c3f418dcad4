"""Looks at the libero_plus family from inside its simulator. Run by the environment's interpreter:

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
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.libero_plus import FAMILY, manifest, noise, package, resources
from proctor.benchmarks.libero_plus.settings import task_settings_of
from proctor.benchmarks.libero_plus.variants import parse_variant
from proctor.benchmarks.orders import answers
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.spec import benchmark_spec
from proctor.errors import ProctorError
from proctor.policy import EpisodeContext, Observation, SessionContext
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine
from proctor.testing.traces import beside

VERSION = find_version("libero-plus-v1")
DEFINITION = VERSION.definition
ORACLE = str(Path(__file__).parents[3] / "examples" / "policies" / "libero_oracle.py") + ":LiberoOracle"
IMAGES = ("images.primary", "images.wrist")
STATES = ("state.proprioception", "state.eef_axis_angle")
NAMES = (*IMAGES, *STATES)
SETTLING = [0.0] * 6 + [-1.0]


def episode(task: str, variant: str) -> Episode:
    return next(each for each in VERSION.episodes if (each.task, each.settings["variant"]) == (task, variant))


def lane(task: str, definition: BenchmarkDefinition = DEFINITION) -> Environment:
    found = next(each for each in definition.tasks if each.id == task)
    return FAMILY.open(definition, found, definition.actions[0])


def actions(steps: int) -> np.ndarray:
    """A hand that wanders down to the table and closes and opens every 15 steps."""
    drawn = np.random.default_rng(3).normal(0, 0.5, (steps, 7))
    drawn[:, 2] -= 0.2
    drawn[:, 6] = np.where(np.arange(steps) // 15 % 2, 1, -1)
    return np.clip(drawn, -1, 1).astype(np.float32)


def upstreams(task: str, variant: str, steps: int) -> list[dict[str, Any]]:
    """What upstream's own loop sees before every step and after the last."""
    from liberoplus.liberoplus.envs import OffScreenRenderEnv

    package.look_for_assets_in(package.assets_root())
    settings = task_settings_of(next(each for each in DEFINITION.tasks if each.id == task))
    name = resources.SCENES / settings.suite / f"{settings.name}_{variant}.bddl"
    environment = OffScreenRenderEnv(bddl_file_name=str(name), camera_heights=256, camera_widths=256)
    environment.seed(7)
    environment.reset()
    environment.set_init_state(resources.start_of(settings, parse_variant(variant)))
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


def own(environment: Environment, start: Episode, steps: int, chunk: int) -> list[dict[str, Any]]:
    """What the lane shows where a policy with chunks of this length looks, and whether the goal holds."""
    reset = environment.begin(start, NAMES)
    trace: list[dict[str, Any]] = [{**reset.observation, "success": False}]
    for number, action in enumerate(actions(steps), start=1):
        result = environment.step(action, NAMES if number % chunk == 0 else ())
        trace.append({**result.observation, "success": result.success})
    return trace


def fidelity(task: str, variant: str, steps: str) -> dict[str, Any]:
    """Where what the lane shows is not, bit for bit, what upstream's loop saw; another variant ran before."""
    expected = upstreams(task, variant, int(steps))
    environment = lane(task)
    last = [e for e in VERSION.episodes if e.task == task and e.settings["variant"] != variant][-1]
    environment.begin(last, ())
    start = episode(task, variant)
    found = beside(expected, lambda chunk: own(environment, start, int(steps), chunk))
    environment.close()
    return found


def draws() -> dict[str, list[int]]:
    """Severities of every kind of noise that leave the generator elsewhere when the picture is not made."""
    frame = np.random.default_rng(0).integers(0, 255, (256, 256, 3), np.uint8)
    found: dict[str, list[int]] = {}
    for number in range(1, 51):
        kind = noise.KINDS[(number - 1) // 10].function
        if kind == "motion_blur" and not noise.HAS_IMAGE_MAGICK:
            continue
        made, skipped = (_state_after(number, each) for each in (lambda n: n.of(frame), noise.Noise.skip))
        found.setdefault(kind, [])
        if made != skipped:
            found[kind].append(number)
    return found


def _state_after(number: int, does: Callable[[noise.Noise], object]) -> str:
    np.random.seed(number)
    does(noise.Noise(number))
    state = np.random.get_state()
    return hashlib.sha256(repr((state[1].tolist(), state[2:])).encode()).hexdigest()


def one_lane() -> dict[str, Any]:
    """A second lane while one is open, and the frames of a variant after another in the same lane."""
    first = lane("goal-1-camera")
    task, (one, other) = "goal-1-camera", [e for e in VERSION.episodes if e.task == "goal-1-camera"][:2]
    first.begin(one, NAMES)
    said = refusal(lambda: lane("goal-0-camera"))
    after = first.begin(other, NAMES).observation
    first.close()
    first.close()
    alone = lane(task)
    seen = alone.begin(other, NAMES).observation
    alone.close()
    return {"second": said, "same": all(np.array_equal(after[name], seen[name]) for name in NAMES)}


def refusals() -> dict[str, str]:
    """What is said of definitions and episodes that cannot be run."""
    environment = lane("goal-1-camera")
    start = next(each for each in VERSION.episodes if each.task == "goal-1-camera")
    segment = start.segments[0]
    said = {}
    for name, wrong in (
        ("unknown", replace(start, settings={"variant": "fog_9"})),
        ("dimension", replace(start, settings={"variant": "light_8"})),
        ("setting", replace(start, settings={"index": 3})),
        ("sentence", replace(start, segments=(replace(segment, instruction="open the fridge"),))),
        ("predicate", replace(start, segments=(replace(segment, predicate="other"),))),
    ):
        said[name] = refusal(lambda wrong=wrong: environment.begin(wrong, ()))
    environment.close()
    for name, task in (("light", "goal-1-light"), ("background", "10-0-background")):
        missing = lane(task)
        first = next(each for each in VERSION.episodes if each.task == task)
        said[name] = refusal(lambda missing=missing, first=first: missing.begin(first, ()))
        missing.close()
    words = lane("goal-1-language")
    said["scene"] = refusal(lambda: words.begin(_made_up(), ()))
    words.close()
    task = next(each for each in DEFINITION.tasks if each.id == "goal-1-camera")
    elsewhere = replace(task, settings={**task.settings, "suite": "libero_gaol"})
    nowhere = lane("goal-1-camera", replace(DEFINITION, tasks=(elsewhere,)))
    said["suite"] = refusal(lambda: nowhere.begin(start, ()))
    nowhere.close()
    said["settling"] = refusal(lambda: lane("goal-1-camera", replace(DEFINITION, settle_steps=0)))
    said["version"] = refusal(
        lambda: lane("goal-1-camera", replace(DEFINITION, packages={"mujoco": "2.3.7"}))
    )
    return said


def _made_up() -> Episode:
    start = next(each for each in VERSION.episodes if each.task == "goal-1-language")
    return replace(start, settings={"variant": "language_999_view_0_0_100_0_0_initstate_0"})


def refusal(attempt: Callable[[], object]) -> str:
    try:
        made = attempt()
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    if hasattr(made, "close"):
        made.close()
    return ""


def written() -> bool:
    """Whether upstream's package lists the version's variants, in its order, with its sentences."""
    listed = list(manifest.listed())
    return tuple(manifest._episodes(listed)) == VERSION.episodes


def oracle(*episodes: str) -> dict[str, int]:
    """Control steps to success, 0 for a failure, of variants given as TASK:VARIANT."""
    found = {}
    context = SessionContext("probe", "", benchmark_spec(DEFINITION))
    for name in episodes:
        task, _, variant = name.partition(":")
        policy, start, environment = make_policy(ORACLE, {}), episode(task, variant), lane(task)
        names, segment = policy.load(context).required_features, start.segments[0]
        policy.reset(EpisodeContext(start.id, task, instruction=segment.instruction))
        seen, found[name] = environment.begin(start, names).observation, 0
        for step in range(segment.horizon):
            chunk = policy.act(Observation(episode_id=start.id, step=step, features=seen))
            result = environment.step(np.asarray(chunk.actions).reshape(-1, 7)[0], names)
            seen = result.observation
            if result.success:
                found[name] = step + 1
                break
        environment.close()
    return found


def conformance(task: str) -> list[str]:
    """Rules of the contract that a task does not keep."""
    return [f"{each.check}: {each.problem}" for each in examine(VERSION, [task]) if each.problem]


PROBES = {
    probe.__name__: probe for probe in (fidelity, draws, one_lane, refusals, written, oracle, conformance)
}


def main(arguments: Sequence[str]) -> None:
    with answers() as stream:
        found = PROBES[arguments[0]](*arguments[1:])
        print(json.dumps(found), file=stream)


if __name__ == "__main__":
    main(sys.argv[1:])
