"""Golden files: `data/golden/NAME/report.md` and `results.json` follow from the run and episodes beside them.

After an intended change, rewrite them with `python tests/results/rewrite_golden.py` and read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from proctor.evaluation.record import EpisodeRecord, ErrorRecord
from proctor.results.report import render_report
from proctor.results.results_file import make_results_file, read_episodes, read_results_file
from proctor.results.run_record import PolicyEnd, RunRecord

GOLDEN = Path(__file__).parent / "data" / "golden"
MakeRun = Callable[..., RunRecord]
MakeRecord = Callable[..., EpisodeRecord]
replace = msgspec.structs.replace


def report(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> str:
    return render_report(make_results_file(run, records))


@pytest.mark.parametrize("name", ["complete", "partial"])
def test_golden(name: str) -> None:
    run = read_results_file(GOLDEN / name).run
    assert report(run, read_episodes(GOLDEN / name)) == (GOLDEN / name / "report.md").read_text()


def test_a_complete_run_opens_with_its_rate_interval_and_count(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    assert report(run, records).splitlines()[2] == "**Success: 60% [33, 82] (2 tasks, 6/10)**"


def test_a_partial_run_opens_with_the_reason_and_both_rates_labelled(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    lines = report(run, records[1:]).splitlines()
    assert lines[2] == "**No headline rate: 1 of 10 planned episodes have no result.**"
    assert lines[4].startswith("- over completed episodes: ")
    assert "6/9" in lines[4]
    assert lines[5].startswith("- over planned episodes (a missing one is no success): ")
    assert "6/10" in lines[5]


def test_a_run_without_results_states_no_rate_anywhere(run: RunRecord) -> None:
    text = report(run, ())
    assert "**No headline rate: none of 10 planned episodes has a result.**" in text
    assert "%" not in text.replace("95 % interval", "")


def test_no_share_of_success_stands_without_interval_and_count(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    for text in (report(run, records), report(run, records[2:])):
        rates = re.findall(r"\d+(?:\.\d+)?%(?! ?interval)[^|\n]*", text.split("## Actions")[0])
        assert rates
        assert all(re.match(r"\d+(\.\d+)?% \[\d+(\.\d+)?, \d+(\.\d+)?\] \(.*\d+/\d+", rate) for rate in rates)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda run: replace(run, benchmark=replace(run.benchmark, status="draft")), "> **Draft:**"),
        (
            lambda run: replace(
                run, settings=replace(run.settings, overridden=("execute_steps",), execute_steps="fixed:1")
            ),
            "execute_steps = fixed:1 (the benchmark's: policy<=10)",
        ),
        (
            lambda run: replace(run, settings=replace(run.settings, observe=("privileged.poses",))),
            "no robot has: privileged.poses.",
        ),
    ],
)
def test_labels_stand_under_the_headline(
    run: RunRecord,
    records: tuple[EpisodeRecord, ...],
    change: Callable[[RunRecord], RunRecord],
    line: str,
) -> None:
    head = report(change(run), records).split("## Tasks")[0]
    assert line in head


def test_five_tasks_get_the_interval_about_such_tasks(make_run: MakeRun, make_record: MakeRecord) -> None:
    run = make_run(tasks=5, episodes=2)
    records = tuple(
        make_record(
            episode.task, episode.index, "success" if episode.index or episode.task == "lift" else "failure"
        )
        for episode in run.planned
    )
    assert "About **such** tasks (t over task rates): [32, 88] %." in report(run, records)


def test_such_tasks_are_not_spoken_of_while_anything_is_missing(
    make_run: MakeRun, make_record: MakeRecord
) -> None:
    run = make_run(tasks=5, episodes=2)
    records = tuple(
        make_record(episode.task, episode.index, "success" if episode.index else "failure")
        for episode in run.planned[1:]
    )
    assert "such" not in report(run, records)


def test_text_from_a_policy_cannot_format_the_report(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    hostile = ErrorRecord(phase="policy_act", type="X", message="**99%** | <script>\n# Success [a](http://b)")
    text = report(run, (*records[:-1], replace(records[-1], error=hostile)))
    assert "<script>" not in text.replace("\\<script>", "")
    assert "](http://b)" not in text
    assert "\n# Success" not in text


def test_video_links_are_quoted(run: RunRecord, make_record: MakeRecord) -> None:
    records = (make_record("lift", 0, "failure", video="videos/a b).mp4"),)
    assert "[lift/0/0](videos/a%20b%29.mp4)" in report(run, records)


def test_meanings_that_were_not_measured_have_words_in_place_of_a_rate(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    lines = report(run, records).splitlines()
    (at_end,) = [line for line in lines if line.startswith("| at_end")]
    assert at_end.endswith("| not measured: the episode stops at its first success |")


def test_a_part_of_a_plan_shows_no_outcome_hash(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    text = report(run, records[1:])
    assert "| outcome_hash | partial: no outcome_hash to compare |" in text
    assert make_results_file(run, records[1:]).outcome_hash not in text


def test_a_partial_run_says_how_it_goes_on(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    command = "proctor bench eval toy-v1 --policy policy.py:Expert --run first-look --resume"
    assert command in report(run, records[1:])
    assert command not in report(run, records)


def test_a_policy_server_that_ended_is_told_with_its_log(
    run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    end = PolicyEnd(replica="replica-0", how="SIGKILL (killed by proctor)", log="logs/replica-0.log")
    text = report(replace(run, policy_ends=(end,)), records)
    assert "- replica-0: SIGKILL (killed by proctor) ([log](logs/replica-0.log))" in text


@pytest.mark.parametrize(("sizes", "told"), [((10,), True), ((5, 10), True), ((16,), False), ((1,), False)])
def test_chunks_that_were_applied_whole_are_mentioned(
    run: RunRecord, records: tuple[EpisodeRecord, ...], sizes: tuple[int, ...], told: bool
) -> None:
    replica = replace(run.replicas[0], capabilities={"supported_action_chunk_sizes": list(sizes)})
    assert ("Every chunk was applied whole" in report(replace(run, replicas=(replica,)), records)) is told


@pytest.mark.parametrize(
    ("unlisted", "said"), [("omit", "; sent: what mapping openpi names"), ("canonical", "")]
)
def test_what_a_mapping_leaves_out_is_not_said_to_be_sent(
    run: RunRecord, records: tuple[EpisodeRecord, ...], unlisted: str, said: str
) -> None:
    mapped = replace(run.settings, mapping={"name": "openpi", "unlisted": unlisted})
    text = report(replace(run, settings=mapped), records)
    (line,) = [line for line in text.splitlines() if line.startswith("| observed |")]
    assert line.endswith(f"{', '.join(run.settings.observe)}{said} |")
