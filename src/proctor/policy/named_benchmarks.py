"""Contracts of the benchmarks that have a `BenchmarkName`, as data.

A size that the benchmark leaves to its configuration is None: it is not checked, and never guessed.
"""

from __future__ import annotations

from typing import Final

from proctor.errors import UnknownNameError
from proctor.policy.spec import ActionSpec, BenchmarkName, BenchmarkSpec, FeatureKind, FeatureSpec


def _image(
    name: str, height: int | None, width: int | None, what: str, *, required: bool = True
) -> FeatureSpec:
    description = f"{what}; height × width × 3, RGB"
    return FeatureSpec(name, FeatureKind.IMAGE, required, description, "uint8", (height, width, 3))


def _state(name: str, size: int, what: str, *, required: bool = True) -> FeatureSpec:
    return FeatureSpec(name, FeatureKind.STATE, required, what, "float32", (size,))


_INSTRUCTION = FeatureSpec(
    "language.instruction", FeatureKind.LANGUAGE, description="what the robot is to do"
)


def _action(dimension: int, what: str, *, bound: float | None = None) -> ActionSpec:
    high = None if bound is None else (bound,) * dimension
    low = None if bound is None else (-bound,) * dimension
    return ActionSpec("action.robot", what, dimension, "float32", low, high)


_Contract = tuple[str, tuple[FeatureSpec, ...], ActionSpec, tuple[str, ...]]
"""Protocol id, features, action, action representations (the first is the default)."""

_LIBERO_FEATURES: Final = (
    _image("images.primary", 256, 256, "agent view, rotated by 180°"),
    _image("images.wrist", 256, 256, "eye in hand, rotated by 180°"),
    _state(
        "state.proprioception",
        16,
        "end effector position 3 (m) and quaternion xyzw 4, finger positions 2 (m), joints 7 (rad)",
    ),
    _state(
        "state.eef_axis_angle",
        8,
        "end effector position 3 (m) and axis-angle 3 (rad, of the quaternion as it is, its sign not"
        " canonicalised), finger positions 2 (m)",
        required=False,
    ),
    _INSTRUCTION,
)
_LIBERO_ACTION: Final = _action(
    7,
    "end effector translation 3 (±1 = 0.05 m) and rotation 3 (±1 = 0.5 rad); gripper −1 open, +1 close",
    bound=1.0,
)

_CONTRACTS: Final[dict[BenchmarkName, _Contract]] = {
    BenchmarkName.LIBERO: ("libero-v1", _LIBERO_FEATURES, _LIBERO_ACTION, ("libero.delta-eef-v1",)),
    BenchmarkName.LIBERO_PLUS: (
        "libero-plus-v1",
        _LIBERO_FEATURES,
        _LIBERO_ACTION,
        ("libero.delta-eef-v1",),
    ),
    BenchmarkName.ROBOCASA: (
        "robocasa-v1",
        (
            _image("images.primary", None, None, "ego view"),
            _image("images.wrist", None, None, "wrist view", required=False),
            _state("state.proprioception", 29, "left arm 7, right arm 7, left hand 6, right hand 6, waist 3"),
            _INSTRUCTION,
        ),
        _action(29, "left arm 7, right arm 7, left hand 6, right hand 6, waist 3"),
        ("robocasa.gr1-joint-v1",),
    ),
    BenchmarkName.ROBOTWIN: (
        "robotwin2-v1",
        (
            _image("images.head", None, None, "head camera"),
            _image("images.left_wrist", None, None, "left wrist camera"),
            _image("images.right_wrist", None, None, "right wrist camera"),
            _state("state.joints", 14, "per arm, left first: joints 6 (rad), gripper 0 closed … 1 open"),
            _INSTRUCTION,
        ),
        _action(14, "per arm, left first: 6 values and gripper; their meaning is the representation's"),
        ("robotwin.qpos-v1", "robotwin.ee-compact-quat-v1"),
    ),
    BenchmarkName.CALVIN: (
        "calvin-v1",
        (
            _image("images.static", 200, 200, "static camera"),
            _image("images.gripper", 84, 84, "gripper camera"),
            _state(
                "state.proprioception",
                15,
                "tool position 3 (m) and Euler angles xyz 3 (rad), gripper width 1 (m), joints 7 (rad),"
                " last gripper command 1",
            ),
            _INSTRUCTION,
        ),
        _action(7, "6 values of the representation; gripper exactly −1 close or +1 open"),
        ("calvin.relative-v1", "calvin.absolute-compact-quat-v1"),
    ),
    BenchmarkName.METAWORLD: (
        "metaworld-v1",
        (
            _image("images.primary", None, None, "first camera"),
            _image("images.secondary", None, None, "second camera", required=False),
            _image("images.tertiary", None, None, "third camera", required=False),
            _image("images.quaternary", None, None, "fourth camera", required=False),
            _state("state.proprioception", 4, "end effector position 3 (m), gripper aperture 1"),
            _INSTRUCTION,
        ),
        _action(4, "end effector translation 3 (±1 = 0.01 m); gripper effort, positive closes", bound=1.0),
        ("metaworld.delta-eef-v1",),
    ),
}


def benchmark_names() -> tuple[str, ...]:
    """Names that `get_benchmark_spec` knows."""
    return tuple(member.value for member in BenchmarkName)


def get_benchmark_spec(name: str, suite: str) -> BenchmarkSpec:
    """The contract of a named benchmark. Any non-empty suite is taken: only the benchmark knows its suites.

    Raises `UnknownNameError` for another name, `ValueError` for an empty suite.
    """
    if name not in benchmark_names():
        raise UnknownNameError("benchmark", str(name), benchmark_names())
    protocol, features, action, representations = _CONTRACTS[BenchmarkName(name)]
    return BenchmarkSpec(name, suite, protocol, features, action, representations, representations[0])
