from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import PolicyLoadError
from proctor.launch.planning import make_plan
from proctor.launch.policies import CommandPolicy
from proctor.launch.request import EvaluationRequest
from proctor.launch.settings import filmed_features, observed_features, session_context
from proctor.testing.toy_versions import toy_definition

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
