"""Real worker processes against a real coordinator and a real policy server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from proctor.benchmarks.spec import benchmark_spec
from proctor.coordinator.client import CoordinatorClient
from proctor.coordinator.configuration import ServerConfig
from proctor.coordinator.export import RunExport, export_run
from proctor.coordinator.plan import RunPlan
from proctor.coordinator.progress import Progress
from proctor.coordinator.states import ItemState
from proctor.coordinator.store import New, Restart, Start
from proctor.errors import UsageError
from proctor.evaluation.record import Outcome
from proctor.evaluation.worker import WorkerConfiguration, read_configuration
from proctor.policy import ActionChunk, Observation, Policy, SessionContext
from proctor.testing.toy_policies import ExpertPolicy, FaultyPolicy, StatePolicy
from proctor.testing.toy_versions import toy_definition, toy_episodes
from proctor.wire.local.server import PolicyServer
from proctor.wire.opening import prepare

pytestmark = pytest.mark.process

TOKEN = "t" * 40
RUN = "test"
PATIENCE_S = 30.0
LEASE_S = 4.0


class Stage:
    """One run: a coordinator, a policy server, and as many workers as a test starts."""

    def __init__(self, directory: Path, settings: Callable[..., Any]) -> None:
        self.directory, self._settings = directory, settings
        self._children: list[subprocess.Popen[bytes]] = []
        self._named: dict[str, subprocess.Popen[bytes]] = {}
        self._server: PolicyServer | None = None
        self.client: Any = None
        self.lease_s = LEASE_S

    def open(
        self,
        policy: Policy | None,
        *,
        tasks: tuple[str, ...] = ("reach",),
        episodes: int = 4,
        window: int = 2,
        **changes: Any,
    ) -> None:
        """Plan the run and start the coordinator; serve `policy` from here, or none.

        `changes` are those of the run's settings, but for `toy`: settings of the toy environment.
        """
        definition = toy_definition(tasks, window=window, settings=changes.pop("toy", {}))
        self.socket = self.directory / "policy.sock"
        self._spec = benchmark_spec(definition, privileged=("privileged.goal",))
        if policy is not None:
            self._server = PolicyServer(policy, self.socket)
            self._server.__enter__()
            self.load_policy()
        values = {
            "run": RUN,
            "policy_endpoints": (f"unix:{self.socket}",),
            "observe": ("privileged.goal", "state.proprioception", "language.instruction"),
            "act_timeout_s": 2.0,
            "run_directory": str(self.directory),
        }
        plan = RunPlan(
            settings=self._settings(definition, **{**values, **changes}),
            conditions={"policy": "toy"},
            episodes=toy_episodes(definition, episodes),
        )
        self.coordinator(New(plan))

    def load_policy(self) -> None:
        """Do what a launcher does before its workers start."""
        prepare(f"unix:{self.socket}", SessionContext("s", "", self._spec), timeout_s=PATIENCE_S)

    def policy_process(self) -> subprocess.Popen[bytes]:
        """Serve an expert from a process of its own."""
        arguments = ["--policy", "proctor.testing.toy_policies:ExpertPolicy", "--socket", str(self.socket)]
        child = self._start("policy", "proctor.wire.local.serve", b"", *arguments)
        assert json.loads(_out(child).readline()) == {"socket": str(self.socket)}
        self.load_policy()
        return child

    def coordinator(self, start: Start, port: int = 0) -> subprocess.Popen[bytes]:
        """Start a coordinator and wait until it serves."""
        config = ServerConfig(
            directory=str(self.directory), start=start, token=TOKEN, lease_s=self.lease_s, port=port
        )
        child = self._start("coordinator", "proctor.coordinator", msgspec.json.encode(config))
        self.url = json.loads(_out(child).readline())["url"]
        if self.client is not None:
            self.client.close()
        self.client = CoordinatorClient(self.url, TOKEN)
        return child

    def worker(self, index: int = 0, **changes: Any) -> subprocess.Popen[bytes]:
        """Start a worker; it has introduced itself when this returns."""
        values: dict[str, Any] = {"url": self.url, "token": TOKEN, "worker": f"w{index}", "index": index}
        configuration = WorkerConfiguration(**{**values, **changes})
        child = self._start(f"w{index}", "proctor.evaluation.worker", msgspec.json.encode(configuration))
        assert json.loads(_out(child).readline()) == {"worker": f"w{index}"}
        return child

    def _start(
        self, name: str, module: str, configuration: bytes, *arguments: str
    ) -> subprocess.Popen[bytes]:
        with (self.directory / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._children.append(child)
        self._named[name] = child
        assert child.stdin is not None
        child.stdin.write(configuration + b"\n")
        child.stdin.flush()
        return child

    def kill(self, name: str) -> None:
        """SIGKILL the latest process of that name."""
        self._named[name].kill()
        self._named[name].wait()

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def until(self, condition: Callable[[Progress], object]) -> Progress:
        """Wait for the run to get somewhere."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition(progress := self.client.progress()):
            assert time.monotonic() < deadline, progress
            time.sleep(0.02)
        return progress

    def result(self) -> RunExport:
        return export_run(self.directory / "run.db", RUN)

    def outcomes(self) -> list[Outcome]:
        return [record.outcome for record in self.result().records]

    def close(self) -> None:
        for child in self._children:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
        if self._server is not None:
            self._server.close()
        self.client.close()


