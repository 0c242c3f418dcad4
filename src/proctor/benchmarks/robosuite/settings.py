"""What a robosuite version says under `settings`, for all tasks and for one."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from proctor.benchmarks.definition import BenchmarkDefinition, TaskDefinition
from proctor.benchmarks.family import settings_or_fault

POSES: Final = 6
"""Rows of `privileged.poses`."""

_UNSET: Final = {"position_limits": None, "orientation_limits": None, "interpolation": None}
"""Of an arm's controller, what upstream leaves open; TOML has no word for it."""


class Gripper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a gripper is driven."""

    type: Literal["GRIP"]


class Arm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How an arm is driven, in upstream's own words: operational-space control of the hand's pose."""

    type: Literal["OSC_POSE"]
    input_max: int
    input_min: int
    output_max: tuple[float, ...]
    """Per step: x y z (m), turn about x y z (rad), that `input_max` stands for."""
    output_min: tuple[float, ...]
    kp: int
    damping_ratio: int
    impedance_mode: Literal["fixed"]
    kp_limits: tuple[int, int]
    damping_ratio_limits: tuple[int, int]
    uncouple_pos_ori: bool
    input_type: Literal["delta"]
    input_ref_frame: Literal["base", "world"]
    ramp_ratio: float
    gripper: Gripper


class Controller(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How every robot is driven."""

    type: Literal["BASIC"]
    arm: Arm

    def as_upstream(self) -> dict[str, Any]:
        """The composite controller's configuration, as upstream reads it from its own file."""
        return {"type": self.type, "body_parts": {"right": {**msgspec.to_builtins(self.arm), **_UNSET}}}


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One version."""

    robots: tuple[Literal["Panda"], ...]
    """In the order in which actions and states hold them."""
    arrangement: Literal["default", "opposed"]
    """Upstream's `env_configuration`: `opposed` puts two robots face to face."""
    initial_joint_noise_rad: float
    """Standard deviation of what is added to every joint of an arm at the start."""
    lite_physics: bool
    """Upstream's default since 1.5: what is read after a physics step shows bodies as before it."""
    controller: Controller


class TaskSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One task."""

    environment: str
    """Upstream's name, such as `PickPlaceCan`."""
    poses: tuple[str, ...]
    """Bodies or sites of the scene, whose poses `privileged.poses` tells in this order."""


def settings_of(definition: BenchmarkDefinition) -> Settings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(definition.settings, Settings, f"{definition.id}, settings")


def task_settings_of(task: TaskDefinition) -> TaskSettings:
    """Raises `BenchmarkFault` naming the field at fault."""
    return settings_or_fault(task.settings, TaskSettings, f"task {task.id}, settings")
