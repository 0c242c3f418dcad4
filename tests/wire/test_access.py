"""Tokens come from files that nobody else can read, and are long enough to be some."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.limits import MAX_TOKEN_BYTES
from proctor.wire.access import read_token
from proctor.wire.dialect import Access

TOKEN = "correct-horse-battery"


def write(path: Path, content: str, mode: int = 0o600) -> Path:
    path.write_text(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o440, 0o640])
def test_a_token_without_its_line_end(tmp_path: Path, mode: int) -> None:
    assert read_token(write(tmp_path / "token", f"{TOKEN}\n", mode)) == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o606, 0o666])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(UsageError, match="is open to others: chmod 600"):
        read_token(write(tmp_path / "token", TOKEN, mode))


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("short", "5 characters; a token has at least 16"),
        ("", "0 characters"),
        (f"{TOKEN} {TOKEN}", "one ASCII word"),
        (f"{TOKEN}\n{TOKEN}", "one ASCII word"),
        (f"{TOKEN}\x00", "one ASCII word"),
        (f"{TOKEN}é", "one ASCII word"),
        ("x" * (MAX_TOKEN_BYTES + 1), "one ASCII word of at most"),
    ],
)
def test_what_is_no_token(tmp_path: Path, content: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem) as caught:
        read_token(write(tmp_path / "token", content))
    assert not content or content[:8] not in str(caught.value).replace(str(tmp_path), "")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_token(tmp_path / "token")


def test_access_does_not_show_its_token() -> None:
    assert TOKEN not in repr(Access(token=TOKEN))
