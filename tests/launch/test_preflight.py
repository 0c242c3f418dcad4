from __future__ import annotations

import sys
from pathlib import Path

import pytest

from proctor.errors import EnvironmentMissing, PolicyLoadError, UnknownNameError, UsageError
from proctor.launch.policies import ClassPolicy, HeldPolicy, RunningPolicy, policy_source
from proctor.launch.preflight import check_checkpoint, check_policy_source, check_writable
from proctor.testing.toy_policies import PixelPolicy


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestPolicy:
    @pytest.mark.parametrize(
        "text",
        [
            "class Mine: ...",
            "from elsewhere import Mine",
            "import elsewhere as Mine",
            "try:\n    class Mine: ...\nexcept ImportError:\n    Mine = None",
            "Mine = make()",
            "from elsewhere import *",
            "def __getattr__(name): ...",
        ],
    )
    def test_a_class_that_may_be_there_is_left_to_the_import(self, place: Path, text: str) -> None:
        (place / "mine.py").write_text(f"raise SystemExit\n{text}")
        check_policy_source(ClassPolicy("mine.py:Mine"))
        check_policy_source(ClassPolicy("mine:Mine"))

    @pytest.mark.parametrize("spec", ["mine.py:Mien", "mine:Mien"])
    def test_a_class_that_is_not_there_names_the_nearest(self, place: Path, spec: str) -> None:
        (place / "mine.py").write_text("class Mine(Policy): ...")
        with pytest.raises(UnknownNameError, match=r"unknown class in mine.* 'Mien'; did you mean 'Mine'"):
            check_policy_source(ClassPolicy(spec))

    def test_classes_that_cannot_be_policies_are_not_offered(self, place: Path) -> None:
        (place / "mine.py").write_text("class Plan: ...\nclass Mine(Policy): ...")
        with pytest.raises(UnknownNameError) as caught:
            check_policy_source(ClassPolicy("mine.py:Other"))
        assert tuple(caught.value.valid) == ("Mine",)

    def test_a_name_inside_a_function_is_none_of_the_modules(self, place: Path) -> None:
        (place / "mine.py").write_text("def make():\n    Mine = 1")
        with pytest.raises(UnknownNameError):
            check_policy_source(ClassPolicy("mine.py:Mine"))

    def test_a_file_that_is_not_there_names_the_nearest(self, place: Path) -> None:
        (place / "mine.py").touch()
        with pytest.raises(UsageError, match=r"policy file 'mien.py' does not exist; did you mean 'mine.py'"):
            check_policy_source(ClassPolicy("mien.py:Mine"))

    def test_a_file_that_is_not_python(self, place: Path) -> None:
        (place / "mine.py").write_text("x = 1\nclass Mine(:")
        with pytest.raises(PolicyLoadError, match=r"mine\.py:2: SyntaxError"):
            check_policy_source(ClassPolicy("mine.py:Mine"))

    def test_another_interpreter_may_know_a_newer_syntax(self, place: Path) -> None:
        (place / "mine.py").write_text("class Mine(:")
        check_policy_source(ClassPolicy("mine.py:Mine", python=sys.executable))

    def test_an_interpreter_that_is_none(self) -> None:
        with pytest.raises(UsageError, match="policy interpreter '/nowhere/python' is not a program"):
            check_policy_source(ClassPolicy("mine:Mine", python="/nowhere/python"))

    def test_an_environment_that_is_none(self) -> None:
        with pytest.raises((UnknownNameError, EnvironmentMissing)):
            check_policy_source(ClassPolicy("mine:Mine", python="env:nowhere"))

    def test_objects_and_servers_have_nothing_to_look_at(self) -> None:
        check_policy_source(HeldPolicy(PixelPolicy()))
        check_policy_source(RunningPolicy("unix:/nowhere"))


class TestCheckpoint:
    @pytest.mark.parametrize(
        "text", ["/nowhere/model", "./model", "../model", "~/nowhere-model", "folder/model"]
    )
    def test_a_path_that_leads_nowhere(self, place: Path, text: str) -> None:
        (place / "folder").mkdir()
        with pytest.raises(UsageError, match=r"checkpoint .*: there is no such file or folder"):
            check_checkpoint(text, ClassPolicy("m:C"))

    @pytest.mark.parametrize(
        "text", [None, "", "model", "org/model", "hf://org/model", "s3://bucket/model", "./there"]
    )
    def test_names_for_the_policy_and_paths_that_exist(self, place: Path, text: str | None) -> None:
        (place / "there").touch()
        check_checkpoint(text, ClassPolicy("m:C"))

    def test_a_running_server_may_see_other_files(self) -> None:
        check_checkpoint("/nowhere/model", RunningPolicy("http://elsewhere:80"))

    def test_a_process_file_has_its_own_working_directory(self, place: Path) -> None:
        (place / "model").mkdir()
        (place / "model" / "weights").touch()
        file = place / "policy.json"
        file.write_text(f'{{"schema_version": 1, "command": ["/bin/true"], "cwd": "{place / "model"}"}}')
        check_checkpoint("./weights", policy_source(file))


@pytest.mark.parametrize("below", [".", "new", "new/deeper"])
def test_a_place_to_write_in_is_left_as_it_is(tmp_path: Path, below: str) -> None:
    check_writable(tmp_path / below)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_place_to_write_in(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot be written: .*file is no folder"):
        check_writable(tmp_path / "file" / "run")
