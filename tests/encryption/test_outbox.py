"""Rows of an outbox in another database are encrypted with the application's key."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from stepward import Client, Encryption, SyncOutbox
from stepward.outbox import outbox_table
from tests.encryption.shop import CANARY, KEYS, application, child, until
from tests.encryption.test_canary import files_with
from tests.encryption.test_keys_at_start import OTHER, store_in


def put(database: Path, id: str, encryption: Encryption | None) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        SyncOutbox("shop", encryption=encryption).put(connection, child, CANARY, id=id)


@pytest.mark.parametrize("encryption", [KEYS, None], ids=["encrypted", "plain"])
async def test_a_row_is_encrypted_until_the_relay_makes_its_task(encryption: Encryption | None, tmp_path: Path) -> None:
    database = tmp_path / "orders.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(outbox_table("sqlite"))
    put(database, "one", encryption)
    assert (files_with(tmp_path, CANARY) == []) == (encryption is not None)
    app = application(store_in(tmp_path), encryption=KEYS)
    app.relay(f"sqlite:///{database}")
    async with app.running(), app.client() as client:
        await until(lambda: is_there(client, "one"))
        assert await client.task("one").result(timeout=20) == f"noted {CANARY}"


async def test_a_row_under_a_key_that_is_not_here_is_set_aside_with_the_reason(tmp_path: Path) -> None:
    database = tmp_path / "orders.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(outbox_table("sqlite"))
    put(database, "one", Encryption("k9", {"k9": OTHER}))
    app = application(store_in(tmp_path), encryption=KEYS)
    app.relay(f"sqlite:///{database}")
    async with app.running():
        await until(lambda: set_aside(database))
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("select * from stepward_outbox").fetchall()
    assert "this process has no key k9" in str(rows)


async def is_there(client: Client, id: str) -> bool:
    return any(task.id == id for task in await client.tasks())


async def set_aside(database: Path) -> bool:
    with closing(sqlite3.connect(database)) as connection:
        return "no key k9" in str(connection.execute("select * from stepward_outbox").fetchall())
