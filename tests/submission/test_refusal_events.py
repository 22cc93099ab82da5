"""A request that is refused tells its response queue so: no front end waits for ever."""

from __future__ import annotations

import pytest

from stepward import StatusEvent, Unacceptable
from stepward.client import session_of
from tests.submission.test_refused import body
from tests.submission.world import STORED, World

REPLIES = "replies.shop.web"


async def heard(world: World) -> StatusEvent:
    return await anext(world.queues.events(REPLIES))


async def test_a_refusal_by_accept_is_an_event_with_the_reason(world: World) -> None:
    async def refuse(message: object, transaction: object) -> None:
        raise Unacceptable("no such tea")

    world.desk.plans["bad"] = refuse
    await world.post("bad", reply_to=REPLIES)
    await world.run()
    event = await heard(world)
    assert (event.type, event.subject, event.sequence) == ("stepward.request.refused", "bad", 1)
    assert event.data == {"reason": "no such tea"}
    (letter,) = await world.client.dead_letters()
    assert letter.queue == STORED


UNREADABLE = {
    "an id outside our characters": (body(id="a/b", replyto=REPLIES), "a/b"),
    "no id": (body(id=None, replyto=REPLIES), "unknown"),
    "another specversion": (body(specversion="0.3", replyto=REPLIES), "bad"),
    "too large": (body(data="x" * 1_048_577, replyto=REPLIES), "bad"),
    "too deep": (body(data="X", replyto=REPLIES).replace(b'"X"', b"[" * 200 + b"]" * 200), "bad"),
}


@pytest.mark.parametrize("what", UNREADABLE)
async def test_an_invalid_message_gets_an_event_if_its_response_queue_is_readable(world: World, what: str) -> None:
    bad, subject = UNREADABLE[what]
    await world.put(bad)
    await world.run()
    event = await heard(world)
    assert (event.type, event.subject) == ("stepward.request.refused", subject)
    (letter,) = await world.client.dead_letters()
    assert event.data == {"reason": letter.reason}


@pytest.mark.parametrize(
    "bad",
    [
        b"<order/>",
        body(id="a/b"),
        body(id="a/b", replyto=7),
        body(id="a/b", replyto="replies.bank.web"),
        body(id="a/b", replyto="submissions.shop.orders"),
        body(id="a/b", replyto=REPLIES)[:-1],
    ],
)
async def test_an_invalid_message_without_a_response_queue_gets_no_event(world: World, bad: bytes) -> None:
    await world.put(bad)
    await world.run()
    await world.emptied()
    assert len(await world.client.dead_letters()) == 1
    assert await session_of(world.client).store.messages.nonempty("replies.", 9) == []


async def test_a_message_refused_twice_gives_one_event(world: World) -> None:
    await world.put(body(id="a/b", replyto=REPLIES))
    await world.run()
    reader = world.queues.events(REPLIES)
    first = await anext(reader)
    (letter,) = await world.client.dead_letters()
    await world.client.put_back(letter.number)
    await world.emptied()
    await world.post("good", reply_to=REPLIES)
    second = await anext(reader)
    assert (first.type, second.type) == ("stepward.request.refused", "stepward.request.received")
    assert second.subject == "good"


async def test_a_message_that_failed_too_often_gets_an_event(world: World) -> None:
    async def fail(message: object, transaction: object) -> None:
        raise RuntimeError("the books are closed")

    world.desk.plans["late"] = fail
    await world.post("late", reply_to=REPLIES)
    await world.run()
    event = await heard(world)
    assert event.data["reason"].startswith("failed 5 times: RuntimeError: the books are closed")
