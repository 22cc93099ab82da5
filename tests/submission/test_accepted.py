"""A message becomes one task, in the commit of the application's own rows, in the order in which it was posted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from stepward import Accepted, Message, Unacceptable
from stepward.client import session_of
from stepward.model.records import Task
from stepward.store.contract import Transaction
from tests.submission.world import QUEUE, World, fulfil


class Order(msgspec.Struct):
    what: str
    count: int = 1


async def test_a_message_becomes_a_task_and_a_row(world: World) -> None:
    await world.run(scheduler=True)
    assert await world.queues.post(QUEUE, {"what": "tea"}, id="A-1") == "A-1"
    await world.emptied()
    assert await world.both() == ["A-1"]
    assert await world.client.task("A-1").result() == "A-1"
    assert await world.client.dead_letters() == []


async def test_a_message_without_an_id_is_given_one(world: World) -> None:
    await world.run()
    first, second = [await world.queues.post(QUEUE, None) for _ in range(2)]
    await world.emptied()
    assert await world.both() == [first, second]


async def test_messages_posted_before_the_first_consumer_are_accepted_in_order(world: World) -> None:
    ids = [f"n-{n:03}" for n in range(502)]
    await world.post(*ids)
    await world.run()
    await world.emptied()
    assert world.desk.ids == ids
    assert await world.both() == ids


async def test_accept_is_given_the_message(world: World) -> None:
    seen: list[Any] = []

    async def accept(message: Message, transaction: Transaction) -> Accepted:
        seen.append((message.id, message.reply_to, message.tries, message.time, message.read(Order), message.read()))
        return Accepted(fulfil, message.id)

    await world.run(world.app(accept=accept))
    posted_at = session_of(world.client).store.now()
    await world.queues.post(QUEUE, Order("tea", 3), id="A-1", reply_to="replies.shop.web")
    await world.emptied()
    ((id, reply_to, tries, time, order, plain),) = seen
    assert (id, reply_to, tries) == ("A-1", "replies.shop.web", 1)
    assert time.timestamp() == pytest.approx(posted_at, abs=0.01)
    assert (order, plain) == (Order("tea", 3), {"what": "tea", "count": 3})


async def test_the_task_is_as_accept_asks_for_it(world: World) -> None:
    async def accept(message: Message, transaction: Transaction) -> Accepted:
        return Accepted(
            "fulfil", what="tea", priority=9, delay="1h", complete_by="2h", labels={"customer": "42"}, fairness_key="f"
        )

    await world.run(world.app(accept=accept))
    await world.post("A-1", reply_to="replies.shop.web")
    await world.emptied()
    task = await session_of(world.client).record("A-1")
    assert (task.input, task.priority, task.labels, task.fairness_key) == (b'["tea"]', 9, b'{"customer":"42"}', "f")
    assert (task.wake_at, task.deadline) == (task.created_at + 3600, task.created_at + 7200)
    assert task.reply_to == "replies.shop.web"


async def test_a_scheduler_of_this_process_claims_the_task_at_once(world: World) -> None:
    await world.run(scheduler=True)
    await world.post("A-1")
    await world.emptied()
    await world.processed("A-1")
    task = await session_of(world.client).record("A-1")
    assert task.started_at is not None
    # Else it would notice when it next looks whether the file has changed.
    assert task.started_at - task.created_at < 0.01


async def test_the_response_queue_receives_the_tasks_events(world: World) -> None:
    await world.run(scheduler=True)
    await world.post("A-1", reply_to="replies.shop.web")
    told = []
    async for event in world.queues.events("replies.shop.web"):
        told.append((event.sequence, event.type, event.subject))
        if event.type == "stepward.task.completed":
            break
    assert told == [
        (1, "stepward.request.received", "A-1"),
        (2, "stepward.task.started", "A-1"),
        (3, "stepward.task.completed", "A-1"),
    ]


async def test_the_same_id_twice_in_one_batch_is_accepted_once(world: World) -> None:
    await world.post("A-1", "A-2", "A-1")
    await world.run()
    await world.emptied()
    assert world.desk.ids == ["A-1", "A-2"]
    assert await world.both() == ["A-1", "A-2"]
    assert [told["id"] for told in world.told("submission.duplicate")] == ["A-1"]


async def test_the_same_id_in_another_batch_is_accepted_once(world: World) -> None:
    await world.run()
    for _ in range(3):
        await world.post("A-1")
        await world.emptied()
    assert world.desk.ids == ["A-1"]
    assert await world.both() == ["A-1"]


async def test_the_same_id_after_its_task_ended_changes_nothing(world: World) -> None:
    await world.run(scheduler=True)
    await world.post("A-1")
    await world.emptied()
    await world.processed("A-1")
    before = await session_of(world.client).record("A-1")
    await world.post("A-1")
    await world.emptied()
    assert world.desk.ids == ["A-1"]
    assert await session_of(world.client).record("A-1") == before


async def test_an_id_that_was_submitted_otherwise_is_taken(world: World) -> None:
    await world.run()
    await world.client.submit("fulfil", "by hand", id="A-1")
    await world.post("A-1")
    await world.emptied()
    assert (world.desk.ids, world.placed()) == ([], [])


async def test_a_refused_message_does_not_use_up_its_id(world: World) -> None:
    async def refuse(message: Message, transaction: Transaction) -> None:
        raise Unacceptable("no tea")

    world.desk.plans["A-1"] = [refuse]
    await world.post("A-1", "A-1")
    await world.run()
    await world.emptied()
    assert await world.both() == ["A-1"]
    assert [letter.reason for letter in await world.client.dead_letters()] == ["no tea"]


async def test_tasks_that_accept_submits_commit_with_the_message(world: World) -> None:
    async def besides(message: Message, transaction: Transaction) -> Accepted:
        await world.client.submit("fulfil", "besides", id=f"{message.id}-besides", transaction=transaction)
        if message.id == "bad":
            raise Unacceptable("bad")
        return Accepted(fulfil, "tea")

    world.desk.plans |= {"good": besides, "bad": besides}
    await world.run()
    await world.post("good", "bad")
    await world.emptied()
    assert await world.tasks() == ["good", "good-besides"]


@pytest.mark.parametrize("how", ["refused", "failed"])
async def test_rows_of_what_is_not_accepted_are_not_there(world: World, how: str) -> None:
    async def fail(message: Message, transaction: Transaction) -> None:
        raise Unacceptable("no") if how == "refused" else LookupError("no")

    world.desk.plans["bad"] = fail
    await world.post("a", "bad", "b")
    await world.run()
    await world.buried()
    assert await world.both() == ["a", "b"]


async def test_a_message_whose_id_another_of_its_batch_took_leaves_no_row(world: World) -> None:
    async def take_the_others_id(message: Message, transaction: Transaction) -> Accepted:
        other = Task(uid="other", id="B", workflow="fulfil", version="1", input=b'["B"]', created_at=1.0)
        await transaction.submit([other])
        return Accepted(fulfil, message.id)

    world.desk.plans["A"] = take_the_others_id
    await world.post("A", "B")
    await world.run()
    await world.emptied()
    async with world.client.transaction() as transaction:
        assert await transaction.execute("select id from placed") == [("A",)]
    assert await world.client.dead_letters() == []
    assert [event.fields["id"] for event in world.events if event.name == "submission.duplicate"] == ["B"]
