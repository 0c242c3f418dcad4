"""The policy's own thread: the only one on which a policy's code ever runs.

Two ways lead to it. A `Source` is a connection that this thread reads itself, so that a request costs no
hand-over between threads. `submit` takes a call from any other thread. Both end in the same dispatch and the
same merging (`batching.py`), and are answered by the same `Replica`.

`health` never waits for the policy. A call that hangs cannot be interrupted from here; `health` says for how
long it has been running, and whoever supervises the process replaces it.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from proctor.errors import ProctorError, ProtocolError
from proctor.policy.batching import Batch, Batching, batching_of
from proctor.policy.calls import Act, Call, Failure, Reset, Source, Unload
from proctor.policy.capabilities import PolicyCapabilities
from proctor.policy.lifecycle import Policy, PolicyState
from proctor.policy.observation import Observation
from proctor.policy.polling import Poller
from proctor.policy.replica import Replica, failure
from proctor.policy.spec import BenchmarkSpec

_SWEEP_S: Final = 1.0
"""Seconds between looks at what nobody asks about: stalled readers, forgotten episodes."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Health:
    """What is known of a policy without waiting for it."""

    state: PolicyState
    operation: str
    """The hook that is running, empty when none is."""
    busy_s: float
    """For how many seconds it has been running."""
    episodes: int
    """Open episodes."""


