from __future__ import annotations

import sys
from pathlib import Path

import pytest

from proctor.errors import EnvironmentMissing, InfrastructureFault, UsageError
from proctor.launch.uv import find_uv, run_uv


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter and a working directory with no uv near them."""
    (tmp_path / "cwd").mkdir()
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python" / "python3"))


def test_the_order_of_places(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path / "path")}
    assert (
        find_uv(environ | {"PATH": str(program(tmp_path / "path" / "uv").parent)}) == tmp_path / "path" / "uv"
    )
    tools = program(tmp_path / "cwd" / ".tools" / "bin" / "uv")
    assert find_uv(environ) == tools
    beside = program(tmp_path / "python" / "uv")
    assert find_uv(environ) == beside
    named = program(tmp_path / "named")
    assert find_uv(environ | {"PROCTOR_UV": str(named)}) == named


def test_none_says_how_to_get_one() -> None:
    with pytest.raises(EnvironmentMissing, match=r"python3 -m pip install uv.*PROCTOR_UV"):
        find_uv({"PATH": ""})


def test_a_named_one_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="PROCTOR_UV is '/does/not/exist', which is not a program"):
        find_uv({"PROCTOR_UV": "/does/not/exist"})


@pytest.mark.process
def test_a_failure_shows_what_uv_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uv = program(tmp_path / "uv")
    uv.write_text("#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    monkeypatch.setenv("PROCTOR_UV", str(uv))
    with pytest.raises(InfrastructureFault, match="uv pip failed:\n    no such package"):
        run_uv("pip", "sync")
