"""The base of the SDK's closed vocabularies."""

from __future__ import annotations

from enum import Enum

from proctor.policy import _fields


class Vocabulary(str, Enum):
    """Named strings: a member is equal to, prints as, and is encoded as its value.

    A value that is not a member raises `ValueError` naming the nearest one.
    """

    def __str__(self) -> str:
        return str(self.value)

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(_fields.unknown(cls.__name__, str(value), (member.value for member in cls)))
