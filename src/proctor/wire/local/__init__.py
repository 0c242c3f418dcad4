"""The local dialect: a Unix socket for control, sealed shared memory for arrays. Same host, same user."""

from proctor.wire.local.client import PolicyClient
from proctor.wire.local.remote import PolicyRemoteError
from proctor.wire.local.server import PolicyServer, run

__all__ = ["PolicyClient", "PolicyRemoteError", "PolicyServer", "run"]
