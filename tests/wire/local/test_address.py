"""The socket is its user's alone."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.wire.local import address

VARIABLES = ("PROCTOR_POLICY_SOCKET", "EVOSTUDIO_INFERENCE_SOCKET")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


def test_the_path_is_a_temporary_file_by_default() -> None:
    assert address.default_socket_path() == Path(tempfile.gettempdir(), "evostudio-inference.sock")


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_names_the_path(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "/run/policy.sock")
    assert address.default_socket_path() == Path("/run/policy.sock")


def test_our_own_variable_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.setenv(variable, f"/run/{variable}")
    assert address.default_socket_path() == Path("/run/PROCTOR_POLICY_SOCKET")


def test_socket_and_new_directory_are_private(tmp_path: Path) -> None:
    path = tmp_path / "run" / "policy.sock"
    with address.listen(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_directory_that_cannot_be_made_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot listen at .*: File exists"):
        address.listen(tmp_path / "file" / "policy.sock")
    with pytest.raises(UsageError, match=r"cannot listen at .*: Not a directory"):
        address.listen(tmp_path / "file" / "run" / "policy.sock")


def test_a_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "policy.sock"
    address.listen(path).close()
    with address.listen(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


def test_a_socket_in_use_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "policy.sock"
    with address.listen(path), pytest.raises(UsageError, match="another policy server listens"):
        address.listen(path)


def test_a_file_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "policy.sock"
    path.write_text("precious")
    with pytest.raises(UsageError, match="exists and is not a socket"):
        address.listen(path)
    assert path.read_text() == "precious"


def test_a_path_too_long_for_the_kernel_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="longer than 107 bytes"):
        address.listen(tmp_path / ("x" * 108))


def test_a_place_where_no_socket_can_be_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int, mode: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fchmod", refuse)
    with pytest.raises(UsageError, match=r"cannot listen at .*: Permission denied"):
        address.listen(tmp_path / "policy.sock")


def test_the_other_end_is_known() -> None:
    here, there = socket.socketpair()
    with here, there:
        assert address.peer_uid(here) == os.geteuid()
        assert address.same_user(here)


def test_another_user_is_not_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = socket.socketpair()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with here, there:
        assert not address.same_user(here)


def test_a_platform_that_does_not_tell_relies_on_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    here, there = socket.socketpair()
    with here, there:
        assert address.peer_uid(here) is None
        assert address.same_user(here)
