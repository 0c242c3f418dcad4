from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from proctor.errors import InfrastructureFault, UsageError
from proctor.evaluation.record import EpisodeRecord
from proctor.results.results import load_results
from proctor.results.results_file import (
    ResultsFile,
    decode_results,
    encode_results,
    lines_digest,
    make_results_file,
    read_episodes,
    read_results_file,
    write_results_file,
)
from proctor.results.run_record import RunRecord
from proctor.results.summary import MetricSummary

DATA = Path(__file__).parent / "data"


@pytest.fixture
def content(run: RunRecord, records: tuple[EpisodeRecord, ...]) -> ResultsFile:
    return make_results_file(run, records)


def changed(content: ResultsFile, **changes: Any) -> bytes:
    return json.dumps(json.loads(encode_results(content)) | changes).encode()


def assert_alike(found: Any, wanted: Any, where: str = "results") -> None:
    """Equal, with floats compared to 1e-9: their last bits are the mathematics library's."""
    assert type(found) is type(wanted), where
    if isinstance(wanted, dict):
        assert list(found) == list(wanted), where
        for key in wanted:
            assert_alike(found[key], wanted[key], f"{where}.{key}")
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for position, (one, other) in enumerate(zip(found, wanted, strict=True)):
            assert_alike(one, other, f"{where}[{position}]")
    elif isinstance(wanted, float):
        assert found == pytest.approx(wanted, abs=1e-9), where
    else:
        assert found == wanted, where


@pytest.mark.parametrize("name", ["complete", "partial"])
def test_golden(name: str) -> None:
    directory = DATA / "golden" / name
    lines = (directory / "episodes.jsonl").read_bytes()
    made = make_results_file(read_results_file(directory).run, read_episodes(directory), lines_digest(lines))
    found, wanted = json.loads(encode_results(made)), json.loads((directory / "results.json").read_bytes())
    # The digest is over every bit; see assert_alike.
    assert_alike(found | {"digest": None}, wanted | {"digest": None})


@pytest.mark.parametrize(("name", "completed"), [("complete", 10), ("partial", 21)])
def test_results_of_the_first_schema_stay_readable(name: str, completed: int) -> None:
    directory = DATA / "schema-1" / name
    content = read_results_file(directory)
    episodes = read_episodes(directory)
    assert content.summary.ledger.completed == len(episodes) == completed
    assert make_results_file(content.run, episodes).outcome_hash == content.outcome_hash
    assert (content.digest, content.episodes_sha256) == (None, None)
    assert str(load_results(directory)).endswith(" · no digest")


def test_the_digest_is_of_the_bytes_with_zeros_in_its_place(content: ResultsFile) -> None:
    assert content.digest is not None
    unsealed = encode_results(content).replace(content.digest.encode(), b"0" * 64)
    assert hashlib.sha256(unsealed).hexdigest() == content.digest


def test_the_order_of_episodes_is_no_matter_to_their_digest() -> None:
    assert lines_digest(b"b\na\n") == lines_digest(b"a\nb\n") == hashlib.sha256(b"a\nb\n").hexdigest()
    assert lines_digest(b"a\nb") != lines_digest(b"a\nb\n")


def test_it_reads_back_as_written(tmp_path: Path, content: ResultsFile) -> None:
    path = write_results_file(tmp_path, content)
    assert path == tmp_path / "results.json"
    assert read_results_file(tmp_path) == content


def test_the_schema_comes_first(content: ResultsFile) -> None:
    assert encode_results(content).startswith(b'{\n  "schema": "proctor/results/1",')


def test_another_schema_is_refused_by_name(content: ResultsFile) -> None:
    with pytest.raises(UsageError, match=r"x has the schema 'proctor/results/9'.*reads 'proctor/results/1'"):
        decode_results(changed(content, schema="proctor/results/9"), "x")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b"{}", "missing required field `schema`"),
        (b'{"schema": "proctor/results/1"}', "missing required field `outcome_hash`"),
        (b'{"schema": "proctor/results/1", "outcome_hash": NaN}', "malformed"),
    ],
)
def test_other_files_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=f"results.json cannot be read: .*{reason}"):
        decode_results(data)


def test_an_unknown_field_is_refused(content: ResultsFile) -> None:
    with pytest.raises(UsageError, match="unknown field `verdict`"):
        decode_results(changed(content, verdict="good"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_not_finite_are_never_written(content: ResultsFile, value: float) -> None:
    metric = MetricSummary(episodes=1, median=value, min=0.0, max=1.0)
    broken = msgspec.structs.replace(
        content, summary=msgspec.structs.replace(content.summary, metrics={"progress": metric})
    )
    with pytest.raises(InfrastructureFault, match=r"results\.summary\.metrics\.progress\.median is"):
        encode_results(broken)


def test_numbers_that_are_not_finite_are_never_read(content: ResultsFile) -> None:
    data = encode_results(content).replace(b'"control_hz": 50.0', b'"control_hz": 1e999')
    with pytest.raises(UsageError, match="cannot be read"):
        decode_results(data)


def test_a_missing_file_is_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"results\.json cannot be read: No such file"):
        read_results_file(tmp_path)


def test_episodes_are_read_line_by_line(tmp_path: Path, records: tuple[EpisodeRecord, ...]) -> None:
    lines = [msgspec.json.encode(record) for record in records]
    (tmp_path / "episodes.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    assert read_episodes(tmp_path) == records


def test_a_bad_line_is_named(tmp_path: Path, records: tuple[EpisodeRecord, ...]) -> None:
    good = msgspec.json.encode(records[0])
    (tmp_path / "episodes.jsonl").write_bytes(good + b"\n" + good[:40] + b"\n")
    with pytest.raises(UsageError, match=r"episodes\.jsonl, line 2, is no episode record"):
        read_episodes(tmp_path)
