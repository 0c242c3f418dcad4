from __future__ import annotations

import faulthandler
import signal
import subprocess
import sys
import time
from typing import get_args

import pytest

from proctor.evaluation.record import Phase
from proctor.evaluation.watchdog import WATCHDOG_SIGNAL, Watchdog

pytestmark = pytest.mark.process

CHILD = """
import ctypes, sys, threading, time
from proctor.evaluation.watchdog import Watchdog

def wedged_call():
    ctypes.PyDLL(None).sleep(60)  # keeps the interpreter lock

def hanging_call():
    time.sleep(60)

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
watchdog = Watchdog(boot_s=60.0, step_s=0.3)
"""


def run(code: str) -> tuple[int, str, float]:
    """Exit status, standard error, seconds."""
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", CHILD + code], capture_output=True, text=True, timeout=30)
    return done.returncode, done.stderr, time.monotonic() - started


@pytest.mark.parametrize("call", ["wedged_call", "hanging_call"])
def test_a_call_that_outruns_its_limit_ends_the_process_and_names_where_it_was(call: str) -> None:
    status, log, seconds = run(f'watchdog.watch("step")\n{call}()\n')
    assert status == -WATCHDOG_SIGNAL == -signal.SIGALRM
    assert f"in {call}" in log
    assert seconds < 5.3


@pytest.mark.parametrize("end", ['watchdog.watch("policy_act")', "watchdog.rest()"])
def test_a_call_that_ended_in_time_is_forgotten(end: str) -> None:
    status, _, _ = run(f'watchdog.watch("step")\n{end}\ntime.sleep(0.4)\n')
    assert status == 0


def test_every_step_has_its_own_time() -> None:
    status, _, _ = run(
        'for _ in range(8):\n    watchdog.watch("step")\n    time.sleep(0.05)\nwatchdog.rest()\n'
    )
    assert status == 0


def test_phases_without_native_code_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: None)
    monkeypatch.setattr(faulthandler, "register", lambda *arguments, **options: None)
    monkeypatch.setattr(signal, "setitimer", lambda timer, seconds: times.append(seconds))
    watchdog = Watchdog(boot_s=3.0, step_s=1.0)
    for phase in get_args(Phase):
        watchdog.watch(phase)
    watched = {"boot": 3.0, "begin": 3.0, "step": 1.0, "teardown": 1.0}
    assert times == [watched.get(phase, 0.0) for phase in get_args(Phase)]
