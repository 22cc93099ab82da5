"""The end of a rotation: which keys are in use, payloads that are re-encrypted, and a key that is forgotten."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from servers import postgres
from stepward import Encryption
from tests.cli.processes import asked
from tests.encryption.shop import CANARY, KEYS, application, carry, child
from tests.encryption.test_keys_at_start import OTHER, ROTATED, started, store_in

BOTH = " ".join(f"{name}:{base64.b64encode(key).decode()}" for name, key in (("k2", OTHER), ("k1", KEYS.keys["k1"])))
NEW_ALONE = Encryption("k2", {"k2": OTHER})


async def carried(store: str) -> None:
    app = application(store, encryption=KEYS)
    async with app.running(), app.client() as client:
        await carry(client)
        await client.submit(child, CANARY, id="later", delay="1s")


def carried_of(store: str) -> None:
    asyncio.run(carried(store))


async def read_with(store: str, encryption: Encryption) -> None:
    app = application(store, encryption=encryption)
    async with app.running(), app.client() as client:
        assert (await client.task("good").result(timeout=20))["signed"] == f"signed {CANARY}"
        assert await client.task("later").result(timeout=20) == f"noted {CANARY}"
        error = (await client.task("failing").status()).error
        assert error is not None
        assert CANARY in error["message"]
        assert any(CANARY in alert.message for alert in await client.alerts())
        await client.task("undone").status()


def uses(folder: Path, store: str) -> dict[str, dict[str, int]]:
    found = asked(folder, "keys", "--json", "--store", store)
    assert found.returncode == 0, found.stderr
    return {each["key"]: each["payloads"] for each in json.loads(found.stdout)}


def rotated(folder: Path, store: str) -> None:
    asyncio.run(carried(store))
    before = uses(folder, store)
    assert before.keys() == {"k1"}
    assert {"tasks", "steps", "alerts", "schedules"} <= before["k1"].keys()
    assert asked(folder, "keys", "reencrypt", "--store", store).returncode == 2
    asyncio.run(started(application(store, encryption=ROTATED)))
    refused = asked(folder, "keys", "forget", "k1", "--store", store)
    assert (refused.returncode, "expected no payload that it encrypts" in refused.stderr) == (2, True)
    done = asked(folder, "keys", "reencrypt", "--store", store, STEPWARD_ENCRYPTION=BOTH)
    assert (done.returncode, done.stdout.endswith("with the key k2\n")) == (0, True), done.stderr
    after = uses(folder, store)
    assert {table: after["k2"].get(table) for table in before["k1"]} == before["k1"]
    assert after["k1"] == {}
    assert asked(folder, "keys", "forget", "k1", "--store", store).returncode == 0
    asyncio.run(read_with(store, NEW_ALONE))


def test_a_key_is_forgotten_once_all_that_it_encrypted_is_re_encrypted(tmp_path: Path) -> None:
    rotated(tmp_path, store_in(tmp_path))


@pytest.mark.servers
def test_the_same_on_postgresql(tmp_path: Path) -> None:
    with postgres.running(settings=postgres.UNSYNCED) as server:
        rotated(tmp_path, server.address())
