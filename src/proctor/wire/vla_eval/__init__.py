"""vla-eval's model servers, over WebSocket: the client speaks first, one action answers each observation."""

from proctor.wire.vla_eval.dialect import DIALECT

__all__ = ["DIALECT"]
