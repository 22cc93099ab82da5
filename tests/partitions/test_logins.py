"""The logins that ``stepward grant`` makes have the rights that processes and the mover of shards need."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from click.testing import CliRunner

from servers.postgres import versions
from stepward.cli.main import cli
from stepward.errors import StoreUnusable
from stepward.store.partitions.placement import initial_shards
from tests.partitions.test_beside_a_move import ids
from tests.partitions.test_moving import MOVED, Bank, add, application, homes, move
from tests.store.postgres.server import Servers

PROCESSES = ("scheduler", "agent", "submission", "supervisor", "client")

pytestmark = pytest.mark.servers


def said(stores: list[str], *words: str) -> str:
    """What a command says of these stores."""
    listed = [word for store in stores for word in ("--store", store)]
    result = CliRunner().invoke(cli, [*words, *listed])
    assert result.exit_code == 0, result.output
    return result.output


def grant(stores: list[str], kind: str) -> None:
    said(stores, "grant", kind, f"moving_{kind.replace('-', '_')}", "--apply")


async def test_operators_move_shards_while_processes_with_few_rights_run_and_readers_look(
    servers: Servers, postgres_stores: list[str]
) -> None:
    """The owner has added the store."""
    server, address = servers.of(max(versions())), postgres_stores[0].partition("?")[0]
    name = address.rpartition("/")[2]
    orders = [
        next(ids("narrow", frozenset({shard}))) for shard in (*sorted(MOVED)[:3], *sorted(initial_shards(3)[0])[:3])
    ]
    async with application(postgres_stores[:2], Bank()).client() as client:
        for order in orders:
            await client.submit("narrow", order, id=order)
        await add(postgres_stores)
    for kind in (*PROCESSES, "operator", "read-only"):
        await asyncio.to_thread(grant, postgres_stores, kind)
    with psycopg.connect(address, autocommit=True) as session:
        session.execute("drop role if exists moving_processes")
        session.execute(
            "create role moving_processes login in role " + ", ".join(f"moving_{kind}" for kind in PROCESSES)
        )
    own, operators, readers = (
        [store.replace(address, server.address(name, login)) for store in postgres_stores]
        for login in ("moving_processes", "moving_operator", "moving_read_only")
    )
    # No process has begun with the new store yet.
    assert orders[0] in await asyncio.to_thread(said, readers, "tasks")
    app = application(own, Bank())
    async with app.running(), app.client() as client:
        with pytest.raises(StoreUnusable, match="expected the rights on schema and tables"):
            await move(readers)
        await move(operators)
        for order in orders:
            await client.task(order).result(timeout=30)
    assert {id: len(places) for id, places in homes(postgres_stores).items()} == dict.fromkeys(orders, 1)
