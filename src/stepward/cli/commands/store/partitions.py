"""``partitions``: the stores of an application and their shares, adding one, and moving its share there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import click

from stepward.cli.input.operator_store import json_option, settings_for, store_option
from stepward.cli.output.json_output import print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client.handle import actor
from stepward.clock import Environment, failpoint_from
from stepward.errors import SettingsError
from stepward.settings import Settings
from stepward.store.address import shown_apart
from stepward.store.contract import Store
from stepward.store.partitions.moving.added_store import add_store
from stepward.store.partitions.moving.move import move_share, shares
from stepward.store.partitions.single_or_partitioned import identify_any
from stepward.store.store_at_address import open_store

COLUMNS = (
    *(Column(name="PARTITION"), Column(name="SHARDS", right=True), Column(name="SHARE", right=True)),
    Column(name="STORE", least=12, middle=True),
)


@click.group("partitions", invoke_without_command=True)
@json_option
@store_option
@click.pass_context
def partitions(context: click.Context, as_json: bool, store: str | None) -> None:
    """List the stores of an application and the shards of each; `add` takes in a new one, `move` moves its share."""
    if context.invoked_subcommand is None:
        asyncio.run(_show(settings_for(store), as_json=as_json))


@partitions.command("add")
@store_option
def add(store: str | None) -> None:
    """Take in a new store, the last of the list, with no tasks yet; processes are started with the new list then."""
    asyncio.run(_add(settings_for(store)))


@partitions.command("move")
@store_option
def move(store: str | None) -> None:
    """Move the share of the last store there, shard by shard, while the application runs; may be repeated."""
    asyncio.run(_move(settings_for(store)))


async def _show(settings: Settings, *, as_json: bool) -> None:
    async with _opened(settings, creates=False) as (stores, _):
        found = shares([await store.host.partition() for store in stores])
    listed = list(zip(found, map(shown_apart, settings.stores), strict=True))
    if as_json:
        print_json([{"name": n, "shards": h, "share": s, "store": at} for (n, h, s), at in listed])
        return
    print_table(COLUMNS, [(Cell(n), Cell(str(h)), Cell(str(s)), Cell(at)) for (n, h, s), at in listed], "")


async def _add(settings: Settings) -> None:
    async with _opened(settings, creates=True) as (stores, environment):
        await add_store(stores, environment, actor())
    count = len(settings.stores)
    click.echo(f"p{count} added; start every process with all {count} stores, then run `stepward partitions move`")


async def _move(settings: Settings) -> None:
    shards = tasks = 0
    async with _opened(settings, creates=False) as (stores, environment):
        async for moved in move_share(stores, environment, actor()):
            shards, tasks = shards + 1, tasks + (moved.tasks or 0)
            click.echo(f"shard {moved.shard} from {moved.source}: {moved.tasks or 0:,} tasks", err=True)
    click.echo(f"{shards} shards with {tasks:,} tasks moved to p{len(settings.stores)}")


@asynccontextmanager
async def _opened(settings: Settings, *, creates: bool) -> AsyncIterator[tuple[list[Store], Environment]]:
    """The stores of the list, each by itself and open; payloads stay as they are, encrypted or outside."""
    addresses = settings.stores
    if len(addresses) < 2:
        raise SettingsError(f"partitions: expected several stores, found {len(addresses)}; name each with --store")
    environment = Environment(failpoint=failpoint_from(os.environ.get("STEPWARD_FAILPOINT")))
    app = identify_any(addresses).app
    async with AsyncExitStack() as stack:
        stores = []
        for number, address in enumerate(addresses, 1):
            if not creates or number < len(addresses):
                identify_any([address])
            store = open_store(address, app=app, environment=environment)
            await store.open()
            stack.push_async_callback(store.close)
            stores.append(store)
        yield stores, environment
