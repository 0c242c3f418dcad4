from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from proctor.evaluation.record import EpisodeRecord, Outcome
from proctor.results.hashes import actions_hash, conditions_hash, outcome_hash
from proctor.results.run_record import RunRecord

MakeRecord = Callable[..., EpisodeRecord]
replace = msgspec.structs.replace


def test_outcome_hash_is_sha256_over_the_documented_text(make_record: MakeRecord) -> None:
    text = (
        '{"episodes":[["lift",0,0,1000,"success",40],["stack",1,0,1001,"failure",100]],'
        '"schema":"proctor/outcomes/1"}'
    )
    records = [make_record("stack", 1, "failure"), make_record("lift", 0)]
    assert outcome_hash(records) == hashlib.sha256(text.encode()).hexdigest()


def test_outcome_hash_vectors(records: tuple[EpisodeRecord, ...]) -> None:
    assert outcome_hash([]) == "d2ee40b21cee614dc4e7325fae6302c0b2f4b3c0fa3e7844112526093b7a16c9"
    assert outcome_hash(records) == "47c2cc2bcd0eb0f2792d95e6fec81a1f7a6c849fb82b1d70ad13cfc3d68a4d9b"


def test_outcome_hash_does_not_depend_on_order(records: tuple[EpisodeRecord, ...]) -> None:
    shuffled = random.Random(1).sample(records, len(records))
    assert outcome_hash(shuffled) == outcome_hash(records)


@pytest.mark.parametrize(
    "change",
    [
        {"worker": "w9"},
        {"policy_replica": "p9"},
        {"act_ms": None},
        {"boot_s": 99.0, "episode_s": 99.0, "teardown_s": 99.0},
        {"video": "videos/a.mp4"},
        {"finished_at": "2030-01-01T00:00:00Z"},
        {"initial_state_digest": "22" * 32},
    ],
)
def test_outcome_hash_ignores_who_when_and_how_fast(
    records: tuple[EpisodeRecord, ...], change: dict[str, Any]
) -> None:
    changed = [replace(record, **change) for record in records]
    assert outcome_hash(changed) == outcome_hash(records)


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": Outcome.FAILURE},
        {"steps": 41},
        {"seed": 1},
        {"repetition": 1},
        {"index": 9},
        {"task": "a"},
    ],
)
def test_outcome_hash_sees_identity_outcome_and_steps(
    records: tuple[EpisodeRecord, ...], change: dict[str, Any]
) -> None:
    changed = (*records[:-2], replace(records[1], **change), *records[-2:])
    assert outcome_hash(changed) != outcome_hash(records)


def test_conditions_hash_vector(run: RunRecord) -> None:
    assert conditions_hash(run) == "ec73c92f7c4858d8e651d237bbbc0c7375e9f3d75c623ff2b886879bb7c1005d"


def test_conditions_hash_ignores_what_may_not_move_an_outcome(run: RunRecord) -> None:
    same = replace(
        run,
        name="another",
        workers=8,
        replicas=(run.replicas[0], replace(run.replicas[0], endpoint="unix:/tmp/p1.sock")),
        platforms=(replace(run.platforms[0], workers=("w7",)), replace(run.platforms[0], renderer="none")),
        planned=tuple(reversed(run.planned)),
        started_at="2030-01-01T00:00:00Z",
        policy=replace(run.policy, spec="/elsewhere/policy.py:Expert"),
        settings=replace(run.settings, record="all"),
    )
    assert conditions_hash(same) == conditions_hash(run)


@pytest.mark.parametrize(
    "change",
    [
        lambda run: replace(run, benchmark=replace(run.benchmark, hash="00" * 32)),
        lambda run: replace(run, planned=run.planned[1:]),
        lambda run: replace(run, settings=replace(run.settings, execute_steps="fixed:1")),
        lambda run: replace(run, settings=replace(run.settings, run_seed=12)),
        lambda run: replace(run, settings=replace(run.settings, observe=("state.position",))),
        lambda run: replace(run, policy=replace(run.policy, args={"gain": 0.6})),
        lambda run: replace(run, policy=replace(run.policy, file_sha256="00" * 32)),
        lambda run: replace(run, policy=replace(run.policy, spec="policy.py:Other")),
        lambda run: replace(run, policy=replace(run.policy, checkpoint="weights")),
        lambda run: replace(run, replicas=(replace(run.replicas[0], batching="accepted"),)),
        lambda run: replace(run, platforms=(replace(run.platforms[0], packages={"toy": "1.1"}),)),
        lambda run: replace(run, platforms=(replace(run.platforms[0], renderer="osmesa"),)),
        lambda run: replace(run, provenance=replace(run.provenance, proctor="0.2.0")),
    ],
)
def test_conditions_hash_sees_what_may_move_an_outcome(
    run: RunRecord, change: Callable[[RunRecord], RunRecord]
) -> None:
    assert conditions_hash(change(run)) != conditions_hash(run)


def test_a_checkpoint_digest_stands_for_its_path(run: RunRecord) -> None:
    def digest(path: str) -> str:
        policy = replace(run.policy, checkpoint=path, checkpoint_sha256="ee" * 32)
        return conditions_hash(replace(run, policy=policy))

    assert digest("/data/a") == digest("/mnt/b")


def test_a_process_files_digest_stands_for_its_path(run: RunRecord) -> None:
    def digest(path: str) -> str:
        return conditions_hash(replace(run, policy=replace(run.policy, spec=path)))

    assert digest("/a/policy.json") == digest("/b/policy.json")


def test_a_value_that_is_not_finite_is_refused(run: RunRecord) -> None:
    with pytest.raises(ValueError, match="JSON"):
        conditions_hash(replace(run, settings=replace(run.settings, act_timeout_s=float("inf"))))


def test_actions_hash_is_sha256_over_the_documented_text(make_record: MakeRecord) -> None:
    text = '{"episodes":[["lift",0,0,1000,"aa"],["stack",1,0,1001,"bb"]],"schema":"proctor/actions/1"}'
    records = [
        make_record("stack", 1, "failure", actions_sha256="bb"),
        make_record("lift", 0, actions_sha256="aa"),
    ]
    assert actions_hash(records) == hashlib.sha256(text.encode()).hexdigest()


def test_actions_tell_two_policies_apart_that_both_fail_at_the_horizon(make_record: MakeRecord) -> None:
    one, other = (make_record("lift", 0, "failure", actions_sha256=digest) for digest in ("aa", "bb"))
    assert outcome_hash([one]) == outcome_hash([other])
    assert actions_hash([one]) != actions_hash([other])


def test_records_without_a_digest_of_their_actions_have_no_actions_hash(make_record: MakeRecord) -> None:
    assert actions_hash([]) is None
    assert actions_hash([make_record("lift", 0, actions_sha256="aa"), make_record("lift", 1)]) is None


def test_other_files_of_a_process_file_are_a_condition(run: RunRecord) -> None:
    files = replace(run, policy=replace(run.policy, files_sha256={"serve.py": "ab" * 32}))
    assert conditions_hash(files) != conditions_hash(run)
