from __future__ import annotations

import errno
import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import av
import numpy as np
import pytest
from msgspec.structs import replace

from proctor.evaluation import recording
from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.evaluation.recording import (
    NoRecording,
    VideoRecording,
    fitted,
    recording_for,
    side_by_side,
)
from proctor.evaluation.rollout import run_episode
from proctor.policy import ActionChunk, Observation
from proctor.testing.toy import FAMILY
from proctor.testing.toy_policies import PixelPolicy
from proctor.testing.toy_versions import toy_definition, toy_episodes

FRAME = np.arange(64 * 48 * 3, dtype=np.uint8).reshape(48, 64, 3)


def video(directory: Path, *, hz: float = 10.0, keep: Literal["failures", "all"] = "all") -> VideoRecording:
    return VideoRecording(directory, "videos/a.mp4", features=("images.a",), control_hz=hz, keep=keep)


def play(recorded: VideoRecording, steps: int = 10) -> None:
    for step in range(steps + 1):
        if recorded.wanted(step):
            recorded.add(step, {"images.a": FRAME})


def frames(path: Path) -> tuple[int, float, tuple[int, int]]:
    """Number of frames, frames per second, (width, height)."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        rate = float(stream.average_rate or 0)
        return sum(1 for _ in container.decode(stream)), rate, (stream.width, stream.height)


def test_the_file_holds_every_wanted_frame_in_simulated_time(tmp_path: Path) -> None:
    recorded = video(tmp_path)
    play(recorded)
    assert recorded.finish(Outcome.SUCCESS) == "videos/a.mp4"
    assert frames(tmp_path / "videos/a.mp4") == (11, 10.0, (64, 48))


@pytest.mark.parametrize(("hz", "every"), [(10, 1), (12, 1), (25, 2), (30, 3), (50, 4), (80, 7), (500, 40)])
def test_fast_robots_are_filmed_at_no_more_than_12_frames_a_second(
    tmp_path: Path, hz: int, every: int
) -> None:
    recorded = video(tmp_path, hz=hz)
    assert [step for step in range(41) if recorded.wanted(step)] == list(range(0, 41, every))


@pytest.mark.parametrize(
    ("keep", "outcome", "kept"),
    [
        ("all", Outcome.SUCCESS, True),
        ("all", Outcome.POLICY_ERROR, True),
        ("all", Outcome.CANCELLED, False),
        ("failures", Outcome.SUCCESS, False),
        ("failures", Outcome.FAILURE, True),
        ("failures", Outcome.POLICY_ERROR, True),
        ("failures", Outcome.BENCHMARK_ERROR, False),
    ],
)
def test_what_is_kept(tmp_path: Path, keep: Any, outcome: Outcome, kept: bool) -> None:
    recorded = video(tmp_path, keep=keep)
    play(recorded, 2)
    assert (recorded.finish(outcome) is not None) is kept
    assert (tmp_path / "videos/a.mp4").exists() is kept


def test_cameras_stand_side_by_side_padded_to_the_highest() -> None:
    joined = side_by_side([np.full((4, 2, 3), 7, np.uint8), np.full((6, 3, 3), 9, np.uint8)])
    assert joined.shape == (6, 5, 3)
    assert (joined[0, 0, 0], joined[5, 0, 0], joined[5, 4, 0]) == (7, 0, 9)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((64, 48), (64, 48)),
        ((63, 47), (62, 46)),
        ((1920, 480), (1280, 320)),
        ((1, 1), (2, 2)),
        ((100, 4000), (12, 480)),
    ],
)
def test_a_video_fits_its_limits_and_has_even_sides(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert fitted(*size) == expected


def test_an_old_encoder_is_used_where_h264_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "CODECS", ("no-such-encoder", "mpeg4"))
    recorded = video(tmp_path)
    play(recorded, 3)
    assert recorded.finish(Outcome.FAILURE) is not None
    assert frames(tmp_path / "videos/a.mp4")[0] == 4


def test_settings_say_what_is_recorded(fakes: Any, tmp_path: Path) -> None:
    shown = {"record_features": ("images.primary",), "run_directory": str(tmp_path)}
    assert isinstance(recording_for(fakes.settings(**shown), fakes.episode(3)), NoRecording)
    assert isinstance(recording_for(fakes.settings(record="all"), fakes.episode(3)), NoRecording)
    recorded = recording_for(fakes.settings(record="all", **shown), fakes.episode(3))
    recorded.add(0, {"images.primary": FRAME})
    assert recorded.finish(Outcome.SUCCESS) == "videos/reach-3-1.mp4"


def test_the_first_of_every_task_is_chosen_before_anything_ran(fakes: Any, tmp_path: Path) -> None:
    settings = fakes.settings(
        record="first", record_features=("images.primary",), run_directory=str(tmp_path)
    )
    first = fakes.episode(3, index=0, repetition=0)
    assert isinstance(recording_for(settings, first), VideoRecording)
    assert isinstance(recording_for(settings, replace(first, repetition=1)), NoRecording)
    assert isinstance(recording_for(settings, replace(first, index=1)), NoRecording)


# --- beside an episode ---------------------------------------------------------------------------------


def watched(policy: PixelPolicy, seen: list[str]) -> Callable[[Observation], ActionChunk]:
    """`policy.act`, writing down a digest of everything it sees and answers."""

    def act(observation: Observation) -> ActionChunk:
        chunk = policy.act(observation)
        parts = [np.asarray(observation.features[name]).tobytes() for name in sorted(observation.features)]
        seen.append(hashlib.sha256(b"".join([*parts, chunk.actions.tobytes()])).hexdigest())
        return chunk

    return act


def filmed(fakes: Any, directory: Path, **changes: Any) -> tuple[EpisodeRecord, list[str], list[str]]:
    """The record, what the policy saw and answered, and the names it saw."""
    definition = toy_definition(["reach"])
    (episode,) = toy_episodes(definition, 1)
    observe = ("images.primary", "state.proprioception")
    settings = fakes.settings(definition, observe=observe, run_directory=str(directory), **changes)
    seen: list[str] = []
    session = fakes.Session(watched(PixelPolicy(4), seen))
    environment = FAMILY.open(definition, definition.tasks[0], definition.actions[0])
    record = run_episode(environment, session, episode, settings, recording=recording_for(settings, episode))
    return record, seen, sorted({name for o in session.seen for name in o.features})


def test_recording_changes_nothing_for_the_policy(fakes: Any, tmp_path: Path) -> None:
    plain, plain_seen, _ = filmed(fakes, tmp_path)
    record, seen, names = filmed(
        fakes, tmp_path, record="all", record_features=("images.mirror", "images.primary")
    )
    assert seen == plain_seen
    assert names == ["images.primary", "state.proprioception"]
    assert (record.outcome, record.steps) == (plain.outcome, plain.steps)
    assert record.video == "videos/reach-0-0.mp4"
    assert frames(tmp_path / record.video) == (record.steps + 1, 10.0, (128, 64))


def test_a_video_that_cannot_be_written_does_not_lose_the_result(
    fakes: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "videos").write_text("a file where the directory should be")
    record, _, _ = filmed(fakes, tmp_path, record="all", record_features=("images.primary",))
    assert (record.outcome, record.video) == (Outcome.SUCCESS, None)
    assert record.events == {"video: FileExistsError": 1}
    assert "no video" in caplog.text


def test_an_encoder_that_fails_ends_the_video_and_asks_for_no_more_frames(tmp_path: Path) -> None:
    recorded = video(tmp_path)
    recorded.add(0, {"images.a": FRAME})
    recorded.add(1, {"images.a": np.zeros((4, 4), np.uint8)})
    assert recorded.problem == "ValueError"
    assert not recorded.wanted(2)
    assert recorded.finish(Outcome.FAILURE) is None
    assert list(tmp_path.iterdir()) == []


def test_without_pyav_there_is_no_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    recorded = video(tmp_path)
    play(recorded)
    assert (recorded.problem, recorded.finish(Outcome.FAILURE)) == ("ModuleNotFoundError", None)


FULL_DISK = """
import resource, sys
from pathlib import Path
import numpy as np
from proctor.evaluation.record import Outcome
from proctor.evaluation.recording import VideoRecording

root = Path(sys.argv[1])
recorded = VideoRecording(root, "videos/a.mp4", features=("images.a",), control_hz=10, keep="all")
noise = np.random.default_rng(0)
for step in range(20):
    recorded.add(step, {"images.a": noise.integers(0, 255, (64, 64, 3), np.uint8)})
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
print(recorded.finish(Outcome.FAILURE), recorded.problem)
"""


@pytest.mark.process
def test_a_full_disk_leaves_no_part_of_a_video(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "OSError"]
    assert f"[Errno {errno.EFBIG}]" in done.stderr
    assert list((tmp_path / "videos").iterdir()) == []
