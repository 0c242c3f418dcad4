"""What a version says of its robots and tasks, and what is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robosuite.settings import settings_of, task_settings_of
from proctor.errors import BenchmarkFault

DEFINITION = find_version("robosuite-v1").definition


def test_the_settings_of_the_version_and_its_tasks_are_read() -> None:
    assert settings_of(DEFINITION).robots == ("Panda",)
    assert settings_of(DEFINITION).controller.arm.input_ref_frame == "base"
    assert task_settings_of(DEFINITION.tasks[0]).environment == "Lift"


def test_a_controller_leaves_open_what_upstream_leaves_open() -> None:
    part = settings_of(DEFINITION).controller.as_upstream()["body_parts"]["right"]
    assert [part[name] for name in ("position_limits", "orientation_limits", "interpolation")] == [None] * 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"robots": ["Sawyer"]}, r"unknown robots\[0\] in robosuite-v1, settings 'Sawyer'\. Valid: Panda"),
        ({"arrangement": "parallel"}, r"unknown arrangement in .* 'parallel'.* Valid: default, opposed"),
        ({"noise": 0.02}, r"unknown key in robosuite-v1, settings 'noise'"),
        ({"lite_physics": "yes"}, r"robosuite-v1, settings.*lite_physics"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BenchmarkFault, match=said):
        settings_of(replace(DEFINITION, settings={**DEFINITION.settings, **changes}))


def test_a_task_without_upstreams_name_is_refused() -> None:
    with pytest.raises(BenchmarkFault, match=r"task lift, settings.*environment"):
        task_settings_of(replace(DEFINITION.tasks[0], settings={"poses": []}))
