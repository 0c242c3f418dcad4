"""The moments at which robosuite reads its sensors, told by one timer, and a scene that is left unread."""

from __future__ import annotations

import pytest

from proctor.benchmarks.robosuite_sensors import SamplingClock, Unread

SUBSTEPS = 25


def reads_of(clock: SamplingClock) -> list[int]:
    """The physics steps of one control step, from 1, after which sensors are read."""
    return [number for number in range(1, SUBSTEPS + 1) if clock.tick()]


@pytest.mark.parametrize(("forced", "moment"), [(0, 1), (1, 25), (2, 24), (3, 23)])
def test_each_forced_reading_moves_the_moment_by_one(forced: int, moment: int) -> None:
    clock = SamplingClock()
    clock.reset()
    assert all(clock.tick(force=True) for _ in range(forced))
    assert [reads_of(clock) for _ in range(700)] == [[moment]] * 700


def test_a_reset_starts_the_time_anew() -> None:
    clock = SamplingClock()
    for _ in range(2):
        clock.reset()
        clock.tick(force=True)
        clock.tick(force=True)
        assert reads_of(clock) == [24]
        for _ in range(7):
            clock.tick()


class Scene:
    """Stands in for upstream's class: its simulation counts how often it was computed."""

    def __init__(self) -> None:
        self.sim = self
        self.forwards = 0

    def forward(self) -> None:
        self.forwards += 1

    def _reset_internal(self) -> None:
        self.were_forwards = self.forwards


class UnreadScene(Unread, Scene):
    pass


def test_an_unread_scene_tells_when_it_would_be_read_and_has_nothing_to_read() -> None:
    told: list[int] = []
    scene = UnreadScene(on_sample=lambda: told.append(step))
    assert scene._setup_observables() == {}
    scene._reset_internal()
    for step in range(26):
        scene._update_observables(force=step == 0)
    assert told == [0, 25]


def test_an_unread_scene_is_computed_where_upstream_would_make_its_render_context() -> None:
    scene = UnreadScene(on_sample=lambda: None)
    scene._reset_internal()
    assert scene.were_forwards == 1
