"""Noise on the picture of the scene, drawn as upstream draws it: anew at every control step.

Upstream draws from numpy's global generator after every step, from the picture that it renders at every step.
Where no picture is made, the same numbers are drawn, so that the next one is what it would have been.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from proctor.benchmarks.libero_plus.package import noises
from proctor.benchmarks.libero_plus.preparations import HAS_IMAGE_MAGICK
from proctor.errors import EnvironmentMissing

Frame = NDArray[np.uint8]

SEVERITIES: Final = 10
"""Of each kind."""

_FOG_DRAWS: Final = 65_535
"""A fractal of 256 × 256: three squares of 1, 2, 4 ... 128 values a side."""
_GLASS: Final = ((1, 3), (1, 3), (2, 3), (2, 2), (3, 2), (3, 2), (4, 2), (4, 2), (5, 1), (5, 1))
"""Farthest exchange of pixels, and rounds, by severity."""
_GLASS_SIDE: Final = 224
"""Upstream exchanges pixels of so many rows and columns, whatever the picture's size."""


@dataclass(frozen=True)
class Kind:
    """One kind of noise."""

    function: str
    """Upstream's, of a picture and a severity from 1."""
    draw: Callable[[int], object]
    """Draws what the function would, for a severity."""


def _draw_nothing(_: int) -> None:
    pass


def _draw_angle(_: int) -> None:
    np.random.random_sample()


def _draw_fog(_: int) -> None:
    np.random.random_sample(_FOG_DRAWS)


def _draw_exchanges(severity: int) -> None:
    farthest, rounds = _GLASS[severity - 1]
    pixels = (_GLASS_SIDE - 2 * farthest) ** 2
    np.random.randint(-farthest, farthest, size=2 * rounds * pixels)


KINDS: Final = (
    Kind("motion_blur", _draw_angle),
    Kind("gaussian_blur", _draw_nothing),
    Kind("zoom_blur", _draw_nothing),
    Kind("fog", _draw_fog),
    Kind("glass_blur", _draw_exchanges),
)
"""1 to 10 is the first, 11 to 20 the second, and so on; within each by severity."""


class Noise:
    """One variant's noise. `number`: upstream's, 1 to 50; 0 is none."""

    def __init__(self, number: int) -> None:
        """Raises `EnvironmentMissing` for noise that needs a library which is not there."""
        kind, severity = divmod(number - 1, SEVERITIES)
        self._kind = KINDS[kind] if number else None
        self._severity = severity + 1
        if self._kind is KINDS[0] and not HAS_IMAGE_MAGICK:
            raise EnvironmentMissing(
                f"noise {number} is motion blur by ImageMagick, whose library is missing; "
                "install libmagickwand, such as: apt-get install libmagickwand-6.q16-6"
            )

    def of(self, frame: Frame) -> Frame:
        """The frame with noise. `frame`: as upstream's renderer lays it out."""
        if self._kind is None:
            return frame
        noisy: NDArray[Any] = noises(self._kind.function)(Image.fromarray(frame), severity=self._severity)
        return noisy.astype(np.uint8)

    def skip(self) -> None:
        """Draw what a frame would have taken."""
        if self._kind is not None:
            self._kind.draw(self._severity)
