"""Messages that can never be accepted become dead letters with the reason, and the queue goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stepward import Accepted, Message, Queues, Unacceptable
from stepward.errors import InvalidId, InvalidPayload, PayloadTooLarge, Refused
from stepward.store.contract import Transaction
from tests.submission.world import QUEUE, STORED, World, fulfil

EVENT = {"specversion": "1.0", "id": "bad", "source": "/web", "type": "order", "data": {"what": "tea"}}
"""A message as another program may write it; what is wrong with it is laid over it."""


def body(**wrong: Any) -> bytes:
    return json.dumps({name: value for name, value in {**EVENT, **wrong}.items() if value is not None}).encode()


BODIES = {
    "empty": (b"", "expected a CloudEvent 1.0 in JSON"),
    "not JSON": (b"<order/>", "in '<order/>'"),
    "cut off": (body()[:-1], "expected a CloudEvent 1.0 in JSON"),
    "not UTF-8": (body().replace(b"/web", b"\xff"), "expected a CloudEvent 1.0 in JSON"),
    "half a surrogate": (body().replace(b"tea", b"\\ud800"), "expected"),
    "a list": (b"[1, 2]", "found `array` instead of `object` in '[1, 2]'"),
    "no event": (b'{"what": "tea"}', "without the required field"),
    "no id": (body(id=None), "without the required field `id`"),
    "an empty id": (body(id=""), "expected 1 to 1,000 characters as its id"),
    "a number as id": (body(id=7), "found `int` instead of `str` at `$.id`"),
    "no specversion": (body(specversion=None), "without the required field `specversion`"),
    "another specversion": (body(specversion="0.3"), "Invalid enum value '0.3'"),
    "no time": (body(time="yesterday"), "RFC3339"),
    "an id outside our characters": (body(id="a/b"), "id: expected 1 to 200 of A-Z"),
    "an id too long": (body(id="x" * 201), "id: expected 1 to 200 of A-Z"),
    "another app's response queue": (body(replyto="replies.bank.web"), "reply_to: expected replies.shop.NAME"),
    "no response queue": (body(replyto="submissions.shop.orders"), "reply_to: expected replies.shop.NAME"),
    "another store": (body(store="0f1e2d3c4b5a69788796"), "expected one for the store"),
    "too deep": (body(data="X").replace(b'"X"', b"[" * 200 + b"]" * 200), "at most 100 nested levels"),
    "far too deep": (body(data="X").replace(b'"X"', b"[" * 100_000 + b"]" * 100_000), "expected"),
    "too large": (body(data="x" * 1_048_577), "expected at most 1,048,576 bytes of JSON, found 1,048,579"),
}


@pytest.mark.parametrize("what", BODIES)
async def test_an_invalid_message_becomes_a_dead_letter_and_its_neighbours_are_accepted(
    world: World, what: str
) -> None:
    bad, reason = BODIES[what]
    await world.post("before")
    await world.put(bad)
    await world.post("after")
    await world.run()
    await world.emptied()
    assert await world.both() == ["before", "after"]
    (letter,) = await world.client.dead_letters()
    assert reason in letter.reason
    assert (letter.queue, letter.body, letter.tries) == (STORED, bad, 1)
    assert letter.reason.isprintable()


async def test_a_message_of_another_program_that_fits_is_accepted(world: World) -> None:
    await world.put(body(id="theirs", data=None, extension="unknown", time="2026-11-21T12:00:00Z"))
    await world.run()
    await world.emptied()
    assert await world.both() == ["theirs"]


async def unacceptable(message: Message, transaction: Transaction) -> None:
    raise Unacceptable("no such tea")


async def misfit(message: Message, transaction: Transaction) -> None:
    message.read(int)


async def reads_other_bytes(message: Message, transaction: Transaction) -> None:
    message.read()


async def unknown_workflow(message: Message, transaction: Transaction) -> Accepted:
    return Accepted("fulfill", "tea")


async def too_many_arguments(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, "tea", "kettle")  # type: ignore[arg-type, call-arg]


async def other_type(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, 7)  # type: ignore[arg-type]


async def no_json(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, object())  # type: ignore[arg-type]


async def no_priority(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, "tea", priority=99)


async def commits(message: Message, transaction: Transaction) -> Accepted:
    await transaction.execute("commit")
    return Accepted(fulfil, "tea")


@pytest.mark.parametrize(
    ("accept", "reason"),
    [
        (unacceptable, "no such tea"),
        (misfit, "message 'bad': expected data that fits, found `object` instead of `int`"),
        (unknown_workflow, "workflow 'fulfill': expected a registered one, found no such; known: fulfil"),
        (too_many_arguments, "arguments of fulfil: "),
        (other_type, "arguments of fulfil: expected (what: str), found `int` instead of `str` at"),
        (no_json, "expected a value that JSON can hold"),
        (no_priority, "priority: expected 0 (last) to 9 (first), found 99"),
        (commits, "expected statements within it, found one that ends it"),
    ],
)
async def test_a_message_that_accept_refuses_becomes_a_dead_letter(world: World, accept: Any, reason: str) -> None:
    world.desk.plans["bad"] = accept
    await world.post("before", "bad", "after")
    await world.run()
    await world.emptied()
    assert await world.both() == ["before", "after"]
    (letter,) = await world.client.dead_letters()
    assert reason in letter.reason
    assert world.desk.tries("bad") == [1]


async def test_data_that_is_not_utf8_is_found_when_it_is_read(world: World) -> None:
    world.desk.plans["bad"] = reads_other_bytes
    await world.put(body().replace(b"tea", b"\xff"))
    await world.run()
    (letter,) = await world.buried()
    assert "message 'bad': expected data that fits, found " in letter.reason


async def test_an_operator_is_alerted_once_a_queue(world: World) -> None:
    await world.put(b"one", b"two")
    await world.run()
    await world.emptied()
    await world.put(b"three")
    await world.emptied()
    (alert,) = await world.client.alerts()
    assert alert.kind == "dead_letter"
    assert alert.message.startswith(f"messages in {STORED} cannot be used: ")


async def test_a_put_back_message_is_accepted_once_the_cause_is_gone(world: World) -> None:
    world.desk.plans["late"] = [unacceptable]
    await world.post("late")
    await world.run()
    (letter,) = await world.buried()
    assert await world.client.put_back(letter.number) == [letter.number]
    await world.emptied()
    assert await world.both() == ["late"]
    assert world.desk.tries("late") == [1, 1]
    assert await world.client.dead_letters() == []


async def test_a_discarded_message_never_comes_again(world: World) -> None:
    world.desk.plans["bad"] = unacceptable
    await world.post("bad")
    await world.run()
    (letter,) = await world.buried()
    assert await world.client.discard(letter.number) == [letter.number]
    await world.post("after")
    await world.emptied()
    assert await world.both() == ["after"]


@pytest.mark.parametrize(
    ("data", "options", "error", "match"),
    [
        ("x" * 1_048_576, {}, PayloadTooLarge, "expected at most 1,048,576 bytes of JSON"),
        (object(), {}, InvalidPayload, "expected a value that JSON can hold"),
        (float("nan"), {}, InvalidPayload, "expected numbers that JSON can hold, found nan"),
        (None, {"id": "a/b"}, InvalidId, "id: expected 1 to 200 of A-Z"),
        (None, {"id": ""}, InvalidId, "id: expected 1 to 200 of A-Z"),
        (None, {"reply_to": "replies.bank.web"}, Refused, "reply_to: expected replies.shop.NAME"),
        (None, {"reply_to": "replies.shop."}, Refused, "reply_to: expected replies.shop.NAME"),
    ],
)
async def test_a_message_that_no_submission_would_accept_is_not_posted(
    world: World, data: Any, options: Any, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        await world.queues.post(QUEUE, data, **options)
    assert await world.is_empty()


@pytest.mark.parametrize("queue", ["", "a/b", "x" * 101, "orders\n", None])
async def test_a_queue_that_cannot_be_is_refused(world: World, queue: Any) -> None:
    with pytest.raises(Refused, match=r"queue: expected a name of 1 to 100 of A-Z a-z 0-9 _ \. -, found"):
        await world.queues.post(queue, None)


async def test_a_message_of_exactly_the_limit_is_posted_and_accepted(world: World) -> None:
    await world.run()
    await world.queues.post(QUEUE, "x" * 1_048_574, id="A-1")
    await world.emptied()
    assert await world.both() == ["A-1"]


async def test_the_limit_is_the_applications_own(world: World) -> None:
    await world.run(world.app(payload_bytes=2_000))
    async with Queues(world.address, app="shop", environment=world.environment(), payload_bytes=2_000) as queues:
        with pytest.raises(PayloadTooLarge):
            await queues.post(QUEUE, "x" * 2_000)
    await world.queues.post(QUEUE, "x" * 2_000, id="past-it")
    (letter,) = await world.buried()
    assert "expected at most 2,000 bytes of JSON" in letter.reason
