"""Looks at the tabletop family from inside its simulator. Run by the environment's interpreter:

    python simulator_probe.py PROBE [ARGUMENT...]

prints one JSON value. The tests beside it say what it must be.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from sizes import SIZES

from proctor.actions.robots import panda
from proctor.benchmarks.contract import Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.freezing import make_episodes
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.spec import benchmark_spec
from proctor.benchmarks.tabletop import FAMILY, robot
from proctor.benchmarks.tabletop.environment import TabletopEnvironment
from proctor.benchmarks.tabletop.parts import add_thing
from proctor.benchmarks.tabletop.scene import Scene
from proctor.benchmarks.tabletop.settings import read_settings
from proctor.benchmarks.tabletop.things import Kind, Thing, shape_of
from proctor.errors import ProctorError
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.rollout import run_episode
from proctor.policy import (
    ActionChunk,
    EpisodeContext,
    Observation,
    Policy,
    PolicyCapabilities,
    SessionContext,
)
from proctor.policy.loading import make_policy
from proctor.testing.benchmarks import examine
from proctor.wire.session import SessionDescription

ORACLE = str(Path(__file__).parents[3] / "examples" / "policies" / "tabletop_oracle.py") + ":TabletopOracle"
HELDOUT, TRAIN = find_version("tabletop-heldout-v1"), find_version("tabletop-train-v1")
STATE, SCENE, INSTRUCTION = "state.joints_gripper", "privileged.scene", "language.instruction"
ACTION = HELDOUT.definition.actions[0]
LOW, HIGH = np.array(ACTION.low, np.float32), np.array(ACTION.high, np.float32)
STILL = np.zeros(8, np.float32)

Vector = NDArray[np.float64]


def task(name: str, definition: BenchmarkDefinition = HELDOUT.definition) -> TaskDefinition:
    return next(each for each in definition.tasks if each.id == name)


def lane(name: str, definition: BenchmarkDefinition = HELDOUT.definition) -> TabletopEnvironment:
    return TabletopEnvironment(definition, task(name, definition), ACTION)


def episode(name: str, index: int) -> Episode:
    return next(each for each in HELDOUT.episodes if (each.task, each.index) == (name, index))


def scene_of(environment: TabletopEnvironment) -> Scene:
    return environment._scene


def whole_state(scene: Scene) -> bytes:
    """Everything the next step depends on, bit for bit: warm start, time and controls included."""
    kind = mujoco.mjtState.mjSTATE_INTEGRATION
    state = np.empty(mujoco.mj_stateSize(scene.model, kind))
    mujoco.mj_getState(scene.model, scene.data, state, kind)
    return state.tobytes()


def digest(*parts: bytes) -> str:
    return hashlib.sha256(b"".join(parts)).hexdigest()


def oracle() -> Policy:
    policy = make_policy(ORACLE, {})
    spec = benchmark_spec(HELDOUT.definition, privileged=(SCENE,))
    policy.load(SessionContext("probe", "", spec))
    return policy


# --- measures and geometry -------------------------------------------------------------------------

LOOSE: tuple[Kind, ...] = ("box", "cylinder", "plate", "ball", "bottle", "ring", "vessel")
RING_OF_AXES = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.linspace(0, 2 * np.pi, 97)]


def _alone(kind: Kind) -> tuple[Any, Any]:
    """A model of one thing at the origin, and its data."""
    spec = mujoco.MjSpec()
    mass = 0.1 if kind in (*LOOSE, "tray") else 0.0
    add_thing(spec, kind, Thing(kind, SIZES[kind], "red", mass), (1.0, 0.0, 0.0))
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _reach(model: Any, data: Any, axis: Vector) -> float:
    """How far the geoms of a model reach along an axis from the origin, m."""
    return max(
        float(data.geom_xpos[geom] @ axis)
        + _support(model, geom, data.geom_xmat[geom].reshape(3, 3).T @ axis)
        for geom in range(model.ngeom)
    )


def _support(model: Any, geom: int, axis: Vector) -> float:
    size, along = model.geom_size[geom], abs(float(axis[2]))
    across = float(np.sqrt(max(0.0, 1 - along**2)))
    return float(
        {
            mujoco.mjtGeom.mjGEOM_BOX: float(np.abs(axis) @ size),
            mujoco.mjtGeom.mjGEOM_SPHERE: size[0],
            mujoco.mjtGeom.mjGEOM_CYLINDER: along * size[1] + across * size[0],
            mujoco.mjtGeom.mjGEOM_CAPSULE: along * size[1] + size[0],
        }[mujoco.mjtGeom(model.geom_type[geom])]
    )


def measures() -> dict[str, dict[str, float]]:
    """By kind, the measures' and the compiled geoms': top, bottom, radius of the footprint (m)."""
    up, found = np.array([0.0, 0.0, 1.0]), {}
    for kind, size in SIZES.items():
        shape = shape_of(Thing(kind, size, "red"))
        model, data = _alone(kind)
        found[kind] = {
            "top": shape.top - _reach(model, data, up),
            "bottom": shape.bottom - _reach(model, data, -up),
            "radius": shape.radius - max(_reach(model, data, axis) for axis in RING_OF_AXES),
        }
    return found


def extents() -> dict[str, float]:
    """By kind of loose thing: largest difference (m) of its half extent along 200 axes from the geoms'."""
    random, found = np.random.default_rng(0), {}
    for kind in LOOSE:
        shape = shape_of(Thing(kind, SIZES[kind], "red"))
        model, data = _alone(kind)
        axes = random.normal(size=(200, 3))
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        difference = [
            shape.half_extent(axis) - (_reach(model, data, axis) + _reach(model, data, -axis)) / 2
            for axis in axes
        ]
        found[kind] = [float(min(difference)), float(max(difference))]
    return found


