"""What worker and coordinator say to each other: JSON over HTTP, typed on both sides by these structs.

Every request carries `Authorization: Bearer <run token>`. Work in progress is addressed by (epoch, token):
the epoch names the coordinator process that granted the lease, the token the attempt. The pair stays valid
when a coordinator restarts: it takes a new epoch, adopts the attempts it finds open and gives each a full
lease. A request with a superseded pair is answered 409 and changes nothing but an event row.

    POST /v1/hello      WorkerHello      -> RunSettings
    POST /v1/claim      ClaimRequest     -> ClaimReply
    POST /v1/heartbeat  HeartbeatRequest -> HeartbeatReply
    POST /v1/episodes   EpisodeReport    -> Accepted
    POST /v1/complete   AttemptRef       -> Accepted
    POST /v1/release    ReleaseRequest   -> Accepted
    POST /v1/fail       FailRequest      -> Accepted
    POST /v1/lost       WorkerLost       -> Accepted     (from whoever supervises the worker)
    POST /v1/cancel     CancelRequest    -> Accepted     (from whoever started the run)

Anything but 200 carries an ErrorReply. 409 `lease_lost`: stop working on the item. 409 `refused`: wrong, and
asking again will not help. 503 `storage`: nothing happened, ask again in `retry_s`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from proctor.benchmarks.contract import Episode
from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.evaluation.record import EpisodeRecord, ErrorRecord, Filmed
from proctor.wire.mapping import Mapping


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of everything on this wire."""


class WorkerHello(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A worker introduces itself before its first claim; a restarted worker does so again."""

    worker: str
    host: str
    pid: int
    python: str
    platform: str
    """Platform fingerprint: machine, processor model, libc; bit equality is promised within one."""
    packages: dict[str, str]
    """Installed simulator packages."""
    renderer: str
    """Backend and device, as in `egl: llvmpipe (...)`, or `none` before anything was rendered."""


class RunSettings(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a run's episodes are executed: frozen with the run, the same for every worker."""

    run: str
    benchmark: BenchmarkDefinition
    benchmark_hash: str
    suite: str | None = None
    """Named subset that the policy was loaded for; None: the benchmark's first."""
    run_seed: int
    execute_steps: str
    """The benchmark's rule, or the user's override (then the run is labelled as overridden)."""
    action_representation: str
    policy_endpoints: tuple[str, ...]
    """One per replica; worker w uses replica w mod g."""
    dialect: str = "local"
    """Name of the wire protocol that is spoken there."""
    mapping: Mapping | None = None
    """The server's terms; None where features travel under their own names."""
    agreed: dict[str, Any] = {}
    """Facts of the handshake that every session has to find as the launcher found them."""
    observe: tuple[str, ...]
    """Features sent to the policy."""
    record: Filmed
    record_features: tuple[str, ...]
    """Image features drawn into the video."""
    act_timeout_s: float
    run_directory: str


class AttemptRef(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Names one lease."""

    worker: str
    item: int
    epoch: int
    token: str


class ClaimRequest(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A worker asks for work; `task` is the one it has a scene for."""

    worker: str
    task: str | None = None


class Lease(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One Work Item, owned until `lease_s` from now unless renewed."""

    item: int
    epoch: int
    token: str
    attempt: int
    lease_s: float
    episodes: tuple[Episode, ...]
    """Only those without an accepted result."""


class ClaimReply(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`lease`, or None: `drained` when nothing will come any more, else ask again after `retry_s`."""

    lease: Lease | None = None
    drained: bool = False
    retry_s: float = 0.2


class Waiting(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A worker waits for a policy server that does not answer."""

    server: str
    """Its address."""
    why: str
    """What came of the last try to reach it."""
    silent_s: float
    """Seconds since it was first missed."""
    left_s: float
    """Seconds until the worker gives up."""


class HeartbeatRequest(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Renews a lease and says what the worker is doing; `attempt` is None between items."""

    worker: str
    attempt: AttemptRef | None
    phase: str
    episode_id: str | None = None
    step: int = 0
    waiting: Waiting | None = None
    opening: bool = False
    """A lane is being opened, up to its first start: the next heartbeat may take `OPENING_LEASES` leases."""


class HeartbeatReply(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether to go on. `cancel`: stop at the next step and release."""

    lease_s: float
    cancel: bool = False


class EpisodeReport(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One finished episode under a lease. Evaluated outcomes are accepted; errors stay with the attempt."""

    attempt: AttemptRef
    record: EpisodeRecord


class ReleaseRequest(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Give an item back without a charge (pre-emption, cancel)."""

    attempt: AttemptRef
    reason: str
    type: str = "Released"
    """Class name of the error that is the reason, if one is."""


class FailRequest(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The attempt failed; the item goes back, one attempt charged. `outcome` says whose fault it was."""

    attempt: AttemptRef
    error: ErrorRecord
    outcome: Literal["benchmark_error", "infrastructure_error"] = "infrastructure_error"


class WorkerLost(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A worker's process is gone; its lease, if any, fails now instead of expiring."""

    worker: str
    error: ErrorRecord
    native_crash: bool
    """It died inside the simulator (signal or positive exit status in a simulator phase)."""


class CancelRequest(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Stop the run: no more claims; workers stop at their next step and release."""

    reason: str


class Accepted(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`stored`: this request changed something; False when it repeated what was already there."""

    stored: bool


class ErrorReply(Message, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Why a request was not served."""

    error: str
    """Short name, for programs; `docs/reference/worker-api.md` lists them."""
    message: str
    field: str | None = None
    """Path of the field that is wrong, when one is."""
    retry_s: float | None = None
    """Seconds after which the same request may be served."""
