"""The Supervisor's verbs of the store, with arguments drawn by chance."""

from __future__ import annotations

from typing import Any

from stepward.model.records import Alert, Audit, InboxKind
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.model.states import StepState
from stepward.store.contract import (
    Decision,
    Firing,
    Post,
    Store,
    TaskExpiry,
)
from tests.store.differential import Act, Stream
from tests.store.drawn_tasks import BODIES, drawn_task, fresh


async def lead(stream: Stream) -> Act:
    instance = stream.chance.choice(("one", "one", "two"))

    async def act(store: Store, number: int) -> Any:
        term = await store.supervisor.lead(instance, 20.0)
        stream.term = term or stream.term
        return term

    return act


async def forgive(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.forgive(stream.term, 5.0)


async def fence(stream: Stream) -> Act:
    async def act(store: Store, number: int) -> Any:
        return sorted(await store.supervisor.fence(stream.term), key=lambda instance: instance.id)

    return act


async def free(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.free(stream.term, 2)


async def decide(stream: Stream) -> Act:
    chance = stream.chance
    expired = await stream.stores[0].supervisor.expired_steps(9)
    decisions = [
        Decision(
            task=found.task,
            run=found.run,
            key=found.key,
            attempt=found.attempt + (chance.random() < 0.1),
            state=state,
            repeat_at=stream.now() + 1 if state is StepState.TO_REPEAT else None,
            error=BODIES[1] if state is StepState.FAILED else None,
            posts=(Post(task=found.task, kind=InboxKind.FAIL, body=BODIES[1]),) if state is StepState.FAILED else (),
            audit=Audit(actor="supervisor", act=state.value, task=found.task),
        )
        for found in expired
        for state in [chance.choice((StepState.TO_REPEAT, StepState.FAILED))]
    ]
    return lambda store, number: store.supervisor.decide(stream.term, decisions)


async def expire_tasks(stream: Stream) -> Act | None:
    found = stream.pick(await stream.stores[0].supervisor.expired_tasks(9))
    if found is None:
        return None
    post = Post(task=found.task, kind=stream.chance.choice((InboxKind.FAIL, InboxKind.CANCEL)), body=BODIES[2])
    audit = Audit(actor="supervisor", act="late", task=found.task)
    expiry = TaskExpiry(task=found.task, task_id=found.task_id, post=post, audit=audit)
    return lambda store, number: store.supervisor.expire_tasks(stream.term, [expiry])


async def unserved(stream: Stream) -> Act:
    return lambda store, number: store.supervisor.unserved(stream.term, 5.0)


async def purge(stream: Stream) -> Act:
    before, limit = stream.now() - stream.chance.choice((30, 300)), 99  # Of those that ended at once, any may go first.
    is_operator = stream.chance.random() < 0.5

    async def act(store: Store, number: int) -> Any:
        batch = await store.supervisor.outlived(before, limit)
        uids = [task.uid for task in batch]
        assert await store.supervisor.unchanged(batch)
        read = [
            *await store.supervisor.outlived_tasks(uids, ""),
            *await store.supervisor.outlived_steps(uids, ("", 0, 0)),
            *await store.supervisor.outlived_inbox(uids, ("", 0)),
            *await store.supervisor.outlived_signals(uids, ("", "", "")),
            *await store.supervisor.outlived_values(uids, ("", "")),
            *await store.supervisor.outlived_streams(uids, ("", "", -1)),
            *await store.supervisor.outlived_updates(uids, ("", "")),
        ]
        purged = await (
            store.operators.purge_ended(batch, before, "ada")
            if is_operator
            else store.supervisor.purge(stream.term, batch)
        )
        return [*read, purged] if purged.tasks else []

    return act


async def prune(stream: Stream) -> Act:
    before = stream.now() - stream.chance.choice((30, 300))
    is_operator = stream.chance.random() < 0.5

    async def act(store: Store, number: int) -> Any:
        records = await store.supervisor.old_records(before)
        pruned = await (
            store.operators.prune_as(records, "ada") if is_operator else store.supervisor.prune(stream.term, records)
        )
        left = await store.operators.acts(0)
        # Numbers are each store's own, and so are the hashes, which follow from what names them.
        return [pruned, *(act.audit.act for act in records.acts), len(records.alerts), *(act.audit.act for act in left)]

    return act


async def raise_alert(stream: Stream) -> Act:
    alert = Alert(kind=stream.chance.choice(("archive", "other")), message="no room")
    return lambda store, number: store.supervisor.raise_alert(stream.term, alert)


async def schedule(stream: Stream) -> Act:
    name, cron = stream.chance.choice(("a", "b")), stream.chance.choice(("0 0 * * *", "1 0 * * *"))
    declared = Schedule(
        name=name,
        workflow="order",
        version="2",
        input=b"[]",
        cron=cron,
        timezone="UTC",
        catch_up="one",
        priority=5,
        next_at=stream.now() + 10,
        overlap=stream.chance.choice(tuple(Overlap)),
    )
    if stream.chance.random() < 0.5:
        return lambda store, number: store.host.register_schedules([declared])
    return lambda store, number: store.operators.create_schedule(declared, "ada")


async def fire(stream: Stream) -> Act | None:
    due = stream.pick(await stream.stores[0].supervisor.due_schedules(9))
    if due is None:
        return None
    tasks = [drawn_task(stream, workflow=due.workflow, version=due.version)]
    next_at = stream.now() + 20
    return lambda store, number: store.supervisor.fire(stream.term, [Firing(due, fresh(tasks), next_at)])


async def start_scheduled(stream: Stream) -> Act | None:
    name, act = stream.chance.choice(("a", "b")), stream.chance.choice(("trigger", "backfill"))
    found = await stream.stores[0].operators.schedule(name)
    if found is None:
        return None
    tasks = [drawn_task(stream, workflow=found.workflow, version=found.version)]
    return lambda store, number: store.operators.start_scheduled(found, fresh(tasks), act, "ada")


async def reschedule(stream: Stream) -> Act:
    name, choice, now = stream.chance.choice(("a", "b")), stream.chance.randrange(10), stream.now()
    if choice == 0:
        return lambda store, number: store.operators.remove_schedule(name, "ada")
    if choice < 4:
        return lambda store, number: store.operators.pause_schedule(name, "ada")
    return lambda store, number: store.operators.resume_schedule(name, now + 5, "ada")


SUPERVISION = (
    lead,
    forgive,
    fence,
    free,
    decide,
    expire_tasks,
    unserved,
    purge,
    prune,
    raise_alert,
    schedule,
    fire,
    start_scheduled,
    reschedule,
)
