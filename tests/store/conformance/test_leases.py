from __future__ import annotations

import pytest
from msgspec.structs import replace

from stepward.model.records import Digest, Instance, Role, WorkflowRecord
from stepward.model.states import TaskState
from stepward.model.tasks.stopped_tasks import WAITS_FOR
from stepward.store.contract import Change, Store
from tests.store.conformance.world import SERVED, START, World, claimed, ids, move, read, scheduler, until


def _needs_host_clock(world: World) -> None:
    if not world.place.host_clock:
        pytest.skip("here the server's clock is the store's")


async def test_a_registered_instance_lives_for_its_lease(store: Store) -> None:
    agent = Instance(id="a1", role=Role.AGENT, host="there", pid=9, serves=["pay", "pack"], capacity=64)
    await store.host.register(agent, 30)
    found = {instance.id: instance for instance in await store.operators.instances()}
    expected = replace(agent, started_at=store.now(), expires_at=store.now() + 30)
    assert (found["a1"], sorted(found)) == (expected, ["a1", "s1"])


async def test_a_scheduler_that_starts_tries_tasks_again_that_wait_for_code_that_fits(
    world: World, store: Store
) -> None:
    stopped, other, sleeper = [await claimed(world, store) for _ in range(3)]
    changes = [
        Change(task=task.uid, move=move(task, TaskState.WAITING, inbox=0, release=True, wake_at=at, waits_for=what))
        for task, at, what in (
            (stopped, START + 500, WAITS_FOR),
            (other, START + 500, WAITS_FOR),
            (sleeper, START + 500, "timer"),
        )
    ]
    await store.scheduler.commit("s1", changes, None)
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == []
    await scheduler(store, "s2", serves="another@1")
    assert ids(await store.scheduler.claim("s2", SERVED, 9)) == []
    await scheduler(store, "s3")
    assert sorted(ids(await store.scheduler.claim("s3", SERVED, 9))) == sorted([stopped.id, other.id])
    assert (await read(store, sleeper)).state is TaskState.WAITING


async def test_a_renewal_extends_the_lease_of_the_living(world: World, store: Store) -> None:
    world.clock.advance(8)
    assert await store.host.renew(["s1"], 10)
    (instance,) = await store.operators.instances()
    assert instance.expires_at == store.now() + 10
    await store.host.retire("s1")
    assert not await store.host.renew(["s1"], 10)
    assert not await store.host.renew(["stranger"], 10)
    (dead,) = await store.operators.instances()
    assert (dead.alive, dead.expires_at) == (False, instance.expires_at)


async def test_a_retired_instance_gives_back_its_tasks_with_nothing_counted(world: World, store: Store) -> None:
    task, undone = await claimed(world, store, recovery_count=1), await claimed(world, store)
    turn = move(undone, TaskState.UNDOING, undo_to=TaskState.UNDONE)
    await store.scheduler.commit("s1", [Change(task=undone.uid, move=turn)], None)
    await store.host.retire("s1")
    freed = await read(store, task)
    assert (freed.state, freed.locked_by) == (TaskState.PENDING, None)
    assert (freed.recovery_count, freed.failure_count) == (1, 0)
    assert (await read(store, undone)).state is TaskState.UNDOING
    assert ids(await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 9)) == [task.id, undone.id]


async def test_an_end_in_good_order_is_recorded_as_such(world: World, store: Store) -> None:
    for id in ("drained", "broken", "killed", "alive"):
        await scheduler(store, id, lease=60 if id == "alive" else 5)
    await store.host.retire("drained")
    await store.host.retire("broken", in_order=False)
    world.clock.advance(6)
    term = await store.supervisor.lead("supervisor", 60)
    assert term is not None
    await store.supervisor.fence(term)
    found = {each.id: (each.alive, each.ended) for each in await store.operators.instances() if each.id != "s1"}
    assert found == {
        "drained": (False, True),
        "broken": (False, False),
        "killed": (False, False),
        "alive": (True, False),
    }


async def test_a_renewal_says_how_far_the_hosts_clock_is_ahead(store: Store) -> None:
    await store.host.register(Instance(id="s2", role=Role.SCHEDULER, host="h", pid=1, serves=[], ahead=1.5), 10)

    async def ahead() -> dict[str, float | None]:
        return {each.id: each.ahead for each in await store.operators.instances()}

    assert await ahead() == {"s1": None, "s2": 1.5}
    await store.host.renew(["s1", "s2"], 10, {}, -61.25)
    assert await ahead() == {"s1": -61.25, "s2": -61.25}
    await store.host.renew(["s1"], 10)
    assert (await ahead())["s1"] == -61.25


