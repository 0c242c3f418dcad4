"""Upstream's task object: made, reset, driven and asked as upstream's own evaluation does.

Upstream finds its files relative to its checkout, prints every step, and draws from the process's global
random numbers. Calls into it are therefore made from inside the checkout, with its output on stderr or
nowhere.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from proctor.actions.robotwin_ee import SIDES
from proctor.benchmarks.robotwin.commands import Command
from proctor.benchmarks.robotwin.observation import Observed
from proctor.benchmarks.robotwin.planning import PlanWatch
from proctor.benchmarks.robotwin.seeds import Trial
from proctor.benchmarks.sapien_devices import finds_no_vulkan_device
from proctor.errors import BenchmarkFault, EnvironmentMissing, text_of

UNBOUNDED: Final = sys.maxsize
"""Upstream's own step limit, out of the way: the episode's horizon ends it."""

ROBOT: Final = "assets/embodiments/aloha-agilex"
"""Where the robot lies, from where upstream works."""

UNSTABLE: Final = "UnStableError"
"""Name of what upstream raises where things do not come to rest."""


class UpstreamSimulator:
    """One upstream task in a checkout. Implements `lane.Simulator` and the scripted expert's trials.

    Whatever upstream raises becomes `BenchmarkFault`; `EnvironmentMissing` where nothing can be rendered.
    """

    environment: ClassVar = "robotwin"
    """Name of the simulator environment."""

    def __init__(self, working: Path, task: Any, arguments: Mapping[str, Any]) -> None:
        """`working`: where upstream finds its files. `arguments`: those of `setup_demo` but for the seed."""
        self._working, self._task, self._arguments = working, task, dict(arguments)
        self._defaults = _mutable_defaults(type(task))
        self._watch = PlanWatch()
        self._resets = 0
        self._closed = False

    def reset(self, seed: int, settings: Mapping[str, Any]) -> NDArray[np.float64]:
        """Set the scene up. The first time twice: upstream scores no scene that its robot was made in."""
        with self._inside("reset"):
            if not self._resets:
                self._set_up(seed, settings, tolerate=UNSTABLE)
            self._resets += 1
            self._task.close_env(clear_cache=self._resets % self._arguments["clear_cache_freq"] == 0)
            self._set_up(seed, settings)
            self._task.step_lim = UNBOUNDED
            self._watch.attach(self._task.robot)
            self._watch.start()
            return start_state(self._task)

    def act(self, command: Command) -> tuple[bool, tuple[str, ...]]:
        """One `take_action`."""
        with self._inside("take_action", quiet=True):
            self._task.take_action(command.values, action_type=command.kind)
        return bool(self._task.eval_success), self._watch.take()

    def observe(self) -> Observed:
        """One `get_obs`."""
        with self._inside("get_obs"):
            observed: Observed = self._task.get_obs()
            return observed

    def proprioception(self) -> Observed:
        """What `get_obs` reads of the robot, without its frames."""
        robot = self._task.robot
        joints: dict[str, Any] = {}
        poses: dict[str, Any] = {}
        with self._inside("state of the robot"):
            for side in SIDES:
                *arm, gripper = getattr(robot, f"get_{side}_arm_jointState")()
                joints |= {f"{side}_arm": arm, f"{side}_gripper": gripper}
                poses |= {f"{side}_endpose": self._task.get_arm_pose(side), f"{side}_gripper": gripper}
        return {"joint_action": joints, "endpose": poses}

    def pass_by(self) -> None:
        """Draw what an observation draws: lights that change with every frame, and noise on frames."""
        if getattr(self._task, "pixel_shift_enabled", False):
            self.observe()
        elif getattr(self._task, "crazy_random_light", False):
            with self._inside("_update_render"):
                self._task._update_render()

    def metrics(self) -> Mapping[str, float]:
        """How often no path was found."""
        return self._watch.metrics()

    def close(self) -> None:
        """Close upstream's scene."""
        if not self._closed:
            self._closed = True
            with self._inside("close_env"):
                self._task.close_env(clear_cache=True)

    def try_seed(self, name: str, seed: int, settings: Mapping[str, Any]) -> Trial:
        """Let upstream's scripted expert try a seed; what it raises is part of the trial."""
        with self._inside("expert", quiet=True):
            try:
                self._set_up(seed, settings)
                told = self._task.play_once()
            except EnvironmentMissing:
                raise
            except Exception as error:
                unstable = type(error).__name__ == UNSTABLE
                return Trial(name, seed, "unstable" if unstable else "error", detail=text_of(error))
            finally:
                self._task.close_env()
            if not self._task.plan_success:
                return Trial(name, seed, "no path")
            if not self._task.check_success():
                return Trial(name, seed, "no success")
            return Trial(name, seed, "feasible", scene=dict((told or {}).get("info", {})))

    def _set_up(self, seed: int, settings: Mapping[str, Any], tolerate: str = "") -> None:
        # Upstream seeds numpy and torch. Python's generator is seeded as well, and default arguments that
        # upstream changes in place are put back, so that nothing of an earlier episode is left.
        random.seed(seed)
        for function, defaults in self._defaults.items():
            function.__defaults__ = copy.deepcopy(defaults)
        arguments = copy.deepcopy({**self._arguments, **settings.get("arguments", {})})
        try:
            self._task.setup_demo(now_ep_num=0, seed=seed, is_test=True, **arguments)
        except Exception as error:
            if finds_no_vulkan_device(error):
                raise EnvironmentMissing(
                    f"SAPIEN finds nothing to trace rays on ({text_of(error)}); "
                    f"run: proctor env check {self.environment}"
                ) from error
            if type(error).__name__ != tolerate:
                raise

    @contextlib.contextmanager
    def _inside(self, what: str, *, quiet: bool = False) -> Iterator[None]:
        with inside(self._working), contextlib.ExitStack() as stack:
            sink = stack.enter_context(Path(os.devnull).open("w")) if quiet else sys.stderr
            stack.enter_context(contextlib.redirect_stdout(sink))
            try:
                yield
            except EnvironmentMissing:
                raise
            except Exception as error:
                raise BenchmarkFault(
                    f"upstream's {what}: {type(error).__name__}: {text_of(error)}"
                ) from error


