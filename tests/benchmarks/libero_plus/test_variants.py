"""What the name of a variant says."""

from __future__ import annotations

import pytest

from proctor.benchmarks.libero_plus.variants import Look, parse_variant
from proctor.errors import BenchmarkFault


@pytest.mark.parametrize(
    ("name", "dimension", "scene"),
    [
        ("view_359_15_100_0_0_initstate_0", "camera", ""),
        ("view_0_0_100_0_0_initstate_12", "robot", ""),
        ("view_0_0_100_0_0_initstate_0_noise_38", "noise", ""),
        ("language_50_view_0_0_100_0_0_initstate_0", "language", "language_50"),
        ("light_8", "light", "light_8"),
        ("table_5", "background", "table_5"),
        ("tb_6", "background", "tb_6"),
        ("add_9", "layout", "add_9"),
        ("level5_sample4", "layout", "level5_sample4"),
        ("moved_level1_sample1", "layout", "moved_level1_sample1"),
    ],
)
def test_a_name_says_its_dimension_and_its_scene(name: str, dimension: str, scene: str) -> None:
    variant = parse_variant(name)
    assert (variant.name, variant.dimension, variant.scene) == (name, dimension, scene)


def test_a_camera_is_told_in_upstreams_words() -> None:
    assert parse_variant("view_359_15_80_2_352_initstate_0").look == Look("359", "15", 0.8, "2", "352")


def test_a_robot_that_starts_elsewhere_has_a_class_of_its_own() -> None:
    assert parse_variant("view_0_0_100_0_0_initstate_12").look.robot == "Panda12"
    assert parse_variant("view_0_0_100_0_0_initstate_0").look.robot == "Panda"
    assert parse_variant("light_8").look.robot == "Panda"


def test_noise_has_a_number() -> None:
    assert parse_variant("view_0_0_100_0_0_initstate_0_noise_38").look.noise == 38
    assert parse_variant("view_0_0_100_0_0_initstate_0").look.noise == 0


def test_only_another_layout_has_a_start_of_its_own() -> None:
    assert parse_variant("add_9").has_own_start
    assert not parse_variant("light_8").has_own_start


@pytest.mark.parametrize(
    "name", ["", "fog_9", "light_", "view_0_0_100_0_initstate_0", "light_8_more", "add_9x"]
)
def test_a_name_that_says_nothing_known_is_refused_with_the_valid_forms(name: str) -> None:
    with pytest.raises(BenchmarkFault, match=r"says nothing known; valid: language_N, light_N"):
        parse_variant(name)
