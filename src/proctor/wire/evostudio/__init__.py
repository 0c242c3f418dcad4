"""Version 1 of the socket protocol of `evostudio-inference-sdk`: the client speaks first, in JSON."""

from proctor.wire.evostudio.dialect import DIALECT

__all__ = ["DIALECT"]
