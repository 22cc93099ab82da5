from __future__ import annotations

import pytest

from stepward.errors import StepwardError
from stepward.store.contract import Store, StoredMessage
from tests.store.conformance.world import World


async def take(store: Store, limit: int = 9, queue: str = "q") -> list[bytes]:
    return [message.body for message in await store.messages.take(queue, limit, 10)]


async def test_messages_are_taken_in_order_and_by_one(world: World, store: Store) -> None:
    other = await world.open()
    await store.messages.put("q", [(b"1", None), (b"2", None), (b"3", None)])
    await store.messages.put("other", [(b"x", None)])
    assert await take(store, 2) == [b"1", b"2"]
    assert await take(other) == [b"3"]
    assert await take(other) == []
    assert store.messages.now() == store.now()


async def test_what_is_not_settled_returns_and_what_is_never_does(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    first, _ = await store.messages.take("q", 9, 10)
    await store.messages.settle("q", [first.token])
    world.clock.advance(9)
    assert await take(store) == []
    world.clock.advance(1)
    assert await take(store) == [b"2"]


async def test_an_answer_is_put_and_what_it_answers_settled_in_one_transaction(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    first, second = await store.messages.take("q", 9, 10)
    await store.messages.answer("replies", [(b"done 1", None)], "q", [first.token])
    assert await take(store, queue="replies") == [b"done 1"]
    with pytest.raises(StepwardError):
        await store.messages.answer(None, [(b"done 2", None)], "q", [second.token])  # type: ignore[arg-type]
    world.clock.advance(10)
    assert await take(store) == [b"2"]


async def test_an_extended_lease_keeps_a_message(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None)])
    (message,) = await store.messages.take("q", 9, 10)
    world.clock.advance(9)
    await store.messages.extend("q", [message.token], 10)
    world.clock.advance(9)
    assert await take(store) == []
    world.clock.advance(1)
    assert await take(store) == [b"1"]


async def test_returned_messages_come_before_fresh_ones(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None)])
    await take(store)
    await store.messages.put("q", [(b"2", None)])
    world.clock.advance(11)
    assert await take(store, 1) == [b"1"]


async def test_expired_messages_are_never_taken(world: World, store: Store) -> None:
    until = store.now() + 5
    await store.messages.put("q", [(b"old", until), (b"old", until), (b"new", None)])
    world.clock.advance(5)
    assert await take(store, 1) == [b"new"]


async def test_an_heir_adopts_what_stands_in_a_queue(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    await take(store, 1)
    assert await store.messages.adopt("q", "heir") == 2
    assert await take(store, queue="heir") == [b"1", b"2"]
    assert await take(store) == []


async def test_queues_in_which_something_stands_are_found_by_the_beginning_of_their_names(
    world: World, store: Store
) -> None:
    for queue in ("replies.shop.web", "replies.shop.web", "replies.shop.Z", "replies.shop", "replies.shops.a", "q"):
        await store.messages.put(queue, [(b"1", None), (b"2", None)])
    await take(store, queue="replies.shop.Z")
    assert await store.messages.nonempty("replies.shop.", 9) == ["replies.shop.Z", "replies.shop.web"]
    assert await store.messages.nonempty("replies.shop.", 1) == ["replies.shop.Z"]
    assert await store.messages.nonempty("replies.blog.", 9) == []
    (first, *rest) = await store.messages.read("replies.shop.web", 0, 9)
    await store.messages.settle("replies.shop.web", [first.token])
    assert "replies.shop.web" in await store.messages.nonempty("replies.shop.", 9)
    await store.messages.settle("replies.shop.web", [message.token for message in rest])
    assert await store.messages.nonempty("replies.shop.", 9) == ["replies.shop.Z"]


async def test_every_take_is_counted(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None)])
    tries = []
    for _ in range(3):
        (message,) = await store.messages.take("q", 1, 10)
        tries.append((message.body, message.tries))
        world.clock.advance(10)
    # What returned first was taken first: its neighbour's turn has not come yet.
    assert tries == [(b"1", 1), (b"1", 2), (b"1", 3)]
    # And it comes alone, for it may be what ended its last taker.
    assert [(m.body, m.tries) for m in await store.messages.take("q", 9, 10)] == [(b"1", 4)]
    assert [(m.body, m.tries) for m in await store.messages.take("q", 9, 10)] == [(b"2", 1)]


async def read(store: Store, after: int = 0, limit: int = 9) -> list[StoredMessage]:
    return await store.messages.read("q", after, limit)


