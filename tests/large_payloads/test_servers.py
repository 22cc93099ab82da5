"""Large payloads with real servers: PostgreSQL has references alone, and messages at a broker are small."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from servers import nats, postgres
from stepward import Encryption, Queues
from stepward.large_payloads import LargePayloads
from tests.encryption.shop import QUEUE, until
from tests.large_payloads.shop import OVER, application, large, order
from tests.large_payloads.test_everywhere import ended_whole, exists
from tests.transport.wire.taps import tapped_nats

pytestmark = pytest.mark.servers
KEYS = Encryption("k1", {"k1": bytes(range(32))})
LONGEST = """
select greatest(
    (select max(greatest(length(input), length(output), length(error))) from {schema}.task),
    (select max(greatest(length(input), length(output), length(error))) from {schema}.step),
    (select max(length(body)) from {schema}.inbox))
"""


async def test_on_postgresql_and_over_a_broker_references_alone_are_stored_and_sent(tmp_path: Path) -> None:
    address = f"file://{tmp_path / 'large'}"
    outside = LargePayloads(address, over_bytes=OVER)
    with postgres.running() as server, nats.running() as node:
        app = application(server.address(), address, transport=node.address, encryption=KEYS)
        async with tapped_nats(node.address, "shop") as tap, app.running(), app.client() as client:
            alone = await client.submit(order, large("card"), id="alone", reply_to=QUEUE)
            connection = await asyncpg.connect(server.address())
            async with connection.transaction():
                within = await client.submit(order, large("with"), id="within", transaction=connection)
            async with Queues(node.address, app="shop", encryption=KEYS, large_payloads=outside) as queues:
                await queues.post("orders", {"card": large("post")}, id="posted")
            await until(lambda: exists(client, "posted"))
            for task, mark in ((alone, "card"), (within, "with"), (client.task("posted"), "post")):
                await task.signal("approved", large("yes"))
                await ended_whole(task, mark)
            again = await client.submit(order, large("card"), id="alone")
            assert again.id == "alone"
            schema = await connection.fetchval("select schemaname from pg_tables where tablename = 'inbox'")
            assert await connection.fetchval(LONGEST.format(schema=schema)) <= 2 * OVER
            await connection.close()
        assert max(len(each.body) for each in tap) < 4 * OVER
