"""The actor on a queue that mixes what is fresh with what comes again, as brokers do."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

import stepward.running
from stepward.model.messages.change_kinds import EVERYTHING, Kinds
from tests.submission.test_refused import body
from tests.submission.world import LEASE, World


class Given(NamedTuple):
    token: int
    body: bytes
    tries: int


class GivesOnce:
    """A queue that gives one batch, and notes what is done with it."""

    def __init__(self, batch: Sequence[Given]) -> None:
        self.batch = batch
        self.done: list[tuple[str, Any]] = []
        self.asked_again = asyncio.Event()

    async def take(self, queue: str, limit: int, lease: float) -> Sequence[Given]:
        batch, self.batch = self.batch, []
        if not batch:
            self.asked_again.set()
            await asyncio.Event().wait()
        return batch

    async def settle(self, queue: str, tokens: Sequence[int]) -> None:
        self.done.append(("settle", list(tokens)))

    async def extend(self, queue: str, tokens: Sequence[int], lease: float) -> None:
        self.done.append(("extend", (list(tokens), lease)))

    async def bury(self, queue: str, letters: Sequence[tuple[int, str]], told: Mapping[int, tuple[str, bytes]]) -> None:
        self.done.append(("bury", [token for token, _ in letters]))

    def wake(self, kinds: Kinds = EVERYTHING) -> None:
        pass

    async def close(self) -> None:
        pass


async def test_a_returned_message_shares_no_transaction(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = {"a": 2, "b": 1, "c": 1, "d": 3, "e": 5, "f": 1}
    queue = GivesOnce([Given(token, body(id=id), tries[id]) for token, id in enumerate(tries)])
    monkeypatch.setattr(stepward.running, "StoreQueues", lambda messages, poll: queue)
    await world.run()
    await asyncio.wait_for(queue.asked_again.wait(), 60)
    assert await world.both() == list(tries)
    assert queue.done == [
        ("settle", [0]),
        ("extend", ([1, 2, 3, 4, 5], LEASE)),
        ("settle", [1, 2]),
        ("extend", ([3, 4, 5], LEASE)),
        ("settle", [3]),
        ("extend", ([4, 5], LEASE)),
        ("settle", [4]),
        ("extend", ([5], LEASE)),
        ("settle", [5]),
    ]


async def test_a_message_taken_too_often_is_not_opened_but_found_if_accepted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = GivesOnce([Given(0, body(id="a"), 1), Given(1, body(id="a"), 6), Given(2, body(id="b"), 6)])
    monkeypatch.setattr(stepward.running, "StoreQueues", lambda messages, poll: queue)
    await world.run()
    await asyncio.wait_for(queue.asked_again.wait(), 60)
    assert await world.both() == ["a"]
    assert [done for done in queue.done if done[0] != "extend"] == [("settle", [0]), ("settle", [1]), ("bury", [2])]
