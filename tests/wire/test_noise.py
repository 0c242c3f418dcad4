"""Noise is a function of seed and shape, on every machine and with every numpy version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from proctor.errors import ProtocolError
from proctor.wire.noise import NoiseSource, noise_tensor

VECTORS = [
    (0, (2, 2), [[-0.36259031295776367, -0.4159747362136841], [0.9548649191856384, -0.9255024194717407]]),
    ((1 << 63) - 1, (3,), [1.0388755798339844, -1.4511972665786743, -0.21159105002880096]),
]


@pytest.mark.parametrize(("seed", "shape", "values"), VECTORS)
def test_vectors(seed: int, shape: tuple[int, ...], values: list[Any]) -> None:
    assert noise_tensor(seed, shape).tolist() == values


def test_noise_is_standard_normal_float32() -> None:
    drawn = noise_tensor(5, (200, 50))
    assert drawn.dtype == np.float32
    assert drawn.shape == (200, 50)
    assert abs(float(drawn.mean())) < 0.05
    assert abs(float(drawn.std()) - 1) < 0.05


def test_noise_does_not_depend_on_what_was_drawn_before() -> None:
    source = NoiseSource()
    source.draw(1, (3,))
    np.testing.assert_array_equal(source.draw(7, (4, 5)), noise_tensor(7, (4, 5)))


def test_both_halves_of_a_seed_count() -> None:
    drawn = [noise_tensor(seed, (4,)).tolist() for seed in (1, 2, 1 << 32, (1 << 32) + 1)]
    assert len({tuple(values) for values in drawn}) == 4


@pytest.mark.parametrize("shape", [(), (0,), (-1, 4), (1,) * 9, (1 << 20, 1 << 10)])
def test_a_shape_that_no_server_needs_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ProtocolError, match="not drawn"):
        noise_tensor(1, shape)
