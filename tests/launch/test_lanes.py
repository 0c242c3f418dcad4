from __future__ import annotations

import pytest

from proctor.launch.lanes import is_native_crash
from proctor.launch.supervisor import ExitStatus


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGALRM"])
def test_signals_of_a_process_against_itself_are_the_simulators(name: str) -> None:
    assert is_native_crash(ExitStatus(None, name))


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"])
def test_signals_of_others_are_not(name: str) -> None:
    assert not is_native_crash(ExitStatus(None, name))


def test_lack_of_memory_is_the_machines_fault() -> None:
    assert not is_native_crash(ExitStatus(None, "SIGABRT", out_of_memory=True))


@pytest.mark.parametrize("code", [3, 127, 255])
def test_a_code_no_worker_gives_is_the_simulators(code: int) -> None:
    assert is_native_crash(ExitStatus(code, None))


@pytest.mark.parametrize("code", [0, 1, 5])
def test_a_workers_own_codes_are_not(code: int) -> None:
    assert not is_native_crash(ExitStatus(code, None))