def spaces() -> dict[str, dict[str, float]]:
    """By kind of container: how far (m) its walls are from where its measures say, and if they end there."""
    found = {}
    for kind in ("vessel", "tray", "bin", "drawer", "socket"):
        inside = shape_of(Thing(kind, SIZES[kind], "red")).inside
        assert inside is not None
        model, data = _alone(kind)
        below, above = (
            [_distance(model, data, (0.0, 0.0, inside.rim + offset), axis) for axis in ((1, 0, 0), (0, 1, 0))]
            for offset in (-0.002, 0.002)
        )
        found[kind] = {
            "x": below[0] - inside.half_x,
            "y": below[1] - inside.half_y,
            "beyond": min(above[1] - below[1], 1.0),
        }
    return found


def _distance(model: Any, data: Any, start: tuple[float, ...], axis: tuple[int, ...]) -> float:
    """To the first geom along an axis, m; infinite where there is none."""
    geom = np.zeros(1, np.int32)
    found = mujoco.mj_ray(model, data, np.array(start), np.array(axis, float), None, 1, -1, geom)
    return float(found) if found >= 0 else float("inf")


# --- the robot -------------------------------------------------------------------------------------


def kinematics() -> dict[str, float]:
    """Largest disagreement of the arm's kinematics with MuJoCo's own, over random joint angles."""
    scene = scene_of(lane("press-green-button"))
    chain, random = panda.arm(), np.random.default_rng(0)
    site, hand = scene.model.site("grip").id, scene.model.body("hand").id
    ranges = np.array([scene.model.joint(name).range for name in robot.JOINTS])
    worst = {"limits": float(np.abs(ranges.T - [chain.low, chain.high]).max())}
    worst |= dict.fromkeys(("position", "rotation", "jacobian"), 0.0)
    for _ in range(100):
        angles = random.uniform(chain.low, chain.high)
        scene.data.qpos[scene.arm.qpos] = angles
        mujoco.mj_forward(scene.model, scene.data)
        pose, jacobian = panda.hand_pose(chain, angles), np.empty((6, scene.model.nv))
        mujoco.mj_jacSite(scene.model, scene.data, jacobian[:3], jacobian[3:], site)
        errors = {
            "position": pose.position - scene.data.site_xpos[site],
            "rotation": pose.rotation.ravel() - scene.data.xmat[hand],
            "jacobian": chain.jacobian(angles) - jacobian[:, :7],
        }
        for name, error in errors.items():
            worst[name] = max(worst[name], float(np.abs(error).max()))
    return worst


