from __future__ import annotations

from typing import Any

import pytest

from stepward.model.records import Alert, Audit, InboxKind, Instance, Role, Task, WorkflowRecord
from stepward.model.states import StepState, TaskState
from stepward.store.contract import (
    Change,
    Decision,
    Due,
    Post,
    Purged,
    Store,
    TaskExpiry,
)
from tests.store.conformance.world import (
    FAILED,
    SERVED,
    World,
    add_steps,
    audit,
    claimed,
    end,
    ids,
    move,
    read,
    read_step,
    scheduler,
    step,
    watch,
)

NOTHING = Due(dead_instances=0, free_tasks=0, steps=0, tasks=0, unserved=0, alerts=0, schedules=0)


@pytest.fixture
async def term(store: Store) -> int:
    term = await store.supervisor.lead("supervisor", 1000)
    assert term is not None
    return term


async def watched(world: World, store: Store, seconds: float = 5, instance: str = "s1", **fields: Any) -> Task:
    """A task with a watched running step that has so many seconds left."""
    task = await claimed(world, store, instance)
    charge = step(task, complete_by=store.now() + seconds, **fields)
    await add_steps(store, task, charge, instance=instance)
    look = Change(task=task.uid, watches=[watch(charge, store.now() + seconds)])
    assert (await store.scheduler.commit(instance, [look], None)).missed == {}
    return task


def decision(task: Task, state: StepState = StepState.TO_REPEAT, **fields: Any) -> Decision:
    values: dict[str, Any] = {"key": "charge/1", "attempt": 1, "repeat_at": None, "error": None, "posts": ()}
    return Decision(task=task.uid, run=1, state=state, audit=audit(task), **values | fields)


async def agent(store: Store, *serves: str) -> None:
    await store.host.register(Instance(id="a1", role=Role.AGENT, host="h", pid=2, serves=list(serves)), 60)


async def open_alerts(store: Store) -> list[str]:
    return [alert.message for alert in await store.operators.alerts(9, open_only=True)]


async def test_one_leads_until_its_lease_is_over(world: World, store: Store) -> None:
    other = await world.open()
    assert await store.supervisor.lead("one", 10) == 1
    assert await other.supervisor.lead("two", 10) is None
    world.clock.advance(7)
    assert await store.supervisor.lead("one", 10) == 1
    world.clock.advance(7)
    assert await other.supervisor.lead("two", 10) is None
    world.clock.advance(4)
    assert await other.supervisor.lead("two", 10) == 2
    assert await store.supervisor.lead("one", 10) is None


async def test_a_dead_leader_is_followed_at_once(store: Store) -> None:
    await scheduler(store, "one")
    assert await store.supervisor.lead("one", 10) == 1
    await store.host.retire("one")
    assert await store.supervisor.lead("two", 10) == 2


async def test_a_term_that_is_over_changes_nothing(world: World, store: Store) -> None:
    task = await watched(world, store)
    dead = await claimed(world, store, await scheduler(store, "s2", lease=8), deadline=store.now() + 1)
    assert await store.supervisor.lead("one", 5) == 1
    world.clock.advance(9)
    await store.host.renew(["s1"], 10)
    assert await store.supervisor.lead("two", 100) == 2
    post = Post(task=dead.uid, kind=InboxKind.FAIL)
    assert await store.supervisor.fence(1) == []
    assert await store.supervisor.decide(1, [decision(task)]) == 0
    assert not await store.supervisor.expire_tasks(1, [expiry(post, audit())])
    assert await store.supervisor.unserved(1, 0) == 0
    assert await store.supervisor.purge(1, []) == Purged(tasks=0, more=False)
    assert not await store.supervisor.raise_alert(1, Alert(kind="archive", message="full"))
    assert [instance.id for instance in await store.supervisor.fence(2)] == ["s2"]
    assert await store.supervisor.free(1, 5) == 0
    assert await store.supervisor.free(2, 5) == 1


async def test_a_quiet_store_has_nothing_due(world: World, store: Store) -> None:
    await claimed(world, store)
    await store.client.submit([world.task()])
    assert await store.supervisor.due() == NOTHING


