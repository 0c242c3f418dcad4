"""What went wrong on the server, as the client raises it."""

from __future__ import annotations

from typing import Final

from proctor.errors import (
    InvalidActionError,
    PolicyGoneError,
    PolicyLoadError,
    PolicyRaisedError,
    ProctorError,
    RequestRefusedError,
)
from proctor.policy.calls import FailureCode
from proctor.wire.local.messages import Failed

_FAULTS: Final[dict[FailureCode, type[ProctorError]]] = {
    "refused": RequestRefusedError,
    "policy_raised": PolicyRaisedError,
    "invalid_action": InvalidActionError,
    "load_failed": PolicyLoadError,
    "policy_gone": PolicyGoneError,
}


class PolicyRemoteError(ProctorError, RuntimeError):
    """The server answered that a request could not be fulfilled.

    `remote_traceback` says where the traceback is: it stays in the server's log, under `error_id`.
    """

    def __init__(self, operation: str, failed: Failed) -> None:
        self.operation = operation
        self.code: FailureCode = failed.code
        self.error_type = failed.error_type
        self.remote_message = failed.message
        self.error_id = failed.error_id
        self.remote_traceback = (
            f"see error {failed.error_id} in the policy server's log" if failed.error_id else ""
        )
        self.state = failed.state
        suffix = f" [error {failed.error_id}]" if failed.error_id else ""
        super().__init__(f"{failed.message}{suffix}")

    def fault(self) -> ProctorError:
        """The same as the class of `proctor.errors` that says who can mend it."""
        return _FAULTS[self.code](str(self))
