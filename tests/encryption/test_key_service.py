"""Keys that a key service gives: each is asked for once when a process starts, by a plain or an async function."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepward import Client, Encryption
from stepward.errors import SettingsError, StoreUnavailable
from tests.encryption.shop import KEYS, application, child
from tests.encryption.test_keys_at_start import OTHER, started, store_in

SECRETS = {"k1": KEYS.keys["k1"], "k2": OTHER}


class KeyService:
    """Gives keys, and counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def get(self, id: str) -> bytes:
        self.asked.append(id)
        return SECRETS[id]

    async def fetch(self, id: str) -> bytes:
        return self.get(id)


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "plain"])
async def test_each_key_is_asked_for_once_when_a_process_starts(is_async: bool, tmp_path: Path) -> None:
    service = KeyService()
    fetch = service.fetch if is_async else service.get
    app = application(store_in(tmp_path), encryption=Encryption("k1", fetch))
    async with app.running(), app.client() as client:
        for number in range(3):
            assert await (await client.submit(child, str(number))).result(timeout=20) == f"noted {number}"
    assert service.asked == ["k1"]
    # The store names the keys that it was encrypted with: a process with a new one fetches the old one too.
    async with Client(store_in(tmp_path), app="shop", encryption=Encryption("k2", fetch)):
        pass
    assert service.asked == ["k1", "k2", "k1"]


async def test_keys_to_come_are_fetched_before_they_are_met(tmp_path: Path) -> None:
    service = KeyService()
    encryption = Encryption("k1", service.fetch, others=["k2"])
    await started(application(store_in(tmp_path), encryption=encryption))
    assert (service.asked, repr(encryption)) == (["k1", "k2"], "Encryption(key k1, k2)")


async def test_a_key_service_that_fails_is_an_outage_and_its_words_are_not_shown(tmp_path: Path) -> None:
    def fails(id: str) -> bytes:
        raise ConnectionError("refused with the secret c2VjcmV0")

    app = application(store_in(tmp_path), encryption=Encryption("k1", fails))
    with pytest.raises(
        StoreUnavailable, match="expected the key k1 of the key service, found ConnectionError"
    ) as raised:
        await started(app)
    assert "c2VjcmV0" not in str(raised.value)


async def test_what_is_no_key_is_refused(tmp_path: Path) -> None:
    app = application(store_in(tmp_path), encryption=Encryption("k1", lambda id: b"short"))
    with pytest.raises(SettingsError, match="expected 32 bytes as the key k1, found 5 bytes"):
        await started(app)
