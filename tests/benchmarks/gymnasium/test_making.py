"""What is named is made, and what is missing is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.benchmarks.gymnasium import FAMILY
from proctor.benchmarks.gymnasium.making import FILES
from proctor.errors import BenchmarkFault, EnvironmentMissing, UnknownNameError

from .conftest import Open, definition_of


def test_a_class_in_a_file_is_loaded_once_per_process(opened: Open) -> None:
    assert type(opened("Sound")._upstream) is type(opened("Sound")._upstream)


def test_what_lies_beside_the_file_can_be_imported(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILES, str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_world.py").write_text("from worlds_parts import Plain\n")
    source = (Path(__file__).parent / "worlds.py").read_text()
    (tmp_path / "worlds_parts.py").write_text(source)
    lane = opened("beside_the_world.py:Plain", settings={"success": {"reward": 1.0}})
    assert type(lane._upstream).__name__ == "Plain"


def test_an_unknown_class_names_the_nearest(opened: Open) -> None:
    with pytest.raises(UnknownNameError, match=r"class in worlds\.py 'Soud'; did you mean 'Sound'"):
        opened("Soud")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ("no_such_file.py:World", r"no_such_file\.py does not exist"),
        ("CartPole-v99", "CartPole"),
        ("no_such_space/World-v0", r"no_such_space .* named in `imports`"),
        ("worlds.py:DoesNotStart", r"worlds\.py:DoesNotStart raised ValueError: no licence"),
    ],
)
def test_what_cannot_be_made_says_why(opened: Open, make: str, message: str) -> None:
    with pytest.raises(BenchmarkFault, match=message):
        opened(make)


def test_options_that_the_class_does_not_take(opened: Open) -> None:
    with pytest.raises(BenchmarkFault, match=r"raised TypeError: .*'colour'"):
        opened("Sound", settings={"options": {"colour": "red"}})


def test_a_module_that_is_not_installed_names_the_interpreter(opened: Open) -> None:
    with pytest.raises(EnvironmentMissing) as raised:
        opened("Sound", settings={"imports": ["no_such_module"]})
    assert "no_such_module is not installed in" in str(raised.value)
    assert sys.executable in str(raised.value)
    assert "--benchmark-python" in str(raised.value)


def test_a_file_that_imports_what_is_not_there(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILES, str(tmp_path))
    (tmp_path / "far.py").write_text("import no_such_simulator\n")
    with pytest.raises(EnvironmentMissing, match="no_such_simulator is not installed"):
        opened("far.py:World")
    (tmp_path / "bad.py").write_text("1 / 0\n")
    with pytest.raises(BenchmarkFault, match=r"bad\.py raised ZeroDivisionError"):
        opened("bad.py:World")


def test_another_version_of_a_package_is_refused_and_both_are_named() -> None:
    definition = definition_of("Sound", packages={"numpy": "0.1"})
    with pytest.raises(EnvironmentMissing, match=r"numpy is [1-9].*; mine-v1 is defined on 0\.1"):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])


def test_a_package_that_is_missing_is_refused() -> None:
    definition = definition_of("Sound", packages={"no-such-package": "1"})
    with pytest.raises(EnvironmentMissing, match="no-such-package is not installed in"):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])


def test_settling_is_refused() -> None:
    definition = definition_of("Sound", settle_steps=5)
    with pytest.raises(BenchmarkFault, match="settle_steps 5: family gymnasium starts settled"):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])


def test_pictures_are_the_environments_own() -> None:
    definition = definition_of("Sound")
    definition = replace(definition, render=replace(definition.render, name="fast"))
    with pytest.raises(BenchmarkFault, match="family gymnasium makes upstream's pictures only"):
        FAMILY.open(definition, definition.tasks[0], definition.actions[0])


def test_gymnasium_is_not_imported_before_an_id_is_opened() -> None:
    script = (
        "import sys; from proctor.benchmarks.gymnasium import FAMILY, environment, own;"
        " sys.exit('gymnasium' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