def fingers() -> dict[str, Any]:
    """Which way the fingers move from each other in the hand's frame, and the opening by closedness."""
    environment = lane("press-green-button")
    environment.begin(episode("press-green-button", 0), ())
    scene, found = scene_of(environment), {}
    hand = scene.data.body("hand")
    apart = scene.data.body("left_finger").xpos - scene.data.body("right_finger").xpos
    found["axis"] = np.abs(apart @ hand.xmat.reshape(3, 3) / np.linalg.norm(apart)).tolist()
    for closed in (0.0, 0.5, 1.0):
        action = STILL.copy()
        action[7] = closed
        for _ in range(15):
            seen = environment.step(action, (STATE,)).observation[STATE]
        found[str(closed)] = float(seen[7])
    return found


def model_files() -> dict[str, str]:
    """What is said of a model file that was edited, is missing, or is not listed."""
    listing = read_settings(HELDOUT.definition).model
    mesh = "meshes/hand_white.stl"
    found = {"as shipped": _message(lambda: robot.load_model(listing))}
    found["mesh not listed"] = _message(lambda: robot.load_model(_without(listing, mesh)))
    found["model not listed"] = _message(lambda: robot.load_model(_without(listing, "panda.xml")))
    with tempfile.TemporaryDirectory() as name:
        robot.MODEL_DIRECTORY = Path(name) / "panda"  # type: ignore[misc]
        shutil.copytree(Path(robot.__file__).parent / "panda", robot.MODEL_DIRECTORY)
        with (robot.MODEL_DIRECTORY / "panda.xml").open("a") as file:
            file.write(" ")
        found["edited"] = _message(lambda: robot.load_model(listing))
        (robot.MODEL_DIRECTORY / mesh).unlink()
        found["missing"] = _message(lambda: robot.load_model(listing))
    return found


