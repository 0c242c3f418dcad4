"""Simulators that are source checkouts: what is said to be missing, and how to get it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.benchmarks import checkouts
from proctor.benchmarks.checkouts import Need, Source
from proctor.errors import EnvironmentMissing

VARIABLE = "PROCTOR_SYNTHETIC_ROOT"


def _source(commit: str) -> Source:
    need = Need(what="meshes", path="assets/objects", remedy="python get_meshes.py")
    return Source("https://example.org/simulator", commit, VARIABLE, needs=(need,))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "simulator"
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    subprocess.run(["git", *who, "-C", str(place), "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    return place


def _commit(place: Path) -> str:
    commit = checkouts.commit_of(place)
    assert commit is not None
    return commit


def test_the_variable_names_the_place_and_the_home_is_the_default(tmp_path: Path) -> None:
    assert checkouts.location("sim", VARIABLE, {VARIABLE: "/somewhere"}) == Path("/somewhere")
    environ = {"PROCTOR_HOME": str(tmp_path)}
    assert checkouts.location("sim", VARIABLE, environ) == tmp_path / "sources" / "sim"


def test_a_checkout_that_is_not_there_is_found_with_the_commands_that_get_it_and_all_it_needs(
    tmp_path: Path,
) -> None:
    finding, meshes = checkouts.examine("sim", _source("c0ffee"), tmp_path / "absent")
    assert not finding.ok
    assert VARIABLE in finding.detail
    assert (meshes.what, meshes.ok) == ("meshes", False)
    place = tmp_path / "absent"
    cloning = f"git clone https://example.org/simulator {place}"
    assert finding.remedy == f"{cloning} && git -C {place} checkout c0ffee"


def test_what_runs_without_a_checkout_is_said_where_there_is_none(tmp_path: Path) -> None:
    source = replace(_source("c0ffee"), without="the tasks of the kitchen")
    finding, _ = checkouts.examine("sim", source, tmp_path / "absent")
    assert finding.detail.endswith("; without it run: the tasks of the kitchen")


def test_another_commit_is_found_with_both_named(repository: Path) -> None:
    findings = {each.what: each for each in checkouts.examine("sim", _source("c0ffee"), repository)}
    assert not findings["commit"].ok
    assert _commit(repository) in findings["commit"].detail
    assert "c0ffee" in findings["commit"].detail


def test_an_empty_directory_of_assets_is_missing_until_something_lies_in_it(repository: Path) -> None:
    source = _source(_commit(repository))
    assets = repository / "assets" / "objects"
    assets.mkdir(parents=True)
    meshes = checkouts.examine("sim", source, repository)[-1]
    assert (meshes.what, meshes.ok) == ("meshes", False)
    assert meshes.remedy == f"(in {repository}) python get_meshes.py"
    (assets / "cup.glb").touch()
    assert all(each.ok for each in checkouts.examine("sim", source, repository))


def _beside(commit: str) -> Source:
    engine = Need(
        "engine", "third_party/engine", "git clone https://example.org/engine third_party/engine", commit
    )
    return Source("https://example.org/simulator", "c0ffee", VARIABLE, needs=(engine,))


def test_a_checkout_beside_it_that_is_not_there_is_to_be_cloned_and_checked_out(tmp_path: Path) -> None:
    engine = checkouts.examine("sim", _beside("decade"), tmp_path)[-1]
    assert (engine.what, engine.ok) == ("engine", False)
    cloning = "git clone https://example.org/engine third_party/engine"
    assert engine.remedy == f"(in {tmp_path}) {cloning} && git -C third_party/engine checkout decade"


def test_a_checkout_beside_it_is_found_at_its_commit_and_at_no_other(
    repository: Path, tmp_path: Path
) -> None:
    (repository / "engine.py").touch()
    place = tmp_path / "third_party" / "engine"
    place.parent.mkdir()
    repository.rename(place)
    found = _commit(place)
    assert checkouts.examine("sim", _beside(found), tmp_path)[-1].ok
    other = checkouts.examine("sim", _beside("decade"), tmp_path)[-1]
    assert (other.ok, other.detail) == (False, f"{found}, wanted decade")
    assert other.remedy == f"git -C {place} fetch origin && git -C {place} checkout decade"


def test_a_required_checkout_is_refused_at_another_commit(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(repository))
    assert checkouts.require("sim", VARIABLE, _commit(repository)) == repository
    with pytest.raises(EnvironmentMissing, match=r"is at commit .*, this benchmark is defined on c0ffee"):
        checkouts.require("sim", VARIABLE, "c0ffee")


def test_a_required_checkout_that_is_absent_names_the_command_that_tells_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "absent"))
    with pytest.raises(EnvironmentMissing, match="proctor env check sim"):
        checkouts.require("sim", VARIABLE, "c0ffee")


def test_a_directory_that_git_does_not_know_has_no_commit(tmp_path: Path) -> None:
    assert checkouts.commit_of(tmp_path) is None
