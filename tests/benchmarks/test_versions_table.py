"""The table of benchmarks in the documentation is what its script writes, from facts that are true now."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import tomllib

from proctor.benchmarks.orders import encode_order
from proctor.benchmarks.registry import FAMILIES, find_version
from proctor.errors import UsageError
from proctor.launch.starts import place_of
from proctor.launch.surroundings import BOOTSTRAP

ROOT = Path(__file__).parents[2]
MT50 = find_version("metaworld-mt50-v1")


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "benchmarks_table", ROOT / "docs" / "benchmarks" / "table.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where msgspec looks for the types that annotations name
    spec.loader.exec_module(module)
    return module


TABLE: Any = _script()
FACTS = TABLE.read_facts()
WRITTEN = TABLE.PAGE.read_text()
RATE = TABLE.Rate(hash=MT50.hash, policy="examples/policies/x.py:X", successes=45, episodes=50, tasks=10)
SPEED = TABLE.Stepping(
    hash=MT50.hash, task="reach-v3", frames="1 of 480 × 480", every_step=5.04, chunk_of_10=50.0, never=1234.0,
    load=0.5, renderer="llvmpipe",
)  # fmt: skip


def row_of(version: str, facts: Any) -> list[str]:
    (line,) = [line for line in TABLE.table(facts).splitlines() if f"| `{version}` |" in line]
    return [cell.strip() for cell in line.strip("|").split("|")]


IN_CI = [
    version.definition.id
    for version in TABLE.shipped()
    if TABLE.where_it_runs(version.definition.environment) == "CI"
]


def test_the_page_holds_the_table_that_the_script_writes() -> None:
    assert TABLE.page(WRITTEN, FACTS) == WRITTEN, "write it anew: python docs/benchmarks/table.py"


def test_every_fact_was_measured_on_the_version_as_it_is() -> None:
    assert TABLE.stale(FACTS) == []


def test_every_family_has_a_line_and_no_toy_has() -> None:
    shown = {line.split("|")[1].strip() for line in TABLE.table(FACTS).splitlines()[2:]}
    assert shown == set(FAMILIES.built_in) - {"toy"}


@pytest.mark.parametrize("environment", sorted(TABLE.ci_environments()))
def test_what_runs_in_ci_was_measured(environment: str) -> None:
    ids = [v.definition.id for v in TABLE.shipped() if v.definition.environment == environment]
    assert set(ids) & set(FACTS.rate), f"no oracle's rate of any of {ids}"
    assert set(ids) & set(FACTS.stepping), f"no speed of any of {ids}"


@pytest.mark.sim
@pytest.mark.parametrize("benchmark", IN_CI)
def test_what_is_said_to_run_in_ci_starts_as_recorded_and_shows_what_it_declares(benchmark: str) -> None:
    version = find_version(benchmark)
    last = version.definition.tasks[-1].id
    episode = next(each for each in version.episodes if each.task == last)
    place = place_of(version, None)
    done = subprocess.run(
        [place.interpreter, BOOTSTRAP, "proctor.testing.first_step"],
        input=encode_order(dataclasses.replace(version, episodes=(episode,))),
        env=place.variables,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["episode"] == episode.id
    assert found["deviation"] <= version.definition.initial_state_tolerance


@pytest.mark.parametrize("policy", sorted({rate.policy for rate in FACTS.rate.values()}))
def test_an_oracle_is_among_the_examples(policy: str) -> None:
    assert (ROOT / policy.partition(":")[0]).is_file()


def test_the_speeds_in_the_facts_are_ordered() -> None:
    for version, speed in FACTS.stepping.items():
        assert speed.every_step < speed.chunk_of_10 < speed.never, version


# --- the script ------------------------------------------------------------------------------------


def test_a_line_says_what_is_in_the_version_and_what_was_measured() -> None:
    facts = TABLE.Facts(rate={"metaworld-mt50-v1": RATE}, stepping={"metaworld-mt50-v1": SPEED})
    assert row_of("metaworld-mt50-v1", facts) == [
        "metaworld",
        "`metaworld-mt50-v1`",
        "CI",
        "`12ae9adf3e55`",
        "50 × 50",
        "90.0 % (78.6–95.7), 45 of 50 in 10 tasks, `x`",
        "1 of 480 × 480",
        "5.0",
        "50.0",
        "1,234",
        "0.5",
    ]


def test_what_was_not_measured_is_a_dash() -> None:
    assert row_of("metaworld-mt50-v1", TABLE.Facts())[5:] == ["–"] * 6


def test_a_draft_is_called_one() -> None:
    drafts = [v for v in TABLE.shipped() if v.status == "draft"]
    assert all(row_of(v.definition.id, TABLE.Facts())[3] == f"`{v.hash[:12]}` draft" for v in drafts)


def test_what_needs_a_checkout_says_which_command_tells_more() -> None:
    assert row_of("calvin-d-d-v1", TABLE.Facts())[2] == "with assets: `proctor env check calvin`"


def test_another_hash_rate_or_version_makes_the_page_wrong() -> None:
    facts = TABLE.Facts(rate={"metaworld-mt50-v1": RATE})
    page = TABLE.page(WRITTEN, facts)
    worse = TABLE.Facts(rate={"metaworld-mt50-v1": msgspec.structs.replace(RATE, successes=44)})
    assert TABLE.page(page, facts) == page
    assert TABLE.page(page, worse) != page


@pytest.mark.parametrize("kind", ["rate", "stepping"])
def test_a_fact_about_another_hash_is_stale_and_the_message_says_what_to_do(kind: str) -> None:
    fact = msgspec.structs.replace({"rate": RATE, "stepping": SPEED}[kind], hash="0" * 64)
    (line,) = TABLE.stale(TABLE.Facts(**{kind: {"metaworld-mt50-v1": fact}}))
    assert re.fullmatch(
        rf"{kind} of metaworld-mt50-v1 was measured on 000000000000: .*table\.py {kind}", line
    )


def test_a_fact_about_a_version_that_is_gone_is_stale() -> None:
    assert len(TABLE.stale(TABLE.Facts(rate={"metaworld-mt51-v1": RATE}))) == 1


def test_facts_are_read_as_they_were_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(TABLE, "FACTS", tmp_path / "measured.toml")
    facts = TABLE.Facts(rate={"b-v1": RATE, "a-v1": RATE}, stepping={"a-v1": SPEED})
    TABLE.write_facts(facts)
    assert TABLE.read_facts() == facts
    written = tomllib.loads((tmp_path / "measured.toml").read_text())
    assert list(written["rate"]) == ["a-v1", "b-v1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rates.a]\n", "unknown key in .*'rates'; did you mean 'rate'"),
        ("[rate.a]\nhash = 'x'\n", "missing required field"),
    ],
)
def test_a_wrong_fact_is_refused_with_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, message: str
) -> None:
    monkeypatch.setattr(TABLE, "FACTS", tmp_path / "measured.toml")
    TABLE.FACTS.write_text(text)
    with pytest.raises(UsageError, match=message):
        TABLE.read_facts()
