"""`proctor bench`: what is printed, and what a mistake is answered with. Nothing is started here."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from proctor.benchmarks.freezing import freeze
from proctor.cli.root import root
from proctor.errors import UnknownNameError, UsageError
from proctor.testing.toy_versions import write_toy_version

POLICY = str(Path(__file__).parents[2] / "examples" / "policies" / "hold_still.py") + ":HoldStill"


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(root, arguments, standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.output


def dry_run(*arguments: str, benchmark: str = "aloha-sim-v1") -> str:
    return invoke("bench", "eval", benchmark, "--policy", POLICY, "--run", "dry", "--dry-run", *arguments)


def test_list_has_a_line_per_version() -> None:
    lines = invoke("bench", "list").splitlines()
    assert any(line.startswith("aloha-sim-v1") and "100 episodes" in line for line in lines)


def test_list_says_which_versions_record_no_start() -> None:
    lines = {line.split()[0]: line for line in invoke("bench", "list").splitlines()}
    assert lines["robotwin2-clean-v1"].endswith("(no start recorded)")
    assert "no start recorded" not in lines["aloha-sim-v1"]


def test_the_columns_of_the_list_are_as_wide_as_the_longest_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "toy-" + "long" * 8 + "-v1"
    write_toy_version(tmp_path / "conf" / "benchmarks", tasks=("reach",), version_id=name, episodes=1)
    monkeypatch.chdir(tmp_path)
    lines = invoke("bench", "list").splitlines()
    assert {line[len(name) + 1 :].split()[0] for line in lines} == {"draft", "frozen"}
    assert {line[: len(name) + 1][-1] for line in lines} == {" "}


def test_list_marks_a_version_that_hides_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_toy_version(tmp_path / "conf" / "benchmarks", version_id="aloha-sim-v1")
    monkeypatch.chdir(tmp_path)
    lines = invoke("bench", "list").splitlines()
    marked = [line.split()[0] for line in lines if "(hides another, in " in line]
    assert marked == ["aloha-sim-v1"]


def test_show_names_features_actions_and_tasks() -> None:
    page = invoke("bench", "show", "aloha-sim-v1")
    assert all(name in page for name in ("state.joints", "joint_abs_14", "transfer-cube", "insertion"))


def test_show_prints_the_name_that_a_policy_declares() -> None:
    assert "supported_benchmarks=('aloha',)" in invoke("bench", "show", "aloha-sim-v1")


def test_show_says_what_moves_a_score_beside_them() -> None:
    lines = invoke("bench", "show", "libero-v1").splitlines()
    assert "settle_steps   10" in lines
    assert "starts         2000 of 2000 recorded" in lines
    assert "success        once (held: 10 steps in a row); the episode stops there" in lines
    assert "render         reference: shadows, reflections, 4 samples per pixel" in lines
    (camera,) = [line for line in lines if line.startswith("  images.wrist ")]
    assert "[robot0_eye_in_hand, rotated-180]" in camera
    (action,) = [line for line in lines if line.startswith("  libero.delta-eef-v1 ")]
    assert "out of limits: clip  Displacement x y z of the end effector" in action
    assert action.endswith("; limits -1…1")


def test_show_gives_the_limits_of_every_number_where_they_differ() -> None:
    page = invoke("bench", "show", "aloha-sim-v1")
    (action,) = [line for line in page.splitlines() if line.startswith("  joint_abs_14 ")]
    assert action.rpartition("limits ")[2].count("…") == 14


class TestAVersionThatIsNotAsItShouldBe:
    @pytest.fixture
    def directory(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        version = write_toy_version(tmp_path / "conf" / "benchmarks", episodes=1)
        assert version.directory is not None
        return version.directory

    def test_changed_after_it_was_frozen(self, directory: Path) -> None:
        freeze(directory)
        file = directory / "benchmark.toml"
        file.write_text(file.read_text() + "# more")
        assert invoke("bench", "show", "toy-v1").startswith("toy-v1 · CHANGED · ")
        (line,) = [line for line in invoke("bench", "list").splitlines() if line.startswith("toy-v1")]
        assert line.split()[1] == "CHANGED"

    def test_a_broken_one_does_not_hide_the_others(self, directory: Path) -> None:
        (directory / "benchmark.toml").write_text("id = 3")
        lines = invoke("bench", "list").splitlines()
        assert any(line.startswith("toy-v1") and " broken " in line and "id" in line for line in lines)
        assert any(line.startswith("metaworld-mt10-v1") for line in lines)


def test_verify_prints_status_and_hash() -> None:
    text = invoke("bench", "verify", "metaworld-mt10-v1")
    assert len(text.split()[-1]) == 64


def test_the_benchmark_of_the_house_is_run_where_none_is_named(tmp_path: Path) -> None:
    plan = invoke("bench", "eval", "--policy", POLICY, "--dry-run", "--runs", str(tmp_path))
    assert "tabletop-heldout-v1" in plan


def test_dry_run_shows_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    plan = dry_run("--episodes", "2", "--runs", str(tmp_path))
    assert "4 of 2 tasks" in plan
    assert list(tmp_path.iterdir()) == []


def test_quick_is_one_task_one_episode_one_worker() -> None:
    plan = dry_run("--quick")
    assert "1 of 1 tasks: transfer-cube" in plan
    assert "1, 1 policy server" in plan


def test_quick_keeps_the_task_that_was_asked_for() -> None:
    assert "1 of 1 tasks: insertion" in dry_run("--quick", "--tasks", "insertion")


def test_tasks_are_separated_by_commas() -> None:
    assert "of 2 tasks" in dry_run("--tasks", "insertion,transfer-cube", "--episodes", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "insertoin"], "unknown task 'insertoin'; did you mean 'insertion'"),
        (["--suite", "al"], "unknown suite 'al'"),
        (["--episodes", "0"], "episodes 0: must be at least 1"),
        (["--episodes", "51"], "has 50"),
        (["--workers", "0"], "workers 0: must be at least 1"),
        (["--execute-steps", "fixed:0"], "fixed:0"),
        (["--quick", "--episodes", "3"], "--quick is one episode"),
        (["--run", "../elsewhere"], "name '../elsewhere'"),
        (["--act-timeout", "0"], "act_timeout_s 0"),
    ],
)
def test_a_mistake_names_field_value_and_choices(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        dry_run(*arguments)
    assert message in str(raised.value)


def test_an_unknown_benchmark_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'metaworld-mt10-v1'"):
        dry_run(benchmark="metaworld-mt10")


def test_a_policy_that_is_nothing_is_told_what_it_could_be() -> None:
    with pytest.raises(UsageError, match=r"file\.py:Class, module:Class"):
        invoke("bench", "eval", "aloha-sim-v1", "--policy", "my_policy", "--dry-run")


def test_a_policy_argument_without_a_value_is_refused() -> None:
    result = CliRunner().invoke(
        root, ["bench", "eval", "aloha-sim-v1", "--policy", POLICY, "--policy-arg", "k"]
    )
    assert result.exit_code == 2
    assert "'k' is not of the form key=value" in result.output


def test_check_policy_passes_the_minimal_example() -> None:
    assert " fail" not in invoke("bench", "check-policy", POLICY, "--benchmark", "aloha-sim-v1")


def test_check_policy_takes_a_file_of_ones_own() -> None:
    examples = Path(__file__).parents[2] / "examples" / "benchmarks"
    found = invoke(
        "bench", "check-policy", f"{examples}/straight.py:Straight", "--benchmark", f"{examples}/reach.toml"
    )
    assert "unload: unloaded" in found
    assert not any(line.startswith("fail") for line in found.splitlines())