async def test_past_leases_are_fenced_and_their_tasks_freed(world: World, store: Store, term: int) -> None:
    held = await claimed(world, store, await scheduler(store, "s2", lease=5))
    mine = await claimed(world, store)
    world.clock.advance(5)
    assert (await store.supervisor.due()).dead_instances == 1
    (dead,) = await store.supervisor.fence(term)
    assert (dead.id, dead.alive) == ("s2", False)
    assert ((await store.supervisor.due()).dead_instances, (await store.supervisor.due()).free_tasks) == (0, 1)
    assert not await store.host.renew(["s2"], 10)
    assert await store.supervisor.free(term, 5) == 1
    freed = await read(store, held)
    assert (freed.state, freed.locked_by, freed.failure_count, freed.recovery_count) == ("pending", None, 1, 1)
    assert await read(store, mine) == mine
    assert [entry.act for entry in await store.operators.audits(None, 9)] == ["fence"]
    assert ids(await store.scheduler.claim("s1", SERVED, 9)) == [held.id]


async def test_freed_undo_goes_on_as_undo(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store)
    turn = move(task, TaskState.UNDOING, undo_to=TaskState.UNDONE, wake_at=store.now() + 500)
    await store.scheduler.commit("s1", [Change(task=task.uid, move=turn)], None)
    world.clock.advance(10)
    await store.supervisor.fence(term)
    await store.supervisor.free(term, 5)
    (history,) = await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 9)
    assert history.task.state is TaskState.UNDOING


async def test_a_task_that_outlives_too_many_owners_is_failed(world: World, store: Store, term: int) -> None:
    over, under = await claimed(world, store, recovery_count=3), await claimed(world, store, recovery_count=2)
    world.clock.advance(10)
    await store.supervisor.fence(term)
    assert await store.supervisor.free(term, 3) == 2
    histories = {
        found.task.uid: found for found in await store.scheduler.claim(await scheduler(store, "s2"), SERVED, 9)
    }
    (row,) = histories[over.uid].inbox
    assert (row.kind, b"TooManyRecoveries" in row.body) == (InboxKind.FAIL, True)
    assert histories[under.uid].inbox == []


async def test_the_long_dead_that_hold_nothing_are_forgotten(world: World, store: Store, term: int) -> None:
    await claimed(world, store)
    await scheduler(store, "s2")
    world.clock.advance(10)
    assert len(await store.supervisor.fence(term)) == 2
    world.clock.advance(3601)
    await store.supervisor.fence(term)
    assert (await store.supervisor.due()).free_tasks == 1
    assert not await store.host.renew(["s1"], 10)
    await scheduler(store, "s2")  # its row is gone; s1's is kept for what it holds


async def test_expired_steps_come_with_what_the_judge_needs(world: World, store: Store) -> None:
    policy = WorkflowRecord(name="order", version="1", schema=b"{}", policy=b'{"threshold":3}')
    await store.host.register_workflows([policy])
    task = await watched(world, store, failure_count=2)
    assert await store.supervisor.expired_steps(9) == []
    world.clock.advance(5)
    assert (await store.supervisor.due()).steps == 1
    (found,) = await store.supervisor.expired_steps(9)
    assert (found.task, found.task_id, found.run, found.key) == (task.uid, task.id, 1, "charge/1")
    assert (found.attempt, found.failure_count, found.kind) == (1, 2, "operation")
    assert (found.task_state, found.policy, found.workflow) == (TaskState.PROCESSING, b'{"threshold":3}', "order")


async def test_steps_unwatched_or_of_the_dead_are_left_alone(world: World, store: Store, term: int) -> None:
    unwatched = await claimed(world, store)
    await add_steps(store, unwatched, step(unwatched, complete_by=store.now()))
    await watched(world, store, instance=await scheduler(store, "s2", lease=6))
    world.clock.advance(5)
    assert len(await store.supervisor.expired_steps(9)) == 1
    world.clock.advance(1)
    assert len(await store.supervisor.fence(term)) == 1
    assert await store.supervisor.expired_steps(9) == []


