"""The list of episodes, from a synthetic checkout's lists and sentences and from synthetic trials."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from proctor.benchmarks.definition import BenchmarkDefinition
from proctor.benchmarks.registry import find_version
from proctor.benchmarks.robopro.instructions import Sentences
from proctor.benchmarks.robopro.manifest import Source, Wanting, make_episodes, probe, write_manifest
from proctor.benchmarks.robopro.settings import read_settings
from proctor.benchmarks.robopro.tasks import TASKS
from proctor.benchmarks.robotwin.instructions import draw
from proctor.benchmarks.robotwin.manifest import Provenance
from proctor.benchmarks.robotwin.seeds import Trial, Trials
from proctor.errors import UsageError

DRAWER = TASKS["close_drawer"]
SENTENCES = ["synthetic: shut it", "synthetic: it should be shut", "synthetic: would you shut it"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Synthetic lists and sentences for one task, in upstream's files."""
    place = tmp_path / "checkout"
    seeds = place / "benchmark/eval_seeds/close_drawer"
    seeds.mkdir(parents=True)
    (seeds / "bench_demo_office_clean.txt").write_text("40001 40002 40004 40007")
    (seeds / "bench_demo_office_d6.txt").write_text("40003 40005 40009")
    (seeds / "bench_demo_office_d7.txt").write_text("40006")
    (place / "benchmark/bench_description").mkdir()
    (place / "benchmark/bench_description/plain_instructions.json").write_text(
        json.dumps({"office": {"close_drawer": "synthetic: close the drawer"}})
    )
    (place / "benchmark/bench_task_config").mkdir()
    bank = place / "benchmark/bench_task_config/instruction_bank_colloquial_polite.json"
    bank.write_text(json.dumps({"_comment": "synthetic", "close_drawer": SENTENCES}))
    return place


def _only_drawer(name: str, *conditions: str) -> BenchmarkDefinition:
    """A version's one task, under some of its conditions."""
    definition = find_version(f"robopro-{name}-v1").definition
    task = next(each for each in definition.tasks if each.settings["task"] == "close_drawer")
    task = replace(task, settings={"task": "close_drawer", "conditions": list(conditions)})
    return replace(definition, tasks=(task,), suites={"default": (task.id,)})


def _source(definition: BenchmarkDefinition, checkout: Path, trials: Trials | None = None) -> Source:
    return Source(read_settings(definition), checkout, trials)


def test_upstreams_list_is_taken_in_its_order_with_the_plain_sentence(checkout: Path) -> None:
    definition = _only_drawer("clean", "clean")
    episodes = make_episodes(definition, _source(definition, checkout))
    assert [episode.seed for episode in episodes] == [40001, 40002, 40004, 40007]
    assert {episode.segments[0].instruction for episode in episodes} == {"synthetic: close the drawer"}
    assert {episode.segments[0].horizon for episode in episodes} == {600}
    assert episodes[0].settings == {"condition": "clean", "seeds": "upstream-list"}


def test_conditions_follow_one_another_each_with_what_its_list_has(checkout: Path) -> None:
    definition = _only_drawer("clutter", "d6", "d7")
    episodes = make_episodes(definition, _source(definition, checkout))
    found = [(episode.index, episode.seed, episode.settings["condition"]) for episode in episodes]
    assert found == [(0, 40003, "d6"), (1, 40005, "d6"), (2, 40006, "d7")]


def test_a_perturbed_sentence_is_drawn_from_its_bank_by_the_documented_rule(checkout: Path) -> None:
    definition = _only_drawer("language", "colloquial_polite")
    for episode in make_episodes(definition, _source(definition, checkout)):
        names = ("robopro", "close_drawer", episode.seed, "colloquial_polite", "sentence")
        assert episode.segments[0].instruction == draw(SENTENCES, *names)


@pytest.mark.parametrize(
    ("name", "condition"), [("clutter", "d8"), ("vision", "lighting"), ("object", "appearance")]
)
def test_where_there_is_no_list_seeds_must_have_been_tried(checkout: Path, name: str, condition: str) -> None:
    definition = _only_drawer(name, condition)
    with pytest.raises(
        UsageError, match=f"close_drawer, condition {condition}: upstream has no list of seeds"
    ):
        make_episodes(definition, _source(definition, checkout))


