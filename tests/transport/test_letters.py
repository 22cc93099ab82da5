from __future__ import annotations

import asyncio

import pytest

from stepward.errors import TransportError
from stepward.transport.letters import DeadLetters
from stepward.transport.wire import Spoilt
from tests.transport.small_store import SmallStore

QUEUE = "agents.payments"


async def test_what_nobody_can_use_lies_among_the_dead_letters_of_the_store() -> None:
    store = SmallStore(asyncio.get_running_loop().time)
    await DeadLetters(store).bury(QUEUE, [Spoilt(b"?", "no batch"), Spoilt(b"5", "no event")])
    assert store.buried == [(b"?", "no batch"), (b"5", "no event")]
    assert store.rows == []


async def test_what_one_who_died_over_it_left_is_buried_with_the_next() -> None:
    store = SmallStore(asyncio.get_running_loop().time)
    await store.put(QUEUE, [(b"left", None)])
    await DeadLetters(store).bury(QUEUE, [Spoilt(b"?", "no batch")])
    assert [body for body, _ in store.buried] == [b"left", b"?"]


async def test_a_store_that_is_down_fails_the_burial() -> None:
    store = SmallStore(asyncio.get_running_loop().time)
    store.is_down = True
    with pytest.raises(TransportError, match="expected the store to take a dead letter"):
        await DeadLetters(store).bury(QUEUE, [Spoilt(b"?", "no batch")])
