"""CALVIN itself, where its checkout and its environment are: compared with upstream's own loop."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proctor.evaluation.record import Outcome
from proctor.launch import environments, evaluate
from proctor.launch.environment_check import check

pytestmark = pytest.mark.sim

HERE = Path(__file__).parent
ORACLE = HERE.parents[2] / "examples" / "policies" / "calvin_oracle.py"
VARIABLE = "PROCTOR_CALVIN_ROOT"
Probe = Callable[[str], Any]


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Probe:
    """What `simulator_probe.py` prints for some arguments. Skips, with the reason, where CALVIN is not."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def find(arguments: str) -> Any:
        found = shared / f"calvin-{arguments}.json"
        with found.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _skip_where_it_is_not()
            if not found.exists():
                found.write_text(_run_probe(arguments))
        return json.loads(found.read_text())

    return find


def _skip_where_it_is_not() -> None:
    definition = environments.find("calvin")
    missing = "" if environments.is_built(definition) else "run: proctor env build calvin"
    if not os.environ.get(VARIABLE):
        missing = f"{VARIABLE} names no checkout of calvin_env"
    if missing:
        pytest.skip(f"CALVIN is not here: {missing}")


def _run_probe(arguments: str) -> str:
    faults = [finding for finding in check("calvin") if not finding.ok]
    if faults:
        pytest.skip(f"CALVIN is not complete: {faults[0].what}: {faults[0].detail}")
    environ = {**os.environ, "PYTHONPATH": str(HERE.parents[2] / "src")}
    command = [environments.interpreter("calvin"), HERE / "simulator_probe.py", *arguments.split()]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_images_and_states_are_those_of_upstreams_loop_though_little_is_rendered(probe: Probe) -> None:
    assert probe("own 0") == probe("upstream 0")


def test_an_episode_is_the_same_after_others_as_in_a_new_process(probe: Probe) -> None:
    assert probe("own 7 2 0") == probe("own 0")


def test_another_episode_is_another(probe: Probe) -> None:
    assert probe("own 7 2 0")[0] != probe("own 0 7")[0]


def test_upstreams_oracle_judges_between_two_infos(probe: Probe) -> None:
    assert probe("oracle") == {
        "open_drawer": True,
        "close_drawer": True,
        "turn_on_led": True,
        "turn_off_led": False,
        "nothing": False,
    }


@pytest.mark.process
def test_an_evaluation_of_the_oracle_does_all_five_subtasks_of_a_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _skip_where_it_is_not()
    monkeypatch.chdir(tmp_path)
    results = evaluate(
        f"{ORACLE}:CalvinOracle", benchmark="calvin-abc-d-v1", episodes=1, workers=1, name="run"
    )
    assert [record.outcome for record in results.records] == [Outcome.SUCCESS]