def test_seeds_are_tried_under_conditions_without_a_list_and_only_there(
    checkout: Path, tmp_path: Path
) -> None:
    definition = _only_drawer("vision", "blur", "lighting")
    settings = read_settings(definition)
    trials = Trials(tmp_path / "trials")
    searched = probe(
        settings,
        checkout,
        trials,
        definition.tasks,
        lambda task, condition: lambda seed: Trial(f"close_drawer+{condition}", seed, "feasible"),
    )
    assert searched == 1
    episodes = make_episodes(definition, Source(settings, checkout, trials))
    assert [episode.seed for episode in episodes] == [40001, 40002, 40004, 40007, *range(100000, 100010)]
    assert [episode.settings["seeds"] for episode in episodes] == ["upstream-list"] * 4 + ["expert"] * 10


def test_where_they_come_from_is_written_beside_them(checkout: Path, tmp_path: Path) -> None:
    definition = _only_drawer("clutter", "d6", "d7")
    shipped = find_version("robopro-clutter-v1").directory
    assert shipped is not None
    directory = tmp_path / "robopro-clutter-v1"
    shutil.copytree(shipped, directory)
    write_manifest(directory, definition, _source(definition, checkout))
    provenance = msgspec.json.decode((directory / "provenance.json").read_bytes(), type=Provenance)
    assert provenance.verdicts == {"close_drawer+d6": {"listed": 2}, "close_drawer+d7": {"listed": 1}}
    assert provenance.sessions == ()
    assert provenance.instruction_pool == "plain"


def test_what_has_no_list_can_be_a_candidate_beside_what_has_one(checkout: Path, tmp_path: Path) -> None:
    definition = _only_drawer("clutter", "d7", "d8")
    shipped = find_version("robopro-clutter-v1").directory
    assert shipped is not None
    directory = tmp_path / "robopro-clutter-v1"
    shutil.copytree(shipped, directory)
    source = Source(read_settings(definition), checkout, None, Wanting.CANDIDATE)
    episodes = write_manifest(directory, definition, source)
    found = [(episode.seed, episode.settings["condition"], episode.settings["seeds"]) for episode in episodes]
    assert found == [(40006, "d7", "upstream-list"), (100000, "d8", "candidate")]
    provenance = msgspec.json.decode((directory / "provenance.json").read_bytes(), type=Provenance)
    assert provenance.verdicts == {"close_drawer+d7": {"listed": 1}, "close_drawer+d8": {"untried": 1}}


def test_a_list_of_something_else_is_refused_by_its_path(checkout: Path) -> None:
    path = checkout / "benchmark/eval_seeds/close_drawer/bench_demo_office_clean.txt"
    path.write_text("forty thousand")
    definition = _only_drawer("clean", "clean")
    with pytest.raises(UsageError, match=r"bench_demo_office_clean\.txt: not a list of seeds"):
        make_episodes(definition, _source(definition, checkout))


class TestSentences:
    def test_a_bank_without_the_task_is_refused_and_never_replaced_by_a_plain_sentence(
        self, checkout: Path
    ) -> None:
        with pytest.raises(UsageError, match="has no colloquial_polite instruction for task open_drawer"):
            Sentences(checkout).sentence(TASKS["open_drawer"], "colloquial_polite", 1, "colloquial_polite")

    def test_a_bank_that_is_not_there_is_refused_by_its_path(self, checkout: Path) -> None:
        with pytest.raises(UsageError, match=r"instruction_bank_reasoning_chain\.json: No such file"):
            Sentences(checkout).sentence(DRAWER, "reasoning_chain", 1, "reasoning_chain")

    def test_an_empty_sentence_is_none(self, checkout: Path) -> None:
        path = checkout / "benchmark/bench_description/plain_instructions.json"
        path.write_text(json.dumps({"office": {"close_drawer": " "}}))
        with pytest.raises(UsageError, match="has no plain instruction for task close_drawer"):
            Sentences(checkout).sentence(DRAWER, "plain", 1, "clean")

    def test_a_file_that_is_no_table_is_refused(self, checkout: Path) -> None:
        (checkout / "benchmark/bench_description/plain_instructions.json").write_text("[]")
        with pytest.raises(UsageError, match=r"plain_instructions\.json: Expected `object`"):
            Sentences(checkout).sentence(DRAWER, "plain", 1, "clean")
