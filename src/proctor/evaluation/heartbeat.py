"""The heart of a worker: a thread that renews the lease while the main thread is busy.

A native call that holds the interpreter lock stops this thread too; then the lease runs out, and that is
right: the watchdog ends such a worker. Opening a lane is the exception, where simulators compile and load for
as long: the main thread beats once before it, and says so.
"""

from __future__ import annotations

import logging
import threading

from proctor import limits
from proctor.errors import InfrastructureFault, LeaseLostError, ProtocolError
from proctor.evaluation.coordinator_client import CoordinatorClient
from proctor.evaluation.duty import Duty

_log = logging.getLogger(__name__)


class Heart(threading.Thread):
    """Beats `HEARTBEATS` times per lease. What it is answered goes to the Duty."""

    def __init__(self, client: CoordinatorClient, duty: Duty) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._client, self._duty = client, duty
        self._every_s = limits.LEASE_S / limits.HEARTBEATS
        self._ended = False
        self._changed = threading.Condition()
        self._beating = threading.Lock()
        """What was said last is also heard last."""

    def lease(self, seconds: float) -> None:
        """How long leases last from now on."""
        with self._changed:
            if self._every_s != seconds / limits.HEARTBEATS:
                self._every_s = seconds / limits.HEARTBEATS
                self._changed.notify()

    def run(self) -> None:
        """Beat until `end`."""
        while self._pause():
            self.beat()

    def _pause(self) -> bool:
        """Wait for the next beat, which comes at once after a change. Returns whether it comes at all."""
        with self._changed:
            if not self._ended:
                self._changed.wait(self._every_s)
            return not self._ended

    def beat(self) -> None:
        """Say once what the worker is doing; from any thread. A silent coordinator is left to the next."""
        with self._beating:
            self._beat()

    def _beat(self) -> None:
        message = self._duty.beat()
        try:
            reply = self._client.heartbeat(message)
        except LeaseLostError as error:
            if self._duty.attempt == message.attempt is not None:
                _log.warning("lease lost: %s", error)
                self._duty.lost = True
        except (InfrastructureFault, ProtocolError) as error:
            _log.warning("heartbeat: %s", error)
        else:
            self.lease(reply.lease_s)
            self._duty.run_cancelled = reply.cancel

    def end(self) -> None:
        """No more beats."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def ended(self) -> None:
        """Wait, after `end`, for a beat that is on its way: as long as one request may take."""
        if self.is_alive():
            self.join()
