"""Finding versions and families by name."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from proctor.benchmarks import registry
from proctor.benchmarks.registry import family_names, find_family, find_version, version_ids
from proctor.errors import BenchmarkFault, UnknownNameError
from proctor.testing.toy_versions import write_toy_version


def plugin(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.ENTRY_POINT_GROUP)


def install(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: points)


def test_versions_that_come_with_proctor_are_found() -> None:
    assert {"aloha-sim-v1", "metaworld-mt10-v1", "metaworld-mt50-v1"} <= set(version_ids())


@pytest.mark.parametrize("version_id", ["aloha-sim-v1", "metaworld-mt10-v1", "metaworld-mt50-v1"])
def test_versions_that_come_with_proctor_are_sound(version_id: str) -> None:
    assert find_version(version_id).definition.id == version_id


def test_versions_of_the_working_directory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = write_toy_version(tmp_path / "conf" / "benchmarks")
    monkeypatch.chdir(tmp_path)
    assert "toy-v1" in version_ids()
    assert find_version("toy-v1").hash == written.hash


def test_the_working_directory_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_toy_version(tmp_path / "conf" / "benchmarks", version_id="aloha-sim-v1")
    monkeypatch.chdir(tmp_path)
    assert find_version("aloha-sim-v1").definition.family == "toy"


def test_an_unknown_version_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'metaworld-mt10-v1'"):
        find_version("metaworld-mt10")


@pytest.mark.parametrize("version_id", ["", "..", "../aloha-sim-v1", "/etc"])
def test_an_id_is_never_a_path(version_id: str) -> None:
    with pytest.raises(UnknownNameError):
        find_version(version_id)


@pytest.mark.parametrize("name", ["aloha", "metaworld", "toy"])
def test_built_in_families_are_found_by_name(name: str) -> None:
    assert find_family(name).name == name


def test_families_are_listed_without_loading_them(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, plugin("mine", "no_such_module:FAMILY"))
    assert family_names() == ["aloha", "metaworld", "mine", "toy"]


def test_an_installed_plugin_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, plugin("mine", "proctor.testing.toy:FAMILY"))
    assert find_family("mine").name == "toy"


def test_a_broken_plugin_is_an_error_only_for_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, plugin("mine", "no_such_module:FAMILY"))
    assert find_family("toy").name == "toy"
    with pytest.raises(BenchmarkFault, match=r"family 'mine' \(no_such_module:FAMILY\) cannot be loaded"):
        find_family("mine")


def test_a_plugin_cannot_take_a_built_in_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(monkeypatch, plugin("toy", "somewhere:ELSE"), plugin("aloha", "proctor.benchmarks.aloha:FAMILY"))
    assert family_names() == ["aloha", "metaworld", "toy"]
    assert [record.getMessage() for record in caplog.records] == [
        "benchmark family 'toy' of somewhere:ELSE is ignored: the name is taken"
    ]


def test_an_unknown_family_names_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown benchmark family 'metawold'; did you mean 'metaworld'"
    ):
        find_family("metawold")


@pytest.mark.parametrize("name", ["aloha", "metaworld"])
def test_finding_a_family_imports_no_simulator(name: str) -> None:
    find_family(name)
    assert not {"mujoco", "dm_control", "gymnasium", "metaworld"} & set(sys.modules)
