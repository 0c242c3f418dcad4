"""`proctor bench doctor`: what is printed, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proctor.cli.root import root
from proctor.errors import UsageError
from proctor.testing.toy_versions import write_toy_version

PIXELS = "proctor.testing.toy_policies:PixelPolicy"
STATES = "proctor.testing.toy_policies:StatePolicy"
FAULTY = "proctor.testing.toy_policies:FaultyPolicy"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark, and a place for logs that stay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("t")))
    write_toy_version(tmp_path / "conf" / "benchmarks", ("reach",), episodes=1)


def doctor(*arguments: str) -> Result:
    command = ["bench", "doctor", "toy-v1", "--steps", "5", *arguments]
    return CliRunner().invoke(root, command, standalone_mode=False)


@pytest.mark.process
def test_checks_are_lines_and_the_last_one_is_the_verdict(tmp_path: Path) -> None:
    result = doctor("--policy", PIXELS, "--sheet", "sheet.png")
    assert result.return_value == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("pass           load: ")
    assert lines[-1] == f"{PIXELS} on toy-v1: ready"
    assert (tmp_path / "sheet.png").exists()


@pytest.mark.process
def test_a_sheet_without_a_picture_is_said_not_to_be_drawn(tmp_path: Path) -> None:
    result = doctor("--policy", STATES, "--sheet", "sheet.png")
    assert result.return_value == 0
    assert "sheet: sheet.png is not drawn: the policy was sent no image" in result.stdout.splitlines()
    assert not (tmp_path / "sheet.png").exists()


@pytest.mark.process
def test_json_names_what_failed() -> None:
    result = doctor("--policy", FAULTY, "--policy-arg", "fault=nan", "--json")
    assert result.return_value == 6
    report = json.loads(result.stdout)
    assert (report["schema"], report["policy"], report["benchmark"]) == (1, FAULTY, "toy-v1")
    assert (report["conformant"], report["failed"], report["sheet"]) == (False, ["episodes"], None)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="sheet"):
        raise doctor("--policy", PIXELS, "--sheet", "sheet.gif").exception  # type: ignore[misc]