def _out(child: subprocess.Popen[bytes]) -> IO[bytes]:
    assert child.stdout is not None
    return child.stdout


def stepping(progress: Progress) -> bool:
    """Whether some worker was heard from in mid-episode."""
    return any(worker.phase == "step" and worker.step for worker in progress.workers)


def leased(progress: Progress) -> int:
    return progress.items[ItemState.LEASED]


@pytest.fixture
def stage(tmp_path: Path, fakes: Any) -> Iterator[Stage]:
    made = Stage(tmp_path, fakes.settings)
    yield made
    made.close()


def test_a_worker_does_everything_there_is_and_ends(stage: Stage) -> None:
    stage.open(ExpertPolicy(), tasks=("reach", "park"))
    assert stage.worker(log="logs/w0.log").wait(PATIENCE_S) == 0
    result = stage.result()
    assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 8
    assert {record.worker for record in result.records} == {"w0"}
    assert {record.policy_replica for record in result.records} == {"replica-0"}
    assert sum(record.boot_s > 0 for record in result.records) == 2
    assert result.faults == ()
    assert result.workers[-1].packages.keys() == {"numpy"}


def test_two_workers_share_the_work_and_get_the_same_science_as_one(
    stage: Stage, tmp_path: Path, fakes: Any
) -> None:
    stage.open(ExpertPolicy(), episodes=8)
    workers = [stage.worker(index) for index in range(2)]
    assert [worker.wait(PATIENCE_S) for worker in workers] == [0, 0]
    (tmp_path / "alone").mkdir()
    alone = Stage(tmp_path / "alone", fakes.settings)
    try:
        alone.open(ExpertPolicy(), episodes=8)
        assert alone.worker().wait(PATIENCE_S) == 0

        def science(result: RunExport) -> list[tuple[Any, ...]]:
            return [(r.episode_id, r.outcome, r.steps, r.initial_state_digest) for r in result.records]

        assert science(stage.result()) == science(alone.result())
    finally:
        alone.close()


@pytest.mark.parametrize("fault", ["nan", "raise"])
def test_a_policys_fault_is_a_result_and_the_next_episode_goes_on(stage: Stage, fault: str) -> None:
    stage.open(FaultyPolicy(fault, step=3), episodes=2)
    assert stage.worker().wait(PATIENCE_S) == 0
    result = stage.result()
    assert [record.outcome for record in result.records] == [Outcome.POLICY_ERROR] * 2
    assert all(record.error is not None and record.error.message for record in result.records)