class PolicyHost:
    """Runs one policy. All public methods but `run` and `turn` are for any thread.

    `on_end` is called on the policy's thread as the last thing it does.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        accept_batching: bool = False,
        on_end: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.fatal: BaseException | None = None
        """What the policy ended its replica with, if it did."""
        self._replica = Replica(policy, clock)
        self._accept_batching = accept_batching
        self._on_end = on_end
        self._clock = clock
        self._batch: Batch | None = None
        self._poller: Poller[Source] = Poller()
        self._backlog: list[Source] = []
        self._arrivals: deque[Call | Source] = deque()
        self._arriving = threading.Lock()
        self._open = True
        self._stopping = False
        self._swept = clock()
        self._thread = threading.Thread(target=self.run, name="policy", daemon=True)

    # --- any thread --------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the policy's thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the current call, end what is open, unload, and let the thread end. Does not wait."""
        self._stopping = True
        self._poller.wake()

    def join(self, timeout_s: float) -> bool:
        """Wait for the policy's thread to end; whether it did."""
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def submit(self, call: Call) -> None:
        """Queue a call; it is answered with the failure `policy_gone` if the policy ends before."""
        self._arrive(call)

    def attach(self, source: Source) -> None:
        """Let the policy's thread read this connection from now on."""
        self._arrive(source)

    def health(self) -> Health:
        """State and current operation, without waiting."""
        now = self._clock()
        operation, since = self._replica.doing or ("", now)
        return Health(self._replica.state, operation, max(0.0, now - since), len(self._replica.episodes))

    @property
    def state(self) -> PolicyState:
        """State of the replica."""
        return self._replica.state

    @property
    def benchmark(self) -> BenchmarkSpec | None:
        """What the policy was loaded for, None before it was."""
        return self._replica.benchmark

    @property
    def checkpoint_path(self) -> str:
        """What the policy was told to load, empty where it was told nothing."""
        return self._replica.checkpoint_path

    @property
    def capabilities(self) -> PolicyCapabilities | None:
        """What the policy declared, None before it was loaded."""
        return self._replica.capabilities

    @property
    def batching(self) -> Batching:
        """Whether concurrent calls are merged, and at whose word; `none` before load."""
        capabilities = self._replica.capabilities
        return "none" if capabilities is None else batching_of(capabilities, accepted=self._accept_batching)

    def _arrive(self, arrival: Call | Source) -> None:
        with self._arriving:
            if self._open:
                self._arrivals.append(arrival)
                self._poller.wake()
                return
        _turn_away(arrival)

    # --- the policy's thread -----------------------------------------------------------------------

    def run(self) -> None:
        """Serve until `stop` or `unload`, then leave for good; the body of the policy's thread."""
        self._survive(self._serve_all)
        self._turn_all_away()
        self._survive(self._replica.close)
        for source in self._poller.items:
            source.close(None)
        self._poller.close()
        self._on_end()

    def _survive(self, part: Callable[[], None]) -> None:
        """Whatever the policy ends its replica with, the connections are closed and `on_end` is called."""
        try:
            part()
        except BaseException as error:
            self.fatal = self.fatal or error
            _log.critical("the policy ended its replica", exc_info=True)

    def _serve_all(self) -> None:
        while not self._stopping and self._replica.state is not PolicyState.CLOSED:
            self.turn(self._patience())

    def turn(self, timeout_s: float) -> None:
        """Wait for at most `timeout_s`, then answer what is there."""
        backlog, self._backlog = self._backlog, []
        for source, events in self._poller.wait(0.0 if backlog else timeout_s):
            self._serve(source, events)
        for source in backlog:
            self._serve(source, select.POLLIN)
        while self._arrivals:
            self._welcome(self._arrivals.popleft())
        if self._batch and self._batch.due(self._clock(), self._replica.episodes.active()):
            self._answer_batch(self._batch)
        if self._clock() - self._swept >= _SWEEP_S:
            self._sweep()

    def _patience(self) -> float:
        return self._batch.remaining_s(self._clock()) if self._batch else _SWEEP_S

    def _welcome(self, arrival: Call | Source) -> None:
        if isinstance(arrival, Call):
            self._dispatch(arrival)
        else:
            self._poller.watch(arrival, arrival.interest())
            self._backlog.append(arrival)  # it may have been read ahead before it came here

    def _serve(self, source: Source, events: int) -> None:
        if source.fileno() < 0:
            return  # dropped since it was polled
        try:
            if events & select.POLLOUT:
                source.flush()
            call = source.receive() if source.interest() == select.POLLIN else None
        except EOFError:
            self._drop(source, None)
            return
        except (ProtocolError, OSError, MemoryError) as error:
            self._drop(source, error)
            return
        if call is not None:
            self._dispatch(call)
        interest = source.interest()
        self._poller.watch(source, interest)
        if source.backlog and interest == select.POLLIN:  # else it waits until the answers are read
            self._backlog.append(source)

    def _drop(self, source: Source, error: Exception | None) -> None:
        if error is not None:
            # A client that is killed resets its connection: no news for whoever serves the policy.
            level = logging.INFO if isinstance(error, ConnectionError) else logging.WARNING
            _log.log(level, "closing a connection: %s", error)
        self._poller.forget(source)
        source.close(error)
        if self._batch:
            self._batch.discard(source)
        self._replica.end_owned(source)

    def _dispatch(self, call: Call) -> None:
        request = call.request
        if isinstance(request, Act) and self._batch is not None:
            self._collect(self._batch, call, request.observation)
            return
        if self._batch and (isinstance(request, (Reset, Unload)) or self._batch.holds_any_of(call.owner)):
            self._answer_batch(
                self._batch
            )  # also for a reset: it may begin anew what a lost owner asked about
        try:
            answer = self._replica.answer(request, call.owner)
        except BaseException as error:
            call.reply(_gone(error))
            raise
        if isinstance(answer, PolicyCapabilities) and self.batching != "none":
            self._batch = Batch(answer.max_batch_size)
        call.reply(answer)

    def _collect(self, batch: Batch, call: Call, observation: Observation) -> None:
        try:
            observation = self._replica.admit("act", observation, call.owner)
        except ProctorError as error:
            call.reply(failure(error))
            return
        if batch.holds(observation.episode_id):
            self._answer_batch(batch)
        batch.add(observation, call, self._clock())
        if batch.full():
            self._answer_batch(batch)

    def _answer_batch(self, batch: Batch) -> None:
        observations, calls = batch.take()
        started = self._clock()
        try:
            answers = self._replica.infer(observations)
        except BaseException as error:
            for call in calls:
                call.reply(_gone(error))
            raise
        batch.took(self._clock() - started)
        for call, answer in zip(calls, answers, strict=True):
            call.reply(answer)

    def _sweep(self) -> None:
        self._swept = self._clock()
        for source in self._poller.items:
            if source.overdue():
                self._drop(source, ProtocolError("an answer was not read in time"))
        self._replica.end_unused()

    def _turn_all_away(self) -> None:
        with self._arriving:
            self._open = False
        for arrival in self._arrivals:
            _turn_away(arrival)
        for call in self._batch.take()[1] if self._batch else ():
            _turn_away(call)


def _turn_away(arrival: Call | Source) -> None:
    if isinstance(arrival, Call):
        arrival.reply(Failure("policy_gone", "PolicyGoneError", "the policy is no longer served", ""))
    else:
        arrival.close(None)


def _gone(error: BaseException) -> Failure:
    return Failure("policy_gone", type(error).__name__, "the policy ended its replica", "")