def _without(listing: dict[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in listing.items() if key != name}


def _message(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except ProctorError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def joint_limits() -> dict[str, Any]:
    """The first joint driven towards its limit at full speed, and away again."""
    environment = lane("press-green-button")
    environment.begin(episode("press-green-button", 0), ())
    there, back = STILL.copy(), STILL.copy()
    there[0], back[0] = HIGH[0], LOW[0]
    steps = [environment.step(there, (STATE,)) for _ in range(40)]
    away = environment.step(back, (STATE,))
    angles = [float(step.observation[STATE][0]) for step in steps]
    return {
        "limit": float(panda.arm().high[0]),
        "angles": angles,
        "events": [list(step.events) for step in steps],
        "limited": [step.metrics["limited_steps"] for step in steps],
        "peak": steps[-1].metrics["peak_joint_speed"],
        "away": [list(away.events), float(away.observation[STATE][0]) - angles[-1]],
        "began again": _metrics_after_begin(environment),
    }


def _metrics_after_begin(environment: TabletopEnvironment) -> dict[str, float]:
    environment.begin(episode("press-green-button", 1), ())
    return dict(environment.step(STILL).metrics)


# --- starts ----------------------------------------------------------------------------------------


def starts() -> dict[str, list[str]]:
    """Of every task's first episodes: those that depend on what ran before, and those that will not do."""
    found: dict[str, list[str]] = {"impure": [], "overlapping": [], "crowded": [], "won": [], "moving": []}
    for version in (HELDOUT, TRAIN):
        for each in version.definition.tasks:
            environment = TabletopEnvironment(version.definition, each, ACTION)
            scene = scene_of(environment)
            for start in make_episodes(replace(version.definition, tasks=(each,)), 3):
                reset = environment.begin(start, ())
                first = (reset.initial_state.tobytes(), whole_state(scene))
                for fault, faulty in _faults(scene, reset.success):
                    found[fault] += [start.id] * faulty
                environment.begin(replace(start, seed=start.seed + 1), ())
                environment.step(HIGH)
                again = (environment.begin(start, ()).initial_state.tobytes(), whole_state(scene))
                found["impure"] += [start.id] * (first != again)
    return found


def _faults(scene: Scene, success: bool) -> Iterator[tuple[str, bool]]:
    yield "won", success
    yield "moving", bool(np.any(scene.data.qvel))
    yield "overlapping", bool((scene.data.contact.dist < -0.001).any())
    apart = [placed.name for placed in scene.task.scene if placed.region]
    for one, other in itertools.combinations(apart, 2):
        gap = np.linalg.norm((scene.pose(one).position - scene.pose(other).position)[:2])
        radii = scene.shapes[one].radius + scene.shapes[other].radius
        yield "crowded", bool(gap < radii + scene.settings.clearance)


def start_vector() -> dict[str, Any]:
    """The parts of a start in which everything is: loose, fixed, moving, within, upon."""
    name = "store-block-in-drawer"
    scene = [
        {"name": "cabinet", "thing": "cabinet", "region": "cabinet", "yaw": [0.1, 0.1], "joint": [0.5, 0.5]},
        {"name": "tray", "thing": "tray", "region": "near_right"},
        {"name": "block", "thing": "red_block", "within": "tray"},
        {"name": "other", "thing": "blue_block", "upon": "cabinet"},
    ]
    raw = HELDOUT.definition.tasks[0].settings | {
        "scene": scene,
        "goal": {"is": "grasped", "object": "block"},
        "stages": [],
    }
    environment = TabletopEnvironment(HELDOUT.definition, replace(task(name), settings=raw), ACTION)
    state = environment.begin(episode(name, 0), ()).initial_state
    own = scene_of(environment)
    sizes = {"arm": 7, "fingers": 2, "cabinet": 1, "block": 7, "other": 7, "places": 6, "turns": 8}
    sizes |= {"table": 3, "floor": 3, "tints": 12, "lamp from": 3, "lamp": 1, "ambient": 1}
    cuts = np.cumsum(list(sizes.values()))
    parts = dict(zip(sizes, np.split(state, cuts), strict=False))
    return {name: part.tolist() for name, part in parts.items()} | {
        "size": [state.size, int(cuts[-1])],
        "dtype": str(state.dtype),
        "home": list(own.settings.robot.home),
        "spread": own.settings.robot.home_spread,
        "regions": {place: [r.x, r.y] for place, r in own.settings.regions.items()},
        "cabinet top": own.shapes["cabinet"].top,
    }


def impossible_starts() -> dict[str, str]:
    """What is said of starts that cannot be, and of things and seeds that are none."""
    raw = task("stack-block-on-jar").settings
    narrow = dict(HELDOUT.definition.settings)
    narrow["regions"] = {name: {"x": [0.5, 0.501], "y": [0, 0.001]} for name in narrow["regions"]}
    narrow["max_draws"] = 3
    crowded = replace(HELDOUT.definition, settings=narrow)
    scene = raw["scene"]
    clash = [scene[0], scene[1] | {"name": "hand"}]
    goal = {"is": "touched", "object": "hand"}
    start = episode("stack-block-on-jar", 0)
    won = {**raw, "goal": {"is": "released", "object": "block"}}

    def begin(settings: dict[str, Any], definition: BenchmarkDefinition, seed: int = start.seed) -> None:
        own = replace(task("stack-block-on-jar"), settings=settings)
        TabletopEnvironment(definition, own, ACTION).begin(replace(start, seed=seed), ())

    return {
        "crowded": _message(lambda: begin(raw, crowded)),
        "won": _message(lambda: begin(won, replace(HELDOUT.definition, settings={**narrow, **_regions()}))),
        "robot's name": _message(
            lambda: begin({**raw, "scene": clash, "goal": goal, "stages": []}, HELDOUT.definition)
        ),
        "seed": _message(lambda: begin(raw, HELDOUT.definition, 2**32)),
        "negative seed": _message(lambda: begin(raw, HELDOUT.definition, -1)),
    }


def _regions() -> dict[str, Any]:
    return {"regions": HELDOUT.definition.settings["regions"]}


# --- lanes -----------------------------------------------------------------------------------------


def refusals() -> dict[str, str]:
    """What is said of definitions that this family does not do."""
    definition, own = HELDOUT.definition, task("press-green-button")
    image, state = definition.features[0], definition.features[2]

    def open_lane(action: Any = ACTION, **changes: Any) -> Callable[[], object]:
        return lambda: FAMILY.open(replace(definition, **changes), own, action)

    return {
        "as shipped": _message(open_lane()),
        "mujoco": _message(open_lane(packages={"mujoco": "3.0.0"})),
        "action": _message(open_lane(replace(ACTION, representation="panda.joint-position-v1"))),
        "camera": _message(open_lane(features=(replace(image, camera="base_0_rbg"),))),
        "feature": _message(open_lane(features=(replace(state, name="state.joint_positions"),))),
        "predicate": _message(
            lambda: lane("press-green-button").begin(
                replace(episode("press-green-button", 0), segments=(Segment("Go.", 9, "other"),)), ()
            )
        ),
    }


def manners() -> dict[str, bool]:
    """Small promises of a lane."""
    environment = lane("press-green-button")
    start = episode("press-green-button", 0)
    names = [feature.name for feature in HELDOUT.definition.features if feature.kind != "image"]
    seen = environment.begin(start, names).observation
    last = np.full(8, 0.5, np.float32)
    hold = environment.hold_action(last)
    steps = [environment.step(STILL, (STATE, SCENE)) for _ in range(30)]
    still = steps[-1].observation
    promises = {
        "joints lead the state": np.array_equal(seen[STATE][:7], seen["state.joint_position"]),
        "the gripper ends it": np.array_equal(seen[STATE][7:], seen["state.gripper_position"]),
        "it starts open": seen[STATE][7] == 0,
        "the instruction is the episode's": seen[INSTRUCTION] == start.segments[0].instruction,
        "rows beyond the scene are zero": not np.any(seen[SCENE][2:])
        and bool(np.all(seen[SCENE][:2, 6:] < 9)),
        "rows are in the scene's order": seen[SCENE][0, 1] > 0 > seen[SCENE][1, 1],
        "holding is no velocity": not np.any(hold[:7]),
        "holding keeps the gripper": hold[7] == 0.5,
        "holding is open at first": environment.hold_action(None).tolist() == [0.0] * 8,
        "standing still keeps the joints": bool(np.abs(still[STATE] - seen[STATE]).max() < 2e-3),
        "standing still keeps the scene": bool(np.abs(still[SCENE] - seen[SCENE])[:, :7].max() < 2e-3),
        "nothing was reached": steps[-1].metrics["progress"] == 0,
        "no step terminates": not any(step.terminated or step.success for step in steps),
    }
    return {name: bool(kept) for name, kept in promises.items()}


def divergence() -> dict[str, str]:
    """What is said when a state is not a number, or beyond all bounds."""
    found = {}
    for quantity, value in (("qpos", np.nan), ("qvel", np.nan), ("qvel", 1e12), ("qpos", 1e12)):
        environment = lane("press-green-button")
        environment.begin(episode("press-green-button", 0), ())
        getattr(scene_of(environment).data, quantity)[0] = value
        found[f"{quantity} {value}"] = _message(lambda own=environment: own.step(STILL))  # type: ignore[misc]
        environment.begin(episode("press-green-button", 0), ())
        found[f"after {quantity} {value}"] = _message(lambda own=environment: own.step(STILL))  # type: ignore[misc]
    return found


class Driven:
    """A session whose policy is a function from the observation to a chunk of actions."""

    late_replies = 0

    def __init__(self, chunk: NDArray[np.float32]) -> None:
        self._chunk = ActionChunk(chunk)
        self.description = SessionDescription(
            dialect="probe/1",
            endpoint="probe:",
            capabilities=PolicyCapabilities(("tabletop",), (STATE,)),
            action_representation=ACTION.representation,
            action_representation_source="policy",
        )

    def begin(self, context: EpisodeContext) -> None:
        pass

    def act(self, observation: Observation) -> ActionChunk:
        return self._chunk

    def end(self, episode_id: str, outcome: str) -> None:
        pass

    def close(self) -> None:
        pass


def beyond_limits() -> dict[str, Any]:
    """Episodes whose policy asks for more than the limits, and for just the limits."""
    over = np.array([50.0, -50.0, 0.5, -50.0, 50.0, 50.0, -50.0, 1.5], np.float32)
    found, states = {}, []
    for name, action in (("over", over), ("at", np.clip(over, LOW, HIGH))):
        environment = lane("press-green-button")
        start = episode("press-green-button", 0)
        start = replace(start, segments=(replace(start.segments[0], horizon=16),))
        record = run_episode(environment, Driven(np.tile(action, (8, 1))), start, _run_settings())
        states.append(whole_state(scene_of(environment)))
        found[name] = {"outcome": record.outcome.value, "steps": record.steps}
        found[name] |= {"out": record.actions_out_of_limits, "clipped": record.actions_clipped}
    return found | {"same end": states[0] == states[1]}


def _run_settings() -> RunSettings:
    return RunSettings(
        run="probe",
        benchmark=HELDOUT.definition,
        benchmark_hash=HELDOUT.hash,
        run_seed=0,
        execute_steps=HELDOUT.definition.execute_steps,
        action_representation=ACTION.representation,
        policy_endpoints=(),
        observe=(STATE,),
        record="none",
        record_features=(),
        act_timeout_s=10.0,
        run_directory="",
    )


# --- the oracle ------------------------------------------------------------------------------------


def oracle_episode(name: str) -> dict[str, Any]:
    """One episode of a task by the oracle, twice in this process: what came of it, and its digests."""
    environment, runs = lane(name), []
    for index in (0, 1, 0):
        run = _oracle_run(environment, episode(name, index))
        runs += [run] * (index == 0)
    environment.close()
    return runs[0] | {"again": runs[1]["digests"] == runs[0]["digests"]}


def _oracle_run(environment: TabletopEnvironment, start: Episode) -> dict[str, Any]:
    policy, images = oracle(), ("images.exterior", "images.left_wrist")
    policy.reset(EpisodeContext(start.id, start.task, horizon=start.segments[0].horizon))
    seen = environment.begin(start, (STATE, SCENE, *images)).observation
    states, frames, fastest, held = [whole_state(scene_of(environment))], [], 0.0, 0
    progress: list[float] = []
    while held < 8 and len(states) <= start.segments[0].horizon:
        frames += [seen[image].tobytes() for image in images]
        chunk = policy.act(Observation(start.id, len(states) - 1, seen)).actions
        for number, action in enumerate(chunk, start=1):
            result = environment.step(action, (STATE, SCENE, *images) if number == len(chunk) else ())
            states.append(whole_state(scene_of(environment)))
            fastest = max(fastest, float(np.max(np.abs(action[:7]) / HIGH[:7])))
            progress.append(result.metrics["progress"])
            held = held + 1 if result.success else 0
        seen = result.observation
    return {
        "held": held,
        "steps": len(states) - 1,
        "fastest": fastest,
        "progress": progress,
        "metrics": dict(result.metrics),
        "digests": {"states": digest(*states), "frames": digest(*frames), "count": len(frames)},
    }


def conformance(name: str) -> list[str]:
    """What the kit finds wrong with a task."""
    return [f"{each.check}: {each.problem}" for each in examine(HELDOUT, [name]) if each.problem]


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
