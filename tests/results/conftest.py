"""A small run to vary: two tasks of five episodes, complete unless a test takes something away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Latency, Outcome
from proctor.results.run_record import (
    BenchmarkRecord,
    PlannedEpisode,
    PlannedTask,
    PlatformRecord,
    PolicyRecord,
    Provenance,
    ReplicaRecord,
    RunRecord,
    RunSettingsRecord,
    Selection,
)

MakeRun = Callable[..., RunRecord]
MakeRecord = Callable[..., EpisodeRecord]


def _record(task: str = "lift", index: int = 0, outcome: str = "success", **changes: Any) -> EpisodeRecord:
    repetition = changes.pop("repetition", 0)
    succeeded = outcome == "success"
    error = ErrorRecord(phase="policy_act", type="InvalidActionError", message="NaN", step=3)
    record = EpisodeRecord(
        episode_id=f"{task}/{index}/{repetition}",
        task=task,
        index=index,
        repetition=repetition,
        seed=1000 + index,
        policy_seed=7,
        outcome=Outcome(outcome),
        steps=40 if succeeded else 100,
        success_once=succeeded,
        success_at_end=succeeded,
        success_held=succeeded,
        first_success_step=40 if succeeded else None,
        termination={"success": "success", "policy_error": "policy_error"}.get(outcome, "horizon"),
        instruction="lift the cube",
        instruction_sha256="00" * 32,
        initial_state_digest="11" * 32,
        initial_state_deviation=None,
        segments=(),
        inferences=4 if succeeded else 10,
        actions_clipped=0,
        actions_out_of_limits=0,
        privileged_features=(),
        metrics={},
        events={},
        error=error if outcome == "policy_error" else None,
        worker="w0",
        policy_replica="p0",
        act_ms=Latency(count=4, p50=10.0, p95=20.0, p99=30.0, max=40.0),
        step_ms=Latency(count=40, p50=5.0, p95=6.0, p99=7.0, max=8.0),
        boot_s=1.0 if index == 0 else 0.0,
        episode_s=2.5,
        teardown_s=0.1,
        video=None,
        finished_at="2026-01-02T03:04:05Z",
    )
    return msgspec.structs.replace(record, **changes)


def _run(tasks: int = 2, episodes: int = 5, repeat: int = 1, **changes: Any) -> RunRecord:
    names = ("lift", "stack", "push", "pull", "turn", "open", "shut")[:tasks]
    run = RunRecord(
        name="first-look",
        benchmark=BenchmarkRecord(
            id="toy-v1",
            title="Toy tasks",
            hash="ab" * 32,
            status="frozen",
            family="toy",
            environment="toy",
            control_hz=50.0,
            execute_steps="policy<=10",
            settle_steps=0,
            success="once",
            held_steps=5,
            stop_on_success=True,
            on_native_crash="retry",
            render_profile="reference",
            packages={"toy": "1.0"},
        ),
        selection=Selection(suite="all", repeat=repeat),
        tasks=tuple(PlannedTask(id=name, horizon=100) for name in names),
        planned=tuple(
            PlannedEpisode(
                id=f"{name}/{index}/{repetition}",
                task=name,
                index=index,
                repetition=repetition,
                seed=1000 + index,
            )
            for name in names
            for index in range(episodes)
            for repetition in range(repeat)
        ),
        settings=RunSettingsRecord(
            run_seed=11,
            execute_steps="policy<=10",
            action_representation="toy.velocity-v1",
            observe=("images.top", "state.position"),
            act_timeout_s=60.0,
        ),
        policy=PolicyRecord(spec="policy.py:Expert", file_sha256="cd" * 32, args={"gain": 0.5}),
        replicas=(
            ReplicaRecord(
                dialect="proctor.local/1",
                endpoint="unix:/tmp/p0.sock",
                action_representation="toy.velocity-v1",
                action_representation_source="benchmark_default",
                chunk_owner="worker",
                batching="none",
                seeds="unused",
                capabilities={"max_batch_size": 1},
            ),
        ),
        platforms=(
            PlatformRecord(
                workers=("w0", "w1"),
                platform="x86_64 cpu glibc",
                python="3.11.4",
                packages={"toy": "1.0"},
                renderer="egl llvmpipe",
            ),
        ),
        provenance=Provenance(
            proctor="0.1.0",
            commit="0123abc",
            dirty=False,
            python="3.11.4",
            packages={"msgspec": "0.20.0"},
            command=("proctor", "bench", "eval", "toy-v1", "--policy", "policy.py:Expert"),
        ),
        workers=2,
        started_at="2026-01-02T03:00:00Z",
        finished_at="2026-01-02T03:05:00Z",
        phases_s={"policy_load": 1.5, "evaluation": 30.0},
    )
    return msgspec.structs.replace(run, **changes)


@pytest.fixture
def make_record() -> MakeRecord:
    """Make a record by task, index and outcome; other fields by name."""
    return _record


@pytest.fixture
def make_run() -> MakeRun:
    """Make a run by number of tasks, episodes and repetitions; other fields by name."""
    return _run


@pytest.fixture
def run() -> RunRecord:
    """The run that `records` completes."""
    return _run()


@pytest.fixture
def records() -> tuple[EpisodeRecord, ...]:
    """All ten results: 4 of 5 and 2 of 5 successes, one policy error."""
    lift = [_record("lift", index, "success" if index else "failure") for index in range(5)]
    stack = [_record("stack", index, "success" if index < 2 else "failure") for index in range(4)]
    return (*lift, *stack, _record("stack", 4, "policy_error", steps=3))