@contextlib.contextmanager
def inside(directory: Path) -> Iterator[None]:
    """Work in a directory, which upstream's relative paths need, and come back."""
    before = Path.cwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


def make_task(working: Path, python_path: Sequence[Path], module: str, name: str) -> Any:
    """Make upstream's object of a task, the class `name` of `module`, from inside `working`.

    Raises `EnvironmentMissing` naming a package that is not installed, `BenchmarkFault` for what else
    importing raises.
    """
    for entry in reversed(python_path):
        if str(entry) not in sys.path:
            sys.path.insert(0, str(entry))
    with inside(working), contextlib.redirect_stdout(sys.stderr):
        try:
            return getattr(import_module(module), name)()
        except ModuleNotFoundError as error:
            text = f"{error.name}, which {module} in {working} needs, is missing"
            raise EnvironmentMissing(text) from error
        except Exception as error:
            text = f"{type(error).__name__}: {text_of(error)}"
            raise BenchmarkFault(f"{module} in {working}: {text}") from error


def arguments_for(config: Mapping[str, Any], task: str, task_config: str, working: Path) -> dict[str, Any]:
    """What upstream's evaluation passes to `setup_demo` beside the seed, with its configuration.

    Raises `EnvironmentMissing` where the robot's assets are not there.
    """
    described = working / ROBOT / "config.yml"
    if not described.is_file():
        raise EnvironmentMissing(f"{described} is missing: the robot is one of the assets")
    embodiment = import_module("yaml").safe_load(described.read_text(encoding="utf-8"))
    return {
        **copy.deepcopy(dict(config)),
        "task_name": task,
        "task_config": task_config,
        "eval_mode": True,
        "left_robot_file": f"./{ROBOT}/",
        "right_robot_file": f"./{ROBOT}/",
        "dual_arm_embodied": True,
        "left_embodiment_config": embodiment,
        "right_embodiment_config": copy.deepcopy(embodiment),
    }


def start_state(task: Any) -> NDArray[np.float64]:
    """The robot's joints, those of every other articulation, then position and quaternion of all actors."""
    robot = task.robot
    own = [robot.left_entity]
    if robot.right_entity is not robot.left_entity:
        own.append(robot.right_entity)
    others = [each for each in task.scene.get_all_articulations() if each not in own]
    joints = [np.ravel(each.get_qpos()) for each in (*own, *others)]
    poses = [
        np.concatenate([pose.p, pose.q]) for pose in (each.get_pose() for each in task.scene.get_all_actors())
    ]
    return np.concatenate([*joints, *poses], dtype=np.float64)


def _find_mutable_defaults(kind: type) -> dict[Callable[..., Any], tuple[Any, ...]]:
    """Default arguments of a class's functions that could be changed in place, as they are first found."""
    found: dict[Callable[..., Any], tuple[Any, ...]] = {}
    for name in dir(kind):
        function = getattr(kind, name)
        defaults = getattr(function, "__defaults__", None) or ()
        if any(isinstance(each, list | dict) for each in defaults):
            found[function] = copy.deepcopy(defaults)
    return found


_mutable_defaults: Callable[[Any], dict[Callable[..., Any], tuple[Any, ...]]] = functools.cache(
    _find_mutable_defaults
)
