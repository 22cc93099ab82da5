"""Status events: written in the commit of the change that they report, counted on the task, in order in their queue."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward.errors import InstanceFenced
from stepward.model.messages.cloudevents import decode_event
from stepward.model.records import Alert, InboxKind, Task
from stepward.model.states import TaskState
from stepward.store.contract import AddedEvents, Change, Directive, Post, Store
from tests.store.conformance.world import (
    FAILED,
    SERVED,
    START,
    World,
    add_steps,
    claimed,
    end,
    finish,
    move,
    read,
    read_step,
    scheduler,
    step,
)

QUEUE = "replies.shop.web"


async def standing(store: Store, queue: str = QUEUE) -> list[bytes]:
    """The messages of a response queue, in order."""
    return [message.body for message in await store.messages.read(queue, 0, 1000)]


async def told(store: Store, queue: str = QUEUE) -> list[tuple[str, int, str]]:
    """Id of the task, sequence and kind of each event in the queue."""
    events = [decode_event(body) for body in await standing(store, queue)]
    return [(event.subject or "", int(event.sequence or 0), event.type.removeprefix("stepward.")) for event in events]


async def data(store: Store, number: int) -> Any:
    return msgspec.json.decode(decode_event((await standing(store))[number]).data)


def telling(task: Task, *bodies: bytes, queue: str = QUEUE) -> AddedEvents:
    return AddedEvents(task.events, list(bodies), [(queue,)] * len(bodies))


async def apply(store: Store, *changes: Change) -> dict[str, str]:
    return (await store.scheduler.commit("s1", changes, None)).missed


# ---------------------------------------------------------------- what owners tell


async def test_an_owners_events_follow_the_events_before(world: World, store: Store) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    before = await standing(store)
    assert await apply(store, Change(task=task.uid, status_events=telling(task, b"three", b"four"))) == {}
    assert await standing(store) == [*before, b"three", b"four"]
    assert (await read(store, task)).events == 4


@pytest.mark.parametrize("count", [1, 3])
async def test_who_has_not_read_the_tasks_count_tells_nothing(world: World, store: Store, count: int) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    before = await standing(store)
    late = Change(task=task.uid, inserts=[step(task)], status_events=AddedEvents(count, [b"late"], [(QUEUE,)]))
    assert "another process has reported on" in (await apply(store, late))[task.uid]
    assert (await standing(store), (await read(store, task)).events) == (before, 2)
    assert await store.client.steps(task.id) == []


async def test_an_end_without_the_tasks_event_count_is_not_reported(world: World, store: Store) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    before = await standing(store)
    end = Change(
        task=task.uid, move=move(task, TaskState.PROCESSED), status_events=AddedEvents(1, [b"end"], [(QUEUE,)])
    )
    assert "another process has reported on" in (await apply(store, end))[task.uid]
    assert (await standing(store), await read(store, task)) == (before, task)


async def test_a_change_that_misses_tells_nothing_and_the_others_of_its_batch_do(world: World, store: Store) -> None:
    good, bad = [await claimed(world, store, reply_to=QUEUE) for _ in range(2)]
    before = await standing(store)
    missed = await apply(
        store,
        Change(task=bad.uid, finishes=[finish(step(bad))], status_events=telling(bad, b"never")),
        Change(task=good.uid, status_events=telling(good, b"told")),
    )
    assert list(missed) == [bad.uid]
    assert await standing(store) == [*before, b"told"]
    assert [(await read(store, task)).events for task in (good, bad)] == [3, 2]


async def test_a_change_that_is_refused_for_its_data_tells_nothing(world: World, store: Store) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    before = await standing(store)
    refused = Change(task=task.uid, inserts=[step(task, attempt=-1)], status_events=telling(task, b"never"))
    assert "refused" in (await apply(store, refused))[task.uid]
    assert (await standing(store), (await read(store, task)).events) == (before, 2)


async def test_only_the_owner_tells(world: World, store: Store) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    await scheduler(store, "s2")
    before = await standing(store)
    change = Change(task=task.uid, status_events=telling(task, b"never"))
    committed = await store.scheduler.commit("s2", [change], None)
    assert "not held" in committed.missed[task.uid]
    await store.host.retire("s1")
    with pytest.raises(InstanceFenced):
        await store.scheduler.commit("s1", [change], None)
    assert await standing(store) == before


async def test_each_task_tells_its_own_queue(world: World, store: Store) -> None:
    web = await claimed(world, store, reply_to=QUEUE)
    kiosk = await claimed(world, store, reply_to="replies.shop.kiosk")
    await apply(
        store,
        Change(task=web.uid, status_events=telling(web, b"web")),
        Change(task=kiosk.uid, status_events=telling(kiosk, b"kiosk", queue="replies.shop.kiosk")),
    )
    assert (await standing(store))[2:] == [b"web"]
    assert (await standing(store, "replies.shop.kiosk"))[2:] == [b"kiosk"]


async def test_an_event_that_is_not_read_is_deleted_after_a_week(world: World, store: Store) -> None:
    await store.client.submit([world.task("old", reply_to=QUEUE)])
    world.clock.advance(7 * 86_400.0)
    await store.client.submit([world.task("new", reply_to=QUEUE)])
    assert await told(store) == [("new", 1, "request.received")]


# ---------------------------------------------------------------- received


async def test_each_new_task_is_received_once(world: World, store: Store) -> None:
    first, silent = world.task("a", reply_to=QUEUE), world.task("b")
    await store.client.submit([first, silent, world.task("c", reply_to=QUEUE)])
    await store.client.submit([world.task("a", reply_to=QUEUE), world.task("d", reply_to=QUEUE)])
    assert await told(store) == [(id, 1, "request.received") for id in ("a", "c", "d")]
    assert [(await read(store, task)).events for task in (first, silent)] == [1, 0]


async def test_an_event_says_whose_it_is(world: World, store: Store) -> None:
    task = world.task("a", reply_to=QUEUE)
    await store.client.submit([task])
    (body,) = await standing(store)
    event = decode_event(body)
    assert (event.id, event.source, event.subject) == (f"{task.uid}/1", "/stepward/shop", "a")
    assert event.time is not None
    assert event.time.timestamp() == pytest.approx(task.created_at)


async def test_a_submission_in_a_transaction_is_received_with_it(world: World, store: Store) -> None:
    async with store.client.transaction() as transaction:
        await transaction.submit([world.task("a", reply_to=QUEUE)])
    assert await told(store) == [("a", 1, "request.received")]


async def test_a_transaction_that_is_rolled_back_tells_nothing(world: World, store: Store) -> None:
    task = world.task("a", reply_to=QUEUE)
    with pytest.raises(KeyError):
        async with store.client.transaction() as transaction:
            await transaction.submit([task])
            raise KeyError
    assert await told(store) == []
    await store.client.submit([task])
    assert await told(store) == [("a", 1, "request.received")]


async def test_a_task_born_claimed_is_counted_from_its_birth(world: World, store: Store) -> None:
    task = world.born("s1", reply_to=QUEUE)
    birth = Change(task=task.uid, born=task, status_events=telling(task, b"received", b"started"))
    assert await apply(store, birth) == {}
    assert (await standing(store), (await read(store, task)).events) == ([b"received", b"started"], 2)
    again = world.born("s1", id=task.id, reply_to=QUEUE)
    missed = await apply(store, Change(task=again.uid, born=again, status_events=telling(again, b"received")))
    assert list(missed) == [again.uid]
    assert await standing(store) == [b"received", b"started"]


# ---------------------------------------------------------------- started


async def test_the_first_claim_tells_the_start_and_none_after_it(world: World, store: Store) -> None:
    task = await claimed(world, store, id="a", reply_to=QUEUE)
    assert task.events == 2
    # The clock stands still: a start is found by the row, not by the time.
    await store.host.retire("s1")
    await scheduler(store, "s2")
    (history,) = await store.scheduler.claim("s2", SERVED, 1)
    assert history.task.events == 2
    assert await told(store) == [("a", 1, "request.received"), ("a", 2, "task.started")]


async def test_a_task_that_wakes_is_not_started_again(world: World, store: Store) -> None:
    task = await claimed(world, store, id="a", reply_to=QUEUE)
    sleeping = move(task, TaskState.WAITING, release=True, wake_at=store.now())
    assert await apply(store, Change(task=task.uid, move=sleeping)) == {}
    (history,) = await store.scheduler.claim("s1", SERVED, 1)
    assert (history.task.events, len(await told(store))) == (2, 2)


async def test_a_task_undone_before_its_start_never_starts(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", reply_to=QUEUE)])
    await store.client.direct("a", Directive(verb="undo", actor="ada"))
    (history,) = await store.scheduler.claim("s1", SERVED, 1)
    assert history.task.state is TaskState.UNDOING
    assert await told(store) == [("a", 1, "request.received"), ("a", 2, "task.undoing")]


async def test_what_a_task_taken_from_the_dead_waited_for_is_known_to_the_next_owner(
    world: World, store: Store
) -> None:
    task = await claimed(world, store, reply_to=QUEUE)
    waiting = move(task, TaskState.WAITING, waits_for="signal go", wake_at=store.now() + 60)
    assert await apply(store, Change(task=task.uid, move=waiting)) == {}
    term = await store.supervisor.lead("supervisor", 100)
    assert term is not None
    world.clock.advance(11)
    await store.supervisor.fence(term)
    assert await store.supervisor.free(term, 10) == 1
    await scheduler(store, "s2")
    (history,) = await store.scheduler.claim("s2", SERVED, 1)
    assert (history.task.state, history.task.waits_for) == (TaskState.PROCESSING, "signal go")


async def test_a_task_suspended_before_its_start_starts_once_it_is_resumed(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", reply_to=QUEUE)])
    for verb in ("suspend", "resume"):
        await store.client.direct("a", Directive(verb=verb, actor="ada"))
    await store.scheduler.claim("s1", SERVED, 1)
    assert await told(store) == [
        ("a", 1, "request.received"),
        ("a", 2, "task.suspended"),
        ("a", 3, "task.resumed"),
        ("a", 4, "task.started"),
    ]


# ---------------------------------------------------------------- tasks without an owner


@pytest.mark.parametrize(
    ("state", "verb", "kind"),
    [
        (TaskState.PENDING, "cancel", "task.cancelled"),
        (TaskState.PENDING, "undo", "task.undoing"),
        (TaskState.PENDING, "suspend", "task.suspended"),
        (TaskState.SUSPENDED, "resume", "task.resumed"),
        (TaskState.ERROR, "resubmit", "task.resumed"),
        (TaskState.ERROR, "undo", "task.undoing"),
        (TaskState.ERROR, "cancel", "task.undoing"),
        (TaskState.PROCESSED, "undo", "task.undoing"),
    ],
)
async def test_a_directive_on_a_free_task_is_reported(
    world: World, store: Store, state: TaskState, verb: str, kind: str
) -> None:
    task = await _in_state(world, store, state)
    before = await told(store)
    await store.client.direct("a", Directive(verb=verb, actor="ada"))
    assert await told(store) == [*before, ("a", task.events + 1, kind)]
    assert (await read(store, task)).events == task.events + 1


async def test_what_a_directive_leaves_as_it_is_tells_nothing(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", reply_to=QUEUE)])
    for _ in range(2):
        await store.client.direct("a", Directive(verb="suspend", actor="ada"))
    assert await told(store) == [("a", 1, "request.received"), ("a", 2, "task.suspended")]


async def test_a_directive_for_the_owner_is_reported_by_the_owner(world: World, store: Store) -> None:
    task = await claimed(world, store, id="a", reply_to=QUEUE)
    await store.client.direct("a", Directive(verb="cancel", actor="ada"))
    assert (len(await told(store)), (await read(store, task)).events) == (2, 2)


async def test_a_free_task_past_its_deadline_tells_why_it_is_undone(world: World, store: Store) -> None:
    await store.client.submit([world.task("a", reply_to=QUEUE)])
    uid = (await _task(store)).uid
    post = Post(task=uid, kind=InboxKind.UNDO, body=FAILED, sender="supervisor")
    # A Supervisor's word reaches a free task the same way as a parent's.
    await store.scheduler.commit("s1", [Change(task=uid, posts=[post])], None)
    assert await told(store) == [("a", 1, "request.received"), ("a", 2, "task.undoing")]
    assert (await data(store, 1))["error"]["message"] == "no"


async def test_a_task_without_a_response_queue_writes_no_event(world: World, store: Store) -> None:
    task = await claimed(world, store, id="a")
    await add_steps(store, task, step(task))
    await end(store, task, TaskState.ERROR, error=FAILED)
    for verb in ("resubmit", "suspend", "cancel"):
        await store.client.direct("a", Directive(verb=verb, actor="ada"))
    assert (await read(store, task)).events == 0
    assert (await read_step(store, task)).attempt == 1
    assert await standing(store) == []


async def _in_state(world: World, store: Store, state: TaskState) -> Task:
    if state in (TaskState.PENDING, TaskState.SUSPENDED):
        await store.client.submit([world.task("a", reply_to=QUEUE)])
        if state is TaskState.SUSPENDED:
            await store.client.direct("a", Directive(verb="suspend", actor="ada"))
    else:
        task = await claimed(world, store, id="a", reply_to=QUEUE)
        alert = Alert(at=START, kind="task_error", task=task.uid, message="no")
        ended = move(task, state, error=FAILED if state is TaskState.ERROR else None)
        assert await apply(store, Change(task=task.uid, move=ended, alerts=[alert])) == {}
    return await _task(store)


async def _task(store: Store) -> Task:
    task = await store.client.task("a")
    assert task is not None
    return task
