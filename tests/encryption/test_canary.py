"""With encryption on, a value that is carried through every kind of payload is in no file and no line of the log."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from stepward import Queues
from stepward.store.contract import BATCH_ENDS
from tests.encryption.shop import CANARY, KEYS, QUEUE, application, carry, until
from tests.until import until as until_so


def files_with(folder: Path, text: str) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return sorted(str(file.relative_to(folder)) for file in files if text.encode() in content(file))


def content(file: Path) -> bytes:
    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


@pytest.mark.parametrize("transport", ["local", "store"])
async def test_the_canary_is_in_no_file_of_a_store(
    transport: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "stepward")
    store = f"sqlite:///{tmp_path / 'shop.db'}"
    app = application(store, transport=transport, encryption=KEYS)
    async with app.running(), app.client() as client:
        await carry(client)
        async with Queues(store, app="shop", encryption=KEYS) as queues:
            await queues.post("orders", {"card": f"none {CANARY}"}, id="refused", reply_to=QUEUE)
            await until(client.dead_letters)
            events = queues.watch(QUEUE)
            seen = [str((await anext(events)).data) for _ in range(12)]
        assert any(CANARY in event for event in seen)
        assert any(CANARY in alert.message for alert in await client.alerts())
        assert any(CANARY in str(step.input) for step in await client.task("failing").steps())
        # With everything of the log still in it.
        assert (tmp_path / "shop.db-wal").stat().st_size > 0
        assert files_with(tmp_path, CANARY) == []
    assert files_with(tmp_path, CANARY) == []
    assert "task.error" in caplog.text
    assert CANARY not in caplog.text


async def test_the_arguments_that_a_batch_gives_are_in_no_file(tmp_path: Path) -> None:
    app = application(f"sqlite:///{tmp_path / 'shop.db'}", encryption=KEYS)
    async with app.running(), app.client() as client:
        await carry(client)
        found = await client.batches.preview("resubmit", "state = 'error'", input=[f"edited {CANARY}"], doubt="undo")
        batch = await client.batches.start(found, rate=500)
        done = await until_so(lambda: client.batches.get(batch.id), lambda now: now.state in BATCH_ENDS)
        assert CANARY in str(done.parameters.input)
        assert done.done + done.refused == found.count.number > 0
        assert files_with(tmp_path, CANARY) == []


async def test_without_encryption_the_same_search_finds_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = application(f"sqlite:///{tmp_path / 'shop.db'}")
    async with app.running(), app.client() as client:
        await carry(client)
    assert files_with(tmp_path, CANARY) == ["shop.db"]
    assert CANARY in caplog.text
