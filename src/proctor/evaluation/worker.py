"""One worker: claims Work Items, runs their episodes, hands in the results. Loads no model.

    python -m proctor.evaluation.worker < configuration

reads one JSON line (`WorkerConfiguration`) from standard input, which then stays open: its end means that the
worker shall stop. Prints one JSON line, {"worker": name}, once it is ready; everything else goes to standard
error.

Exit status: 0 nothing left to do, or stopped as asked; 1 the coordinator is gone, or a bug (the log has it);
2 the policy server refuses the token; 4 it does not come back; 5 the simulator environment lacks something;
death by SIGALRM: a native call was wedged (`watchdog`).
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
import sys
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from proctor import limits
from proctor.benchmarks.contract import Episode
from proctor.benchmarks.spec import find_action
from proctor.errors import (
    AccessDeniedError,
    CoordinatorGone,
    EnvironmentMissing,
    LeaseLostError,
    PolicyGoneError,
    ProctorError,
    UsageError,
    text_of,
)
from proctor.evaluation.coordinator_client import CoordinatorClient
from proctor.evaluation.duty import Duty
from proctor.evaluation.faults import error_record, outcome_of
from proctor.evaluation.heartbeat import Heart
from proctor.evaluation.lane import Lane
from proctor.evaluation.platform import NO_RENDERER, fingerprint
from proctor.evaluation.policy_link import PolicyLink
from proctor.evaluation.protocol import (
    AttemptRef,
    ClaimRequest,
    EpisodeReport,
    FailRequest,
    Lease,
    ReleaseRequest,
    RunSettings,
    WorkerHello,
)
from proctor.evaluation.record import EVALUATED, EpisodeRecord, ErrorRecord, Outcome, Phase
from proctor.evaluation.recording import recording_for
from proctor.evaluation.recycling import Growth, inherited_configuration, start_anew
from proctor.evaluation.rehearsal import rehearse_episode
from proctor.evaluation.rollout import run_episode
from proctor.evaluation.stopping import StopRequest
from proctor.evaluation.tally import Provenance
from proctor.evaluation.watchdog import Watchdog
from proctor.wire.dialect import Access
from proctor.wire.images import encoder_name

EXIT_DONE: Final = 0
EXIT_FAULT: Final = 1
EXIT_DENIED: Final = 2
EXIT_LOST: Final = 4
EXIT_ENVIRONMENT: Final = 5

_POLICY_PHASES: Final[frozenset[Phase]] = frozenset({"policy_reset", "policy_act"})

_log = logging.getLogger(__name__)


class WorkerConfiguration(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a worker is started with."""

    url: str
    """Of the coordinator."""
    token: str
    """Of the run."""
    worker: str
    index: int
    """Position among the run's workers, from 0; worker w uses policy replica w mod g."""
    policy_token: str | None = None
    """For a policy server that asks for one."""
    policy_ca_file: str | None = None
    """Certificates that it is checked against, in place of the system's."""
    policy_patience_s: float = limits.LOAD_TIMEOUT_S
    """Seconds that one which does not answer is waited for."""
    log: str | None = None
    """Path of this worker's log relative to the run directory, named in error records."""
    boot_timeout_s: float = limits.BOOT_TIMEOUT_S
    step_timeout_s: float = limits.STEP_TIMEOUT_S
    growth_bytes: int = limits.WORKER_GROWTH_BYTES
    """Growth of memory after which the worker starts itself anew between two items."""
    rehearsal_steps: int | None = None
    """Run so many control steps of each episode alone, and write down what was said: `rehearsal`."""
    one_task_per_process: bool = False
    """Start anew before another task: for simulators that cannot make two scenes in one process."""

    def __repr__(self) -> str:
        return f"WorkerConfiguration(worker={self.worker!r}, index={self.index})"  # without the tokens


