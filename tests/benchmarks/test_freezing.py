"""Making a version final: episode lists, recorded starts, the seal."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from proctor.benchmarks.contract import Reset
from proctor.benchmarks.freezing import (
    derive_initial_states,
    episode_seed,
    freeze,
    main,
    make_episodes,
    verify_states,
)
from proctor.benchmarks.listing import Seal
from proctor.benchmarks.version import BenchmarkVersion, encode_episodes, load_version
from proctor.errors import BenchmarkFault, UsageError
from proctor.testing.toy import ToyEnvironment
from proctor.testing.toy_versions import toy_definition


@pytest.fixture
def directory(toy: BenchmarkVersion) -> Path:
    assert toy.directory is not None
    return toy.directory


def rewrite(toy: BenchmarkVersion, **changes: object) -> BenchmarkVersion:
    """The version with `changes` made to each of its episodes on disk."""
    assert toy.directory is not None
    episodes = [replace(episode, **changes) for episode in toy.episodes]
    (toy.directory / "episodes.jsonl").write_bytes(encode_episodes(episodes))
    return load_version(toy.directory)


def test_the_seal_lists_every_other_file_and_the_hash(toy: BenchmarkVersion, directory: Path) -> None:
    (directory / "meshes").mkdir()
    (directory / "meshes" / "cube.stl").write_bytes(b"solid")
    frozen = freeze(directory)
    seal = msgspec.json.decode((directory / "FROZEN.json").read_bytes(), type=Seal)
    assert [entry.path for entry in seal.files] == ["benchmark.toml", "episodes.jsonl", "meshes/cube.stl"]
    assert (seal.schema, seal.id, seal.hash) == (1, "toy-v1", frozen.hash)


def test_a_frozen_version_is_not_frozen_again(directory: Path) -> None:
    freeze(directory)
    before = (directory / "FROZEN.json").read_bytes()
    with pytest.raises(UsageError, match="toy-v1 is frozen and stays as it is; copy it under a new id"):
        freeze(directory)
    assert (directory / "FROZEN.json").read_bytes() == before


def test_a_version_without_recorded_starts_is_not_frozen(toy: BenchmarkVersion, directory: Path) -> None:
    rewrite(toy, initial_state=None)
    with pytest.raises(UsageError, match="6 episodes record no start, reach/0/0 the first"):
        freeze(directory)
    assert not (directory / "FROZEN.json").exists()


def test_nothing_is_left_beside_the_seal(directory: Path) -> None:
    freeze(directory)
    assert sorted(path.name for path in directory.iterdir()) == [
        "FROZEN.json",
        "benchmark.toml",
        "episodes.jsonl",
    ]


def test_a_seal_that_cannot_be_written_leaves_a_draft(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        freeze(directory)
    assert sorted(path.name for path in directory.iterdir()) == ["benchmark.toml", "episodes.jsonl"]


def test_starts_are_derived_into_the_episode_list(toy: BenchmarkVersion) -> None:
    bare = rewrite(toy, initial_state=None)
    assert derive_initial_states(bare).episodes == toy.episodes


def test_deriving_again_writes_the_same_bytes(toy: BenchmarkVersion, directory: Path) -> None:
    before = (directory / "episodes.jsonl").read_bytes()
    derive_initial_states(toy)
    assert (directory / "episodes.jsonl").read_bytes() == before


def test_starts_of_a_frozen_version_are_not_derived(directory: Path) -> None:
    with pytest.raises(UsageError, match="is frozen"):
        derive_initial_states(freeze(directory))


def test_starts_that_agree_are_reported_with_their_deviation(toy: BenchmarkVersion) -> None:
    assert verify_states(toy) == [(episode.id, 0.0) for episode in toy.episodes]


def test_starts_beyond_the_tolerance_are_named(toy: BenchmarkVersion) -> None:
    with pytest.raises(BenchmarkFault, match=r"tolerance 0\): reach/0/0 by .* and 1 more"):
        verify_states(rewrite(toy, initial_state=(0.5,) * 6))


def test_starts_within_the_tolerance_are_accepted(toy: BenchmarkVersion) -> None:
    moved = replace(
        toy.episodes[0], initial_state=tuple(x + 1e-9 for x in toy.episodes[0].initial_state or ())
    )
    version = BenchmarkVersion(
        replace(toy.definition, initial_state_tolerance=1e-8), (moved,), "draft", toy.hash, toy.directory
    )
    assert 0 < verify_states(version)[0][1] < 1e-8


def test_a_start_of_another_size_is_refused(toy: BenchmarkVersion) -> None:
    with pytest.raises(BenchmarkFault, match="reach/0/0: the start has 6 values, 2 are recorded"):
        verify_states(rewrite(toy, initial_state=(0.0, 0.0)))


@pytest.mark.parametrize("use", [derive_initial_states, verify_states])
def test_a_start_that_is_not_finite_is_neither_recorded_nor_compared(
    toy: BenchmarkVersion, directory: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Any], object]
) -> None:
    before = (directory / "episodes.jsonl").read_bytes()
    begin = ToyEnvironment.begin

    def diverged(self: ToyEnvironment, *arguments: Any) -> Reset:
        reset = begin(self, *arguments)
        reset.initial_state[0] = math.nan
        return reset

    monkeypatch.setattr(ToyEnvironment, "begin", diverged)
    with pytest.raises(BenchmarkFault, match="reach/0/0: value 0 of the start is not finite"):
        use(toy)
    assert (directory / "episodes.jsonl").read_bytes() == before


def test_a_missing_start_is_named(toy: BenchmarkVersion) -> None:
    with pytest.raises(BenchmarkFault, match="episode reach/0/0 records no initial state"):
        verify_states(rewrite(toy, initial_state=None))


@pytest.mark.parametrize(
    ("task", "index", "seed"),
    [("reach-v3", 0, 989430657), ("window-close-v3", 49, 1493064021)],
)
def test_seeds_follow_the_documented_rule(task: str, index: int, seed: int) -> None:
    assert episode_seed("metaworld", task, index) == seed


def test_made_episodes_carry_instruction_horizon_and_seed() -> None:
    definition = toy_definition(("reach", "park"))
    episodes = make_episodes(definition, 2)
    assert [episode.id for episode in episodes] == ["reach/0/0", "reach/1/0", "park/0/0", "park/1/0"]
    assert episodes[3].segments[0].instruction == definition.tasks[1].instruction
    assert episodes[3].segments[0].horizon == definition.tasks[1].horizon
    assert episodes[3].seed == episode_seed("toy", "park", 1)


def test_the_command_writes_episodes_and_starts(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["episodes", "--count", "2"], ["states"], ["check-states"]):
        assert main([*command, str(directory)]) == 0
    assert len(load_version(directory).episodes) == 4
    assert capsys.readouterr().out.splitlines() == [
        "toy-v1: 2 episodes per task written",
        "toy-v1: 4 initial states written",
        "toy-v1: 4 starts agree; largest difference 0 (reach/0/0)",
    ]


@pytest.mark.parametrize("command", ["episodes", "states"])
def test_the_command_leaves_a_frozen_version_alone(
    directory: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    frozen = freeze(directory)
    assert main([command, str(directory)]) == 2
    assert "is frozen" in capsys.readouterr().err
    assert load_version(directory).hash == frozen.hash
