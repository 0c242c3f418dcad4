"""The process that checks a benchmark, seen from the outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import BenchmarkFault
from proctor.launch import benchmark_check
from proctor.launch.exit_codes import ExitCode
from proctor.testing.toy_versions import toy_version

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("last_act", "how"),
    [("raise SystemExit(9)", "exit status 9"), ("import os; os.abort()", "SIGABRT")],
)
def test_a_process_that_ends_without_a_look_at_its_order_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last_act: str, how: str
) -> None:
    (tmp_path / "ends.py").write_text(last_act)
    monkeypatch.setattr(benchmark_check, "BOOTSTRAP", tmp_path / "ends.py")
    monkeypatch.setattr(benchmark_check, "encode_order", lambda version: bytes(1 << 20))
    with pytest.raises(BenchmarkFault, match=f"process ended, {how}, after: the start"):
        benchmark_check.check_benchmark(
            toy_version(), tasks=None, representations=None, python=None, tell=print
        )


def test_a_simulator_that_cannot_run_is_its_last_line_and_the_status_of_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stops.py").write_text("print('STOP toy-v1: no checkout'); raise SystemExit(5)")
    monkeypatch.setattr(benchmark_check, "BOOTSTRAP", tmp_path / "stops.py")
    told: list[str] = []
    status = benchmark_check.check_benchmark(
        toy_version(), tasks=None, representations=None, python=None, tell=told.append
    )
    assert (status, told) == (ExitCode.ENVIRONMENT, ["STOP toy-v1: no checkout"])
