"""Writes schema-NNNN.db: a run in every state, by the code of that schema. Run once, when a schema is new.

python tests/coordinator/data/make.py
"""

from pathlib import Path

from proctor.coordinator.schema import SCHEMA
from proctor.coordinator.store import New, open_store
from proctor.evaluation.record import Outcome
from proctor.testing.store_driver import Clock, Driver, hello_of, toy_plan, toy_record, wait

path = Path(__file__).parent / f"schema-{SCHEMA}.db"
clock = Clock()
driver = Driver(open_store(f"sqlite:///{path}", New(toy_plan()), clock=clock), clock)
wait(driver.store.hello(hello_of("w0")))
first = driver.claim(task="reach")
driver.report(first, toy_record(first.episodes[0], Outcome.SUCCESS))
driver.report(first, toy_record(first.episodes[1], Outcome.FAILURE))
driver.complete(first)
second = driver.claim(task="reach")
driver.report(second, toy_record(second.episodes[0], Outcome.POLICY_ERROR))
driver.report(second, toy_record(second.episodes[1], Outcome.INFRASTRUCTURE_ERROR))
driver.complete(second)
driver.claim("w1", task="park")
driver.store.close()
