"""Who gets which task: a simulator is made as seldom as keeping everybody busy allows."""

import heapq
from collections.abc import Callable
from types import SimpleNamespace

import msgspec
import pytest

from proctor.coordinator.plan import RunPlan
from proctor.coordinator.store import New, Start
from proctor.testing.store_driver import Driver, toy_plan

Opener = Callable[[Start], Driver]

BUILD_S, ITEM_S = 30.0, 10.0


def plan_of(*items: int) -> RunPlan:
    """So many items of one episode for each of the toy's tasks."""
    wanted = dict(zip(("reach", "park", "cliff", "tour"), items, strict=False))
    plan = toy_plan(tuple(wanted), episodes=max(items), window=1)
    kept = tuple(episode for episode in plan.episodes if episode.index < wanted[episode.task])
    return msgspec.structs.replace(plan, episodes=kept)


def work_through(driver: Driver, workers: int, *, tell_task: bool = True) -> SimpleNamespace:
    """Let workers claim until nothing is left; making a simulator takes `BUILD_S`, an item `ITEM_S`."""
    at = [(0.0, f"w{number}") for number in range(workers)]
    tasks: dict[str, str | None] = {worker: None for _, worker in at}
    leases: dict[str, object] = {}
    found = SimpleNamespace(builds=0, end=0.0, idle=0.0, outcomes=set())
    while at:
        now, worker = heapq.heappop(at)
        if (lease := leases.pop(worker, None)) is not None:
            driver.finish(lease, worker)
            found.end = max(found.end, now)
        lease = driver.try_claim(worker, tasks[worker] if tell_task else None)
        if lease is None:
            continue
        found.outcomes |= {episode.id for episode in lease.episodes}
        build = tasks[worker] != lease.episodes[0].task
        tasks[worker], leases[worker] = lease.episodes[0].task, lease
        found.builds += build
        heapq.heappush(at, (now + ITEM_S + BUILD_S * build, worker))
    return found


@pytest.mark.parametrize(
    ("workers", "items", "builds", "end"),
    [
        (1, (3, 3, 3, 3), 4, 4 * BUILD_S + 12 * ITEM_S),
        (2, (5, 5, 5, 5), 4, 160),
        (2, (12, 4, 4, 4), 5, 200),
        (4, (5, 5, 5, 5), 4, BUILD_S + 5 * ITEM_S),
    ],
)
def test_a_task_is_made_once_where_nobody_would_wait(
    opener: Opener, workers: int, items: tuple[int, ...], builds: int, end: float
) -> None:
    found = work_through(opener(New(plan_of(*items))), workers)
    assert (found.builds, found.end) == (builds, end)
    assert len(found.outcomes) == sum(items)


@pytest.mark.parametrize(("items", "builds", "end"), [((5, 5, 5, 5), 20, 400), ((12, 4, 4, 4), 16, 360)])
def test_without_a_task_to_stay_with_it_would_be_made_for_most_items(
    opener: Opener, items: tuple[int, ...], builds: int, end: float
) -> None:
    found = work_through(opener(New(plan_of(*items))), 2, tell_task=False)
    assert (found.builds, found.end) == (builds, end)


def test_the_last_task_is_shared_rather_than_waited_for(opener: Opener) -> None:
    found = work_through(opener(New(plan_of(40))), 2)
    assert found.builds == 2
    assert found.end == BUILD_S + 20 * ITEM_S


def test_no_task_waits_behind_one_that_comes_back_for_ever(opener: Opener) -> None:
    driver = opener(New(plan_of(2, 1)))
    seen = []
    while (lease := driver.try_claim("w0", seen[-1] if seen else None)) is not None:
        seen.append(lease.episodes[0].task)
        driver.fail(lease, "w0")
    assert set(seen) == {"reach", "park"}
    assert seen == sorted(seen, key=seen.index)  # each in one go: its simulator is made once
