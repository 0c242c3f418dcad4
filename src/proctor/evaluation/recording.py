"""An episode's video: the recorded cameras side by side, made beside the episode and never in its way.

Frames are asked for by themselves, so the policy sees what it would have seen without a video. Whatever goes
wrong here (a full disk, a broken encoder, no PyAV) ends the video, not the episode: the record then has no
video and an event, and the log says why.
"""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from proctor import limits
from proctor.benchmarks.contract import Episode
from proctor.durable import write_durably
from proctor.evaluation.protocol import RunSettings
from proctor.evaluation.record import EVALUATED, Outcome
from proctor.policy import FeatureValue

CODECS = ("libx264", "mpeg4")
"""Encoders by preference; H.264 is missing from some builds of FFmpeg."""

_ENCODER_OPTIONS = {"libx264": {"preset": "veryfast", "crf": "23"}, "mpeg4": {"q": "4"}}

_log = logging.getLogger(__name__)


class Recording(Protocol):
    """What the rollout asks of a recording. Nothing here raises."""

    problem: str | None
    """What ended the video early, in a word; None while all is well."""

    def wanted(self, step: int) -> frozenset[str]:
        """Features to observe after control step `step` (0: at the start)."""
        ...

    def add(self, step: int, observation: Mapping[str, FeatureValue]) -> None:
        """Take what was observed after control step `step`."""
        ...

    def finish(self, outcome: Outcome) -> str | None:
        """Write the file, if it is to be kept. Returns its path relative to the run directory."""
        ...


class NoRecording:
    """Records nothing."""

    problem: str | None = None

    def wanted(self, step: int) -> frozenset[str]:
        """Nothing."""
        return frozenset()

    def add(self, step: int, observation: Mapping[str, FeatureValue]) -> None:
        """Nothing."""

    def finish(self, outcome: Outcome) -> str | None:
        """No file."""
        return None


def recording_for(settings: RunSettings, episode: Episode) -> Recording:
    """The recording that a run's settings ask for."""
    unfilmed = settings.record == "first" and (episode.index, episode.repetition) != (0, 0)
    if settings.record == "none" or unfilmed or not settings.record_features:
        return NoRecording()
    return VideoRecording(
        Path(settings.run_directory),
        f"videos/{episode.task}-{episode.index}-{episode.repetition}.mp4",
        features=settings.record_features,
        control_hz=settings.benchmark.control_hz,
        keep="failures" if settings.record == "failures" else "all",
    )


class VideoRecording:
    """One MP4 file in simulated time. Built in memory, written whole at the end or not at all."""

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        features: Sequence[str],
        control_hz: float,
        keep: Literal["failures", "all"],
    ) -> None:
        self.problem: str | None = None
        self._path, self._name, self._keep = directory / name, name, keep
        self._features, self._wanted = tuple(features), frozenset(features)
        self._every = max(1, math.ceil(control_hz / limits.MAX_VIDEO_HZ))
        self._rate = Fraction(control_hz / self._every).limit_denominator(1000)
        self._encoder: _Encoder | None = None

    def wanted(self, step: int) -> frozenset[str]:
        """The recorded features, on every step that becomes a frame."""
        return frozenset() if self.problem or step % self._every else self._wanted

    def add(self, step: int, observation: Mapping[str, FeatureValue]) -> None:
        """Encode one frame if this step is one."""
        if not self.wanted(step):
            return
        try:
            picture = side_by_side([np.asarray(observation[name]) for name in self._features])
            if self._encoder is None:
                self._encoder = _Encoder(picture.shape[1], picture.shape[0], self._rate)
            self._encoder.add(picture)
        except Exception as error:
            self._give_up(error)

    def finish(self, outcome: Outcome) -> str | None:
        """Write the file durably; drop it where only failures are kept and this is none."""
        encoder, self._encoder = self._encoder, None
        unwanted = outcome not in EVALUATED or (self._keep == "failures" and outcome is Outcome.SUCCESS)
        if encoder is None or self.problem or unwanted:
            return None
        try:
            data = encoder.finish()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_durably(self._path, data)
        except Exception as error:
            self._give_up(error)
            return None
        return self._name

    def _give_up(self, error: Exception) -> None:
        self.problem, self._encoder = type(error).__name__, None
        _log.warning("no video %s: %s: %s", self._path, type(error).__name__, error)


class _Encoder:
    """Pictures in, the bytes of an MP4 file out."""

    def __init__(self, width: int, height: int, rate: Fraction) -> None:
        import av  # heavy, and only runs that record need it

        self._av = av
        self._file = io.BytesIO()
        self._container = av.open(self._file, "w", format="mp4")
        codec = next(name for name in CODECS if name in av.codecs_available)
        self._stream = cast(
            Any, self._container.add_stream(codec, rate=rate, options=_ENCODER_OPTIONS[codec])
        )
        self._stream.width, self._stream.height = fitted(width, height)
        self._stream.pix_fmt = "yuv420p"
        # The simulator needs the other cores.
        self._stream.thread_count = 1

    def add(self, picture: NDArray[np.uint8]) -> None:
        frame = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame = frame.reformat(self._stream.width, self._stream.height, "yuv420p", interpolation="AREA")
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> bytes:
        self._container.mux(self._stream.encode(None))
        self._container.close()
        return self._file.getvalue()


def side_by_side(pictures: Sequence[NDArray[Any]]) -> NDArray[np.uint8]:
    """Join pictures, each (height, width, 3) uint8, left to right; lower ones are padded black below."""
    height = max(picture.shape[0] for picture in pictures)
    joined = np.zeros((height, sum(picture.shape[1] for picture in pictures), 3), np.uint8)
    left = 0
    for picture in pictures:
        joined[: picture.shape[0], left : left + picture.shape[1]] = picture
        left += picture.shape[1]
    return joined


def fitted(width: int, height: int) -> tuple[int, int]:
    """Width and height that a video of this picture has: within the limits, even, as 4:2:0 needs."""
    scale = min(1.0, limits.MAX_VIDEO_WIDTH / width, limits.MAX_VIDEO_HEIGHT / height)
    return max(2, int(width * scale) // 2 * 2), max(2, int(height * scale) // 2 * 2)