class HangingPolicy(ExpertPolicy):
    """Hangs from its fourth step on, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()

    def act(self, observation: Observation) -> ActionChunk:
        if observation.step >= 3:
            self.go_on.wait(PATIENCE_S)
        return super().act(observation)


def test_a_policy_that_hangs_misses_its_deadline(stage: Stage) -> None:
    policy = HangingPolicy()
    stage.open(policy, episodes=1, act_timeout_s=0.2)
    worker = stage.worker()
    stage.until(lambda progress: progress.completed)
    policy.go_on.set()
    assert worker.wait(PATIENCE_S) == 0
    (record,) = stage.result().records
    assert (record.outcome, record.steps) == (Outcome.POLICY_ERROR, 3)
    assert record.error is not None
    assert (record.error.phase, record.error.type) == ("policy_act", "DeadlineError")


def test_a_benchmark_error_costs_one_attempt_and_the_rest_of_the_window_goes_on(
    stage: Stage, tmp_path: Path
) -> None:
    fault = {"kind": "raise", "task": "reach", "index": 0, "step": 2, "marker": str(tmp_path / "once")}
    stage.open(ExpertPolicy(), toy={"faults": [fault]})
    assert stage.worker().wait(PATIENCE_S) == 0
    result = stage.result()
    assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 4
    errors = [fault for fault in result.faults if fault.error is not None]
    assert {error.outcome for error in errors} == {Outcome.BENCHMARK_ERROR}
    assert errors[0].error is not None
    assert (errors[0].error.phase, errors[0].error.type) == ("step", "BenchmarkFault")


def test_an_item_that_always_fails_is_left_and_the_run_ends(stage: Stage) -> None:
    stage.open(ExpertPolicy(), toy={"faults": [{"kind": "raise", "index": 1, "step": 0}]}, window=1)
    assert stage.worker().wait(PATIENCE_S) == 0
    result = stage.result()
    assert len(result.records) == 3
    assert [quarantine.episodes for quarantine in result.quarantined] == [("reach/1/0",)]


def test_a_wedged_simulator_ends_its_worker_by_the_watchdog(stage: Stage) -> None:
    stage.open(ExpertPolicy(), toy={"faults": [{"kind": "wedge", "index": 0, "step": 2}]})
    worker = stage.worker(step_timeout_s=0.3)
    assert worker.wait(PATIENCE_S) == -signal.SIGALRM
    assert "_sleep_holding_the_lock" in stage.log("w0")


def test_a_worker_asked_to_stop_finishes_its_episode_and_returns_the_rest_without_a_charge(
    stage: Stage,
) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.05}, episodes=2)
    worker = stage.worker()
    stage.until(stepping)
    worker.terminate()
    assert worker.wait(PATIENCE_S) == 0
    progress = stage.client.progress()
    assert (progress.completed, progress.failed_attempts) == (1, 0)
    assert progress.items[ItemState.PENDING] == 1


def test_the_end_of_its_input_stops_a_worker_too(stage: Stage) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.01}, episodes=2)
    worker = stage.worker()
    stage.until(leased)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(PATIENCE_S) == 0
    assert stage.client.progress().failed_attempts == 0


def test_it_dies_of_a_second_signal_at_once(stage: Stage) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.1})
    worker = stage.worker()
    stage.until(stepping)
    worker.terminate()
    time.sleep(0.1)
    worker.terminate()
    assert worker.wait(2.0) == -signal.SIGTERM
    assert stage.client.progress().completed == 0


def test_a_cancelled_run_stops_at_the_next_step_and_charges_nothing(stage: Stage) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.1})
    worker = stage.worker()
    stage.until(leased)
    stage.client.cancel("enough")
    assert worker.wait(PATIENCE_S) == 0
    progress = stage.client.progress()
    assert (progress.completed, progress.failed_attempts) == (0, 0)


def test_a_worker_whose_lease_was_given_away_abandons_the_item(stage: Stage) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.02}, episodes=1)
    worker = stage.worker()
    stage.until(stepping)
    os.kill(worker.pid, signal.SIGSTOP)
    stage.until(lambda progress: progress.failed_attempts)
    os.kill(worker.pid, signal.SIGCONT)
    assert worker.wait(PATIENCE_S) == 0
    assert stage.outcomes() == [Outcome.FAILURE]
    assert "abandoned" in stage.log("w0")


@pytest.mark.parametrize(("step", "attempts"), [(0, 1), (8, 2)], ids=["while it opens", "later"])
def test_a_simulator_that_lets_no_heart_beat_loses_its_lease_unless_a_lane_is_being_opened(
    stage: Stage, tmp_path: Path, step: int, attempts: int
) -> None:
    stage.lease_s = 1.5
    stall = {"kind": "stall", "index": 0, "step": step, "marker": str(tmp_path / "once")}
    stage.open(ExpertPolicy(), toy={"faults": [stall], "step_s": 0.15}, episodes=1)
    assert stage.worker().wait(PATIENCE_S) == 0
    assert stage.outcomes() == [Outcome.SUCCESS]
    assert stage.client.progress().failed_attempts == attempts - 1


def test_a_worker_that_grows_too_much_starts_itself_anew_and_loses_nothing(stage: Stage) -> None:
    stage.open(ExpertPolicy(), episodes=3, window=1)
    worker = stage.worker(growth_bytes=-1)
    assert worker.wait(PATIENCE_S) == 0
    assert stage.outcomes() == [Outcome.SUCCESS] * 3
    assert {hello.pid for hello in stage.result().workers} == {worker.pid}
    assert stage.log("w0").count("starting anew: its memory") == 3
    assert stage.client.progress().failed_attempts == 0


def test_a_worker_of_one_task_starts_itself_anew_for_another(stage: Stage) -> None:
    stage.open(ExpertPolicy(), tasks=("reach", "park"), episodes=1)
    assert stage.worker(one_task_per_process=True).wait(PATIENCE_S) == 0
    assert stage.outcomes() == [Outcome.SUCCESS] * 2
    assert stage.log("w0").count("starting anew: another task") == 1


def test_a_policy_process_that_dies_costs_one_attempt_and_is_waited_for(stage: Stage) -> None:
    stage.open(None, toy={"step_s": 0.08})
    policy = stage.policy_process()
    worker = stage.worker()
    stage.until(stepping)
    policy.kill()
    policy.wait()
    stage.until(lambda progress: progress.errors[Outcome.INFRASTRUCTURE_ERROR])
    stage.policy_process()
    assert worker.wait(PATIENCE_S) == 0
    result = stage.result()
    assert [record.outcome for record in result.records] == [Outcome.SUCCESS] * 4
    assert {fault.error.type for fault in result.faults if fault.error} == {"PolicyGoneError"}
    assert stage.client.progress().failed_attempts == 1


def test_a_coordinator_that_comes_back_finds_its_workers_and_loses_nothing(stage: Stage) -> None:
    stage.open(StatePolicy(), toy={"step_s": 0.03}, episodes=2)
    worker = stage.worker()
    stage.until(stepping)
    stage.kill("coordinator")
    stage.coordinator(Restart(RUN), port=int(stage.url.rpartition(":")[2]))
    assert worker.wait(PATIENCE_S) == 0
    assert len(stage.outcomes()) == 2
    assert stage.client.progress().failed_attempts == 0


def test_a_worker_without_the_runs_token_says_so_and_not_what_it_had(stage: Stage) -> None:
    stage.open(ExpertPolicy())
    child = stage._start(
        "w9",
        "proctor.evaluation.worker",
        msgspec.json.encode(WorkerConfiguration(url=stage.url, token="wrong", worker="w9", index=0)),
    )
    assert child.wait(PATIENCE_S) == 1
    assert "InfrastructureFault: http://127.0.0.1" in stage.log("w9")
    assert "wrong" not in stage.log("w9").replace("missing or wrong", "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "worker configuration: Input data was truncated"),
        (b'{"url": "x", "tokn": "y"}\n', "unknown field `tokn`"),
    ],
)
def test_a_bad_configuration_is_refused_by_name(line: bytes, message: str) -> None:
    reading, writing = os.pipe()
    os.write(writing, line)
    os.close(writing)
    with pytest.raises(UsageError, match=message):
        read_configuration(reading)
    os.close(reading)
