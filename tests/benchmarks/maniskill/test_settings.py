"""What a version says of its tasks and its pictures, and what is refused by name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from proctor.benchmarks.family import refuse_other_pictures
from proctor.benchmarks.maniskill.settings import REFERENCE, task_settings_of
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault

DEFINITION = find_version("maniskill-v1").definition
TASK = DEFINITION.tasks[0]


def test_a_task_names_upstreams_environment_and_robot() -> None:
    settings = task_settings_of(TASK)
    assert (settings.environment, settings.robot) == ("PickCube-v1", "panda")


def test_an_environment_that_needs_assets_of_its_own_is_refused_with_the_nearest() -> None:
    wrong = replace(TASK, settings={**TASK.settings, "environment": "PickCubeYCB-v1"})
    with pytest.raises(
        BenchmarkFault, match=r"task pick-cube: ManiSkill environment.*did you mean 'PickCube-v1'"
    ):
        task_settings_of(wrong)


def test_another_robot_is_refused_with_the_valid_ones() -> None:
    with pytest.raises(
        BenchmarkFault, match=r"robot in task pick-cube, settings 'panda_wrist'.*panda_wristcam"
    ):
        task_settings_of(replace(TASK, settings={**TASK.settings, "robot": "panda_wrist"}))


def test_a_task_without_its_environment_is_refused() -> None:
    with pytest.raises(BenchmarkFault, match=r"task pick-cube, settings.*environment"):
        task_settings_of(replace(TASK, settings={"robot": "panda"}))


@pytest.mark.parametrize("change", [{"shadows": True}, {"multisamples": 4}, {"name": "fast"}])
def test_pictures_that_upstream_does_not_make_are_refused(change: dict[str, object]) -> None:
    refuse_other_pictures(DEFINITION, REFERENCE)
    with pytest.raises(
        BenchmarkFault, match=r"makes upstream's pictures only, RenderProfile\(name='reference'"
    ):
        refuse_other_pictures(replace(DEFINITION, render=replace(REFERENCE, **change)), REFERENCE)  # type: ignore[arg-type]
