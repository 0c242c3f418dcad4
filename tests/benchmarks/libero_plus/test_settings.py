"""What a version says of its tasks and episodes, and what is refused by name."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from proctor.benchmarks.libero_plus.settings import episode_settings_of, settings_of, task_settings_of
from proctor.benchmarks.registry import find_version
from proctor.errors import BenchmarkFault

VERSION = find_version("libero-plus-v1")
DEFINITION, TASK, EPISODE = VERSION.definition, VERSION.definition.tasks[0], VERSION.episodes[0]


def test_the_settings_of_the_version_its_tasks_and_its_episodes_are_read() -> None:
    assert settings_of(DEFINITION).success_while_settling == "counts"
    assert (task_settings_of(TASK).suite, task_settings_of(TASK).dimension) == ("libero_spatial", "camera")
    assert episode_settings_of(EPISODE).variant.startswith("view_")


def test_another_dimension_is_refused_with_the_valid_ones() -> None:
    wrong = replace(TASK, settings={**TASK.settings, "dimension": "weather"})
    with pytest.raises(BenchmarkFault, match=r"task spatial-0-camera, settings 'weather'.*camera"):
        task_settings_of(wrong)


def test_a_version_that_does_not_say_what_settling_counts_is_refused() -> None:
    with pytest.raises(BenchmarkFault, match=r"libero-plus-v1, settings.*success_while_settling"):
        settings_of(replace(DEFINITION, settings={}))


def test_an_episode_without_a_variant_is_refused() -> None:
    with pytest.raises(BenchmarkFault, match=r"episode spatial-0-camera/0/0, settings.*variant"):
        episode_settings_of(replace(EPISODE, settings={}))
