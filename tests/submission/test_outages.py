"""A store that is busy, away or silent in the middle of an acceptance: no message suffers, and none counts twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import apsw
import pytest

from stepward import Accepted, Message
from stepward.errors import StoreUnusable
from stepward.events import Event
from stepward.store.contract import Transaction
from stepward.store.sqlite.hot.messages import SqliteMessages
from stepward.store.sqlite.hot.open_transaction import SqliteTransaction
from stepward.transport.store.store_queues import StoreQueues
from tests.submission.world import LEASE, World, fulfil


class Points:
    """The failpoints of a process: counts them, and does what is planned when one is passed after another."""

    def __init__(self) -> None:
        self.passed: list[str] = []
        self._plans: list[tuple[str, str, Callable[[], None]]] = []

    def plan(self, after: str, at: str, act: Callable[[], None], times: int = 1) -> None:
        """Act at the first ``at`` after each of the next ``times`` passages of ``after``."""
        self._plans += [(after, at, act)] * times

    def __call__(self, name: str) -> None:
        self.passed.append(name)
        if not self._plans:
            return
        after, at, act = self._plans[0]
        if not after:
            if name == at:
                self._plans.pop(0)
                act()
        elif name == after:
            self._plans[0] = ("", at, act)


def lose() -> None:
    raise apsw.IOError("the disk did not answer")


async def test_a_file_that_another_process_keeps_is_waited_for(world: World) -> None:
    other = apsw.Connection(str(world.path))

    def keep(name: str) -> None:
        if name == "submission.take.after":
            other.execute("begin immediate")

    app = world.app(failpoint=keep)

    def release(event: Event) -> None:
        if event.name == "store.unavailable" and len(world.told("store.unavailable")) == 12:
            other.execute("rollback")

    app.observers.add(release)
    await world.post("A-1")
    await world.run(app)
    await world.emptied()
    other.close()
    assert await world.both() == ["A-1"]
    assert world.desk.tries("A-1") == [1]


async def test_a_commit_whose_answer_is_lost_is_read_back(world: World) -> None:
    points = Points()
    points.plan("submission.commit.before", "store.commit.after", lose)
    await world.post("a", "b")
    await world.run(world.app(failpoint=points))
    await world.emptied()
    assert await world.both() == ["a", "b"]
    assert world.desk.ids == ["a", "b"]
    assert [told["id"] for told in world.told("submission.duplicate")] == ["a", "b"]


async def test_a_commit_that_did_not_happen_is_repeated(world: World) -> None:
    points = Points()
    points.plan("submission.commit.before", "store.commit.before", lose, times=2)
    await world.post("a", "b")
    await world.run(world.app(failpoint=points))
    await world.emptied()
    assert await world.both() == ["a", "b"]
    assert world.desk.calls[0][1] == world.desk.calls[-1][1] == 1


async def test_a_batch_that_cannot_be_committed_comes_again_one_by_one(world: World) -> None:
    points = Points()
    points.plan("submission.commit.before", "store.commit.before", lose, times=3)
    await world.post("a", "b")
    await world.run(world.app(failpoint=points))
    await world.emptied()
    assert await world.both() == ["a", "b"]
    assert world.desk.tries("a") == [1, 1, 1, 2]
    assert points.passed.count("submission.commit.after") == 2
    instants = [at for _, _, at in world.desk.calls]
    assert max(instants) - min(instants) < LEASE, "both are tried again soon, and no lease has to run out"


async def test_an_unacknowledged_message_comes_again_and_changes_nothing(world: World) -> None:
    points = Points()
    points.plan("submission.acknowledge.before", "store.commit.before", lose)
    await world.post("a", "b")
    await world.run(world.app(failpoint=points))
    await world.emptied()
    assert await world.both() == ["a", "b"]
    assert world.desk.ids == ["a", "b"]
    assert len(world.told("submission.queue_failed")) == 1
    assert len(world.told("submission.duplicate")) == 2


async def test_a_queue_that_cannot_be_reached_is_tried_again(world: World) -> None:
    points = Points()
    await world.run(world.app(failpoint=points))
    points.plan("store.commit.before", "store.commit.before", lose)
    await world.post("a", "b")
    await world.emptied()
    assert await world.both() == ["a", "b"]


@pytest.mark.parametrize("part", [(SqliteMessages, "take"), (SqliteTransaction, "known")])
async def test_a_damaged_store_ends_the_process(
    world: World, monkeypatch: pytest.MonkeyPatch, part: tuple[type, str]
) -> None:
    async def damaged(*_: Any) -> None:
        raise StoreUnusable("store: expected an intact database, found a damaged one")

    monkeypatch.setattr(*part, damaged)
    await world.post("a")
    running = await world.run()
    with pytest.raises(StoreUnusable, match="found a damaged one"):
        await running.wait()


async def test_a_bug_in_the_actor_costs_a_pause(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = SqliteTransaction.known, []

    async def breaks(self: SqliteTransaction, ids: Any) -> set[str]:
        calls.append(ids)
        if len(calls) == 1:
            raise RuntimeError("surprise")
        return await real(self, ids)

    monkeypatch.setattr(SqliteTransaction, "known", breaks)
    await world.post("a")
    await world.run()
    await world.emptied()
    assert await world.both() == ["a"]
    assert world.told("submission.broke") == [{"error": "RuntimeError('surprise')"}]


async def takes_its_time(message: Message, transaction: Transaction) -> Accepted:
    await asyncio.sleep(9.0)
    return Accepted(fulfil, message.id)


async def test_slow_messages_share_no_transaction(world: World) -> None:
    ids = [f"n-{n}" for n in range(4)]
    world.desk.plans |= dict.fromkeys(ids, takes_its_time)
    points = Points()
    await world.post(*ids)
    await world.run(world.app(failpoint=points))
    await world.emptied()
    assert await world.both() == ids
    assert points.passed.count("submission.commit.after") == 4


async def test_a_slow_batch_keeps_its_lease(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    extend = StoreQueues.extend

    async def counted(self: StoreQueues, queue: str, tokens: Sequence[int], lease: float) -> None:
        kept.append(len(tokens))
        await extend(self, queue, tokens, lease)

    monkeypatch.setattr(StoreQueues, "extend", counted)
    ids = [f"n-{n}" for n in range(10)]
    world.desk.plans |= dict.fromkeys(ids, takes_its_time)
    await world.post(*ids)
    await world.run()
    await world.run()
    await world.emptied()
    first, *_, last = [at for _, _, at in world.desk.calls]
    assert last - first > LEASE
    assert await world.both() == ids
    assert [world.desk.tries(id) for id in ids] == [[1]] * 10
    # While one message has the file, no other process can take the others: the lease is looked at itself.
    assert kept == list(range(9, 0, -1))
