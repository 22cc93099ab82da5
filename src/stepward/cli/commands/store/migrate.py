"""``migrate``: an older store gets this program's schema, or the SQL for it is printed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from stepward.app import App
from stepward.cli.input.operator_store import settings_for, store_option
from stepward.cli.input.targets import load_app
from stepward.client import ClientSession, client_on
from stepward.encryption import KeylessCodec
from stepward.errors import Refused
from stepward.store.address import shown
from stepward.store.contract import Identity
from stepward.store.store_at_address import identify, missing
from stepward.views.printable import clean


@click.command("migrate")
@click.argument("target", metavar="[APP]", required=False)
@click.option("--dry-run", is_flag=True, help="Print the SQL that would do it, and change nothing.")
@store_option
def migrate(target: str | None, dry_run: bool, store: str | None) -> None:
    """Bring an older store to this program's schema; every actor does so when it starts.

    With APP a missing store is created.
    """
    if target is not None and dry_run:
        raise Refused("--dry-run: expected no APP, found one; leave it out, the store knows its application")
    if target is not None:
        _make(load_app(target), store)
        return
    for address in settings_for(store).stores:
        _migrate(address, dry_run=dry_run)


def _migrate(address: str, *, dry_run: bool) -> None:
    before = identify(address)
    if dry_run:
        _print_missing(address, before)
        return
    asyncio.run(_open(address, before.app))
    after = identify(address)
    how = "is" if before.schema_version == after.schema_version else f"was {before.schema_version}, is"
    click.echo(f"{shown(address)} (app {after.app}): schema version {how} {after.schema_version}")


def _make(app: App, store: str | None) -> None:
    settings = app.settings if store is None else app.settings.replaced({"store": store})
    asyncio.run(_open(settings.stores, app.name))
    for address in settings.stores:
        click.echo(f"{shown(address)} (app {clean(app.name)}): the store exists and has this program's schema")


def _print_missing(store: str, found: Identity) -> None:
    """SQL with comments: the output can be executed unchanged."""
    click.echo(
        f"-- {shown(store)} (app {clean(found.app)}): schema version is {found.schema_version}, "
        f"this program's is {found.newest_version}"
    )
    for part in missing(store):
        click.echo(f"\n{part}")


async def _open(store: str | Sequence[str], app: str) -> None:
    async with client_on(ClientSession(store, app=app, codec=KeylessCodec(), creates=not isinstance(store, str))):
        pass
