from __future__ import annotations

from stepward.model.agent_stats import StepAttempts
from stepward.model.records import Alert, Audit
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Directive, Store
from tests.store.conformance.world import World, add_steps, claimed, end, finish, step


async def counts(store: Store) -> dict[str, int]:
    """How many tasks are in each state that is counted and not empty."""
    return {each.state.value: each.count for each in (await store.operators.overview(0.8)).states if each.count}


async def test_live_tasks_and_those_in_error_are_counted_by_state(world: World, store: Store) -> None:
    began = store.now()
    await store.client.submit([world.task(id) for id in ("waits", "stops", "fails")])
    await store.client.direct("stops", Directive(verb="suspend", actor="ada"))
    assert await counts(store) == {"pending": 2, "suspended": 1}
    oldest = {each.state: each.oldest_at for each in (await store.operators.overview(0.8)).states}
    found = oldest[TaskState.PENDING]
    assert found is not None and abs(found - began) < 1.0
    assert oldest[TaskState.ERROR] is None


async def test_what_came_and_ended_is_counted_by_bucket(world: World, store: Store) -> None:
    task = await claimed(world, store)
    began = store.now()
    world.clock.advance(90.0)
    await end(store, task, TaskState.PROCESSED, at=store.now(), inbox=0)
    flow = {(each.bucket, each.what): each.count for each in await store.operators.flow(began - 1.0, 60.0)}
    assert flow == {(0, "submitted"): 1, (1, "processed"): 1}
    assert await store.operators.flow(store.now() + 1.0, 60.0) == []


async def test_open_alerts_and_the_leader_are_counted(world: World, store: Store) -> None:
    await store.scheduler.commit("s1", [Change(task="x", alerts=[Alert(kind="task_error", message="one")])], None)
    found = await store.operators.overview(0.8)
    assert (found.open_alerts, found.dead_letters, found.late, found.leader) == (1, 0, 0, None)


async def test_attempts_that_the_supervisor_decided_on_are_counted_by_bucket(world: World, store: Store) -> None:
    began = store.now()
    acts = [
        Audit(
            actor="supervisor/supervisor-1",
            act="repeat",
            step="charge/1",
            task="t1",
            before="running",
            after="to_repeat",
        ),
        Audit(
            actor="supervisor/supervisor-1", act="fail", step="charge/1", task="t1", before="running", after="failed"
        ),
        Audit(actor="ada", act="undo", task="t1", before="error", after="undoing"),
    ]
    await store.operators.record_acts(acts)
    assert [(flow.what, flow.count) for flow in await store.operators.flow(began - 1.0, 60.0)] == [("decided", 2)]
    world.clock.advance(600.0)
    assert await store.operators.flow(store.now() - 60.0, 60.0) == []


async def test_queues_with_messages_are_counted_with_the_age_of_the_next_one(world: World, store: Store) -> None:
    assert await store.operators.queues() == []
    posted = b'{"specversion":"1.0","time":"2027-01-15T08:00:00Z","data":1}'
    await store.messages.put("submission.orders", [(posted, None), (posted, None)])
    await store.messages.put("agents.pay", [(b"\xff", None)])
    pay, orders = await store.operators.queues()
    assert (pay.queue, pay.messages, pay.posted_at) == ("agents.pay", 1, None)
    assert (orders.queue, orders.messages, orders.posted_at) == ("submission.orders", 2, 1_800_000_000.0)


async def test_attempts_at_agents_are_those_of_the_newest_tasks(world: World, store: Store) -> None:
    began = store.now()
    task = await claimed(world, store)
    rows = [
        step(task, "charge/1", started_at=began, attempt=2),
        step(task, "pack/1", 2, kind=StepKind.LOCAL, agent=None, started_at=began),
        step(task, "ship/1", 3, agent="post", state=StepState.NOT_STARTED, attempt=0),
        step(task, "ship/2", 4, agent="post", started_at=began),
    ]
    await add_steps(store, task, *rows)
    ended = [finish(rows[0], finished_at=began + 2.0)]
    await store.scheduler.commit("s1", [Change(task=task.uid, finishes=ended)], None)
    found = await store.operators.attempts(began - 1.0)
    assert sorted(found, key=lambda each: each.agent) == [
        StepAttempts("pay", StepState.COMPLETED, 2, began, began + 2.0, None),
        StepAttempts("post", StepState.RUNNING, 1, began, None, None),
    ]
    world.clock.advance(60.0)
    assert await store.operators.attempts(store.now()) == []


async def test_samples_of_the_states_are_kept_in_order_and_thinned(world: World, store: Store) -> None:
    term = await store.supervisor.lead("p1", 3600.0)
    assert term is not None
    began = store.now()
    await store.client.submit([world.task("one")])
    for minute in range(4):
        assert await store.supervisor.sample_states(term, began - 60.0)
        await store.client.submit([world.task(f"more-{minute}")])
        world.clock.advance(60.0)
    samples = await store.operators.state_samples(began - 1.0, 60.0)
    assert [(round(each.at - began), each.counts) for each in samples] == [
        (60 * minute, {"pending": minute + 1}) for minute in range(4)
    ]
    thinned = await store.operators.state_samples(began - 1.0, 120.0)
    assert [round(each.at - began) for each in thinned] == [0, 120]
    assert await store.operators.state_samples(store.now(), 60.0) == []


async def test_old_samples_are_deleted_and_one_who_leads_no_more_records_none(world: World, store: Store) -> None:
    term = await store.supervisor.lead("p1", 3600.0)
    assert term is not None
    began = store.now()
    await store.supervisor.sample_states(term, began - 60.0)
    world.clock.advance(60.0)
    assert not await store.supervisor.sample_states(term + 1, began)
    await store.supervisor.sample_states(term, began + 30.0)
    assert [round(each.at - began) for each in await store.operators.state_samples(began - 1.0, 1.0)] == [60]
