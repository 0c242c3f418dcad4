from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UnknownNameError, UsageError, VersionChangedError
from proctor.launch import planning
from proctor.launch.planning import ASSUMED_START_S, ASSUMED_STEP_S, EvaluationPlan, estimate, make_plan
from proctor.launch.request import EvaluationRequest
from proctor.testing.toy_policies import PixelPolicy

from .conftest import PIXELS


def plan(**options: Any) -> EvaluationPlan:
    request: dict[str, Any] = {"policy": PIXELS, "benchmark": "toy-v1", "name": "run"}
    return make_plan(EvaluationRequest(**(request | options)))


@pytest.mark.usefixtures("toy_benchmark")
class TestPlan:
    def test_everything_of_the_version_by_default(self) -> None:
        made = plan()
        assert len(made.episodes) == 12
        assert made.tasks == ("reach", "park", "cliff")
        assert (made.suite, made.execute_steps, made.overridden) == ("all", "policy<=10", ())

    def test_selection_and_override(self) -> None:
        made = plan(suite="first", episodes=1, repeat=3, execute_steps="fixed:5")
        assert [episode.id for episode in made.episodes] == ["reach/0/0", "reach/0/1", "reach/0/2"]
        assert (made.execute_steps, made.overridden) == ("fixed:5", ("execute_steps",))

    def test_the_benchmarks_own_rule_is_no_override(self) -> None:
        assert plan(execute_steps="policy<=10").overridden == ()

    def test_no_more_workers_than_work_items(self) -> None:
        assert plan(workers=64, tasks=["reach", "park"], episodes=3).workers == 4

    def test_directory_is_absolute(self, toy_benchmark: Path) -> None:
        assert plan(run_directory="out").directory == toy_benchmark / "out" / "run"

    def test_a_run_without_a_name_gets_one(self) -> None:
        assert plan(name=None).name.startswith("toy-v1-2")

    def test_a_changed_frozen_version_is_refused(self, toy_benchmark: Path) -> None:
        from proctor.benchmarks.freezing import freeze

        directory = toy_benchmark / "conf" / "benchmarks" / "toy-v1"
        freeze(directory)
        episodes = directory / "episodes.jsonl"
        episodes.write_text(episodes.read_text().replace('"seed":0', '"seed":7'))
        with pytest.raises(VersionChangedError, match=r"episodes\.jsonl"):
            plan()


@pytest.mark.usefixtures("toy_benchmark")
class TestWrongRequests:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"benchmark": "toi-v1"}, "unknown benchmark 'toi-v1'; did you mean 'toy-v1'"),
            ({"suite": "al"}, "unknown suite 'al'; did you mean 'all'"),
            ({"tasks": ["raech"]}, "unknown task 'raech'; did you mean 'reach'"),
        ],
    )
    def test_unknown_name(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UnknownNameError, match=message):
            plan(**options)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"episodes": 0}, "episodes 0: must be at least 1"),
            ({"episodes": 5}, "episodes 5: task reach has 4"),
            ({"repeat": 0}, "repeat 0"),
            ({"workers": 0}, "workers 0: must be at least 1"),
            ({"replicas": 0}, "replicas 0: must be at least 1"),
            ({"act_timeout_s": 0.0}, "act_timeout_s 0: must be above 0 seconds"),
            ({"act_timeout_s": math.nan}, "act_timeout_s nan: must be above 0 seconds, and finite"),
            ({"act_timeout_s": math.inf}, "act_timeout_s inf: must be above 0 seconds, and finite"),
            ({"act_timeout_s": "60"}, "act_timeout_s must be a number of seconds, got '60'"),
            ({"run_seed": -1}, r"seed -1: must be from 0 to 2\*\*63 - 1"),
            ({"run_seed": 2**63}, r"seed 9223372036854775808: must be from 0 to 2\*\*63 - 1"),
            ({"episodes": 1.5}, "episodes must be a whole number, got 1.5"),
            ({"repeat": True}, "repeat must be a whole number, got True"),
            ({"benchmark": None}, "benchmark must be text, got None"),
            ({"tasks": "reach"}, "tasks must be a list of task names, got 'reach'"),
            ({"policy_args": ["a"]}, r"policy_args must be a dict, got \['a'\]"),
            ({"record": "failure"}, "unknown record 'failure'; did you mean 'failures'"),
            (
                {"policy": PixelPolicy},
                r"policy is the class PixelPolicy; pass an object of it: PixelPolicy\(...\)",
            ),
            ({"policy": 3}, "policy must be an object of a subclass of proctor.Policy, or text .* got int"),
            ({"resume": True}, "run 'run' cannot be resumed: it never started"),
            ({"run_directory": "/dev/null/runs"}, "cannot be written: /dev/null is no folder to write in"),
            ({"execute_steps": "10"}, "execute_steps '10' is not a rule"),
            ({"policy": "mine"}, "policy 'mine' is none of"),
            ({"name": None, "resume": True}, "name: say which run to resume"),
        ],
    )
    def test_wrong_value(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            plan(**options)

    @pytest.mark.parametrize("name", ["", "../up", ".hidden", "-r", "a b", "a/b", "x" * 101, "ä"])
    def test_wrong_run_name(self, name: str) -> None:
        with pytest.raises(UsageError, match="letters, digits"):
            plan(name=name)


@pytest.mark.usefixtures("toy_benchmark")
class TestDryRun:
    def test_says_what_would_be_done(self) -> None:
        text = str(plan(workers=2, tasks=["reach"]))
        assert "run            run in " in text
        assert "episodes       4 of 1 tasks: reach" in text
        assert "workers        2, 1 policy server(s)" in text
        assert "time           about 0 min 07 s (to every horizon at 20 ms a control step; " in text
        assert text.endswith("no earlier run here)")

    def test_estimate_without_history_is_bounded_by_the_horizons(self) -> None:
        made = plan(workers=2)
        assert estimate(made).seconds == ASSUMED_START_S + 12 * 50 * ASSUMED_STEP_S / 2

    def test_the_basis_counts_the_tasks_that_earlier_runs_tell_of(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(planning, "_seconds_by_task", lambda made: {"reach": 2.0})
        assert estimate(plan(tasks=["reach"])).basis == "from earlier runs here"
        mixed = estimate(plan(tasks=["reach", "park"])).basis
        assert mixed.startswith(
            "from earlier runs here of 1 of 2 tasks; the others to every horizon at 20 ms"
        )
        assert estimate(plan(tasks=["park"])).basis.endswith("no earlier run here")

    def test_a_damaged_old_run_does_not_matter(self, toy_benchmark: Path) -> None:
        old = toy_benchmark / "runs" / "old"
        old.mkdir(parents=True)
        (old / "results.json").write_text("{}")
        assert "no earlier run" in estimate(plan()).basis
