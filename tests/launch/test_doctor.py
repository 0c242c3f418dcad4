"""Wrong pairs of policy and benchmark, found by a rehearsal with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UsageError
from proctor.launch.doctor import examine_pair
from proctor.launch.exit_codes import ExitCode
from proctor.launch.request import EvaluationRequest
from proctor.policy.check import Check
from proctor.results.doctor import PairReport
from proctor.testing.toy_versions import GRIPPING, write_toy_version

from .conftest import FAULTY, PIXELS, descendants

POLICY = """
import time

import numpy as np

from proctor import ActionChunk, Policy, PolicyCapabilities


class Mine(Policy):
    def __init__(
        self, scale=1.0, swapped=False, constant=False, pause_s=0.0, noise=False, low=-1.0, reads=None
    ):
        self.scale, self.swapped, self.constant, self.pause_s = scale, swapped, constant, pause_s
        self.noise, self.low, self.reads = noise, low, reads
        self.answers = 0

    def load(self, context):
        state = "state.proprioception"
        return PolicyCapabilities(
            ("toy",),
            (self.reads or "images.primary",),
            observation_ranges={state: ((self.low,) * 4, (1.0,) * 4)},
        )

    def act(self, observation):
        time.sleep(self.pause_s)
        self.answers += 1
        angle = observation.step / 5 + (self.answers / 1e4 if self.noise else 0.0)
        x, y = self.scale * np.cos(angle), self.scale * np.sin(angle)
        closes = (observation.step >= 20) != self.swapped
        row = [0.1, 0.2, 0.0] if self.constant else [x, y, float(closes)]
        return ActionChunk(np.array([row], np.float32))
