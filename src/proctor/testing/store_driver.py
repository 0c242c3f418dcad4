"""Driving a store through its transitions, with toy plans and a clock that stands still until it is moved."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

from proctor.benchmarks.contract import Episode
from proctor.coordinator.plan import RunPlan
from proctor.coordinator.store import RunStore
from proctor.evaluation.protocol import (
    AttemptRef,
    CancelRequest,
    ClaimRequest,
    EpisodeReport,
    FailRequest,
    HeartbeatReply,
    HeartbeatRequest,
    Lease,
    ReleaseRequest,
    RunSettings,
    WorkerHello,
    WorkerLost,
)
from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Outcome
from proctor.evaluation.tally import Provenance, Tally
from proctor.policy.seeds import policy_seed
from proctor.testing.toy_versions import toy_definition, toy_episodes

T = TypeVar("T")
RUN_SEED = 7
WAIT_S = 30.0
"""Seconds a test waits for a commit before it calls the store stuck."""


def toy_plan(
    tasks: tuple[str, ...] = ("reach", "park"),
    *,
    episodes: int = 4,
    window: int = 2,
    run: str = "r",
    on_native_crash: str = "retry",
) -> RunPlan:
    """Plan of a toy run: `episodes` of every task, in windows of `window`."""
    definition = toy_definition(tasks, window=window, on_native_crash=on_native_crash)
    settings = RunSettings(
        run=run,
        benchmark=definition,
        benchmark_hash="0" * 64,
        run_seed=RUN_SEED,
        execute_steps=definition.execute_steps,
        action_representation=definition.actions[0].representation,
        policy_endpoints=("unix:/nowhere",),
        observe=("state.position",),
        record="none",
        record_features=(),
        act_timeout_s=60.0,
        run_directory="/nowhere",
    )
    return RunPlan(
        settings=settings, conditions={"policy": "toy"}, episodes=toy_episodes(definition, episodes)
    )


def toy_record(
    episode: Episode, outcome: Outcome = Outcome.SUCCESS, *, steps: int = 10, worker: str = "w0"
) -> EpisodeRecord:
    """Make a record of that episode, as a worker would send it."""
    seed = policy_seed(RUN_SEED, episode.start, episode.repetition)
    tally = Tally(outcome=outcome, steps=steps)
    return tally.record(episode, seed, (), Provenance(worker=worker))


def toy_error(kind: str = "Broken") -> ErrorRecord:
    """Make an error in a simulator step."""
    return ErrorRecord(phase="step", type=kind, message="planned by a test", step=3)


def ref_of(lease: Lease, worker: str = "w0") -> AttemptRef:
    """How a worker names its lease."""
    return AttemptRef(worker=worker, item=lease.item, epoch=lease.epoch, token=lease.token)


class Clock:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


class Driver:
    """A worker's and a supervisor's requests in one line each; waits for every answer."""

    def __init__(self, store: RunStore, clock: Clock) -> None:
        self.store, self.clock = store, clock

    def try_claim(self, worker: str = "w0", task: str | None = None) -> Lease | None:
        """Ask for an item."""
        return wait(self.store.claim(ClaimRequest(worker=worker, task=task))).lease

    def claim(self, worker: str = "w0", task: str | None = None) -> Lease:
        """Ask for an item that must be there."""
        lease = self.try_claim(worker, task)
        assert lease is not None, "there is work, and none was handed out"
        return lease

    def drained(self) -> bool:
        """Whether a worker without work is told to leave."""
        reply = wait(self.store.claim(ClaimRequest(worker="w-idle")))
        assert reply.lease is None, "work was handed out"
        return reply.drained

    def report(self, lease: Lease, record: EpisodeRecord, worker: str = "w0") -> bool:
        """Send one episode; whether it was stored."""
        return wait(self.store.report(EpisodeReport(attempt=ref_of(lease, worker), record=record))).stored

    def complete(self, lease: Lease, worker: str = "w0") -> bool:
        """Say that the item is finished."""
        return wait(self.store.complete(ref_of(lease, worker))).stored

    def finish(self, lease: Lease, worker: str = "w0") -> None:
        """Report a success for every episode, then complete."""
        for episode in lease.episodes:
            assert self.report(lease, toy_record(episode, worker=worker), worker)
        assert self.complete(lease, worker)

    def release(self, lease: Lease, worker: str = "w0") -> bool:
        """Give the item back without a charge."""
        return wait(self.store.release(ReleaseRequest(attempt=ref_of(lease, worker), reason="test"))).stored

    def fail(self, lease: Lease, worker: str = "w0") -> bool:
        """Give the item back with a charge."""
        return wait(self.store.fail(FailRequest(attempt=ref_of(lease, worker), error=toy_error()))).stored

    def lost(self, worker: str = "w0", *, native_crash: bool = False) -> bool:
        """Say that a worker is gone; whether it held anything."""
        request = WorkerLost(worker=worker, error=toy_error("SIGKILL"), native_crash=native_crash)
        return wait(self.store.lost(request)).stored

    def beat(self, lease: Lease | None, worker: str = "w0", *, opening: bool = False) -> HeartbeatReply:
        """Send a heartbeat."""
        attempt = None if lease is None else ref_of(lease, worker)
        request = HeartbeatRequest(worker=worker, attempt=attempt, phase="step", opening=opening)
        return wait(self.store.heartbeat(request))

    def cancel(self) -> bool:
        """Cancel the run."""
        return wait(self.store.cancel(CancelRequest(reason="test"))).stored

    def pass_time(self, seconds: float) -> int:
        """Let time pass for an owner that looks at its leases every second; how many ran out."""
        ended = 0
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now = min(end, self.clock.now + 1.0)
            ended += wait(self.store.expire())
        return ended

    def run_out(self) -> None:
        """Work until nothing is left."""
        while (lease := self.try_claim()) is not None:
            self.finish(lease)


def wait(future: Future[T]) -> T:
    """Result of a transition."""
    return future.result(timeout=WAIT_S)


def hello_of(worker: str) -> WorkerHello:
    """How a worker introduces itself."""
    return WorkerHello(
        worker=worker, host="h", pid=1, python="3.11", platform="p", packages={}, renderer="none"
    )
