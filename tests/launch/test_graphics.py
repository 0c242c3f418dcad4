from __future__ import annotations

import pytest

from proctor.errors import EnvironmentMissing, UsageError
from proctor.launch.graphics import PROBES, Graphics, choose, main, probe_in_child


def works(_: str) -> str:
    return ""


def never_asked(backend: str) -> str:
    raise AssertionError(f"{backend} was probed")


def test_egl_comes_first() -> None:
    assert choose({}, works) == Graphics("egl", "probed")


def test_osmesa_when_egl_does_not_work() -> None:
    assert choose({}, lambda backend: "no device" if backend == "egl" else "") == Graphics("osmesa", "probed")


@pytest.mark.parametrize("value", ["osmesa", "glfw", "EGL", " egl "])
def test_the_users_value_is_respected_unprobed(value: str) -> None:
    assert choose({"MUJOCO_GL": value}, never_asked) == Graphics(value.strip().lower(), "user")


def test_an_empty_value_is_no_value() -> None:
    assert choose({"MUJOCO_GL": ""}, works).source == "probed"


def test_a_value_mujoco_does_not_know() -> None:
    with pytest.raises(UsageError, match=r"MUJOCO_GL is 'egll'; valid: egl, osmesa, .*or unset"):
        choose({"MUJOCO_GL": "egll"}, never_asked)


def test_nothing_works_names_faults_and_apt_lines() -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        choose({}, lambda backend: f"lib{backend} is not installed")
    message = str(caught.value)
    assert "egl: libegl is not installed; osmesa: libosmesa is not installed" in message
    assert "apt-get install libegl1 libgl1-mesa-dri libopengl0\n" in message
    assert "apt-get install libosmesa6\n" in message


def test_the_command_explains_itself_and_exits_5(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr("proctor.launch.graphics.probe_in_child", lambda _: "broken")
    assert main([]) == 5
    assert "apt-get install" in capsys.readouterr().err


def test_the_command_prints_the_backend(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    assert main([]) == 0
    assert capsys.readouterr().out == "glfw\n"


@pytest.mark.process
@pytest.mark.parametrize("backend", sorted(PROBES))
def test_probing_answers_with_a_fault_or_nothing(backend: str) -> None:
    fault = probe_in_child(backend)
    assert "Traceback" not in fault
    assert fault == "" or "not installed" in fault or "EGL" in fault or "egl" in fault


@pytest.mark.sim
def test_a_backend_works_where_simulators_are_tested() -> None:
    assert choose({}).backend in PROBES