"""


@pytest.fixture(autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where rehearsals are, and the logs of those that went wrong stay."""
    place = tmp_path_factory.mktemp("t")
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A policy to get wrong, beside a toy benchmark with a gripper; its class."""
    monkeypatch.chdir(tmp_path)
    write_toy_version(tmp_path / "conf" / "benchmarks", ("reach", "park"), episodes=2, **GRIPPING)
    (tmp_path / "mine.py").write_text(POLICY)
    return f"{tmp_path / 'mine.py'}:Mine"


def examine(policy: str, steps: int = 60, sheet: Path | None = None, **options: Any) -> PairReport:
    request = EvaluationRequest(policy=policy, benchmark="toy-v1", **options)
    report, status = examine_pair(request, steps=steps, sheet=sheet)
    assert status is (ExitCode.CONFORMANCE if report.failed else ExitCode.COMPLETE)
    assert descendants(os.getpid()) == {}
    return report


def check(report: PairReport, name: str) -> Check:
    return next(each for each in report.checks if each.name == name)


@pytest.mark.process
class TestAPair:
    def test_that_is_right_fails_nothing_and_leaves_nothing(
        self, mine: str, tmp_path: Path, scratch: Path
    ) -> None:
        report = examine(mine, sheet=tmp_path / "sheet.png")
        assert report.failed == ()
        assert (report.tasks, report.logs) == (("reach", "park"), None)
        assert check(report, "episodes").detail == "control steps played: reach 50, park 50"
        assert {each.verdict for each in report.checks} == {"pass"}
        assert sorted(path.name for path in tmp_path.iterdir()) == ["conf", "mine.py", "sheet.png"]
        assert list(scratch.iterdir()) == []

    @pytest.mark.parametrize(
        ("wrong", "fails"),
        [
            ({"swapped": True}, ("gripper-sign",)),
            ({"scale": 57.3}, ("action-scale",)),
            ({"constant": True}, ("action-constant",)),
            ({"noise": True}, ("determinism",)),
            ({"low": 0.9}, ("normalisation",)),
            ({"pause_s": 0.15}, ("latency",)),
        ],
    )
    def test_with_one_fault_fails_one_check(
        self, mine: str, wrong: dict[str, Any], fails: tuple[str, ...]
    ) -> None:
        steps = 5 if "pause_s" in wrong else 60
        tasks = ("reach", "park") if "swapped" in wrong else ("reach",)
        report = examine(mine, steps, policy_args=wrong, tasks=tasks)
        assert report.failed == fails
        assert all(check(report, name).mend for name in fails)

    def test_that_does_not_load_is_a_finding(self, mine: str) -> None:
        report = examine(mine, policy_args={"reads": "images.primray"})
        assert report.failed == ("load",)
        assert "did you mean 'images.primary'" in check(report, "load").detail

    def test_whose_actions_are_too_long_says_so_and_keeps_the_logs(
        self, tmp_path: Path, monkeypatch: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        write_toy_version(tmp_path / "conf" / "benchmarks", ("reach",), episodes=1)
        report = examine(FAULTY, policy_args={"fault": "long"})
        assert report.failed == ("episodes",)
        assert "(1, 3)" in check(report, "episodes").detail
        assert report.logs is not None
        assert Path(report.logs, "worker-0.log").exists()

    def test_whose_simulator_fails_is_an_environment_fault(self, tmp_path: Path, monkeypatch: Any) -> None:
        monkeypatch.chdir(tmp_path)
        faults = [{"kind": "raise", "step": 0}]
        write_toy_version(tmp_path / "conf" / "benchmarks", ("reach",), settings={"faults": faults})
        request = EvaluationRequest(policy=PIXELS, benchmark="toy-v1")
        report, status = examine_pair(request, steps=5)
        assert status is ExitCode.ENVIRONMENT
        assert "a planned fault of the toy environment" in check(report, "episodes").detail
        assert check(report, "episodes").mend == "no fault of the policy: see the logs"


MAPPING = """
instruction = "prompt"
images = [{ key = "image", feature = ["images.primary"], size = [32, 32], codec = "jpeg:90" }]
states = [{ key = "state", feature = ["state.proprioception"] }]
"""


@contextmanager
def serving(policy: str, *arguments: str) -> Iterator[str]:
    """Run `proctor serve` for openpi clients; yields its address."""
    serve = [sys.executable, "-c", "from proctor.cli import main; main()", "serve", policy]
    command = [*serve, "--benchmark", "toy-v1", "--dialect", "openpi", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield child.stdout.readline().split("--policy ")[1].split()[0]
        finally:
            child.terminate()
            child.communicate(timeout=30)


@pytest.mark.process
class TestARunningServer:
    def test_in_other_units_is_found_and_its_frames_are_as_they_were_sent(
        self, mine: str, tmp_path: Path
    ) -> None:
        (tmp_path / "terms.toml").write_text(MAPPING)
        with serving(mine, "--mapping", "terms.toml", "--policy-arg", "scale=57.3") as address:
            request = EvaluationRequest(policy=address, benchmark="toy-v1", mapping="terms.toml")
            report, status = examine_pair(request, steps=10, sheet=tmp_path / "sheet.png")
        assert (report.failed, status) == (("action-scale",), ExitCode.CONFORMANCE)
        sent = check(report, "features").detail
        assert "images.primary (32×32×3 hwc, jpeg:90, resized (stretch)) as image" in sent
        assert "not sent: state.gripper" in sent
        assert report.sheet == str(tmp_path / "sheet.png")


class TestARequestThatCannotBeCarriedOut:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"steps": 0}, "steps 0: must be at least 1"),
            ({"sheet": Path("sheet.jpg")}, r"sheet sheet\.jpg: the name of a PNG file ends in \.png"),
            ({"sheet": Path("nowhere/sheet.png")}, "nowhere is no folder to write in"),
            ({"tasks": ("raech",)}, "did you mean 'reach'"),
            ({"suite": "al"}, "unknown suite 'al'"),
            ({"mapping": "openpi-aloha"}, "mapping: only the address of a running server takes one"),
        ],
    )
    def test_is_refused_before_anything_starts(
        self, mine: str, options: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            examine(mine, **options)