async def test_a_reader_is_given_what_follows_in_order_and_takes_nothing(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None), (b"3", None)])
    await store.messages.put("other", [(b"x", None)])
    first = await read(store, limit=2)
    assert [message.body for message in first] == [b"1", b"2"]
    assert [message.body for message in await read(store, first[-1].token)] == [b"3"]
    other = await world.open()
    assert [message.body for message in await read(other)] == [b"1", b"2", b"3"]


async def test_a_reader_starts_again_with_all_that_is_not_settled(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None), (b"2", None), (b"3", None)])
    first, second, third = await read(store)
    await store.messages.settle("q", [second.token])
    assert await read(store) == [first, third]
    await store.messages.settle("other", [first.token])
    assert await read(store, first.token) == [third]


async def test_what_is_put_after_all_was_settled_follows_the_last_that_was_read(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"1", None)])
    (last,) = await read(store)
    await store.messages.settle("q", [last.token])
    await store.messages.put("q", [(b"2", None)])
    assert [message.body for message in await read(store, last.token)] == [b"2"]


async def test_expired_messages_are_not_read(world: World, store: Store) -> None:
    await store.messages.put("q", [(b"old", store.now() + 5), (b"new", store.now() + 6)])
    world.clock.advance(5)
    assert [message.body for message in await read(store)] == [b"new"]


def asked(task: str, step: str) -> bytes:
    """The body of a request, as far as it tells one from others."""
    return b'{"type":"request","task":"%b","task_id":"i","run":1,"key":"%b","attempt":1}' % (
        task.encode(),
        step.encode(),
    )


async def withdraw(store: Store, task: str, step: str, queue: str = "q") -> list[tuple[bytes, int]]:
    beginning, part = b'{"type":"request","task":"%b",' % task.encode(), b',"run":1,"key":"%b",' % step.encode()
    return [(message.body, message.tries) for message in await store.messages.withdraw(queue, beginning, part)]


@pytest.mark.parametrize("task", ["t", "0192f3a1-5c1d-7a6e-9d0b-3f6a2b1c4d5e", "a" * 60])
async def test_a_request_that_is_withdrawn_is_given_to_no_agent(world: World, store: Store, task: str) -> None:
    others = [asked(task, "a/11"), asked(task, "b/1"), asked(task + "x", "a/1"), asked(task[:-1], "a/1"), b"1"]
    await store.messages.put("q", [(body, None) for body in (*others[:2], asked(task, "a/1"), *others[2:])])
    await store.messages.put("other", [(asked(task, "a/1"), None)])
    assert await withdraw(store, task, "a/1") == [(asked(task, "a/1"), 0)]
    assert await withdraw(store, task, "a/1") == []
    assert await take(store) == others
    assert await take(store, queue="other") == [asked(task, "a/1")]


async def test_extending_a_withdrawn_message_reports_its_token(world: World, store: Store) -> None:
    await store.messages.put("q", [(asked("t", "a/1"), None), (asked("t", "b/1"), None)])
    first, second = await store.messages.take("q", 9, 10)
    tokens = [first.token, second.token]
    assert await store.messages.extend("q", tokens, 10) == []
    assert await withdraw(store, "t", "a/1") == [(asked("t", "a/1"), 1)]
    assert await store.messages.extend("q", tokens, 20) == [first.token]
    world.clock.advance(19)
    assert await take(store) == []


async def test_requests_for_one_step_are_withdrawn_together(world: World, store: Store) -> None:
    await store.messages.put("q", [(asked("t", "a/1"), None)])
    await take(store)
    await store.messages.put("q", [(asked("t", "a/1"), None)])
    assert sorted(await withdraw(store, "t", "a/1")) == [(asked("t", "a/1"), 0), (asked("t", "a/1"), 1)]


async def test_what_several_have_taken_is_not_withdrawn(world: World, store: Store) -> None:
    for _ in range(2):
        await store.messages.put("q", [(asked("t", "a/1"), None)])
        await take(store)
    assert await withdraw(store, "t", "a/1") == []
    world.clock.advance(10)
    assert await take(store) == [asked("t", "a/1")]


async def test_queues_are_filled_from_which_something_may_be_taken(world: World, store: Store) -> None:
    for queue in ("fresh", "taken", "expired"):
        await store.messages.put(queue, [(b"1", store.now() + 5 if queue == "expired" else None)])
    await store.messages.take("taken", 1, 10)
    names = ["fresh", "taken", "empty"]
    assert set(await store.messages.filled(names)) == {"fresh"}
    assert set(await store.messages.filled([])) == set()
    world.clock.advance(10)
    assert set(await store.messages.filled(names)) == {"fresh", "taken"}
    # Who takes from it deletes what has expired.
    assert set(await store.messages.filled(["expired"])) == {"expired"}
    assert await store.messages.take("expired", 1, 10) == []
    assert set(await store.messages.filled(["expired"])) == set()
