"""From a definition to upstream's environment: what is missing or unknown is named, with what there is."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium
import pytest
from msgspec.structs import replace

from proctor.benchmarks.robocasa.tasks import GR1_TASKS, gr1_environment
from proctor.errors import BenchmarkFault, EnvironmentMissing

from .conftest import definition_of

DEFINITION = replace(definition_of("gr1"), packages={})
TASK = DEFINITION.tasks[0]
KNOWN = gr1_environment(GR1_TASKS[0])


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module that opens kitchens, with a checkout that holds nothing."""
    monkeypatch.setitem(sys.modules, "mujoco", ModuleType("mujoco"))
    from proctor.benchmarks.robocasa import environment

    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(environment.checkouts, "require", lambda *_: tmp_path)
    return environment


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch, upstream: Any) -> None:
    """Upstream's module has been imported, and has registered one environment, whose assets are missing."""

    def make(**_: Any) -> Any:
        raise FileNotFoundError("no such file: 'objects/bottle.xml'")

    monkeypatch.setitem(sys.modules, upstream.MODULES["gr1"], ModuleType("gym_utils"))
    monkeypatch.setitem(gymnasium.registry, KNOWN, gymnasium.envs.registration.EnvSpec(KNOWN, make))


def test_a_checkout_without_upstreams_modules_is_missing_something(upstream: Any) -> None:
    with pytest.raises(
        EnvironmentMissing, match=r"robocasa\.utils\.gym_utils raised Module.* proctor env check robocasa-gr1"
    ):
        upstream.open_kitchen(DEFINITION, TASK)


@pytest.mark.usefixtures("registered")
def test_a_task_that_upstream_does_not_have_names_the_nearest(upstream: Any) -> None:
    wrong = replace(TASK, settings={"environment": KNOWN.replace("Bottle", "Botle")})
    with pytest.raises(BenchmarkFault, match=f"unknown RoboCasa environment .*; did you mean '{KNOWN}'"):
        upstream.open_kitchen(DEFINITION, wrong)


@pytest.mark.usefixtures("registered")
def test_assets_that_are_not_there_are_named(upstream: Any) -> None:
    with pytest.raises(EnvironmentMissing, match=r"objects/bottle\.xml.*run: proctor env check robocasa-gr1"):
        upstream.open_kitchen(DEFINITION, TASK)


def test_another_horizon_than_upstreams_is_refused_with_both(upstream: Any) -> None:
    with pytest.raises(BenchmarkFault, match=f"task {TASK.id}: 300 steps; upstream allows 720"):
        upstream.open_kitchen(DEFINITION, replace(TASK, horizon=300))


def test_a_robosuite_at_another_commit_is_refused_with_both(upstream: Any, tmp_path: Path) -> None:
    settings = upstream.settings_of(definition_of("365"))
    with pytest.raises(
        EnvironmentMissing,
        match=rf"at commit \(unknown\), .* defined on {settings.robosuite}; run: proctor env",
    ):
        upstream.require_robosuite(tmp_path, settings)


def test_a_version_that_names_no_robosuite_is_refused_with_the_one_that_is_here(
    upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = definition_of("365")
    nameless = {name: value for name, value in definition.settings.items() if name != "robosuite"}
    settings = upstream.settings_of(replace(definition, settings=nameless))
    monkeypatch.setattr(upstream.checkouts, "commit_of", lambda _: "c0ffee")
    with pytest.raises(BenchmarkFault, match=r"settings\.robosuite: .* none is recorded; here is c0ffee;"):
        upstream.require_robosuite(tmp_path, settings)
