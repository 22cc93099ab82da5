from __future__ import annotations

from stepward.store.contract import Store
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
