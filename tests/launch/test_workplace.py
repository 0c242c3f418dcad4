from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from proctor.benchmarks.registry import find_version
from proctor.errors import EnvironmentMissing, PolicyLoadError, UsageError
from proctor.launch.workplace import last_launch, make_workplace, run_directory, socket_directory
from proctor.testing.toy_versions import toy_version


class TestRunDirectory:
    def test_is_made(self, tmp_path: Path) -> None:
        with run_directory(tmp_path / "runs" / "a", resume=False):
            assert (tmp_path / "runs" / "a").is_dir()

    def test_one_that_never_started_may_be_used_again(self, tmp_path: Path) -> None:
        for _ in range(2):
            with run_directory(tmp_path / "a", resume=False):
                pass

    def test_of_a_launch_that_was_refused_at_once_nothing_is_left(self, tmp_path: Path) -> None:
        place = tmp_path / "a"

        def refuse() -> None:
            with run_directory(place, resume=False):
                (place / "logs").mkdir()
                (place / "logs" / "coordinator.log").touch()
                raise UsageError("no server")

        with pytest.raises(UsageError, match="no server"):
            refuse()
        assert not place.exists()

    @pytest.mark.parametrize("kept", ["run.db", "logs/replica-0.log"])
    def test_a_plan_or_a_log_of_one_that_failed_later_stays(self, tmp_path: Path, kept: str) -> None:
        place = tmp_path / "a"

        def fail() -> None:
            with run_directory(place, resume=False):
                (place / "logs").mkdir()
                (place / kept).write_text("why")
                raise PolicyLoadError("load() raised")

        with pytest.raises(PolicyLoadError):
            fail()
        assert (place / kept).read_text() == "why"

    def test_an_existing_run_is_not_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "run.db").touch()
        message = rf"run '{tmp_path.name}' exists; go on with it \(--resume, or resume=True in Python\)"
        with pytest.raises(UsageError, match=message), run_directory(tmp_path, resume=False):
            pass

    def test_nothing_to_resume_names_the_runs_there_are(self, tmp_path: Path) -> None:
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "run.db").touch()
        with pytest.raises(UsageError, match="Runs there: other"), run_directory(tmp_path / "a", resume=True):
            pass

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        place = tmp_path / "file" / "a"
        with (
            pytest.raises(UsageError, match=rf"run directory {place} cannot be written: Not a directory"),
            run_directory(place, resume=False),
        ):
            pass

    def test_two_launchers_do_not_share_one(self, tmp_path: Path) -> None:
        with (
            run_directory(tmp_path / "a", resume=False),
            pytest.raises(UsageError, match="run 'a' is being run by another process"),
            run_directory(tmp_path / "a", resume=False),
        ):
            pass

    def test_who_launched_it_is_known_while_it_runs_and_after(self, tmp_path: Path) -> None:
        place = tmp_path / "a"
        with run_directory(place, resume=False, command=("proctor", "x")):
            with pytest.raises(UsageError), run_directory(place, resume=False, command=("proctor", "y")):
                pass
            assert last_launch(place) == (("proctor", "x"), True)
        assert last_launch(place) == (("proctor", "x"), False)

    @pytest.mark.parametrize("content", ["", "no JSON"])
    def test_who_launched_it_may_not_be_known(self, tmp_path: Path, content: str) -> None:
        (tmp_path / ".launch.lock").write_text(content)
        assert last_launch(tmp_path) == ((), False)


class TestSocketDirectory:
    @pytest.fixture(autouse=True)
    def _short_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def test_is_private_and_removed(self, tmp_path: Path) -> None:
        with socket_directory(tmp_path / "run") as place:
            assert stat.S_IMODE(place.stat().st_mode) == 0o700
            (place / "replica-0.sock").touch()
        assert not place.exists()

    def test_what_a_killed_launcher_left_is_used_again(self, tmp_path: Path) -> None:
        with socket_directory(tmp_path / "run") as place:
            left = place
        left.mkdir(mode=0o700)
        with socket_directory(tmp_path / "run") as place:
            assert place == left

    def test_runs_do_not_share_one(self, tmp_path: Path) -> None:
        with socket_directory(tmp_path / "a") as one, socket_directory(tmp_path / "b") as other:
            assert one != other

    @pytest.mark.parametrize("trap", ["symlink", "open"])
    def test_a_name_somebody_else_has_taken(self, tmp_path: Path, trap: str) -> None:
        with socket_directory(tmp_path / "run") as place:
            pass
        if trap == "symlink":
            (tmp_path / "elsewhere").mkdir(mode=0o700)
            place.symlink_to(tmp_path / "elsewhere")
        else:
            place.mkdir()
            place.chmod(0o777)
        with (
            pytest.raises(UsageError, match="is not a private directory of this user"),
            socket_directory(tmp_path / "run"),
        ):
            pass
        assert os.path.lexists(place), "what is not ours is left alone"


def test_the_host_needs_no_building_and_no_graphics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "nonsense")
    said: list[str] = []
    workplace = make_workplace(toy_version(), tmp_path, said.append)
    assert workplace.environment["MUJOCO_GL"] == "nonsense"
    assert said == []


def test_a_simulator_that_is_a_checkout_is_looked_for_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PROCTOR_CALVIN_ROOT", raising=False)
    said: list[str] = []
    with pytest.raises(EnvironmentMissing, match=r"sources/calvin is missing: .* proctor env check calvin"):
        make_workplace(find_version("calvin-d-d-v1"), tmp_path, said.append)
    assert said == []
    assert not (tmp_path / "home").exists()
