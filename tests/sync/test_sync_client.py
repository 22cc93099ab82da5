"""The blocking client at its edges: failing to open, forked children, use after the end, clients that are dropped."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from stepward import App, SyncClient, step, workflow
from stepward.errors import Refused, StoreUnusable
from stepward.sync import SyncQueues

BOUND = 120.0


@step()
async def double(number: int) -> int:
    return 2 * number


@workflow
async def doubling(number: int) -> int:
    return await double(number)


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App("shop", workflows=[doubling], store=f"sqlite:///{tmp_path}/shop.db")


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def test_after_the_end_each_use_says_that_it_is_closed(app: App) -> None:
    with app.sync_client() as client:
        handle = client.submit(doubling, 4)
        events = client.events("replies.shop.x")
    uses: list[Callable[[], Any]] = [
        lambda: client.submit(doubling, 4),
        client.alerts,
        handle.status,
        lambda: next(events),
        lambda: client.transaction().__enter__(),
    ]
    for use in uses:
        with pytest.raises(Refused, match=r"expected use within .*, found it closed; open another"):
            use()


def test_before_it_is_entered_it_says_so(app: App) -> None:
    before = threads()
    with pytest.raises(Refused, match="found it not entered yet; enter it first"):
        app.sync_client().alerts()
    assert threads() == before


def test_it_is_not_opened_twice_at_a_time(app: App) -> None:
    with app.sync_client() as client:
        with pytest.raises(Refused, match="expected to be opened once at a time, found it open"), client:
            pass
        assert client.alerts() == []
    with client:
        assert client.alerts() == []


def test_an_opening_that_fails_leaves_no_thread(tmp_path: Path) -> None:
    (tmp_path / "shop.db").write_text("no database at all, but long enough to look like one" * 100)
    before = threads()
    client = App("shop", workflows=[doubling], store=f"sqlite:///{tmp_path}/shop.db").sync_client()
    for _ in range(2):
        with pytest.raises(StoreUnusable), client:
            pass
    assert threads() == before
    with pytest.raises(Refused, match="found it closed"):
        client.alerts()


def test_one_that_is_dropped_closes(app: App) -> None:
    before = threads()
    client = app.sync_client().__enter__()
    (thread,) = threads() - before
    handle = client.submit(doubling, 4)
    del client
    gc.collect()
    assert handle.status().id == handle.id
    del handle
    gc.collect()
    thread.join(BOUND)
    assert not thread.is_alive()


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
@pytest.mark.parametrize("kind", ["client", "queues"])
def test_in_a_forked_child_it_says_so(app: App, tmp_path: Path, kind: str) -> None:
    queues = SyncQueues(f"sqlite:///{tmp_path}/shop.db", app="shop")
    with app.sync_client() as client, queues:
        use: Callable[[], Any] = client.alerts if kind == "client" else lambda: queues.post("orders", {})
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            found = "nothing"
            try:
                use()
            except Refused as error:
                found = str(error)
                # Leaving the block neither waits for ever nor takes anything from the parent.
                client.__exit__(None, None, None)
                queues.__exit__(None, None, None)
            finally:
                os.write(writing, found.encode())
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as told:
            text = told.read()
        os.waitpid(child, 0)
        assert f"expected use in process {os.getpid()}, which opened it, found its forked child {child}" in text
        assert client.alerts() == []


def test_a_transaction_within_another_is_refused_at_once(app: App) -> None:
    with app.sync_client() as client:
        with client.transaction() as transaction:
            client.submit(doubling, 4, id="a", transaction=transaction)
            with pytest.raises(Refused, match="expected no other one of this store open here"), client.transaction():
                pass
        assert [task.id for task in client.tasks()] == ["a"]
        with client.transaction(), pytest.raises(Refused, match="found it ended"):
            transaction.execute("select 1")
        with pytest.raises(KeyError), client.transaction():
            raise KeyError
        with client.transaction():
            pass


def test_a_thread_that_waits_is_cancelled_when_another_closes(app: App) -> None:
    client: SyncClient = app.sync_client().__enter__()
    handle = client.submit(doubling, 4)
    told: list[BaseException] = []

    def wait() -> None:
        try:
            handle.result()
        except BaseException as error:
            told.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    client.alerts()
    client.__exit__(None, None, None)
    waiting.join(BOUND)
    assert isinstance(told[0], CancelledError)
