"""Forks and updates where payloads are encrypted, and where large ones are kept outside the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepward import Agent, App, Encryption, wait_for_update, workflow
from tests.until import until

shop = Agent("shop")
LARGE = "x" * 20_000
KEYS = Encryption("k1", {"k1": bytes(range(32))})


@shop.operation(complete_by="10s")
async def copy(text: str) -> str:
    return text


@workflow
async def keep(text: str) -> str:
    first = await copy(text)
    note = await wait_for_update("note", type=str)
    note.accept(note.value)
    return await copy(first + note.value)


def options(kind: str, folder: Path) -> dict[str, Any]:
    large: dict[str, Any] = {"large_payloads": f"file://{folder / 'large'}", "large_payload_bytes": 8_192}
    encrypted: dict[str, Any] = {"encryption": KEYS}
    return {"encrypted": encrypted, "large": large, "both": encrypted | large}[kind]


@pytest.mark.parametrize("kind", ["encrypted", "large", "both"])
async def test_a_fork_has_payloads_of_its_own(kind: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    app = App("shop", workflows=[keep], agents=[shop], store=store, **options(kind, tmp_path))
    async with app.running(supervisor_every="50ms"), app.client() as client:
        task = await client.submit(keep, LARGE, id="t")
        assert await task.update("note", LARGE, timeout=30) == LARGE
        assert await task.result(timeout=30) == LARGE + LARGE
        fork = await task.fork("shop.copy/2", id="f")
        assert await fork.result(timeout=30) == LARGE + LARGE
        await client.delete("id = 't'")
        await until(lambda: client.tasks(workflow="keep"), lambda tasks: [each.id for each in tasks] == ["f"])
        assert await fork.result(timeout=30) == LARGE + LARGE
        again = await fork.fork("shop.copy/2", id="g")
        assert await again.result(timeout=30) == LARGE + LARGE
