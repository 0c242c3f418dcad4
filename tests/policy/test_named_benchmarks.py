"""The six named contracts, as published."""

from __future__ import annotations

import pytest

from proctor.errors import UnknownNameError
from proctor.policy import BenchmarkName, BenchmarkSpec, FeatureKind, benchmark_names, get_benchmark_spec


def test_the_names_are_the_members_in_order() -> None:
    assert benchmark_names() == ("libero", "libero_plus", "robocasa", "robotwin", "calvin", "metaworld")


@pytest.mark.parametrize(
    ("name", "protocol", "dimension", "representations"),
    [
        ("libero", "libero-v1", 7, ("libero.delta-eef-v1",)),
        ("libero_plus", "libero-plus-v1", 7, ("libero.delta-eef-v1",)),
        ("robocasa", "robocasa-v1", 29, ("robocasa.gr1-joint-v1",)),
        ("robotwin", "robotwin2-v1", 14, ("robotwin.qpos-v1", "robotwin.ee-compact-quat-v1")),
        ("calvin", "calvin-v1", 7, ("calvin.relative-v1", "calvin.absolute-compact-quat-v1")),
        ("metaworld", "metaworld-v1", 4, ("metaworld.delta-eef-v1",)),
    ],
)
def test_identity_and_action(
    name: str, protocol: str, dimension: int, representations: tuple[str, ...]
) -> None:
    spec = get_benchmark_spec(name, "any-suite")
    assert (spec.name, spec.suite, spec.protocol_version) == (name, "any-suite", protocol)
    assert (spec.action.dimension, spec.action.dtype) == (dimension, "float32")
    assert spec.supported_action_representations == representations
    assert spec.default_action_representation == representations[0]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("libero", {"state.proprioception": (16,), "state.eef_axis_angle": (8,)}),
        ("libero_plus", {"state.proprioception": (16,), "state.eef_axis_angle": (8,)}),
        ("robocasa", {"state.proprioception": (29,)}),
        ("robotwin", {"state.joints": (14,)}),
        ("calvin", {"state.proprioception": (15,)}),
        ("metaworld", {"state.proprioception": (4,)}),
    ],
)
def test_states(name: str, sizes: dict[str, tuple[int, ...]]) -> None:
    states = [f for f in get_benchmark_spec(name, "s").features if f.kind is FeatureKind.STATE]
    assert {feature.name: feature.shape for feature in states} == sizes
    assert {feature.dtype for feature in states} == {"float32"}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("libero", {"images.primary": (256, 256, 3), "images.wrist": (256, 256, 3)}),
        ("libero_plus", {"images.primary": (256, 256, 3), "images.wrist": (256, 256, 3)}),
        ("robocasa", {"images.primary": (None, None, 3), "images.wrist": (None, None, 3)}),
        (
            "robotwin",
            {
                "images.head": (None, None, 3),
                "images.left_wrist": (None, None, 3),
                "images.right_wrist": (None, None, 3),
            },
        ),
        ("calvin", {"images.static": (200, 200, 3), "images.gripper": (84, 84, 3)}),
        (
            "metaworld",
            {
                f"images.{name}": (None, None, 3)
                for name in ("primary", "secondary", "tertiary", "quaternary")
            },
        ),
    ],
)
def test_images(name: str, sizes: dict[str, tuple[int | None, ...]]) -> None:
    images = [f for f in get_benchmark_spec(name, "s").features if f.kind is FeatureKind.IMAGE]
    assert {feature.name: feature.shape for feature in images} == sizes
    assert {feature.dtype for feature in images} == {"uint8"}


def test_every_benchmark_gives_an_instruction() -> None:
    for name in benchmark_names():
        feature = get_benchmark_spec(name, "s").feature("language.instruction")
        assert feature is not None
        assert feature.required


def test_libero_offers_both_states_and_sends_the_short_one_only_when_asked() -> None:
    spec = get_benchmark_spec(BenchmarkName.LIBERO, "libero_10")
    required = {feature.name: feature.required for feature in spec.features}
    assert required["state.proprioception"] is True
    assert required["state.eef_axis_angle"] is False


def test_bounds_are_stated_only_where_every_representation_shares_them() -> None:
    bounded = [name for name in benchmark_names() if get_benchmark_spec(name, "s").action.low is not None]
    assert bounded == ["libero", "libero_plus", "metaworld"]


@pytest.mark.parametrize("name", benchmark_names())
def test_contracts_survive_json(name: str) -> None:
    spec = get_benchmark_spec(name, "s")
    assert BenchmarkSpec.from_dict(spec.to_dict()) == spec


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown benchmark 'robotwim'; did you mean 'robotwin'"):
        get_benchmark_spec("robotwim", "demo_clean")


def test_an_empty_suite_is_refused() -> None:
    with pytest.raises(ValueError, match=r"BenchmarkSpec.suite must not be empty"):
        get_benchmark_spec("libero", "")