async def test_a_decision_repeats_and_tells_the_owner(world: World, store: Store, term: int) -> None:
    task = await watched(world, store)
    assert await store.supervisor.decide(term, [decision(task, repeat_at=store.now() + 2)]) == 1
    found = await read_step(store, task)
    assert (found.state, found.repeat_at, found.failure_count) == (StepState.TO_REPEAT, store.now() + 2, 1)
    assert (found.in_doubt, found.watched) == (True, False)
    (row,) = await store.scheduler.read_inbox("s1", 0)
    assert (row.kind, row.name) == (InboxKind.STEP, "1/charge/1")
    assert (await read(store, task)).failure_count == 1
    assert [entry.act for entry in await store.operators.audits(task.id, 9)] == ["repeat"]


async def test_each_attempt_is_decided_once(world: World, store: Store, term: int) -> None:
    task = await watched(world, store)
    assert await store.supervisor.decide(term, [decision(task, attempt=2), decision(task), decision(task)]) == 1
    assert await store.supervisor.decide(term, [decision(task)]) == 0
    assert len(await store.operators.audits(task.id, 9)) == 1
    assert (await read(store, task)).failure_count == 1


@pytest.mark.parametrize("attempt", [1, 3])
async def test_a_decision_on_another_attempt_changes_nothing(
    world: World, store: Store, term: int, attempt: int
) -> None:
    task = await watched(world, store, attempt=2)
    before = await read(store, task), await read_step(store, task)
    assert await store.supervisor.decide(term, [decision(task, StepState.FAILED, attempt=attempt, error=FAILED)]) == 0
    assert (await read(store, task), await read_step(store, task)) == before
    assert (await store.scheduler.read_inbox("s1", 0), await store.operators.audits(task.id, 9)) == ([], [])


async def test_a_failed_step_comes_with_what_follows(world: World, store: Store, term: int) -> None:
    task = await watched(world, store)
    follows = Post(task=task.uid, kind=InboxKind.FAIL, body=FAILED)
    assert await store.supervisor.decide(term, [decision(task, StepState.FAILED, error=FAILED, posts=(follows,))]) == 1
    found = await read_step(store, task)
    assert (found.state, found.error, found.finished_at) == (StepState.FAILED, FAILED, store.now())
    assert {row.kind for row in await store.scheduler.read_inbox("s1", 0)} == {InboxKind.STEP, InboxKind.FAIL}


def expiry(post: Post, told: Audit, deadline: float | None = None) -> TaskExpiry:
    return TaskExpiry(task=post.task, task_id=post.task, post=post, audit=told, deadline=deadline)


async def test_a_passed_deadline_is_reported_once(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store, deadline=store.now() + 5)
    post = Post(task=task.uid, kind=InboxKind.FAIL, body=FAILED)
    assert not await store.supervisor.expire_tasks(term, [expiry(post, audit(task))])
    world.clock.advance(5)
    assert (await store.supervisor.due()).tasks == 1
    (found,) = await store.supervisor.expired_tasks(9)
    assert (found.task, found.task_id, found.state) == (task.uid, task.id, TaskState.PROCESSING)
    assert await store.supervisor.expire_tasks(term, [expiry(post, audit(task))])
    assert not await store.supervisor.expire_tasks(term, [expiry(post, audit(task))])
    assert (await store.supervisor.expired_tasks(9), (await store.supervisor.due()).tasks) == ([], 0)
    assert [row.kind for row in await store.scheduler.read_inbox("s1", 0)] == [InboxKind.FAIL]
    assert len(await store.operators.audits(task.id, 9)) == 1


async def test_no_deadline_reaches_an_undo_or_an_end(world: World, store: Store) -> None:
    undoing = await claimed(world, store, deadline=store.now() + 5)
    turn = move(undoing, TaskState.UNDOING, undo_to=TaskState.UNDONE)
    await store.scheduler.commit("s1", [Change(task=undoing.uid, move=turn)], None)
    await end(store, await claimed(world, store, deadline=store.now() + 5), TaskState.PROCESSED)
    world.clock.advance(6)
    assert (await store.supervisor.expired_tasks(9), (await store.supervisor.due()).tasks) == ([], 0)


