"""From a name to a policy object; every wrong name is answered with the nearest right one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.errors import PolicyLoadError, UnknownNameError, UsageError
from proctor.policy.loading import is_importing, load_policy_class, make_policy

SOURCE = """
import numpy as np
from proctor.policy import ActionChunk, Policy, PolicyCapabilities

class Still(Policy):
    def __init__(self, dimension: int, *, gain: float = 1.0):
        if dimension < 1:
            raise ValueError("dimension must be positive")
        self.dimension, self.gain = dimension, gain

    def load(self, context):
        return PolicyCapabilities(("toy",), ())

    def act(self, observation):
        return ActionChunk(np.zeros(self.dimension, np.float32))

class Open(Still):
    def __init__(self, **settings):
        self.settings = settings

class Half(Policy):
    def load(self, context):
        return PolicyCapabilities(("toy",), ())

class Other:
    pass

number = 3
"""


@pytest.fixture(autouse=True)
def _import_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "still_policy.py"
    path.write_text(SOURCE)
    return path


def test_a_class_in_a_file(file: Path) -> None:
    policy = make_policy(f"{file}:Still", {"dimension": 3})
    assert (type(policy).__name__, vars(policy)) == ("Still", {"dimension": 3, "gain": 1.0})


def test_a_relative_path(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    assert load_policy_class("still_policy.py:Still") is load_policy_class(f"{file}:Still")


def test_a_class_in_a_module_beside_the_caller(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    package = file.parent / "robot_models"
    package.mkdir()
    (package / "still.py").write_text(SOURCE)
    assert load_policy_class("robot_models.still:Still").__module__ == "robot_models.still"


def test_a_file_finds_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_policy.py").write_text("gain = 7")
    file = tmp_path / "policy.py"
    file.write_text(SOURCE + "\nfrom beside_the_policy import gain\nStill.gain_beside = gain")
    assert vars(load_policy_class(f"{file}:Still"))["gain_beside"] == 7


def test_a_file_named_like_a_library_does_not_replace_it(tmp_path: Path) -> None:
    import json

    file = tmp_path / "json.py"
    file.write_text(SOURCE)
    load_policy_class(f"{file}:Still")
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    "spec", ["", "policy.py", ":Still", "policy.py:", "policy.py:Still()", "policy.py:a b"]
)
def test_a_name_of_another_form_is_answered_with_the_forms(spec: str) -> None:
    with pytest.raises(UsageError, match=r"does not name a class; write file.py:Class or module:Class"):
        load_policy_class(spec)


def test_a_path_without_suffix_is_no_module() -> None:
    with pytest.raises(UsageError, match=r"policy module './still' is neither a module nor a .py file"):
        load_policy_class("./still:Still")


def test_a_missing_file_is_answered_with_the_nearest(file: Path) -> None:
    with pytest.raises(UsageError, match=r"still_polcy.py' does not exist; did you mean 'still_policy.py'"):
        load_policy_class(f"{file.parent / 'still_polcy.py'}:Still")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"does not exist: no folder '{tmp_path}/nowhere'"):
        load_policy_class(f"{tmp_path}/nowhere/policy.py:Still")


@pytest.mark.parametrize("name", ["still_polcy", "still_polcy.deep", "still_policy.deep"])
def test_a_missing_module_is_a_usage_error(file: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(file.parent)
    with pytest.raises(
        UsageError, match=f"policy module '{name}' does not exist.*did you mean 'still_policy'"
    ):
        load_policy_class(f"{name}:Still")


def test_a_missing_class_is_answered_with_the_policies_of_the_file(file: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"'Stil'; did you mean 'Still'\? Valid: Open, Still$"):
        load_policy_class(f"{file}:Stil")


@pytest.mark.parametrize("name", ["Other", "number", "np"])
def test_what_is_no_policy_is_refused(file: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf":{name} is not a subclass of proctor.Policy"):
        load_policy_class(f"{file}:{name}")


def test_a_policy_without_act_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match=r":Half lacks act\(\)"):
        load_policy_class(f"{file}:Half")


def test_the_users_own_import_error_is_shown_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("def build():\n    import no_such_library\n\nbuild()\n")
    with pytest.raises(PolicyLoadError) as caught:
        load_policy_class(f"{file}:Still")
    text = str(caught.value)
    assert f'File "{file}", line 2, in build\n    import no_such_library' in text
    assert "\nModuleNotFoundError: No module named 'no_such_library'\nno_such_library is not " in text
    assert "loading.py" not in text
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_library_that_is_missing_is_said_to_be_missing_where_the_policy_runs(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("import no_such_library\n")
    with pytest.raises(PolicyLoadError, match="no_such_library is not installed for") as caught:
        load_policy_class(f"{file}:Still")
    assert sys.executable in str(caught.value)
    assert "--policy-python names another interpreter, env:NAME" in str(caught.value)


def test_an_import_error_inside_an_existing_module_is_the_policys_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_policy.py").write_text("import no_such_library")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyLoadError, match="importing broken_policy raised"):
        load_policy_class("broken_policy:Still")


@pytest.mark.parametrize(
    ("source", "ending"),
    [
        ("def f(:\n", "SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (
            "raise ExceptionGroup('several', [ValueError('one')])" if sys.version_info >= (3, 11) else "0/0",
            "",
        ),
    ],
)
def test_whatever_an_import_raises_is_the_policys_fault(tmp_path: Path, source: str, ending: str) -> None:
    file = tmp_path / "policy.py"
    file.write_text(source)
    with pytest.raises(PolicyLoadError) as caught:
        load_policy_class(f"{file}:Still")
    assert str(caught.value).endswith(ending)


def test_a_failed_import_is_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "policy.py"
    file.write_text("1 / 0")
    with pytest.raises(PolicyLoadError):
        load_policy_class(f"{file}:Still")
    file.write_text(SOURCE + "\n# mended")
    assert load_policy_class(f"{file}:Still").__name__ == "Still"


def test_an_unknown_argument_is_answered_with_the_nearest(file: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"argument of Still 'dimensions'; did you mean 'dimension'\?"):
        make_policy(f"{file}:Still", {"dimensions": 3})


def test_a_missing_argument_is_named(file: Path) -> None:
    with pytest.raises(UsageError, match="Still needs the argument dimension"):
        make_policy(f"{file}:Still", {"gain": 2.0})


def test_a_constructor_that_takes_anything_gets_anything(file: Path) -> None:
    assert vars(make_policy(f"{file}:Open", {"whatever": 1})) == {"settings": {"whatever": 1}}


def test_what_the_constructor_raises_is_the_policys_fault(file: Path) -> None:
    with pytest.raises(
        PolicyLoadError, match=r"Still\(\) raised:(.|\n)*ValueError: dimension must be positive$"
    ):
        make_policy(f"{file}:Still", {"dimension": 0})


def test_a_script_can_tell_that_it_is_being_imported(file: Path) -> None:
    file.write_text(SOURCE + "\nfrom proctor.policy import loading\nStill.seen = loading.is_importing()\n")
    assert vars(load_policy_class(f"{file}:Still"))["seen"] is True
    assert not is_importing()


def test_the_mark_of_an_import_does_not_outlive_its_failure(file: Path) -> None:
    file.write_text("1 / 0")
    with pytest.raises(PolicyLoadError):
        load_policy_class(f"{file}:Still")
    assert not is_importing()
