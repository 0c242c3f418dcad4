"""proctor in an interpreter where it is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import proctor

pytestmark = pytest.mark.process

PACKAGE = Path(proctor.__file__).parent
INTERPRETER = [sys.executable, "-E", "-s", "-S"]
"""Without the site packages, so proctor is not installed here."""


def bootstrap(*arguments: str, package: Path = PACKAGE) -> subprocess.CompletedProcess[str]:
    command = [*INTERPRETER, str(package / "_bootstrap.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A stand-in package with a probe module, and neighbours that must stay invisible."""
    directory = tmp_path / "site" / "proctor"
    directory.mkdir(parents=True)
    (directory / "__init__.py").write_text("WHERE = 'stand-in'\n")
    (directory / "errors.py").write_text("")
    (directory / "_bootstrap.py").write_bytes((PACKAGE / "_bootstrap.py").read_bytes())
    (tmp_path / "site" / "neighbour.py").write_text("")
    return directory


def probe(package: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (package / "probe.py").write_text(text)
    return bootstrap("proctor.probe", *arguments, package=package)


def test_proctor_is_not_there_without_it() -> None:
    done = subprocess.run([*INTERPRETER, "-c", "import proctor"], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in done.stderr


def test_the_module_runs_as_main_with_its_arguments(package: Path) -> None:
    done = probe(package, "import sys, proctor; print(__name__, proctor.WHERE, sys.argv[1:])", "a", "--b")
    assert (done.stdout, done.stderr) == ("__main__ stand-in ['a', '--b']\n", "")


def test_the_real_package_is_the_running_one(package: Path) -> None:
    done = probe(package, "import proctor.errors; print(proctor.errors.__file__)")
    assert done.stdout == f"{package / 'errors.py'}\n"


@pytest.mark.parametrize("name", ["errors", "neighbour"])
def test_nothing_else_becomes_importable(package: Path, name: str) -> None:
    done = probe(package, f"import {name}")
    assert f"No module named '{name}'" in done.stderr


def test_the_exit_status_is_the_modules(package: Path) -> None:
    assert probe(package, "raise SystemExit(124)").returncode == 124


def test_no_module_is_a_usage_message() -> None:
    assert "usage: python _bootstrap.py MODULE" in bootstrap().stderr
