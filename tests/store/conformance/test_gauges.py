"""The numbers that metrics show of a store."""

from __future__ import annotations

import msgspec
import pytest

from stepward.model.messages.cloudevents import CloudEvent, encode_event, instant
from stepward.model.records import Instance, Role
from stepward.store.contract import Store, StoreGauges
from tests.store.conformance.test_dead_letters import bury
from tests.store.conformance.world import World, add_steps, claimed, scheduler, step


async def gauges(store: Store) -> StoreGauges:
    return await store.operators.gauges()


async def test_an_empty_store_has_no_work(store: Store) -> None:
    found = await gauges(store)
    assert set(found.tasks.values()) == {0}
    assert (found.oldest_tasks, found.alerts, found.queues) == ({}, {}, {})
    assert (found.dead_letters, found.expired_steps, found.has_leader) == (0, 0, False)
    assert found.schema_version > 0


async def test_tasks_are_counted_by_state_with_the_age_of_the_oldest(world: World, store: Store) -> None:
    await store.client.submit([world.task("t1")])
    world.clock.advance(30)
    await store.client.submit([world.task("t2")])
    world.clock.advance(10)
    found = await gauges(store)
    assert found.tasks["pending"] == 2
    assert found.oldest_tasks == {"pending": pytest.approx(40, abs=1)}


async def test_a_claimed_task_is_processed(world: World, store: Store) -> None:
    await claimed(world, store)
    found = await gauges(store)
    assert (found.tasks["pending"], found.tasks["processing"]) == (0, 1)


async def test_queues_and_dead_letters_are_counted(store: Store) -> None:
    await bury(store, b"bad")
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    await store.messages.put("r", [(b"3", None)])
    found = await gauges(store)
    assert (found.queues, found.dead_letters) == ({"q": 2, "r": 1}, 1)
    assert found.alerts == {"dead_letter": 1}


async def test_a_leader_is_shown_until_its_term_is_over(world: World, store: Store) -> None:
    await store.host.register(Instance(id="v1", role=Role.SUPERVISOR, host="h", pid=1, serves=[]), 60)
    assert await store.supervisor.lead("v1", 10) is not None
    assert (await gauges(store)).has_leader
    world.clock.advance(11)
    assert not (await gauges(store)).has_leader


async def test_a_watched_step_past_its_complete_by_has_expired(world: World, store: Store) -> None:
    task = await claimed(world, store)
    await add_steps(store, task, step(task, watched=True, started_at=store.now(), complete_by=store.now() + 5))
    before = (await gauges(store)).expired_steps
    world.clock.advance(3600)
    assert (before, (await gauges(store)).expired_steps) == (0, 1)


async def test_instances_and_agents_are_part_of_the_read(store: Store) -> None:
    await store.host.register(Instance(id="a1", role=Role.AGENT, host="h", pid=1, serves=["pay"]), 60)
    await scheduler(store, "s2", serves="order@2")
    found = await gauges(store)
    assert {"a1", "s2"} <= {each.id for each in found.instances}
    assert [each.name for each in found.standings] == ["pay"]


async def test_the_age_of_a_queue_is_that_of_its_next_message(world: World, store: Store) -> None:
    def posted(at: float) -> bytes:
        event = CloudEvent(id="m", source="/s", type="t", time=instant(at), data=msgspec.Raw(b"{}"), specversion="1.0")
        return encode_event(event)

    await store.messages.put("q", [(posted(store.now() - 50), None), (posted(store.now()), None)])
    await store.messages.put("other", [(b"no JSON", None)])
    await store.messages.put("timeless", [(b'{"time":"soon"}', None)])
    world.clock.advance(10)
    assert (await gauges(store)).queue_ages == {"q": pytest.approx(60, abs=1)}


async def test_the_oldest_request_of_an_agent_is_that_of_its_oldest_attempt(world: World, store: Store) -> None:
    task = await claimed(world, store)
    now = store.now()
    for number, (agent, age) in enumerate((("pay", 40), ("pay", 90), ("ship", 7)), 1):
        at = {"started_at": now - age, "complete_by": now + 100, "watched": True}
        await add_steps(store, task, step(task, f"do/{number}", number, agent=agent, **at))
    assert (await gauges(store)).oldest_requests == {"pay": pytest.approx(90, abs=1), "ship": pytest.approx(7, abs=1)}
