"""With real servers: no file of PostgreSQL, of its dump, of NATS, of RabbitMQ or of an archive has the canary."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from servers import nats, postgres, rabbitmq
from servers.ports import free_port
from servers.postgres.programs import newest
from stepward import Encryption, Queues
from tests.cli.processes import asked
from tests.encryption.shop import CANARY, KEYS, QUEUE, application, carry, until
from tests.encryption.test_canary import files_with, metrics_at
from tests.transport.wire.taps import tapped_nats, tapped_rabbitmq

pytestmark = pytest.mark.servers


@contextmanager
def folder_for_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that the servers' user may enter, in which every server keeps its files."""
    with tempfile.TemporaryDirectory(prefix="stepward-canary-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        yield folder


async def seen_at_work(store: str, transport: str, encryption: Encryption | None) -> tuple[bytes, str]:
    """The messages at the broker, and the application's metrics in the end."""
    is_nats = transport.startswith("nats")
    tapped = tapped_nats if is_nats else tapped_rabbitmq
    async with tapped(transport, "shop") as tap:
        shown = await shop_at_work(store, transport, "nats-" if is_nats else "rabbit-", encryption)
    return b"\n".join(each.body for each in tap), shown


async def shop_at_work(store: str, transport: str, prefix: str, encryption: Encryption | None) -> str:
    port = free_port()
    app = application(store, transport=transport, encryption=encryption, metrics=str(port))
    async with app.running(), app.client() as client:
        await carry(client, prefix)
        async with Queues(transport, app="shop", encryption=encryption) as queues:
            await queues.post("orders", {"card": f"none {CANARY}"}, id=f"{prefix}refused", reply_to=QUEUE)
            await until(client.dead_letters)
            events = queues.events(QUEUE)
            async with asyncio.timeout(30):
                while CANARY not in str((await anext(events)).data):
                    pass
        return await asyncio.to_thread(metrics_at, port)


def dump(server: postgres.Server, file: Path) -> None:
    program = newest() / "pg_dump"
    subprocess.run([program, "--inserts", "-f", file, server.address()], check=True, timeout=60)


def purge(store: str, archive: Path) -> None:
    """Archive and delete what has ended, in a process without a key."""
    found = asked(archive, "purge", "--older-than", "0s", "--store", store, STEPWARD_ARCHIVE=str(archive))
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    "encryption",
    [pytest.param(KEYS, id="encrypted"), pytest.param(None, id="plain", marks=pytest.mark.faults)],
)
def test_the_canary_is_in_no_file_of_any_server_archive_or_backup(
    encryption: Encryption | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "stepward")
    with folder_for_servers(monkeypatch) as folder, postgres.running() as server, nats.running() as broker:
        archive, backup = folder / "archive", folder / "backup.sql"
        archive.mkdir()
        seen = [asyncio.run(seen_at_work(server.address(), broker.address, encryption))]
        with rabbitmq.running(is_traced=True) as rabbit:
            seen.append(asyncio.run(seen_at_work(server.address(), rabbit.address, encryption)))
        asyncio.run(server.execute("checkpoint"))
        dump(server, backup)
        purge(server.address(), archive)
        found = files_with(folder, CANARY)
        assert list(archive.rglob("*.jsonl.gz")), "something was archived"
        for traffic, metrics in seen:
            assert (b"stepward.reply" in traffic, CANARY in metrics) == (True, False)
            assert (CANARY.encode() in traffic) == (encryption is None)
        assert (CANARY in caplog.text) == (encryption is None)
        if encryption is not None:
            assert found == []
        else:
            places = {"archive", "backup.sql", "base", "pg_wal", "jetstream"}
            assert {place for place in places if any(place in file for file in found)} == places
