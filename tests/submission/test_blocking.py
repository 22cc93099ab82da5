"""The blocking facade of queues, for front ends without an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from stepward import Accepted, App, Message, SyncQueues, workflow
from stepward.errors import Refused, StoreUnavailable, TransportError
from stepward.store.contract import Transaction
from stepward.store.sqlite.hot.messages import SqliteMessages

REPLIES = "replies.shop.web"


@workflow()
async def fulfil(what: str) -> str:
    return what


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted(fulfil, message.id)


@pytest.fixture
def app(tmp_path: Path) -> App:
    app = App("shop", workflows=[fulfil], store=f"sqlite:///{tmp_path / 'tasks.db'}")
    app.submission("orders", accept=accept)
    return app


@pytest.fixture
def served(app: App) -> Iterator[App]:
    """The application at work in a thread of its own."""
    began, over = threading.Event(), threading.Event()

    async def run() -> None:
        async with app.running():
            began.set()
            await asyncio.to_thread(over.wait)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(asyncio.run, run())
        assert began.wait(30)
        yield app
        over.set()
        running.result(30)


def test_post_and_follow(served: App) -> None:
    with SyncQueues(served.settings.store, app="shop") as queues:
        assert queues.post("orders", None, id="A-1", reply_to=REPLIES) == "A-1"
        told = []
        for event in queues.events(REPLIES):
            told.append((event.subject, event.sequence, event.type))
            if event.type == "stepward.task.completed":
                break
    assert told == [
        ("A-1", 1, "stepward.request.received"),
        ("A-1", 2, "stepward.task.started"),
        ("A-1", 3, "stepward.task.completed"),
    ]


def test_a_blocking_client_follows_too(served: App) -> None:
    with served.sync_client() as client:
        client.submit(fulfil, "tea", id="A-1", reply_to=REPLIES)
        events = client.events(REPLIES)
        assert [next(events).sequence for _ in range(3)] == [1, 2, 3]


def test_threads_share_one_door(app: App) -> None:
    with SyncQueues(app.settings.store, app="shop") as queues, ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: queues.post("orders", n), range(40)))
    assert len(set(ids)) == 40


def test_an_invalid_message_is_refused_by_the_blocking_client(app: App) -> None:
    with SyncQueues(app.settings.store, app="shop", payload_bytes=2_000) as queues:
        with pytest.raises(Refused, match="expected at most 2,000 bytes"):
            queues.post("orders", "x" * 2_000)
        with pytest.raises(Refused, match=r"expected replies\.shop\.NAME"):
            queues.events("replies.bank.web")


def test_closing_ends_waiting_calls(app: App) -> None:
    queues = SyncQueues(app.settings.store, app="shop")
    with ThreadPoolExecutor(1) as pool:
        with queues:
            waiting = pool.submit(next, queues.events(REPLIES))
        with pytest.raises(TransportError, match="found it closed"):
            waiting.result(30)


def test_closing_ends_calls_that_wait_for_an_unreachable_queue(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    async def down(*_: object) -> None:
        asked.set()
        raise StoreUnavailable("store: expected it to answer, found it down")

    queues = SyncQueues(app.settings.store, app="shop")
    monkeypatch.setattr("stepward.client.queues.events.PAUSE", 3600.0)
    with ThreadPoolExecutor(1) as pool:
        with queues:
            monkeypatch.setattr(SqliteMessages, "read", down)
            waiting = pool.submit(next, queues.events(REPLIES))
            assert asked.wait(30)
        with pytest.raises(CancelledError):
            waiting.result(30)


def test_a_store_out_of_reach_leaves_no_thread(tmp_path: Path) -> None:
    before = threading.active_count()
    with (
        pytest.raises(StoreUnavailable, match="expected the folder"),
        SyncQueues(f"sqlite:///{tmp_path}/nowhere/tasks.db", app="shop"),
    ):
        pytest.fail("it cannot be opened")
    assert threading.active_count() == before