async def test_after_an_outage_leases_and_steps_get_grace_once(world: World, store: Store, term: int) -> None:
    await scheduler(store, "s2")
    task = await watched(world, store)
    assert not await store.supervisor.forgive(term, 10)
    world.clock.advance(60)
    assert await store.supervisor.forgive(term, 10)
    assert not await store.supervisor.forgive(term, 10)
    assert (await store.supervisor.fence(term), await store.supervisor.expired_steps(9)) == ([], [])
    assert (await read_step(store, task)).complete_by == store.now() + 10
    await store.host.renew(["s1"], 10)
    world.clock.advance(10)
    assert [instance.id for instance in await store.supervisor.fence(term)] == ["s1", "s2"]


async def test_an_outage_is_noticed_though_an_instance_renewed_first(world: World, store: Store, term: int) -> None:
    await scheduler(store, "s2")
    world.clock.advance(60)
    await store.host.renew(["s1"], 10)
    assert await store.supervisor.forgive(term, 10)
    assert await store.supervisor.fence(term) == []


async def test_who_came_after_the_silence_does_not_hide_it(world: World, store: Store, term: int) -> None:
    world.clock.advance(60)
    await scheduler(store, "late")
    assert await store.supervisor.forgive(term, 10)
    assert await store.supervisor.fence(term) == []
    await store.host.renew(["s1"], 10)
    assert not await store.supervisor.forgive(term, 10)


async def test_one_silent_instance_among_others_is_no_outage(world: World, store: Store, term: int) -> None:
    await scheduler(store, "s2")
    for _ in range(4):
        world.clock.advance(3)
        await store.host.renew(["s1"], 10)
    assert not await store.supervisor.forgive(term, 10)
    assert [instance.id for instance in await store.supervisor.fence(term)] == ["s2"]


async def test_silence_that_was_forgiven_and_goes_on_is_death(world: World, store: Store, term: int) -> None:
    world.clock.advance(60)
    assert await store.supervisor.forgive(term, 10)
    world.clock.advance(11)
    assert not await store.supervisor.forgive(term, 10)
    assert [instance.id for instance in await store.supervisor.fence(term)] == ["s1"]


async def test_what_is_over_is_seen_to_by_the_supervisor(world: World, store: Store, term: int) -> None:
    await store.supervisor.raise_alert(term, Alert(kind="archive", message="full"))
    await store.supervisor.raise_alert(term, Alert(kind="other", message="else"))
    assert not await store.supervisor.resolve_alert(term + 1, "archive")
    assert await store.supervisor.resolve_alert(term, "archive")
    assert not await store.supervisor.resolve_alert(term, "archive")
    assert [alert.kind for alert in await store.operators.alerts(9, open_only=True)] == ["other"]
    assert [audit.act for audit in await store.operators.audits(None, 9)] == ["acknowledge"]


async def test_unserved_tasks_are_alerted_once_per_workflow(world: World, store: Store, term: int) -> None:
    others = [world.task(workflow="refund"), world.task(workflow="refund"), world.task(version="2")]
    await store.client.submit([*others, world.task()])
    assert await store.supervisor.unserved(term, 30) == 0
    world.clock.advance(31)
    assert (await store.supervisor.due()).unserved == 2
    assert await store.supervisor.unserved(term, 30) == 2
    assert ((await store.supervisor.due()).unserved, await store.supervisor.unserved(term, 30)) == (0, 0)
    found = await store.operators.alerts(9, open_only=True)
    assert [(alert.kind, alert.details) for alert in found] == [
        ("unserved", b'{"workflow":"refund","version":"1"}'),
        ("unserved", b'{"workflow":"order","version":"2"}'),
    ]
    assert await store.operators.acknowledge(found[0].number, "ada")
    assert (await store.supervisor.due()).unserved == 1