async def test_a_task_that_waits_waits_on_when_its_owner_retires(world: World, store: Store) -> None:
    until = store.now() + 60
    sleeper, called = await claimed(world, store), await claimed(world, store)
    for task in (sleeper, called):
        waiting = move(task, TaskState.WAITING, wake_at=until, waits_for="timer")
        await store.scheduler.commit("s1", [Change(task=task.uid, move=waiting)], None)
    await store.client.signal(called.id, "go", b"1", None)
    await store.host.retire("s1")
    kept = await read(store, sleeper)
    assert (kept.state, kept.locked_by, kept.waits_for) == (TaskState.WAITING, None, "timer")
    assert ids(await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 9)) == [called.id]
    world.clock.advance(61)
    assert ids(await store.scheduler.claim("s2", SERVED, 9)) == [sleeper.id]


async def test_the_dead_are_listed_for_an_hour(world: World, store: Store) -> None:
    await store.host.retire("s1")
    world.clock.advance(3599)
    assert [instance.id for instance in await store.operators.instances()] == ["s1"]
    world.clock.advance(2)
    assert await store.operators.instances() == []


async def test_the_latest_registration_of_a_workflow_stands(world: World, store: Store) -> None:
    first = WorkflowRecord(name="order", version="1", schema=b"{}", policy=b"{}", complete_seconds=5.0)
    await store.host.register_workflows([first, replace(first, name="refund")])
    world.clock.advance(1)
    second = replace(first, version="2")
    await store.host.register_workflows([second])
    assert await store.client.workflow("order") == [second, first]
    changed = replace(first, schema=b'{"type":"array"}', complete_seconds=None)
    world.clock.advance(1)
    await store.host.register_workflows([changed])
    assert await store.client.workflow("order") == [changed, second]
    assert [record.name for record in await store.client.workflows()] == ["order", "order", "refund"]
    assert await store.client.workflow("none") == []


async def test_changed_tells_of_others_once(world: World, store: Store) -> None:
    if not world.place.hears:
        pytest.skip("here nobody can be told, and everybody looks")
    other = await world.open()
    store.host.changed()
    assert not store.host.changed()
    await store.client.submit([world.task()])
    assert not store.host.changed()
    await other.client.submit([world.task()])
    await until(store.host.changed)
    assert not store.host.changed()


async def test_stores_of_one_start_share_their_clock_whatever_the_wall_clock_does(world: World, store: Store) -> None:
    _needs_host_clock(world)
    at = store.now()
    world.clock.walls += 3600
    other = await world.open()
    assert (store.now(), other.now()) == (at, at)
    world.clock.walls -= 7200
    world.clock.advance(5)
    assert (store.now(), other.now(), (await world.open()).now()) == (at + 5, at + 5, at + 5)


async def test_after_a_restart_of_the_host_time_goes_on_never_back(world: World, store: Store) -> None:
    _needs_host_clock(world)
    world.clock.advance(60)
    await store.host.renew(["s1"], 10)
    at = store.now()
    world.clock.id, world.clock.boots, world.clock.walls = "second-start", 3.0, START - 86_400
    assert (await world.open()).now() == at
    world.clock.id, world.clock.walls = "third-start", START + 86_400
    assert (await world.open()).now() == START + 86_400


async def test_the_digests_of_live_schedulers_read_back_as_they_were_registered(world: World, store: Store) -> None:
    digests = {"order@1": Digest(code="c", policy="p"), "refund@2": Digest(code="", policy="q")}
    told = Instance(id="told", role=Role.SCHEDULER, host="h", pid=1, serves=["order@1", "refund@2"], digests=digests)
    await store.host.register(told, 10)
    await store.host.register(Instance(id="agent", role=Role.AGENT, host="h", pid=1, serves=["pay"]), 10)
    await scheduler(store, "silent")
    await scheduler(store, "gone")
    await store.host.retire("gone")
    assert {each.id: each.digests for each in await store.supervisor.schedulers()} == {
        "s1": {},
        "told": digests,
        "silent": {},
    }
    assert next(each for each in await store.operators.instances() if each.id == "told").digests == digests


async def test_the_process_of_a_live_instance_is_asked_to_drain_once(world: World, store: Store) -> None:
    for id in ("a1", "a2"):
        await store.host.register(Instance(id=id, role=Role.AGENT, host="h", pid=1, serves=[]), 10.0)
    assert not await store.host.is_drained(["a1", "a2"])
    assert await store.operators.drain_instance("a1", "ada")
    assert not await store.operators.drain_instance("a1", "bob")
    assert not await store.operators.drain_instance("a3", "ada")
    assert await store.host.is_drained(["a2", "a1"])
    assert not await store.host.is_drained(["a2"])
    found = {each.id: each.drain_at for each in await store.operators.instances()}
    assert (found["a1"], found["a2"]) == (store.now(), None)
    await store.host.retire("a2")
    assert not await store.operators.drain_instance("a2", "ada")
    assert [(act.act, act.actor) for act in await store.operators.audits(None, 9)] == [("drain", "ada")]
