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


def noise_tensor(seed: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Standard normal float32 of this shape. `seed` in [0, 2**63).

    Raises `ProtocolError` for a shape that no server may ask for: the shape comes from its handshake.
    """
    if not 1 <= len(shape) <= MAX_ARRAY_RANK or min(shape) < 1 or 4 * math.prod(shape) > MAX_ARRAY_BYTES:
        raise ProtocolError(f"noise of shape {shape} is not drawn")
    generator = np.random.RandomState([seed & 0xFFFFFFFF, seed >> 32])
    return generator.standard_normal(shape).astype(np.float32)