class Worker:
    """One lane, one policy session, one coordinator."""

    def __init__(self, configuration: WorkerConfiguration, stop: StopRequest) -> None:
        self._configuration, self._stop = configuration, stop
        watchdog = Watchdog(configuration.boot_timeout_s, configuration.step_timeout_s)
        self._duty = Duty(configuration.worker, stop, watchdog)
        self._client = CoordinatorClient(
            configuration.url, configuration.token, give_up=lambda: stop.overdue, sleep=time.sleep
        )
        self._heart = Heart(self._client, self._duty)
        self._growth = Growth(configuration.growth_bytes)
        self._renderer = NO_RENDERER
        self._settings = self._introduce({})
        benchmark, representation = self._settings.benchmark, self._settings.action_representation
        action = find_action(benchmark, representation)
        self._lane = Lane(benchmark, action, self._duty, announce=self._heart.beat)
        self._link = PolicyLink(
            self._settings,
            configuration.index,
            access=Access(configuration.policy_token, configuration.policy_ca_file),
            patience_s=configuration.policy_patience_s,
            give_up=self._duty.leaving,
            missed=self._duty.miss,
            wait=stop.wait,
        )

    def run(self) -> None:
        """Work until nothing is left or the process is asked to stop.

        Raises `CoordinatorGone`, `EnvironmentMissing`, `AccessDeniedError` and, for a policy server that does
        not come back, `PolicyGoneError`, after which it makes no sense to go on.
        """
        self._introduce(self._packages())
        self._heart.start()
        while (lease := self._next_lease()) is not None:
            self._work(lease)
            self._tell_renderer()
            if self._growth.excessive():
                self._start_anew("its memory has grown too much")

    def close(self) -> None:
        """Leave everything behind."""
        self._heart.end()
        self._link.drop()
        self._lane.drop()
        self._duty.rest()
        self._heart.ended()  # its client is ours
        self._client.close()

    def leave_at_once(self) -> None:
        """Give the lease back and end the process, from whatever thread."""
        attempt = self._duty.attempt
        if attempt is not None:
            _log.warning("stuck in %s after being asked to stop; leaving", self._duty.phase)
            with contextlib.suppress(ProctorError):
                self._release(attempt)
        os._exit(EXIT_DONE)

    # --- with the coordinator --------------------------------------------------------------------------

    def _introduce(self, packages: Mapping[str, str]) -> RunSettings:
        """Never while an item is held: whoever introduces themselves holds nothing."""
        return self._client.hello(
            WorkerHello(
                worker=self._configuration.worker,
                host=socket.gethostname(),
                pid=os.getpid(),
                python=platform.python_version(),
                platform=fingerprint(),
                packages=dict(packages),
                renderer=self._renderer,
            )
        )

    def _packages(self) -> dict[str, str]:
        """What of this interpreter may move an outcome: the simulator's packages, and what encodes images."""
        packages = dict(self._lane.packages())
        mapping = self._settings.mapping
        if mapping is not None and mapping.changes_images:
            packages["image encoder"] = encoder_name()
        return packages

    def _tell_renderer(self) -> None:
        """Once something was rendered, the renderer has a name."""
        found = self._lane.renderer()
        if found != self._renderer:
            self._renderer = found
            self._introduce(self._packages())

    def _next_lease(self) -> Lease | None:
        while not self._stop.requested:
            request = ClaimRequest(worker=self._configuration.worker, task=self._lane.task)
            reply = self._client.claim(request)
            if reply.lease is not None or reply.drained:
                return reply.lease
            self._stop.wait(reply.retry_s)
        return None

    def _release(self, attempt: AttemptRef) -> None:
        reason = "the run was cancelled" if self._duty.run_cancelled else "the worker was asked to stop"
        self._client.release(ReleaseRequest(attempt=attempt, reason=reason))

    # --- one item --------------------------------------------------------------------------------------

    def _work(self, lease: Lease) -> None:
        attempt = AttemptRef(
            worker=self._configuration.worker, item=lease.item, epoch=lease.epoch, token=lease.token
        )
        self._heart.lease(lease.lease_s)
        self._duty.take(attempt)
        try:
            self._run_or_give_back(lease, attempt)
        except LeaseLostError as error:
            _log.warning("item %d abandoned: %s", lease.item, error)
        finally:
            self._duty.drop()

    def _run_or_give_back(self, lease: Lease, attempt: AttemptRef) -> None:
        try:
            self._run_item(lease, attempt)
        except (LeaseLostError, CoordinatorGone):
            raise
        except AccessDeniedError as error:
            self._duty.rest()
            self._client.release(
                ReleaseRequest(attempt=attempt, reason=text_of(error), type=type(error).__name__)
            )
            raise
        except Exception as error:
            self._give_back(attempt, error)
            if isinstance(error, EnvironmentMissing) or self._link.lost:
                raise

    def _run_item(self, lease: Lease, attempt: AttemptRef) -> None:
        failed: EpisodeRecord | None = None
        for episode in lease.episodes:
            if self._must_start_anew(episode.task):
                self._client.release(ReleaseRequest(attempt=attempt, reason="the worker starts itself anew"))
                self._start_anew(f"another task comes: {episode.task}")
            record = None if self._duty.leaving() else self._run_episode(episode)
            if record is None or record.outcome is Outcome.CANCELLED:
                self._release(attempt)
                return
            self._client.report(EpisodeReport(attempt=attempt, record=record))
            if record.outcome not in EVALUATED:
                failed = record
                self._mend(record)
        self._end(attempt, failed)

    def _run_episode(self, episode: Episode) -> EpisodeRecord:
        self._duty.begin_episode(episode.id)
        self._duty.enter("policy_reset")
        session = self._link.session()
        environment, boot_s = self._lane.prepare(episode.task)
        provenance = Provenance(
            worker=self._configuration.worker,
            policy_replica=self._link.replica,
            boot_s=boot_s,
            log=self._configuration.log,
        )
        steps = self._configuration.rehearsal_steps
        if steps is not None:
            return rehearse_episode(
                environment,
                session,
                episode,
                self._settings,
                steps,
                provenance=provenance,
                monitor=self._duty,
            )
        return run_episode(
            environment,
            session,
            episode,
            self._settings,
            provenance=provenance,
            monitor=self._duty,
            recording=recording_for(self._settings, episode),
        )

    def _mend(self, record: EpisodeRecord) -> None:
        """Throw away what the fault may have broken; it is made again for the next episode."""
        if record.error is not None and record.error.phase in _POLICY_PHASES:
            self._link.drop()
        else:
            self._lane.drop()
            self._duty.rest()  # the coordinator, which comes next, may be waited for without end

    def _end(self, attempt: AttemptRef, failed: EpisodeRecord | None) -> None:
        if failed is None or failed.error is None:
            self._client.complete(attempt)
        else:
            self._fail(attempt, failed.error, failed.outcome)

    def _give_back(self, attempt: AttemptRef, error: Exception) -> None:
        """The item could not be worked on at all. Raises `LeaseLostError` if it is another's already."""
        self._duty.rest()
        if self._duty.leaving():
            self._release(attempt)
            return
        phase = self._duty.phase or "boot"
        _log.error("no episode could be run (%s)", phase, exc_info=error)
        record = error_record(error, phase, step=None, log=self._configuration.log)
        self._fail(attempt, record, outcome_of(error, phase))

    def _fail(self, attempt: AttemptRef, error: ErrorRecord, outcome: Outcome) -> None:
        benchmarks = outcome is Outcome.BENCHMARK_ERROR
        self._client.fail(
            FailRequest(
                attempt=attempt,
                error=error,
                outcome="benchmark_error" if benchmarks else "infrastructure_error",
            )
        )

    # --- starting anew ---------------------------------------------------------------------------------

    def _must_start_anew(self, task: str) -> bool:
        return self._configuration.one_task_per_process and self._lane.task not in (None, task)

    def _start_anew(self, reason: str) -> None:
        _log.info("starting anew: %s", reason)
        self.close()
        start_anew(msgspec.json.encode(self._configuration))


