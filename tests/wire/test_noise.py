"""Noise is a function of its seed and shape, with the same numbers on every numpy version."""

from __future__ import annotations

import numpy as np
import pytest

from proctor.errors import ProtocolError
from proctor.policy.seeds import SEED_MAX
from proctor.wire.noise import noise_tensor


def test_vectors() -> None:
    expected = [[0.4073456, -2.8003104, -0.3515317], [0.29551396, 1.129545, 0.55748963]]
    assert noise_tensor(123_456_789_012_345_678, (2, 3)).tolist() == np.float32(expected).tolist()


def test_the_type_is_what_servers_take() -> None:
    noise = noise_tensor(0, (8, 32))
    assert (noise.dtype, noise.shape) == (np.float32, (8, 32))


def test_seeds_that_differ_in_their_high_bits_differ() -> None:
    assert not np.array_equal(noise_tensor(1, (4,)), noise_tensor(1 + (1 << 40), (4,)))
    assert np.isfinite(noise_tensor(SEED_MAX, (4,))).all()


@pytest.mark.parametrize("shape", [(), (0, 4), (-1, 4), (1 << 20, 1 << 20), (1,) * 9])
def test_a_shape_that_no_server_may_ask_for(shape: tuple[int, ...]) -> None:
    with pytest.raises(ProtocolError, match="is not drawn"):
        noise_tensor(1, shape)
