"""The console and the API show which key encrypts a payload, and the payload only where they have that key."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from stepward.client import ClientSession, client_on
from stepward.encryption import operator_codec
from stepward.http.access.access_rules import AccessRules
from stepward.mounting import mounted
from stepward.payload.sealed import PayloadCodec
from tests.encryption.shop import CANARY, KEYS, application, carry
from tests.encryption.test_keys_at_start import store_in

PATHS = ("/api/v1/tasks/failing", "/api/v1/tasks/failing/steps", "/tasks/failing")


async def shown(store: str, codec: PayloadCodec) -> dict[str, str]:
    pages = mounted(lambda: client_on(ClientSession(store, app="shop", codec=codec)), AccessRules(local_admin=True))
    transport = httpx.ASGITransport(app=pages)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        answers = {path: await browser.get(path) for path in PATHS}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {path: answer.text for path, answer in answers.items()}


@pytest.mark.parametrize("encryption", [None, KEYS], ids=["without the key", "with the key"])
async def test_a_page_shows_a_payload_only_with_its_key(encryption: object, tmp_path: Path) -> None:
    app = application(store_in(tmp_path), encryption=KEYS)
    async with app.running(), app.client() as client:
        await carry(client)
        codec = operator_codec("shop", KEYS if encryption is KEYS else None)
        pages = await shown(app.settings.store, codec)
    has_key = encryption is KEYS
    assert {path: CANARY in text for path, text in pages.items()} == dict.fromkeys(PATHS, has_key)
    assert {path: "encrypted_with_key" in text for path, text in pages.items()} == dict.fromkeys(PATHS, not has_key)
