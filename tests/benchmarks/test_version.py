"""Loading, verifying and hashing a version directory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from proctor.benchmarks.freezing import freeze
from proctor.benchmarks.version import BenchmarkVersion, draft, encode_episodes, load_version, verify
from proctor.errors import UnknownNameError, UsageError, VersionChangedError
from proctor.limits import MAX_DEFINITION_BYTES
from proctor.testing.toy_versions import toy_definition, toy_episodes, toy_version


@pytest.fixture
def directory(toy: BenchmarkVersion) -> Path:
    assert toy.directory is not None
    return toy.directory


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_was_written_is_what_is_loaded(toy: BenchmarkVersion) -> None:
    assert toy.definition == toy_definition(("reach", "park"))
    assert toy.episodes == toy_episodes(toy.definition, 3)
    assert toy.status == "draft"


def test_the_hash_changes_with_any_file(toy: BenchmarkVersion, directory: Path) -> None:
    (directory / "asset.bin").write_bytes(b"x")
    assert load_version(directory).hash != toy.hash


def test_the_hash_of_a_directory_does_not_depend_on_where_it_lies(
    toy: BenchmarkVersion, directory: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "elsewhere" / directory.name
    moved.parent.mkdir()
    directory.rename(moved)
    assert load_version(moved).hash == toy.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("control_hz", "control_hertz", "'control_hertz'; did you mean 'control_hz'"),
        ('name = "reference"', 'name = "fats"', r"unknown name in .*render 'fats'.* Valid: fast, reference"),
        ("control_hz = 10.0", "control_hz = 0.0", "benchmark.toml: Expected `float` > 0.0"),
        ('execute_steps = "policy<=10"', 'execute_steps = "all"', "execute_steps"),
        ("schema = 1", "schema = 2", "schema"),
        ("low = [-1.0, -1.0]", "low = [-1.0]", "benchmark.toml: action toy.velocity-v1: low has 1"),
        ('id = "toy-v1"', 'id = "toy-v2"', "must be the name of its directory, 'toy-v1'"),
        ("schema = 1", "schema 1", "benchmark.toml: Expected '='"),
    ],
)
def test_a_bad_definition_is_refused_with_file_and_field(
    directory: Path, old: str, new: str, message: str
) -> None:
    edit(directory / "benchmark.toml", old, new)
    with pytest.raises(UsageError, match=message):
        load_version(directory)


def test_an_unknown_key_is_an_unknown_name(directory: Path) -> None:
    edit(directory / "benchmark.toml", "control_hz", "control_hertz")
    with pytest.raises(UnknownNameError) as caught:
        load_version(directory)
    assert "control_hz" in caught.value.valid


def test_a_bad_episode_is_refused_with_its_line(directory: Path) -> None:
    edit(directory / "episodes.jsonl", '"id":"reach/1/0","task"', '"id":"reach/1/0","taks"')
    with pytest.raises(UsageError, match=r"episodes.jsonl, line 2: Object contains unknown field `taks`"):
        load_version(directory)


@pytest.mark.parametrize("name", ["benchmark.toml", "episodes.jsonl"])
def test_a_missing_file_is_named(directory: Path, name: str) -> None:
    (directory / name).unlink()
    with pytest.raises(UsageError, match=rf"{name}: No such file"):
        load_version(directory)


def test_an_endless_definition_is_not_read(directory: Path) -> None:
    with (directory / "benchmark.toml").open("ab") as file:
        file.truncate(MAX_DEFINITION_BYTES + 1)
    with pytest.raises(UsageError, match="the limit is"):
        load_version(directory)


def test_text_that_is_not_utf8_is_refused(directory: Path) -> None:
    (directory / "benchmark.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"benchmark\.toml"):
        load_version(directory)


def test_a_frozen_version_verifies(directory: Path) -> None:
    frozen = freeze(directory)
    verify(frozen)
    assert frozen.status == "frozen"


def test_freezing_does_not_change_the_hash(toy: BenchmarkVersion, directory: Path) -> None:
    assert freeze(directory).hash == toy.hash


def append(directory: Path) -> None:
    edit(directory / "benchmark.toml", "Point mass", "Point masses")


def add(directory: Path) -> None:
    (directory / "notes.txt").touch()


def remove(directory: Path) -> None:
    (directory / "asset.bin").unlink()


def break_definition(directory: Path) -> None:
    (directory / "benchmark.toml").write_text("nonsense")


@pytest.mark.parametrize(
    ("change", "named"),
    [(append, "changed benchmark.toml"), (add, "added notes.txt"), (remove, "missing asset.bin")],
)
def test_verify_names_every_file_that_differs(
    directory: Path, change: Callable[[Path], None], named: str
) -> None:
    (directory / "asset.bin").touch()
    freeze(directory)
    change(directory)
    with pytest.raises(VersionChangedError, match=f"toy-v1 is frozen.*{named}"):
        verify(load_version(directory))


def test_a_frozen_version_that_cannot_be_read_says_that_it_was_changed(directory: Path) -> None:
    freeze(directory)
    break_definition(directory)
    with pytest.raises(VersionChangedError, match=r"changed benchmark\.toml"):
        load_version(directory)


def test_a_seal_whose_hash_is_not_its_own_is_refused(directory: Path) -> None:
    frozen = freeze(directory)
    edit(directory / "FROZEN.json", frozen.hash, "0" * 64)
    with pytest.raises(VersionChangedError, match=r"hash in FROZEN.json"):
        verify(frozen)


def test_a_draft_in_memory_is_checked_like_one_on_disk() -> None:
    definition = toy_definition(("reach",))
    with pytest.raises(UsageError, match="task reach has no episode"):
        draft(definition, ())


def test_drafts_in_memory_differ_by_hash() -> None:
    assert toy_version(episodes=1).hash != toy_version(episodes=2).hash
    assert toy_version(episodes=1).hash == toy_version(episodes=1).hash
    verify(toy_version())


def test_episodes_are_written_canonically() -> None:
    version = toy_version(("reach",), episodes=1)
    episode = replace(version.episodes[0], initial_state=(1.0, 0.5), settings={"b": 1, "a": 2})
    assert encode_episodes([episode]) == (
        b'{"id":"reach/0/0","task":"reach","index":0,"seed":0,"segments":[{"instruction":'
        b'"move the red disc onto the green one","horizon":50}],"settings":{"a":2,"b":1},'
        b'"initial_state":[1.0,0.5]}\n'
    )
    assert msgspec.json.decode(encode_episodes([episode]), type=type(episode)) == episode


def test_the_hash_of_a_version_is_that_of_its_listing(toy: BenchmarkVersion, directory: Path) -> None:
    lines = []
    for name in ("benchmark.toml", "episodes.jsonl"):
        content = (directory / name).read_bytes()
        lines.append(f"{hashlib.sha256(content).hexdigest()} {len(content)} {name}\n")
    assert toy.hash == hashlib.sha256("".join(lines).encode()).hexdigest()