def read_configuration(stdin: int = 0) -> WorkerConfiguration:
    """Read the one line, and nothing after it. Raises `UsageError` naming the field that is wrong."""
    line = inherited_configuration() or _first_line(stdin)
    try:
        return msgspec.json.decode(line, type=WorkerConfiguration)
    except msgspec.DecodeError as error:
        raise UsageError(f"worker configuration: {error}") from None


def _first_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n") and (piece := os.read(descriptor, 1)):
        line += piece
    return line


def main() -> int:
    """Run one worker process. Returns its exit status."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    try:
        configuration = read_configuration()
        stop = StopRequest()
        worker = Worker(configuration, stop)
        stop.listen(worker.leave_at_once)
        print(msgspec.json.encode({"worker": configuration.worker}).decode(), flush=True)
        try:
            worker.run()
        finally:
            worker.close()
    except EnvironmentMissing as error:
        _log.error("%s", error)
        return EXIT_ENVIRONMENT
    except AccessDeniedError as error:
        _log.error("%s", error)
        return EXIT_DENIED
    except PolicyGoneError as error:
        _log.error("%s", error)
        return EXIT_LOST
    except ProctorError as error:
        _log.error("%s: %s", type(error).__name__, error)
        return EXIT_FAULT
    return EXIT_DONE


if __name__ == "__main__":
    sys.exit(main())
