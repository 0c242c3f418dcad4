"""A family imports its simulator when a lane is opened, not before, and names what is missing."""

from __future__ import annotations

from dataclasses import replace as replace_field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from proctor.benchmarks.contract import Environment, Episode, Segment
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.family import (
    SimulatorFamily,
    refuse_other_pictures,
    refuse_other_versions,
    refuse_predicates,
)
from proctor.errors import BenchmarkFault, EnvironmentMissing
from proctor.testing.toy_versions import toy_definition

DEFINITION = toy_definition(["reach"])


def family(environment: str, *distributions: str) -> SimulatorFamily:
    return SimulatorFamily("toy", environment, distributions)


def lane(of: SimulatorFamily, definition: BenchmarkDefinition = DEFINITION) -> Environment:
    return of.open(definition, definition.tasks[0], definition.actions[0])


def test_open_makes_a_lane_of_the_named_class() -> None:
    assert type(lane(family("proctor.testing.toy:ToyEnvironment"))).__name__ == "ToyEnvironment"


def test_a_missing_simulator_is_named_with_the_command_that_builds_it() -> None:
    with pytest.raises(EnvironmentMissing, match=r"no_such_simulator .* proctor env build host"):
        lane(family("no_such_simulator:Environment"))


def test_a_simulator_that_cannot_be_imported_says_why_and_with_which_renderer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "blind_simulator.py").write_text("raise ImportError('libOSMesa.so.8: no such file')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(
        EnvironmentMissing,
        match=r"toy cannot be imported with MUJOCO_GL=osmesa: ImportError: .*: proctor env check host",
    ):
        lane(family("blind_simulator:Environment"))


def test_packages_are_those_that_are_installed() -> None:
    found = family("proctor.testing.toy:ToyEnvironment", "numpy", "no-such-distribution").packages()
    assert set(found) == {"numpy"}


def changed(**changes: Any) -> BenchmarkDefinition:
    return replace(DEFINITION, **changes)


def test_settle_steps_are_refused_where_nothing_settles() -> None:
    with pytest.raises(BenchmarkFault, match="settle_steps 10: family toy starts settled; valid: 0"):
        lane(family("proctor.testing.toy:ToyEnvironment"), changed(settle_steps=10))


def test_a_family_that_settles_takes_settle_steps() -> None:
    settling = replace_field(family("proctor.testing.toy:ToyEnvironment"), settles=True)
    assert lane(settling, changed(settle_steps=10)) is not None


def test_another_version_of_a_package_is_refused_naming_both() -> None:
    with pytest.raises(EnvironmentMissing, match=r"numpy is .+ in .+; toy-v1 is defined on 0\.1"):
        refuse_other_versions(changed(packages={"numpy": "0.1"}))


def test_a_package_that_is_not_installed_is_refused() -> None:
    with pytest.raises(EnvironmentMissing, match="no-such-package is not installed in"):
        refuse_other_versions(changed(packages={"no-such-package": "1"}))


def test_no_lane_is_made_with_another_version_of_its_simulator() -> None:
    toy = family("proctor.testing.toy:ToyEnvironment")
    with pytest.raises(EnvironmentMissing, match=r"numpy is .+ in .+; toy-v1 is defined on 0\.1$"):
        lane(toy, changed(packages={"numpy": "0.1"}))
    with pytest.raises(EnvironmentMissing, match=r"is defined on 1; .* proctor env build host$"):
        lane(toy, changed(packages={"no-such-package": "1"}))


def test_other_pictures_than_a_family_makes_are_refused_naming_both() -> None:
    made = DEFINITION.render
    other = replace(made, name="fast", shadows=not made.shadows)
    refuse_other_pictures(DEFINITION, made)
    with pytest.raises(BenchmarkFault, match=r"name='fast'.*family toy makes .* only, .*name='reference'"):
        refuse_other_pictures(changed(render=other), made)


def test_an_orientation_that_cannot_be_made_is_refused() -> None:
    turned = tuple(
        replace(f, orientation="rotated-180") if f.kind == "image" else f for f in DEFINITION.features
    )
    with pytest.raises(BenchmarkFault, match="orientation 'rotated-180'; family toy makes: upright"):
        lane(family("proctor.testing.toy:ToyEnvironment"), changed(features=turned))


def test_a_predicate_that_is_not_judged_is_refused() -> None:
    segment = Segment("lift it", 10, predicate="lifted")
    with pytest.raises(BenchmarkFault, match="predicate 'lifted'; this family judges: success"):
        refuse_predicates(Episode(id="a/0/0", task="a", index=0, seed=1, segments=(segment,)))
