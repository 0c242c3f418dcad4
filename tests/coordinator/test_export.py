import msgspec
import pytest
from msgspec.structs import replace

from proctor.coordinator.export import export_run
from proctor.coordinator.states import RunState
from proctor.coordinator.store import New, Resume
from proctor.errors import LeaseLostError, RequestRefusedError, StorageFault, UnknownNameError, UsageError
from proctor.evaluation.record import Outcome
from proctor.limits import MAX_ATTEMPTS
from proctor.results.run_record import AttemptFault
from proctor.testing.store_driver import hello_of, toy_plan, toy_record, wait


def test_a_new_run_is_its_plan(opener, database):
    plan = toy_plan()
    opener(New(plan))
    export = export_run(database, "r")
    assert export.planned == plan.episodes
    assert export.settings == plan.settings
    assert (export.records, export.faults, export.quarantined, export.workers) == ((), (), (), ())
    assert (export.state, export.epoch, export.refused_results) == (RunState.OPEN, 1, 0)


def test_records_come_back_as_sent_in_the_order_of_the_plan(opener, database):
    driver = opener(New(toy_plan()))
    sent = {}
    while (lease := driver.try_claim(task="park")) is not None:
        for episode in reversed(lease.episodes):
            sent[episode.id] = toy_record(episode, Outcome.FAILURE, steps=3)
            driver.report(lease, sent[episode.id])
        driver.complete(lease)
    assert export_run(database, "r").records == tuple(sent[e.id] for e in toy_plan().episodes)


def test_faults_say_whose_and_what_they_cost(opener, database):
    driver = opener(New(toy_plan(("reach",))))
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0], Outcome.BENCHMARK_ERROR))
    driver.report(lease, toy_record(lease.episodes[1]))
    driver.complete(lease)
    driver.claim("w1")
    driver.lost("w1", native_crash=True)
    driver.release(driver.claim("w2"), "w2")
    faults = export_run(database, "r").faults
    assert [(f.outcome, f.episodes) for f in faults] == [
        (Outcome.BENCHMARK_ERROR, ("reach/0/0",)),
        (Outcome.INFRASTRUCTURE_ERROR, ("reach/0/0",)),
        (Outcome.BENCHMARK_ERROR, ("reach/2/0", "reach/3/0")),
        (Outcome.CANCELLED, ("reach/0/0",)),
    ]
    assert [fault.worker for fault in faults] == ["w0", "w0", "w1", "w2"]


def test_the_errors_file_says_the_same_at_once_and_after_a_crash(opener, database):
    driver = opener(New(toy_plan(("reach",))))
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0], Outcome.BENCHMARK_ERROR))
    driver.release(lease)
    driver.fail(driver.claim())
    driver.claim("w1")
    driver.store.close()
    path = database.with_name("errors.jsonl")
    written = path.read_bytes()
    path.write_bytes(written[:-20])
    opener(Resume(toy_plan(("reach",)))).store.close()
    assert path.read_bytes().startswith(written)
    lines = path.read_bytes().splitlines()
    faults = [msgspec.json.decode(line, type=AttemptFault) for line in lines]
    assert tuple(faults) == export_run(database, "r").faults
    assert [fault.error and fault.error.type for fault in faults] == [None, "Released", "Broken", "Abandoned"]


def test_quarantined_items_name_their_missing_episodes(opener, database):
    driver = opener(New(toy_plan(("reach",), episodes=2)))
    first = driver.claim()
    driver.report(first, toy_record(first.episodes[0]))
    driver.fail(first)
    for _ in range(MAX_ATTEMPTS - 1):
        driver.fail(driver.claim())
    (quarantine,) = export_run(database, "r").quarantined
    assert (quarantine.item, quarantine.attempts, quarantine.episodes) == (0, MAX_ATTEMPTS, ("reach/1/0",))


def introduce(driver, worker, **known):
    wait(driver.store.hello(replace(hello_of(worker), **known)))


def test_a_worker_is_what_its_process_last_said(opener, database):
    driver = opener(New(toy_plan()))
    introduce(driver, "w0")
    introduce(driver, "w0", packages={"toy": "1"})
    driver.finish(driver.claim())
    introduce(driver, "w0", packages={"toy": "1"}, renderer="egl")
    introduce(driver, "w0")  # started itself anew, and stopped before it knew more
    (worker,) = export_run(database, "r").workers
    assert (worker.packages, worker.renderer) == ({"toy": "1"}, "egl")


def test_processes_without_a_result_do_not_count(opener, database):
    driver = opener(New(toy_plan()))
    introduce(driver, "w0", packages={"toy": "1"})
    introduce(driver, "w1")
    assert [worker.worker for worker in export_run(database, "r").workers] == ["w0", "w1"]
    driver.finish(driver.claim())
    introduce(driver, "w0", pid=2)
    (worker,) = export_run(database, "r").workers
    assert (worker.worker, worker.pid) == ("w0", 1)


def test_every_process_that_gave_a_result_counts(opener, database):
    driver = opener(New(toy_plan()))
    for pid, version in enumerate("12"):
        introduce(driver, "w0", pid=pid, packages={"toy": version})
        driver.finish(driver.claim())
    assert [worker.packages for worker in export_run(database, "r").workers] == [{"toy": "1"}, {"toy": "2"}]


def test_refused_results_are_counted_and_kept_aside(opener, database):
    driver = opener(New(toy_plan()))
    lease = driver.claim()
    driver.report(lease, toy_record(lease.episodes[0]))
    with pytest.raises(RequestRefusedError):
        driver.report(lease, toy_record(lease.episodes[0], Outcome.FAILURE))
    driver.release(lease)
    with pytest.raises(LeaseLostError):
        driver.report(lease, toy_record(lease.episodes[1]))
    with pytest.raises(LeaseLostError):
        driver.complete(lease)
    export = export_run(database, "r")
    assert export.refused_results == 2
    assert [record.episode_id for record in export.records] == [lease.episodes[0].id]


def test_a_resumed_run_keeps_its_first_day(opener, database):
    opener(New(toy_plan())).store.close()
    before = export_run(database, "r")
    opener(Resume(toy_plan()))
    after = export_run(database, "r")
    assert (after.created_at, after.plan_hash, after.epoch) == (before.created_at, before.plan_hash, 2)


def test_what_is_not_there_is_named(opener, database):
    opener(New(toy_plan()))
    with pytest.raises(UnknownNameError, match="unknown run 'q'"):
        export_run(database, "q")
    with pytest.raises(UsageError, match="no such run store"):
        export_run(database.with_name("none.db"), "r")


def test_a_file_that_is_no_database_is_a_storage_fault(tmp_path):
    path = tmp_path / "run.db"
    path.write_bytes(b"not a database, but long enough to have a header" * 100)
    with pytest.raises(StorageFault, match="not a database"):
        export_run(path, "r")
