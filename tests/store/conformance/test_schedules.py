"""Schedules in both stores: one transaction moves a schedule on, starts its task, and heeds the one before."""

from __future__ import annotations

import pytest

from stepward.model.records import Task
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.store.contract import Firing, Store
from tests.store.conformance.world import World


def hourly(world: World, overlap: str = Overlap.SKIP, name: str = "report") -> Schedule:
    now = world.clock.wall()
    return Schedule(
        name=name,
        workflow="order",
        version="1",
        input=b"[]",
        cron="0 * * * *",
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=now,
        overlap=overlap,
        jitter=1.5,
        starts_at=now - 10,
        ends_at=now + 86_400,
        created_by="ada",
    )


async def begun(world: World, store: Store, overlap: str) -> int:
    """A schedule whose first task is at work; the Supervisor's term."""
    assert await store.operators.create_schedule(hourly(world, overlap), "ada")
    term = await store.supervisor.lead("supervisor-1", 60)
    assert term is not None
    assert await fired(world, store, term, "t1") == 1
    return term


async def fired(world: World, store: Store, term: int, id: str) -> int | None:
    """How many tasks are started for a nominal time that has come; -1 where none is due."""
    due = await store.supervisor.due_schedules(10)
    if not due:
        return -1
    (started,) = await store.supervisor.fire(term, [Firing(due[0], [world.task(id)], due[0].next_at)])
    return started


async def state(store: Store, id: str) -> str | None:
    task: Task | None = await store.client.task(id)
    return None if task is None else task.state


async def test_a_schedule_is_read_as_it_was_created(world: World, store: Store) -> None:
    created = hourly(world)
    assert await store.operators.create_schedule(created, "ada")
    assert not await store.operators.create_schedule(hourly(world, Overlap.ALLOW), "ada")
    assert await store.operators.schedule("report") == created
    assert await store.operators.schedule("other") is None
    assert [audit.act for audit in await store.operators.audits(None, 10)] == ["create"]


async def test_an_application_that_declares_the_name_takes_the_schedule_over(world: World, store: Store) -> None:
    assert await store.operators.create_schedule(hourly(world), "ada")
    declared = Schedule(
        name="report",
        workflow="order",
        version="2",
        input=b"[]",
        cron="0 * * * *",
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=1.0,
    )
    await store.host.register_schedules([declared])
    found = await store.operators.schedule("report")
    assert found is not None
    assert (found.created_by, found.version, found.overlap, found.jitter) == (None, "2", "allow", 0.0)


@pytest.mark.parametrize(
    ("overlap", "started", "before"),
    [("allow", 1, "pending"), ("skip", 0, "pending"), ("cancel", 1, "cancelled"), ("buffer", -1, "pending")],
)
async def test_the_task_before_decides(world: World, store: Store, overlap: str, started: int, before: str) -> None:
    term = await begun(world, store, overlap)
    assert await fired(world, store, term, "t2") == started
    assert await state(store, "t1") == before
    assert await state(store, "t2") == ("pending" if started == 1 else None)
    assert await store.operators.schedule("report") is not None


async def test_tasks_started_by_hand_are_started_once_and_count_as_the_last(world: World, store: Store) -> None:
    assert await store.operators.create_schedule(hourly(world), "ada")
    schedule = await store.operators.schedule("report")
    assert schedule is not None
    tasks = [world.task("b1"), world.task("b2")]
    assert await store.operators.start_scheduled(schedule, tasks, "backfill", "ada") == ["b1", "b2"]
    again = [world.task("b2"), world.task("b3")]
    assert await store.operators.start_scheduled(schedule, again, "backfill", "ada") == ["b3"]
    assert await store.operators.start_scheduled(schedule, [world.task("t1")], "trigger", "ada") == ["t1"]
    term = await store.supervisor.lead("supervisor-1", 60)
    assert term is not None
    assert await fired(world, store, term, "t2") == 0
    details = [(audit.act, audit.details) for audit in await store.operators.audits(None, 10)]
    assert details[:2] == [
        ("trigger", b'{"schedule":"report","tasks":1}'),
        ("backfill", b'{"schedule":"report","tasks":1}'),
    ]


async def test_one_commit_fires_what_still_holds_of_a_batch(world: World, store: Store) -> None:
    for name, overlap in (("a", "allow"), ("b", "skip"), ("c", "cancel"), ("d", "allow"), ("e", "skip")):
        assert await store.operators.create_schedule(hourly(world, overlap, name), "ada")
    term = await store.supervisor.lead("supervisor-1", 60)
    assert term is not None
    assert await fire_all(world, store, term, "1") == dict.fromkeys("abcde", 1)
    read = await store.supervisor.due_schedules(10)
    assert await store.operators.pause_schedule("d", "ada")
    assert await store.operators.remove_schedule("e", "ada")
    firings = [Firing(each, [world.task(f"{each.name}2")], (each.next_at or 0) + 3600) for each in reversed(read)]
    started = await store.supervisor.fire(term, firings)
    assert {each.schedule.name: n for each, n in zip(firings, started, strict=True)} == {
        "a": 1,
        "b": 0,
        "c": 1,
        "d": None,
        "e": None,
    }
    assert [await state(store, f"{name}1") for name in "abc"] == ["pending", "pending", "cancelled"]
    assert [await state(store, f"{name}2") for name in "abcde"] == ["pending", None, "pending", None, None]
    assert await store.supervisor.fire(term, firings) == [None] * 5
    assert await store.supervisor.fire(term - 1, firings) == [None] * 5
    last = [await store.operators.schedule(name) for name in "abc"]
    assert [each and each.last_task for each in last] == ["a2", "b1", "c2"]


async def fire_all(world: World, store: Store, term: int, suffix: str) -> dict[str, int | None]:
    """Fires all that is due in one batch; how many tasks of each schedule."""
    due = await store.supervisor.due_schedules(10)
    firings = [Firing(each, [world.task(f"{each.name}{suffix}")], each.next_at) for each in due]
    started = await store.supervisor.fire(term, firings)
    return {each.name: number for each, number in zip(due, started, strict=True)}
