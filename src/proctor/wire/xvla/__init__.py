"""X-VLA's `POST /act`: JSON whose images and states are texts in which json_numpy wrote an array."""

from proctor.wire.xvla.dialect import DIALECT

__all__ = ["DIALECT"]
