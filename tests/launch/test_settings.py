from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from proctor.errors import PolicyLoadError, UsageError
from proctor.evaluation.protocol import RunSettings
from proctor.launch.planning import make_plan
from proctor.launch.policies import CommandPolicy
from proctor.launch.request import EvaluationRequest
from proctor.launch.settings import filmed_features, observed_features, run_settings, session_context
from proctor.policy import PolicyCapabilities
from proctor.testing.toy_versions import toy_definition
from proctor.wire.session import SessionDescription

from .conftest import PIXELS

DEFINITION = toy_definition()


def test_features_sent_are_those_of_the_benchmark_and_those_required() -> None:
    assert observed_features(DEFINITION, ()) == ("state.proprioception", "language.instruction")


def test_features_keep_the_definitions_order() -> None:
    required = ("privileged.goal", "state.proprioception", "images.primary")
    assert observed_features(DEFINITION, required) == (
        "images.primary",
        "state.proprioception",
        "language.instruction",
        "privileged.goal",
    )


def test_a_privileged_feature_that_is_none() -> None:
    with pytest.raises(PolicyLoadError, match=r"privileged\.gaol.*did you mean 'privileged\.goal'"):
        observed_features(DEFINITION, ("privileged.gaol",))


def test_filmed_is_what_the_policy_sees() -> None:
    assert filmed_features(DEFINITION, ("images.mirror", "state.proprioception")) == ("images.mirror",)


def test_filmed_is_the_first_image_for_a_policy_without_eyes() -> None:
    assert filmed_features(DEFINITION, ("state.proprioception",)) == ("images.primary",)


@pytest.mark.usefixtures("toy_benchmark")
class TestExecuteSteps:
    def settings(self, execute_steps: str, sizes: tuple[int, ...], **description: Any) -> RunSettings:
        plan = make_plan(EvaluationRequest(policy=PIXELS, benchmark="toy-v1", execute_steps=execute_steps))
        capabilities = PolicyCapabilities(("toy",), (), supported_action_chunk_sizes=sizes)
        told = SessionDescription(
            dialect="d",
            endpoint="unix:/x",
            capabilities=capabilities,
            action_representation="toy.velocity-v1",
            action_representation_source="benchmark_default",
            **description,
        )
        return run_settings(plan, [told])

    def test_more_than_any_declared_chunk_has_is_refused_before_an_episode_runs(self) -> None:
        with pytest.raises(
            UsageError, match=r"'fixed:20' needs chunks of at least 20 actions.* declares .*10"
        ):
            self.settings("fixed:20", (5, 10))

    @pytest.mark.parametrize("rule", ["fixed:10", "policy<=20"])
    def test_what_some_declared_chunk_has_is_taken(self, rule: str) -> None:
        assert self.settings(rule, (5, 10)).execute_steps == rule

    def test_a_foreign_server_declares_nothing_to_hold_it_to(self) -> None:
        assert self.settings("fixed:20", (1,), mapping="canonical").execute_steps == "fixed:20"


@pytest.mark.usefixtures("toy_benchmark")
class TestSessionContext:
    def test_tells_the_conditions_and_offers_nothing_privileged(self) -> None:
        plan = make_plan(
            EvaluationRequest(policy=PIXELS, benchmark="toy-v1", tasks=["park"], checkpoint="some/where")
        )
        context = session_context(plan, 1)
        assert context.session_id == "toy-all-replica-1"
        assert context.checkpoint_path == "some/where"
        assert context.metadata == {
            "replica_id": 1,
            "execute_steps": "policy<=10",
            "control_hz": 10.0,
            "horizon": {"park": 50},
        }
        assert not any(feature.name.startswith("privileged.") for feature in context.benchmark.features)

    def test_a_process_files_own_settings_reach_its_policy(self, tmp_path: Path) -> None:
        file = tmp_path / "policy.json"
        settings = '{"toy": {"cameras": 2}, "aloha": {}}'
        file.write_text(
            f'{{"schema_version": 2, "command": ["/bin/true"], "cwd": "/", "benchmark_config": {settings}}}'
        )
        plan = make_plan(EvaluationRequest(policy=file, benchmark="toy-v1"))
        assert isinstance(plan.source, CommandPolicy)
        assert session_context(plan, 0).metadata["benchmark_config"] == {"cameras": 2}
