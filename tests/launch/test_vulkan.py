from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from proctor.errors import EnvironmentMissing, UsageError
from proctor.launch import vulkan, workplace

DEVICE = "llvmpipe, Vulkan 1.4.305"


def manifest(directory: Path, library: str, name: str = "driver.json") -> Path:
    path = directory / name
    path.write_text(json.dumps({"ICD": {"library_path": library}}))
    return path


@pytest.fixture
def nothing_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only folder of manifests is empty."""
    monkeypatch.setattr(vulkan, "FOLDERS", (str(tmp_path),))
    for variable in vulkan.USERS:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def test_devices_of_every_installed_driver_are_listed(nothing_installed: Path) -> None:
    manifest(nothing_installed, "one.so", "1.json")
    manifest(nothing_installed, "two.so", "2.json")
    assert vulkan.require({}, lambda library: [f"device of {library}"]) == [
        "device of one.so",
        "device of two.so",
    ]


@pytest.mark.parametrize("variable", vulkan.USERS)
def test_what_the_user_names_is_all_that_counts(nothing_installed: Path, variable: str) -> None:
    manifest(nothing_installed, "installed.so", "installed.json")
    own = nothing_installed / "own"
    own.mkdir()
    named = manifest(own, "./mine.so")
    assert vulkan.require({variable: str(named)}, lambda library: [library]) == [str(own / "mine.so")]


def test_a_name_without_a_directory_is_left_to_the_systems_loader(tmp_path: Path) -> None:
    assert vulkan.library_of(manifest(tmp_path, "libvulkan_lvp.so")) == "libvulkan_lvp.so"


def test_no_driver_at_all_is_said_with_how_to_get_one(nothing_installed: Path) -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        vulkan.require({}, lambda _: [DEVICE])
    message = str(caught.value)
    assert message.startswith("no Vulkan device on this machine (no driver is installed). Install ")
    assert "-t bookworm-backports mesa-vulkan-drivers" in message


def test_a_driver_without_a_device_is_named(nothing_installed: Path) -> None:
    path = manifest(nothing_installed, "libvulkan_intel.so")
    with pytest.raises(EnvironmentMissing, match=rf"\({path}: no device\)"):
        vulkan.require({}, lambda _: [])


def test_a_variable_that_names_no_file(nothing_installed: Path) -> None:
    with pytest.raises(
        UsageError, match=r"VK_ICD_FILENAMES names /nowhere\.json, which is no file; valid: a driver's"
    ):
        vulkan.require({"VK_ICD_FILENAMES": "/nowhere.json"}, lambda _: [DEVICE])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ICD": 3}', "no JSON"])
def test_a_file_that_is_no_manifest(tmp_path: Path, text: str) -> None:
    path = tmp_path / "driver.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"driver.json is no manifest of a Vulkan driver"):
        vulkan.library_of(path)


@pytest.mark.process
@pytest.mark.parametrize("library", ["/nowhere.so", "libc.so.6"])
def test_what_is_no_driver_has_no_device(library: str) -> None:
    assert vulkan.devices_in_child(library) == []


def test_why_a_library_is_no_driver_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert vulkan.main(["/nowhere.so"]) == 1
    assert "cannot open shared object file" in capsys.readouterr().err


@pytest.mark.process
def test_a_silent_driver_has_no_device(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 5\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr(vulkan, "PROBE_TIMEOUT_S", 0.05)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    assert vulkan.devices_in_child("any.so") == []


def test_nothing_is_built_for_a_machine_that_cannot_render_it(
    nothing_installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    with pytest.raises(EnvironmentMissing, match="no Vulkan device"):
        workplace.renderer_of("maniskill")
    assert not (tmp_path / "home").exists()