async def test_a_workflow_served_a_moment_ago_raises_no_alert(world: World, store: Store, term: int) -> None:
    await store.client.submit([world.task(workflow="refund")])
    await scheduler(store, "old", 600, serves="refund@1")
    world.clock.advance(100)
    await store.host.retire("old")
    world.clock.advance(20)
    assert ((await store.supervisor.due()).unserved, await store.supervisor.unserved(term, 30)) == (1, 0)
    world.clock.advance(20)
    assert await store.supervisor.unserved(term, 30) == 1


async def test_an_unserved_alert_ends_when_an_instance_serves(world: World, store: Store, term: int) -> None:
    await store.client.submit([world.task(workflow="refund"), world.task(workflow="refund", version="2")])
    world.clock.advance(60)
    assert await store.supervisor.unserved(term, 30) == 2
    await scheduler(store, "s2", serves="refund@2")
    (left,) = await store.operators.alerts(9, open_only=True)
    assert left.details == b'{"workflow":"refund","version":"1"}'
    seen_to = next(alert for alert in await store.operators.alerts(9, open_only=False) if alert.number != left.number)
    assert (seen_to.acknowledged_by, seen_to.acknowledged_at) == ("s2", store.now())
    (audit,) = [audit for audit in await store.operators.audits(None, 99) if audit.act == "acknowledge"]
    assert (audit.actor, audit.details) == ("s2", b'{"alert":%d}' % seen_to.number)
    await agent(store, "refund")
    assert len(await store.operators.alerts(9, open_only=True)) == 1


async def test_an_unserved_agent_has_one_alert_until_it_is_served(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store)
    for kind, name in (("unserved", "bank"), ("unserved", "bank"), ("in_doubt", "bank"), ("unserved", "post")):
        alert = Alert(kind=kind, message=f"{kind} {name}", details=b'{"agent":"%s"}' % name.encode())
        assert (await store.scheduler.commit("s1", [Change(task=task.uid, alerts=[alert])], None)).missed == {}
    assert await open_alerts(store) == ["unserved post", "in_doubt bank", "unserved bank"]
    await agent(store, "bank")
    assert await open_alerts(store) == ["unserved post", "in_doubt bank"]


async def test_sleeping_tasks_that_are_not_woken_are_unserved_too(world: World, store: Store, term: int) -> None:
    await store.client.submit([world.task(workflow="refund", wake_at=store.now() + 5)])
    world.clock.advance(60)
    assert (await store.supervisor.due()).unserved == 1
    assert await store.supervisor.unserved(term, 30) == 1


async def test_of_deadlines_that_are_reported_together_those_that_have_not_passed_stay(
    world: World, store: Store, term: int
) -> None:
    tasks = [await claimed(world, store, deadline=store.now() + seconds) for seconds in (5, 50, 5)]
    world.clock.advance(5)
    expiries = [expiry(Post(task=task.uid, kind=InboxKind.FAIL, body=FAILED), audit(task)) for task in tasks]
    expired = await store.supervisor.expire_tasks(term, expiries)
    assert [each.task for each in expired] == [tasks[0].uid, tasks[2].uid]
    assert {row.task for row in await store.scheduler.read_inbox("s1", 0)} == {tasks[0].uid, tasks[2].uid}
    assert (await read(store, tasks[1])).deadline is not None


async def test_a_task_that_gets_a_new_deadline_has_a_failure_more(world: World, store: Store, term: int) -> None:
    task = await claimed(world, store, deadline=store.now() + 5)
    post = Post(task=task.uid, kind=InboxKind.STEP)
    world.clock.advance(5)
    (found,) = await store.supervisor.expired_tasks(9)
    assert found.failure_count == 0
    assert found.allowed == pytest.approx(5, abs=0.1)
    assert await store.supervisor.expire_tasks(term, [expiry(post, audit(task), store.now() + 5)])
    assert not await store.supervisor.expire_tasks(term, [expiry(post, audit(task), store.now() + 5)])
    row = await read(store, task)
    assert (row.failure_count, row.deadline) == (1, store.now() + 5)
    assert [row.kind for row in await store.scheduler.read_inbox("s1", 0)] == [InboxKind.STEP]
