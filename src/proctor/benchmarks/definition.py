"""What `benchmark.toml` holds: everything known to move a score, as a field.

Unknown keys are errors. A field without a default has none because every value moves scores.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_.+-]{0,99}$")]
FeatureName = Annotated[str, msgspec.Meta(pattern=r"^(images|state|language|privileged)\.[a-z0-9_]+$")]


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of everything read from a frozen file."""


class FeatureDefinition(Data, frozen=True, forbid_unknown_fields=True):
    """One named observation value.

    Images are uint8, height × width × 3, RGB. Features under `privileged.` exist for scripted experts: they
    are off unless a policy asks for them by name, and a run that used one says so.
    """

    name: FeatureName
    kind: Literal["image", "state", "language"]
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    required: bool = False
    """Sent to every policy; optional features are sent (and rendered) only when a policy requires them."""
    orientation: Literal["upright", "rotated-90", "rotated-180", "rotated-270", "flipped-vertical"] | None = (
        None
    )
    """How the frame handed out relates to the simulator's own buffer: what was done to it. Turns are
    counter-clockwise, in degrees."""
    codec: Literal["raw"] | None = None
    """How an image leaves the benchmark: `raw`. What a wire makes of it is recorded with its mapping."""
    camera: str | None = None
    """The simulator's own camera name."""
    description: str = ""
    """Units, frame and order of the values."""


class ActionDefinition(Data, frozen=True, forbid_unknown_fields=True):
    """One named meaning of the action vector."""

    representation: Name
    dimension: Count
    dtype: str
    limits: Literal["clip", "reject", "pass"]
    """What happens to a value outside `low`/`high`. Counted whatever happens."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    description: str = ""
    """Units, frame and order of the values."""


class GripperCommand(Data, frozen=True, forbid_unknown_fields=True):
    """Which number of an action commands a gripper, and what it says."""

    index: Annotated[int, msgspec.Meta(ge=0)]
    open: float
    closed: float


class GripperDefinition(Data, frozen=True, forbid_unknown_fields=True):
    """One gripper: which value of a state feature measures it, for `proctor bench doctor`."""

    feature: FeatureName
    index: Annotated[int, msgspec.Meta(ge=0)]
    """Position in the feature."""
    open: float
    """The value when it is open."""
    closed: float
    commands: dict[Name, GripperCommand] = {}
    """By action representation, where it is none that proctor knows."""


class TaskDefinition(Data, frozen=True, forbid_unknown_fields=True):
    """One instruction and scene family."""

    id: Name
    instruction: str
    horizon: Count
    weight: Positive = 1.0
    """Share in the overall rate, relative to the other tasks."""
    axes: tuple[str, ...] = ()
    """Named groups this task belongs to; results break down by them."""
    settings: dict[str, Any] = {}
    """What the family needs to build this task."""


class RenderProfile(Data, frozen=True, forbid_unknown_fields=True):
    """How frames are made. Two profiles are two versions: their rates never share a column."""

    name: Literal["reference", "fast"]
    shadows: bool
    multisamples: Annotated[int, msgspec.Meta(ge=0)]
    reflections: bool = True


class BenchmarkDefinition(Data, frozen=True, forbid_unknown_fields=True):
    """One benchmark version, as frozen."""

    schema: Literal[1]
    id: Name
    title: str
    description: str
    family: Name
    environment: Name
    """Name under `conf/environments/` of the simulator environment its workers run in."""
    control_hz: Positive
    execute_steps: Annotated[str, msgspec.Meta(pattern=r"^(fixed:[1-9][0-9]*|policy<=[1-9][0-9]*)$")]
    """`fixed:k`: k actions of every chunk. `policy<=k`: the whole chunk, but never more than k."""
    settle_steps: Annotated[int, msgspec.Meta(ge=0)]
    success: Literal["once", "at_end", "held"]
    """Which of the three recorded meanings of success is the headline."""
    held_steps: Count
    """Control steps in a row that the goal must hold for `held`."""
    stop_on_success: bool
    """The episode ends at its first success (`once`) or at its first held success (`held`)."""
    policy_reset: Literal["episode", "segment"]
    on_native_crash: Literal["retry", "fail_window"]
    """What a native crash of the simulator does to the rest of its window of episodes."""
    window: Count
    """Episodes in one Work Item."""
    initial_state_tolerance: Annotated[float, msgspec.Meta(ge=0)]
    """Largest absolute difference, per value, between a recorded and a rebuilt start."""
    render: RenderProfile
    features: Annotated[tuple[FeatureDefinition, ...], msgspec.Meta(min_length=1)]
    actions: Annotated[tuple[ActionDefinition, ...], msgspec.Meta(min_length=1)]
    """The first is the default."""
    tasks: Annotated[tuple[TaskDefinition, ...], msgspec.Meta(min_length=1)]
    suites: dict[Name, tuple[str, ...]]
    """Named subsets of task ids; the first is the default and holds every task."""
    packages: dict[str, str]
    """Simulator packages and the versions this benchmark is defined on."""
    settings: dict[str, Any] = {}
    """What the family needs for every task."""
    grippers: tuple[GripperDefinition, ...] = ()
    """In the order in which actions command them. Moves no score."""
