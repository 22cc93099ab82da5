"""Large values in every kind of payload: the store and the queues hold references, and all who read get the values."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from stepward import Encryption, LargePayloads, Queues, TaskFailed
from stepward.client import TaskHandle
from tests.encryption.shop import QUEUE, until
from tests.large_payloads.shop import OVER, SIZE, application, large, order

KEYS = Encryption("k1", {"k1": bytes(range(32))})


def longest_cells(file: Path) -> dict[str, int]:
    """By table and column, the length of the longest cell of a store, where one is large."""
    found: dict[str, int] = {}
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        tables = [row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")]
        for table in tables:
            columns = [row[1] for row in connection.execute(f"pragma table_info({table})")]
            for column in columns:
                (longest,) = connection.execute(f'select max(length("{column}")) from "{table}"').fetchone()
                if isinstance(longest, int) and longest > OVER and table != "stepward_workflow":
                    found[f"{table}.{column}"] = longest
    return found


async def ended_whole(task: TaskHandle[Any], mark: str) -> None:
    result = await task.result(timeout=30)
    assert result == {
        "paid": large(f"paid {mark}"),
        "noted": large(f"noted {mark}"),
        "kept": large(f"kept {mark}"),
        "signed": large("yes"),
        "id": task.id,
    }


@pytest.mark.parametrize("transport", ["local", "store"])
@pytest.mark.parametrize("encryption", [None, KEYS], ids=["plain", "encrypted"])
async def test_only_references_stand_in_the_store(
    transport: str, encryption: Encryption | None, tmp_path: Path
) -> None:
    store, address = f"sqlite:///{tmp_path / 'shop.db'}", f"file://{tmp_path / 'large'}"
    app = application(store, address, transport=transport, encryption=encryption)
    async with app.running(), app.client() as client:
        alone = await client.submit(order, large("card"), id="alone", reply_to=QUEUE)
        await alone.signal("approved", large("yes"))
        await ended_whole(alone, "card")
        async with client.transaction() as transaction:
            within = await client.submit(order, large("with"), id="within", transaction=transaction)
        many = await client.submit_many(order, [(large("many"),)], ids=["many"])
        for each in (within, *many):
            await each.signal("approved", large("yes"))
        await ended_whole(within, "with")
        await ended_whole(many[0], "many")
        failed = await client.submit("failing", large("fail"))
        with pytest.raises(TaskFailed) as caught:
            await failed.result(timeout=30)
        assert caught.value.cause["data"]["card"] == large("fail")
        undone = await client.submit("waiting", large("undo"))
        await until(lambda: waits(undone))
        await undone.undo()
        await until(lambda: is_undone(undone))
        events = client.events(QUEUE)
        async for event in events:
            if event.type.endswith("task.completed"):
                assert event.data["result"]["paid"] == large("paid card")
                break
        assert longest_cells(tmp_path / "shop.db") == {}
        assert (await client.submit(order, large("card"), id="alone")).id == "alone"
    texts = [file.read_bytes() for file in (tmp_path / "large").rglob("*") if file.is_file()]
    assert len(texts) > 10
    assert any(b"x" * 100 in text for text in texts) == (encryption is None)


async def test_a_large_submission_comes_through_a_queue(tmp_path: Path) -> None:
    store, address = f"sqlite:///{tmp_path / 'shop.db'}", f"file://{tmp_path / 'large'}"
    app = application(store, address)
    async with app.running(), app.client() as client:
        async with Queues(store, app="shop", large_payloads=LargePayloads(address, over_bytes=OVER)) as queues:
            await queues.post("orders", {"card": large("post")}, id="posted")
        await until(lambda: exists(client, "posted"))
        posted = client.task("posted")
        await posted.signal("approved", large("yes"))
        await ended_whole(posted, "post")
        assert longest_cells(tmp_path / "shop.db") == {}
    assert SIZE > OVER


async def exists(client: Any, id: str) -> bool:
    return any(task.id == id for task in await client.tasks())


async def waits(task: TaskHandle[Any]) -> bool:
    return (await task.status()).state == "waiting"


async def is_undone(task: TaskHandle[Any]) -> bool:
    return (await task.status()).state == "undone"
