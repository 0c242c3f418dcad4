"""The canonical listing of a version's files, and the hash over it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from proctor.benchmarks.listing import SEAL, FileEntry, changes, list_files, listing_hash, read_seal
from proctor.errors import UsageError


def entry(path: str, content: bytes = b"") -> FileEntry:
    return FileEntry(path, len(content), hashlib.sha256(content).hexdigest())


def test_files_are_listed_by_path_with_size_and_hash(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two").write_bytes(b"22")
    (tmp_path / "one").write_bytes(b"1")
    assert list_files(tmp_path) == (entry("b/two", b"22"), entry("one", b"1"))


def test_the_seal_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / SEAL).write_bytes(b"{}")
    assert list_files(tmp_path) == ()


def test_only_the_top_seal_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / SEAL).write_bytes(b"{}")
    assert [found.path for found in list_files(tmp_path)] == [f"assets/{SEAL}"]


def test_order_is_that_of_whole_paths(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").touch()
    (tmp_path / "a.txt").touch()
    assert [found.path for found in list_files(tmp_path)] == ["a.txt", "a/x"]


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link"):
        list_files(tmp_path)


def test_a_name_with_a_line_break_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a\nb").touch()
    with pytest.raises(UsageError, match="line break"):
        list_files(tmp_path)


def test_the_hash_is_over_the_documented_text() -> None:
    text = f"{hashlib.sha256(b'1').hexdigest()} 1 one\n"
    assert listing_hash([entry("one", b"1")]) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other", [[entry("two", b"1")], [entry("one", b"2")], [entry("one", b"1"), entry("two")], []]
)
def test_the_hash_covers_names_contents_and_presence(other: list[FileEntry]) -> None:
    assert listing_hash(other) != listing_hash([entry("one", b"1")])


def test_changes_name_every_file_once() -> None:
    frozen = [entry("gone"), entry("same"), entry("other", b"1")]
    found = [entry("new"), entry("same"), entry("other", b"2")]
    assert changes(frozen, found) == ["missing gone", "added new", "changed other"]


def test_a_draft_has_no_seal(tmp_path: Path) -> None:
    assert read_seal(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"[]", b'{"schema":1,"id":"a","hash":"b","files":[],"more":1}'])
def test_a_broken_seal_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SEAL).write_bytes(content)
    with pytest.raises(UsageError, match=SEAL):
        read_seal(tmp_path)
