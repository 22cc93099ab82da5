"""Signals as fast as clients send them: they hold up their own task's end for a while, and never break it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stepward import wait_for, workflow
from stepward.errors import InboxFull
from stepward.model.states import TaskState
from stepward.store.contract import Change, Committed
from stepward.store.rules import inbox_rules
from stepward.store.sqlite.hot.scheduler import SqliteScheduler
from tests.scheduler.world import World, in_state


@workflow
async def order() -> str:
    return await wait_for("go", type=str)


@workflow
async def collector() -> int:
    count = 0
    while await wait_for("item", type=str) != "last":
        count += 1
    return count


async def test_a_task_overtaken_by_signals_again_and_again_ends_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, sent = SqliteScheduler.commit, list[str]()

    async def flooded(self: Any, instance: str, changes: Sequence[Change], renew: float | None) -> Committed:
        if len(sent) < 25 and any(change.move is not None and change.move.release for change in changes):
            sent.append("more")
            await client.task("t").signal("more")
        return await commit(self, instance, changes, renew)

    monkeypatch.setattr(SqliteScheduler, "commit", flooded)
    client = await world.start([order])
    handle = await client.submit(order, id="t")
    await in_state(handle, TaskState.WAITING)
    await handle.signal("go", "now")
    assert await handle.result(timeout=60) == "now"
    assert len(sent) == 25
    assert await client.alerts() == []


async def test_signals_sent_without_a_pause_are_all_taken(world: World) -> None:
    client = await world.start([collector])
    handle = await client.submit(collector, id="t")
    for number in range(500):
        await handle.signal("item", str(number))
    await handle.signal("item", "last")
    assert await handle.result(timeout=60) == 500


async def test_a_signal_to_a_full_inbox_is_refused_in_one_line(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_rules, "MOST_SIGNALS", 100)
    client = await world.start([order])
    handle = await client.submit(order, id="t")
    await in_state(handle, TaskState.WAITING)
    for _ in range(100):
        await handle.signal("other")
    with pytest.raises(
        InboxFull, match=r"^signal other to task t: expected at most 100 signals .* found 101 "
    ) as refused:
        await handle.signal("other")
    assert "\n" not in str(refused.value)
    monkeypatch.setattr(inbox_rules, "MOST_SIGNALS", 1000)
    await handle.signal("go", "now")
    assert await handle.result(timeout=60) == "now"


async def test_signals_are_bounded_in_bytes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_rules, "SIGNAL_BYTES", 100_000)
    client = await world.start([order])
    handle = await client.submit(order, id="t")
    await in_state(handle, TaskState.WAITING)
    with pytest.raises(InboxFull, match="bytes"):
        for _ in range(101):
            await handle.signal("other", "x" * 1_000)
