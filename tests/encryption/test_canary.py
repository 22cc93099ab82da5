"""With encryption on, a value that is carried through every kind of payload is in no file and no line of the log."""

from __future__ import annotations

import asyncio
import gzip
import logging
import sqlite3
import urllib.request
from base64 import b64encode
from pathlib import Path

import msgspec
import pytest

from servers.ports import free_port
from stepward import Encryption, Queues
from stepward.store.contract import BATCH_ENDS
from tests.encryption.shop import CANARY, KEYS, QUEUE, application, carry, until
from tests.observers.receiver import receiving
from tests.observers.test_event_webhooks import counted
from tests.telemetry.collector import collector
from tests.until import until as until_so


def files_with(folder: Path, text: str) -> list[str]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    found = forms(text)
    return sorted(str(file.relative_to(folder)) for file in files if any(each in content(file) for each in found))


def forms(text: str) -> list[bytes]:
    """The text as it is, and what is in Base64 wherever it begins, as messages carry their payloads."""
    in_base64 = [b64encode(b"." * before + text.encode())[4 * bool(before) : -4] for before in range(3)]
    return [text.encode(), *in_base64]


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


async def test_the_canary_leaves_for_no_webhook_and_waits_for_none_in_a_file(tmp_path: Path) -> None:
    async with receiving() as receiver:
        webhooks = {"crm": {"url": receiver.url, "secret": "0123456789abcdef"}}
        app = application(f"sqlite:///{tmp_path / 'shop.db'}", encryption=KEYS, webhooks=webhooks)
        app.webhook("crm")
        async with app.running(supervisor=False), app.client() as client:
            await carry(client)
            assert files_with(tmp_path, CANARY) == []
        async with app.running():
            await until(lambda: counted(receiver, 20))
    bodies = [msgspec.json.decode(each.body) for each in receiver.received]
    assert {str(body["data"]) for body in bodies} == {"{'omitted': 'encrypted'}"}
    assert {"good", "failing"} <= {body["subject"] for body in bodies}


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


@pytest.mark.parametrize("encryption", [KEYS, None], ids=["encrypted", "plain"])
async def test_the_canary_is_in_no_trace_no_metric_no_archive_and_no_backup(
    encryption: Encryption | None, tmp_path: Path
) -> None:
    store, archive, port = f"sqlite:///{tmp_path / 'shop.db'}", tmp_path / "archive", free_port()
    archive.mkdir()
    with collector() as received:
        app = application(store, encryption=encryption, traces=received.url, metrics=str(port), transport="store")
        async with app.running(), app.client() as client:
            await carry(client)
            shown = await asyncio.to_thread(metrics_at, port)
        await asyncio.to_thread(received.until, lambda spans: any("refuse" in span.name for span in spans))
        traced = b"\n".join(received.bodies)
    back_up(tmp_path / "shop.db", tmp_path / "backup.db")
    app = application(store, encryption=encryption, retention="1s", archive=str(archive))

    async def archived() -> list[Path]:
        await app.supervise_once()
        return list(archive.rglob("*.jsonl.gz"))

    await until_so(archived)
    assert b"bank.refuse" in traced
    assert "stepward_" in shown
    assert CANARY not in shown
    found = files_with(tmp_path, CANARY)
    # Spans hold no payload and no message, encrypted or not.
    assert CANARY.encode() not in traced
    assert ("backup.db" in found) == (encryption is None)
    assert any(file.startswith("archive/") for file in found) == (encryption is None)


def back_up(store: Path, file: Path) -> None:
    """A copy by SQLite's own backup, as its shell makes it."""
    source, copy = sqlite3.connect(store), sqlite3.connect(file)
    source.backup(copy)
    source.close()
    copy.close()


def metrics_at(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
    return text
