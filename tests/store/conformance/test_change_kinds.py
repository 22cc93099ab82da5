"""A notification names what it is about, and one that comes between a look and the wait counts."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from stepward.model.messages.change_kinds import EVERYTHING, INBOX, REPLIES, REQUESTS, TASKS, Kinds, received
from stepward.store.contract import Store
from stepward.store.sqlite.engine import notifier
from tests.store.conformance.world import World, until
from tests.virtual import settle

FOR_EVER = 3_600.0


@pytest.fixture(autouse=True)
def no_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_SECONDS", FOR_EVER)


@pytest.fixture
async def other(world: World, store: Store) -> Any:
    """Another store object, whose notifications ``store`` receives from now on."""
    if not world.place.notified:
        pytest.skip("this store receives no notifications")
    other = await world.open()
    waiting = asyncio.create_task(store.host.stirred(FOR_EVER))
    await settle()
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    store.host.changed()
    return other


async def kinds_until(store: Store, wanted: Kinds) -> Kinds:
    """The kinds that are received until all of ``wanted`` are among them."""
    kinds = 0
    async with asyncio.timeout(10):
        while wanted & ~kinds:
            await store.host.stirred(FOR_EVER)
            kinds |= store.host.changed()
    return kinds


async def test_a_submission_is_about_free_tasks_and_a_message_about_its_queue(
    world: World, store: Store, other: Any
) -> None:
    await other.client.submit([world.task()])
    assert await kinds_until(store, TASKS) == TASKS
    await other.messages.put("agents.card", [(b"{}", None)])
    assert await kinds_until(store, REQUESTS) == REQUESTS


async def test_kinds_within_a_pause_are_merged_and_none_is_lost(store: Store, other: Any) -> None:
    for kinds in (TASKS, INBOX, REPLIES):
        other._notifier.ring(kinds)
    assert await kinds_until(store, TASKS | INBOX | REPLIES) == TASKS | INBOX | REPLIES


async def test_a_notification_between_a_look_and_the_wait_counts(world: World, store: Any, other: Any) -> None:
    assert not store.host.changed()
    await other.client.submit([world.task()])
    await until(lambda: store._notifier._received)
    async with asyncio.timeout(10):
        await store.host.stirred(FOR_EVER)
    assert store.host.changed() == TASKS


def _has_received(store: Any, kinds: Kinds) -> bool:
    return bool(store._notifier._received & kinds)


async def test_notifications_that_come_one_by_one_add_up_until_a_look(store: Any, other: Any) -> None:
    for kinds in (TASKS, INBOX):
        other._notifier.ring(kinds)
        await until(partial(_has_received, store, kinds))
    await store.host.stirred(FOR_EVER)
    assert store.host.changed() == TASKS | INBOX


async def test_a_change_of_unknown_kind_is_about_everything(store: Store, other: Any) -> None:
    other._notifier.ring()
    assert await kinds_until(store, EVERYTHING) == EVERYTHING


def test_a_notification_of_an_earlier_version_is_about_everything() -> None:
    assert received(0) == EVERYTHING
