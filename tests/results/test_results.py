from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest

from proctor.errors import InfrastructureFault, UsageError
from proctor.evaluation.record import EpisodeRecord
from proctor.results.results import Results, headline_text, load_results, write_results
from proctor.results.run_record import RunRecord
from proctor.results.runs import find_run
from proctor.results.summary import summarize


@pytest.fixture
def directory(tmp_path: Path, records: tuple[EpisodeRecord, ...]) -> Path:
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
    (tmp_path / "episodes.jsonl").write_bytes(lines)
    return tmp_path


@pytest.fixture
def results(directory: Path, run: RunRecord, records: tuple[EpisodeRecord, ...]) -> Results:
    return write_results(directory, run, records)


def test_results_say_what_came_out(results: Results) -> None:
    assert results.rate == pytest.approx(0.6)
    assert results.interval is not None
    assert results.interval.low < 0.6 < results.interval.high
    assert list(results.per_task) == ["lift", "stack"]
    assert len(results.records) == 10
    assert results.run.name == "first-look"
    assert len(results.outcome_hash) == len(results.conditions_hash) == 64


def test_every_path_exists(results: Results) -> None:
    assert set(results.paths) == {"results", "report", "episodes"}
    assert all(path.is_file() for path in results.paths.values())


def test_a_partial_run_has_no_rate(
    directory: Path, run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    partial = write_results(directory, run, records[1:])
    assert (partial.rate, partial.interval, partial.headline) == (None, None, None)


def test_printed_it_is_the_table_and_the_headline(results: Results) -> None:
    lines = str(results).splitlines()
    assert lines[0].startswith("task")
    assert lines[-1] == "success 60% [33, 82] (2 tasks, 6/10)"


def test_repr_fits_a_line_and_names_the_run(results: Results) -> None:
    assert repr(results) == "<Results 'first-look' on toy-v1: success 60% [33, 82] (2 tasks, 6/10)>"


def test_a_notebook_shows_the_same_table_escaped(
    directory: Path, run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    html = write_results(directory, run, records)._repr_html_()
    assert html.startswith("<pre>task")
    assert html.endswith("(2 tasks, 6/10)</pre>")


def test_labels_follow_the_headline(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> None:
    draft = msgspec.structs.replace(run, benchmark=msgspec.structs.replace(run.benchmark, status="draft"))
    assert headline_text(summarize(draft, records)) == "success 60% [33, 82] (2 tasks, 6/10) · draft"
    assert headline_text(summarize(draft, [])) == (
        "no headline rate: none of 10 planned episodes has a result · partial · draft"
    )


def test_it_loads_as_it_was_written(results: Results) -> None:
    assert load_results(results.directory) == results


def test_edited_episodes_are_found_out(results: Results) -> None:
    path = results.paths["episodes"]
    path.write_bytes(path.read_bytes().replace(b'"failure"', b'"success"', 1))
    with pytest.raises(UsageError, match=r"episodes\.jsonl was edited or damaged, or the run went on"):
        load_results(results.directory)


@pytest.mark.parametrize("edited", ["results", "episodes"])
def test_any_byte_that_was_changed_is_found_out(results: Results, edited: str) -> None:
    path, random = results.paths[edited], Random(10)
    original = path.read_bytes()
    places = random.sample(range(len(original)), 200)
    for place in places:
        other = random.choice([byte for byte in range(256) if byte != original[place]])
        path.write_bytes(original[:place] + bytes([other]) + original[place + 1 :])
        with pytest.raises(UsageError, match=path.name):
            load_results(results.directory)
        listing = find_run(results.directory.parent, results.directory.name)
        assert (listing.state, path.name in listing.text) == ("unreadable", True)
    path.write_bytes(original)
    assert load_results(results.directory) == results


def test_a_lost_last_line_is_found_out(results: Results) -> None:
    path = results.paths["episodes"]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(UsageError, match=r"episodes\.jsonl was edited"):
        load_results(results.directory)


def test_records_of_another_run_write_nothing(
    tmp_path: Path, run: RunRecord, records: tuple[EpisodeRecord, ...]
) -> None:
    (tmp_path / "episodes.jsonl").touch()
    with pytest.raises(InfrastructureFault):
        write_results(tmp_path, run, (*records, records[0]))
    assert [path.name for path in tmp_path.iterdir()] == ["episodes.jsonl"]
