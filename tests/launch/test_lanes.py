from __future__ import annotations

import pytest

from proctor.coordinator.client import CoordinatorClient
from proctor.errors import CoordinatorGone, StorageFault
from proctor.evaluation.record import ErrorRecord
from proctor.launch.coordinating import Coordinator
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


class Mute(CoordinatorClient):
    """A coordinator that cannot take note of anything, until it can."""

    def __init__(self) -> None:
        self.fault: Exception | None = StorageFault("full")
        self.heard: list[str] = []

    def lost(self, worker: str, error: ErrorRecord, *, native_crash: bool) -> bool:
        if self.fault is not None:
            raise self.fault
        self.heard.append(worker)
        return True


@pytest.mark.parametrize("fault", [StorageFault("full"), CoordinatorGone("silent")])
def test_a_loss_it_has_not_heard_of_is_said_before_the_worker_works_again(fault: Exception) -> None:
    coordinator, client = Coordinator.__new__(Coordinator), Mute()
    coordinator._client, coordinator._unsaid, client.fault = client, [], fault
    coordinator.lost("w0", ErrorRecord(phase="step", type="SIGKILL", message=""), native_crash=False)
    assert (coordinator.knows("w0"), coordinator.knows("w1")) == (False, True)
    client.fault = None
    coordinator._say_the_unsaid()
    assert coordinator.knows("w0")
    assert client.heard == ["w0"]
