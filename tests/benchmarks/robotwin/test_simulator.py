"""Upstream's task object, in a synthetic stand-in: what it is asked, from where, and what comes back."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from proctor.benchmarks.robotwin.commands import Command
from proctor.benchmarks.robotwin.seeds import Trial
from proctor.benchmarks.robotwin.simulator import UNBOUNDED, UpstreamSimulator, arguments_for, make_task
from proctor.errors import BenchmarkFault, EnvironmentMissing

from .synthetic import ARGUMENTS, SyntheticTask


def _opened(tmp_path: Path, task: SyntheticTask | None = None) -> tuple[UpstreamSimulator, SyntheticTask]:
    upstream = task or SyntheticTask()
    return UpstreamSimulator(tmp_path, upstream, ARGUMENTS), upstream


def _joints(left: float, right: float = 0.0) -> Command:
    return Command(np.array([left] * 6 + [1.0] + [right] * 6 + [1.0]), "qpos")


def test_a_start_depends_on_the_seed_alone(tmp_path: Path) -> None:
    first, _ = _opened(tmp_path)
    fresh = first.reset(5, {})
    first.reset(6, {})
    first.act(_joints(0.5))
    np.testing.assert_array_equal(first.reset(5, {}), fresh)
    second, _ = _opened(tmp_path)
    np.testing.assert_array_equal(second.reset(5, {}), fresh)
    assert not np.array_equal(second.reset(6, {}), fresh)


def test_a_start_is_the_robot_then_articulations_then_poses(tmp_path: Path) -> None:
    simulator, task = _opened(tmp_path)
    start = simulator.reset(5, {})
    assert start.shape == (12 + 1 + 7,)
    assert start[12] == 0.5
    assert start[15] == 1.0, "a default argument that upstream changes in place is put back"
    assert task.step_lim == UNBOUNDED


def test_the_first_scene_is_set_up_twice_and_caches_are_cleared_as_configured(tmp_path: Path) -> None:
    simulator, task = _opened(tmp_path)
    for seed in (1, 2):
        simulator.reset(seed, {})
    assert task.calls == ["setup_demo", "close_env(False)", "setup_demo", "close_env(True)", "setup_demo"]


def test_upstream_is_told_the_configuration_and_what_an_episode_adds(tmp_path: Path) -> None:
    simulator, task = _opened(tmp_path)
    simulator.reset(1, {"arguments": {"domain_randomization": {"random_light": True}}})
    assert task.arguments["domain_randomization"] == {"random_light": True}
    assert (task.arguments["seed"], task.arguments["is_test"], task.arguments["now_ep_num"]) == (1, True, 0)
    simulator.reset(1, {})
    assert task.arguments["domain_randomization"] == {"random_light": False}


def test_calls_are_made_from_inside_the_checkout_and_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "assets").mkdir()
    monkeypatch.setenv("SYNTHETIC_STRICT", "1")
    before = os.getcwd()  # noqa: PTH109
    simulator, _ = _opened(tmp_path)
    simulator.reset(1, {})
    simulator.act(_joints(0.5))
    assert os.getcwd() == before  # noqa: PTH109
    assert capsys.readouterr().out == "", "upstream's progress is kept from the worker's answers"


def test_the_goal_at_any_moment_of_an_action_is_a_success(tmp_path: Path) -> None:
    simulator, _ = _opened(tmp_path)
    simulator.reset(1, {})
    assert [simulator.act(_joints(0.5))[0] for _ in range(3)] == [False, False, True]


def test_an_arm_that_no_path_is_found_for_is_an_event_and_is_counted(tmp_path: Path) -> None:
    simulator, _ = _opened(tmp_path)
    simulator.reset(1, {})
    far = Command(np.array([2.0] * 8 + [0.0] * 8), "ee")
    assert simulator.act(far)[1] == ("no path found: left arm",)
    assert simulator.act(_joints(0.5, 5.0))[1] == ("no path found: right arm",)
    assert simulator.metrics() == {"plan_failed": 2.0}
    simulator.reset(1, {})
    assert simulator.metrics() == {"plan_failed": 0.0}


def test_an_arm_that_is_to_stand_still_has_lost_nothing(tmp_path: Path) -> None:
    simulator, _ = _opened(tmp_path)
    simulator.reset(1, {})
    assert simulator.act(_joints(0.0)) == (False, ())
    assert simulator.metrics() == {"plan_failed": 0.0}


@pytest.mark.parametrize(
    ("light", "shift", "call"),
    [(False, False, None), (True, False, "_update_render"), (True, True, "get_obs")],
)
def test_an_observation_that_nobody_reads_draws_what_it_would_have_drawn(
    tmp_path: Path, light: bool, shift: bool, call: str | None
) -> None:
    simulator, task = _opened(tmp_path)
    simulator.reset(1, {})
    task.crazy_random_light = light
    task.pixel_shift_enabled = shift  # type: ignore[attr-defined]
    task.calls.clear()
    simulator.pass_by()
    assert task.calls == ([call] if call else [])


def test_what_upstream_raises_is_the_benchmarks_fault(tmp_path: Path) -> None:
    task = SyntheticTask()
    task.unstable = (7,)
    simulator, _ = _opened(tmp_path, task)
    with pytest.raises(
        BenchmarkFault, match=r"upstream's reset: UnStableError: Objects is unstable in seed\(7\)"
    ):
        simulator.reset(7, {})
    simulator.reset(8, {})
    with pytest.raises(BenchmarkFault, match="upstream's take_action: RuntimeError: contact solver exploded"):
        simulator.act(_joints(99.0))


def test_nothing_to_render_on_is_missing_and_never_a_verdict_of_the_expert(tmp_path: Path) -> None:
    task = SyntheticTask()
    task.sees = False
    simulator, _ = _opened(tmp_path, task)
    for attempt in (lambda: simulator.reset(7, {}), lambda: simulator.try_seed("t", 7, {})):
        with pytest.raises(
            EnvironmentMissing,
            match=r"\(failed to find a rendering device\); run: proctor env check robotwin",
        ):
            attempt()


def test_closing_twice_closes_once(tmp_path: Path) -> None:
    simulator, task = _opened(tmp_path)
    simulator.close()
    simulator.close()
    assert task.calls == ["close_env(True)"]


class TestExpert:
    def test_a_seed_that_the_expert_succeeds_with_is_feasible_and_tells_its_scene(
        self, tmp_path: Path
    ) -> None:
        simulator, _ = _opened(tmp_path)
        trial = simulator.try_seed("t", 5, {})
        scene = {"{A}": "001_cup/base0", "{B}": "blue mat", "{a}": "left"}
        assert trial == Trial("t", 5, "feasible", scene=scene)

    def test_every_other_end_has_its_verdict(self, tmp_path: Path) -> None:
        task = SyntheticTask()
        task.unstable, task.infeasible = (1,), (2,)
        simulator, _ = _opened(tmp_path, task)
        assert simulator.try_seed("t", 1, {}).verdict == "unstable"
        assert simulator.try_seed("t", 2, {}).verdict == "no success"
        task.plan_success = False
        assert simulator.try_seed("t", 3, {}).verdict == "no path"
        task.play_once = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
        trial = simulator.try_seed("t", 4, {})
        assert (trial.verdict, trial.detail) == ("error", "division by zero")


class TestMaking:
    def test_a_class_is_imported_from_the_checkout(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.path", [])
        (tmp_path / "synthetic_upstream_task.py").write_text("class lift: pass\n")
        assert type(make_task(tmp_path, [tmp_path], "synthetic_upstream_task", "lift")).__name__ == "lift"

    def test_a_package_that_is_missing_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.path", [])
        (tmp_path / "synthetic_needy_task.py").write_text("import synthetic_absent_package\n")
        with pytest.raises(
            EnvironmentMissing, match="synthetic_absent_package, which synthetic_needy_task in"
        ):
            make_task(tmp_path, [tmp_path], "synthetic_needy_task", "lift")

    def test_what_else_importing_raises_is_the_benchmarks_fault(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.path", [])
        (tmp_path / "synthetic_broken_task.py").write_text("raise RuntimeError('no device')\n")
        with pytest.raises(BenchmarkFault, match="RuntimeError: no device"):
            make_task(tmp_path, [tmp_path], "synthetic_broken_task", "lift")

    def test_a_robot_that_is_not_among_the_assets_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(
            EnvironmentMissing, match=r"aloha-agilex/config\.yml is missing: the robot is one of"
        ):
            arguments_for({}, "lift", "demo_clean", tmp_path)
