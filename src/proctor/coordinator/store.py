"""The durable truth of one run, behind an interface.

Rules every back end keeps (`proctor.testing.stores` checks them):

* One owner. Opening a run takes a new epoch; whoever owned it before can write nothing from then on and
  hears SupersededError.
* Threads. Every method may be called from any thread. A transition returns a Future that is done only after
  its effect would survive a power cut; transitions take effect in some order, each as a whole.
* Ownership. A change to an item's work needs the open attempt: item, epoch, token and worker, compared in the
  statement that makes the change. Anybody else gets LeaseLostError, and a `refused` event keeps what they
  brought.
* Immutability. An accepted result never changes and never goes away. The same result again is answered
  `stored=False`; a different one raises RequestRefusedError and is kept in a `conflict` event.
* Late writes. An attempt that has ended, for whatever reason, stays ended.
* Leases. Deadlines of the owner's monotonic clock (or the database's own), never the wall clock. A new owner
  gives every attempt it finds open a full lease. A heartbeat that says `opening` renews for OPENING_LEASES of
  them; the next one that does not ends that.
* Charges. An attempt that failed, expired or was lost costs its item one of MAX_ATTEMPTS; a released or
  abandoned one costs nothing. An item without budget is quarantined and the run goes on.
* Storage. When the disk cannot be written the request raises StorageFault, nothing of it has happened, and
  the next request simply tries again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from time import monotonic

import msgspec

from proctor.coordinator.plan import RunPlan
from proctor.coordinator.progress import Progress
from proctor.errors import UsageError
from proctor.evaluation.protocol import (
    Accepted,
    AttemptRef,
    CancelRequest,
    ClaimReply,
    ClaimRequest,
    EpisodeReport,
    FailRequest,
    HeartbeatReply,
    HeartbeatRequest,
    ReleaseRequest,
    RunSettings,
    WorkerHello,
    WorkerLost,
)
from proctor.limits import LEASE_S


class _Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """Base of the ways to open a run."""


class New(_Start, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """Write the plan down and begin. Refused when the run exists."""

    plan: RunPlan


class Resume(_Start, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """A person goes on with a run: exactly the missing episodes, with fresh budgets.

    Refused unless the plan's fingerprint is the run's. Attempts that an earlier launch left open are
    abandoned, a cancelled run is open again, and the new plan's endpoints and recording hold. Where the first
    launch ended before its plan was on the disk, the plan is written down now.
    """

    plan: RunPlan


class Restart(_Start, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """A coordinator died and its supervisor starts another under working workers.

    Everything stays as it is: budgets, cancellation, and open attempts, each with a full lease.
    """

    run: str


Start = New | Resume | Restart


class RunStore(ABC):
    """One open run. See the module's rules."""

    epoch: int
    settings: RunSettings

    @abstractmethod
    def hello(self, request: WorkerHello) -> Future[RunSettings]:
        """Record who works; end what the same worker's predecessor held."""

    @abstractmethod
    def claim(self, request: ClaimRequest) -> Future[ClaimReply]:
        """Lease one item, of the worker's task if that has one."""

    @abstractmethod
    def heartbeat(self, request: HeartbeatRequest) -> Future[HeartbeatReply]:
        """Renew a lease and note what the worker does."""

    @abstractmethod
    def report(self, request: EpisodeReport) -> Future[Accepted]:
        """Accept an episode's evaluated outcome, or keep its error with the attempt."""

    @abstractmethod
    def complete(self, ref: AttemptRef) -> Future[Accepted]:
        """End an attempt whose episodes are all accepted; one with missing episodes has failed."""

    @abstractmethod
    def release(self, request: ReleaseRequest) -> Future[Accepted]:
        """Give an item back without a charge."""

    @abstractmethod
    def fail(self, request: FailRequest) -> Future[Accepted]:
        """Give an item back, one attempt charged."""

    @abstractmethod
    def lost(self, request: WorkerLost) -> Future[Accepted]:
        """End whatever a vanished worker holds."""

    @abstractmethod
    def cancel(self, request: CancelRequest) -> Future[Accepted]:
        """Hand out no more work and tell workers to stop."""

    @abstractmethod
    def expire(self) -> Future[int]:
        """End the attempts whose lease has run out; how many."""

    @abstractmethod
    def progress(self) -> Progress:
        """Where the run is, in time that does not grow with its episodes."""

    @abstractmethod
    def close(self) -> None:
        """Serve what is queued, then let go. Open attempts stay open. Idempotent."""


def open_store(
    url: str,
    start: Start,
    *,
    journal: Path | None = None,
    lease_s: float = LEASE_S,
    clock: Callable[[], float] = monotonic,
) -> RunStore:
    """Open the store at `sqlite:///PATH` and take the run over.

    `journal` is the file that follows accepted episodes; `errors.jsonl` beside it follows faults. Raises
    UsageError (unknown back end, wrong run or plan, newer schema) or StorageFault.
    """
    scheme, separator, rest = url.partition(":///")
    if not separator or scheme != "sqlite":
        raise UsageError(f"store {url!r}: unknown back end; valid: sqlite:///PATH")
    from proctor.coordinator.sqlite import SqliteStore

    return SqliteStore.open(Path(rest), start, journal=journal, lease_s=lease_s, clock=clock)
