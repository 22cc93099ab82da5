"""A process needs the keys of its store to start; rotation, moved ciphertexts, and operators without a key."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import apsw
import pytest

from stepward import App, Client, Encryption, Queues
from stepward.errors import SettingsError, StoreUnusable
from tests.cli.processes import asked
from tests.encryption.shop import CANARY, KEYS, application, carry, child, is_in, until

OTHER = bytes(reversed(range(32)))
ROTATED = Encryption("k2", {"k2": OTHER, "k1": KEYS.keys["k1"]})


def store_in(folder: Path) -> str:
    return f"sqlite:///{folder / 'shop.db'}"


def execute(folder: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(folder / "shop.db"))
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.close()


async def started(app: App) -> None:
    async with app.running():
        pass


@pytest.mark.parametrize(
    ("encryption", "message"),
    [
        (None, "expected the key k1, with which payloads of this store are encrypted, found none"),
        (Encryption("k2", {"k2": OTHER}), "found only others, such as k2"),
        (Encryption("k1", {"k1": OTHER}), "found another key under that id"),
    ],
    ids=["no key", "another key", "another key under that id"],
)
async def test_a_process_without_the_right_key_is_refused_and_nothing_is_lost(
    encryption: Encryption | None, message: str, tmp_path: Path
) -> None:
    store = store_in(tmp_path)
    app = application(store, encryption=KEYS)
    async with app.running(agents=False), app.client() as client:
        handle = await client.submit(child, CANARY, id="waits", delay="1s")
    with pytest.raises(StoreUnusable, match=message):
        await started(application(store, encryption=encryption))
    with pytest.raises(StoreUnusable, match=message):
        async with Client(store, app="shop", encryption=encryption):
            pass
    with pytest.raises(StoreUnusable, match=message):
        async with Queues(store, app="shop", encryption=encryption):
            pass
    async with app.running(), app.client() as client:
        assert await client.task(handle.id).result(timeout=20) == f"noted {CANARY}"


async def test_after_a_rotation_old_payloads_are_read_and_new_ones_have_the_new_key(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    old = application(store, encryption=KEYS)
    async with old.running(), old.client() as client:
        await (await client.submit(child, "before", id="old")).result(timeout=20)
        await client.submit(child, "delayed", id="delayed", delay="1s")
    new = application(store, encryption=ROTATED)
    async with new.running(), new.client() as client:
        await (await client.submit(child, "after", id="new")).result(timeout=20)
        results = [await client.task(id).result(timeout=20) for id in ("old", "delayed", "new")]
    assert results == ["noted before", "noted delayed", "noted after"]
    keys = execute(
        tmp_path, "select id, json_extract(cast(output as text), '$.\"stepward.encrypted\"') from stepward_task"
    )
    assert dict(keys) == {"old": "k1", "delayed": "k2", "new": "k2"}


async def test_encryption_that_is_turned_on_later_reads_what_was_written_before(tmp_path: Path) -> None:
    plain = application(store_in(tmp_path))
    async with plain.running(), plain.client() as client:
        await (await client.submit(child, "before", id="before")).result(timeout=20)
    app = application(store_in(tmp_path), encryption=KEYS)
    async with app.running(), app.client() as client:
        assert await client.task("before").result(timeout=20) == "noted before"


async def test_a_ciphertext_that_is_moved_to_another_task_fails_there_and_is_whole_where_it_belongs(
    tmp_path: Path,
) -> None:
    app = application(store_in(tmp_path), encryption=KEYS)
    async with app.client() as client:
        for id in ("one", "two"):
            await client.submit(child, id, id=id, delay="1s")
    ((one,),) = execute(tmp_path, "select input from stepward_task where id = 'one'")
    ((two,),) = execute(tmp_path, "select input from stepward_task where id = 'two'")
    execute(tmp_path, "update stepward_task set input = ? where id = 'two'", one)
    async with app.running(), app.client() as client:
        await until(lambda: is_in(client, "two", "error"))
        error = (await client.task("two").status()).error
        assert error is not None
        assert "it is encrypted, and it was changed, moved from another place" in error["message"]
        assert await client.task("one").result(timeout=20) == "noted one"
    execute(tmp_path, "update stepward_task set input = ? where id = 'two'", two)
    async with app.running(), app.client() as client:
        await client.task("two").resubmit()
        assert await client.task("two").result(timeout=20) == "noted two"


async def carried(folder: Path) -> None:
    app = application(store_in(folder), encryption=KEYS)
    async with app.running(), app.client() as client:
        await carry(client)
        await client.submit(child, CANARY, id="later", delay="1h")


def test_an_operator_without_a_key_sees_which_key_and_may_write_no_payload(tmp_path: Path) -> None:
    asyncio.run(carried(tmp_path))
    shown = json.loads(asked(tmp_path, "show", "failing", "--json", "--store", store_in(tmp_path)).stdout)
    assert CANARY not in json.dumps(shown)
    assert shown["error"]["type"] == "StepFailed"
    assert shown["error"]["encrypted_with_key"] == "k1"
    steps = json.loads(asked(tmp_path, "steps", "failing", "--json", "--store", store_in(tmp_path)).stdout)
    assert {step["input"]["encrypted_with_key"] for step in steps} == {"k1"}
    refused = asked(tmp_path, "signal", "later", "approved", '"x"', "--store", store_in(tmp_path))
    assert (refused.returncode, "expected a key" in refused.stderr) == (2, True)
    assert asked(tmp_path, "cancel", "later", "--store", store_in(tmp_path)).returncode == 0
    key = base64.b64encode(KEYS.keys["k1"]).decode()
    seen = asked(tmp_path, "show", "failing", "--json", "--store", store_in(tmp_path), STEPWARD_ENCRYPTION=f"k1:{key}")
    assert CANARY in seen.stdout


def test_an_operator_without_a_key_writes_payloads_where_none_is_encrypted(tmp_path: Path) -> None:
    async def wait() -> None:
        app = application(store_in(tmp_path))
        async with app.running(), app.client() as client:
            await client.submit(child, "before", id="later", delay="1h")

    asyncio.run(wait())
    sent = asked(tmp_path, "signal", "later", "approved", '"x"', "--store", store_in(tmp_path))
    assert (sent.returncode, sent.stderr) == (0, "")


def test_a_file_of_keys_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"k1:{base64.b64encode(OTHER).decode()}\n")
    file.chmod(0o640)
    with pytest.raises(SettingsError, match=r"expected a file that only its owner can use at .*, found mode 0640"):
        App("shop", encryption=f"file:{file}")
    file.chmod(0o600)
    found = App("shop", encryption=f"file:{file}").settings
    assert found.shown("encryption") == "key k1"
