"""A draft that starts as a copy: the files of the other version, under a new id, and nothing of its seal."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.benchmarks.copying import copy_version
from proctor.benchmarks.gymnasium.own import own_version
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.version import BenchmarkVersion
from proctor.errors import UsageError

REACH = Path(__file__).parents[2] / "examples" / "benchmarks" / "reach.toml"


def test_a_copy_of_a_frozen_version_is_a_draft_with_its_episodes(tmp_path: Path) -> None:
    frozen = find_version("aloha-sim-v1")
    copy = copy_version(frozen, "mine-v1", tmp_path)
    assert (copy.status, copy.definition.id) == ("draft", "mine-v1")
    assert copy.episodes == frozen.episodes
    assert copy.hash != frozen.hash
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        "benchmark.toml",
        "episodes.jsonl",
        "mine-v1",
    ]


def test_nothing_but_the_id_is_changed_and_the_source_is_left_alone(
    toy: BenchmarkVersion, tmp_path: Path
) -> None:
    assert toy.directory is not None
    before = (toy.directory / "benchmark.toml").read_text()
    copy = copy_version(toy, "other-v1", tmp_path / "elsewhere")
    assert copy.directory is not None
    after = (copy.directory / "benchmark.toml").read_text()
    assert after == before.replace(f'id = "{toy.definition.id}"', 'id = "other-v1"', 1)
    assert (toy.directory / "benchmark.toml").read_text() == before


@pytest.mark.parametrize("wrong", ["", "Mine", "../mine", "a/b", "x" * 101])
def test_an_id_that_is_none_is_refused_with_what_is_valid(
    toy: BenchmarkVersion, tmp_path: Path, wrong: str
) -> None:
    with pytest.raises(UsageError, match=r"valid: lower-case letters and digits"):
        copy_version(toy, wrong, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_what_lies_there_is_not_written_over(toy: BenchmarkVersion, tmp_path: Path) -> None:
    copy_version(toy, "mine-v1", tmp_path)
    with pytest.raises(UsageError, match=r"mine-v1 exists; a changed benchmark is a new version"):
        copy_version(toy, "mine-v1", tmp_path)


def test_the_id_of_a_version_that_lies_elsewhere_is_refused(toy: BenchmarkVersion, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"conf/benchmarks/aloha-sim-v1 exists; .* give another id"):
        copy_version(toy, "aloha-sim-v1", tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_short_file_is_no_version_to_copy(tmp_path: Path) -> None:
    own = own_version(REACH)
    with pytest.raises(UsageError, match="declared by a short file; valid: an id or a version's directory"):
        copy_version(own, "mine-v1", tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_definition_whose_id_is_not_on_a_line_of_its_own_is_refused(
    toy: BenchmarkVersion, tmp_path: Path
) -> None:
    assert toy.directory is not None
    file = toy.directory / "benchmark.toml"
    file.write_text(file.read_text().replace(f'id = "{toy.definition.id}"', f'id="{toy.definition.id}"', 1))
    with pytest.raises(UsageError, match="has no line with its id"):
        copy_version(toy, "mine-v1", tmp_path / "elsewhere")
    assert list((tmp_path / "elsewhere").iterdir()) == []
