"""The noise that a worker draws for a server which takes it from its client.

A tensor is a function of the noise seed of the inference (`policy/seeds.py`) and its shape alone. It comes
from numpy's `RandomState`, whose stream is frozen: later numpy versions draw the same numbers.

    RandomState([low 32 bits of the seed, high 32 bits]).standard_normal(shape), rounded to float32
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from proctor.errors import ProtocolError
from proctor.limits import MAX_ARRAY_BYTES, MAX_ARRAY_RANK


class NoiseSource:
    """Draws tensors one after the other. Used by one thread; making one takes longer than drawing from it."""

    def __init__(self) -> None:
        self._generator = np.random.RandomState(0)

    def draw(self, seed: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
        """Standard normal float32 of this shape, whatever was drawn before. `seed` in [0, 2**63).

        Raises `ProtocolError` for a shape that no server may ask for: the shape comes from its handshake.
        """
        if not 1 <= len(shape) <= MAX_ARRAY_RANK or min(shape) < 1 or 4 * math.prod(shape) > MAX_ARRAY_BYTES:
            raise ProtocolError(f"noise of shape {shape} is not drawn")
        self._generator.seed([seed & 0xFFFFFFFF, seed >> 32])
        return self._generator.standard_normal(shape).astype(np.float32)


def noise_tensor(seed: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """One tensor, as `NoiseSource.draw` draws it."""
    return NoiseSource().draw(seed, shape)
