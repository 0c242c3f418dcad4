"""What a policy answers: one or more consecutive actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from proctor.policy import _fields
from proctor.policy.spec import ARRAY_KINDS

_HOW_TO_MEND = "wrap it as np.asarray(actions, dtype=np.float32)"


@dataclass(frozen=True, eq=False)
class ActionChunk:
    """Consecutive actions from one inference.

    `actions` is (dimension,) for one action or (n, dimension) for n ≥ 1 of them, of a bool, int, uint or
    float dtype. Raises `TypeError` for anything but such an array (a list, an object array, a tensor),
    `ValueError` for another rank or an empty first axis. The array is kept, not copied.

    Two chunks are equal only if they are the same object: comparing arrays has no single answer.
    """

    actions: NDArray[Any]

    def __post_init__(self) -> None:
        actions: object = self.actions
        if not isinstance(actions, np.ndarray):
            kind = type(actions).__name__
            raise TypeError(f"ActionChunk.actions must be a numpy array, got {kind}; {_HOW_TO_MEND}")
        if actions.dtype.kind not in ARRAY_KINDS:
            raise TypeError(f"ActionChunk.actions has dtype {actions.dtype}; {_HOW_TO_MEND}")
        if actions.ndim not in (1, 2):
            shape = actions.shape
            raise ValueError(f"ActionChunk.actions must be (dimension,) or (n, dimension), got {shape}")
        if actions.shape[0] < 1:
            raise ValueError(f"ActionChunk.actions holds no action: its shape is {actions.shape}")

    def __len__(self) -> int:
        """Number of actions: 1 for a 1-d array, else the first dimension."""
        return 1 if self.actions.ndim == 1 else int(self.actions.shape[0])

    def to_dict(self) -> dict[str, Any]:
        """The field as a dict. The array stays an array, uncopied: how it travels is the wire's business."""
        return {"actions": self.actions}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ActionChunk:
        """Inverse of `to_dict`."""
        return cls(**_fields.arguments(cls, data))
