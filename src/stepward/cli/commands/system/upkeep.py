"""``purge``, ``migrate``, ``version``: maintenance of the store, and the program's version."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence

import apsw
import click

import stepward
from stepward.app import App
from stepward.cli.input.operator_store import json_option, operator_client, settings_for, store_option
from stepward.cli.input.targets import load_app
from stepward.cli.output.json_output import print_json
from stepward.client import ClientSession, client_on, session_of
from stepward.client.handle import actor
from stepward.clock import Environment
from stepward.durations import seconds, text
from stepward.encryption import KeylessCodec
from stepward.errors import Refused, SettingsError
from stepward.settings import Settings
from stepward.settings.readers import RetentionRule
from stepward.store.address import shown
from stepward.store.contract import Identity, Outlived, Purged
from stepward.store.open_store import identify, missing
from stepward.store.outside.use_check import check_large_payloads
from stepward.supervisor.archives.archive import folder_archive
from stepward.supervisor.retention import pruning, purging, purging_by_rules
from stepward.supervisor.retention_rules import old_tasks
from stepward.views.printable import clean


@click.command("purge")
@click.option("--older-than", metavar="D", help="Age in place of the setting `retention`.")
@store_option
def purge(older_than: str | None, store: str | None) -> None:
    """Delete tasks that ended long ago, except those in error; with the setting `archive` they are archived first."""
    settings = settings_for(store)
    age = settings.retention if older_than is None else seconds(older_than, "--older-than", zero=True)
    if age is None:
        raise SettingsError("retention: expected a duration, found never; name one with --older-than")
    rules = settings.retention_rules or () if older_than is None else ()
    count, records = asyncio.run(_purge(settings, age, rules))
    where = f", and archived in {clean(settings.archive)}" if settings.archive is not None and count else ""
    click.echo(f"{count:,} tasks deleted that ended more than {text(age)} ago{where}")
    if records:
        click.echo(f"{records:,} of the acts of the audit and of the acknowledged alerts archived and deleted")


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
    settings = settings_for(store)
    before = identify(settings.store)
    if dry_run:
        _print_missing(settings.store, before)
        return
    asyncio.run(_open(settings.store, before.app))
    after = identify(settings.store)
    how = "is" if before.schema_version == after.schema_version else f"was {before.schema_version}, is"
    click.echo(f"{shown(settings.store)} (app {after.app}): schema version {how} {after.schema_version}")


def _make(app: App, store: str | None) -> None:
    settings = app.settings if store is None else app.settings.replaced({"store": store})
    asyncio.run(_open(settings.store, app.name))
    click.echo(f"{shown(settings.store)} (app {clean(app.name)}): the store exists and has this program's schema")


def _print_missing(store: str, found: Identity) -> None:
    """SQL with comments: the output can be executed unchanged."""
    click.echo(
        f"-- {shown(store)} (app {clean(found.app)}): schema version is {found.schema_version}, "
        f"this program's is {found.newest_version}"
    )
    for part in missing(store):
        click.echo(f"\n{part}")


@click.command("version", epilog="Keys under --json: stepward, python, sqlite.")
@json_option
def version(as_json: bool) -> None:
    """Print the version of Stepward and of what it runs on."""
    versions = {
        "stepward": stepward.__version__,
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    if as_json:
        print_json(versions)
    else:
        click.echo(f"stepward {versions['stepward']} (Python {versions['python']}, SQLite {versions['sqlite']})")


async def _open(store: str, app: str) -> None:
    async with client_on(ClientSession(store, app=app, codec=KeylessCodec())):
        pass


async def _purge(settings: Settings, age: float, rules: Sequence[RetentionRule]) -> tuple[int, int]:
    """How many tasks, and how many audit entries and alerts."""
    async with operator_client(settings) as client:
        store, before, who = session_of(client).store.operators, session_of(client).store.now() - age, actor()
        keeper = session_of(client).keeper
        await check_large_payloads(session_of(client).store.host, keeper)
        archive = folder_archive(settings.archive, f"{who} {Environment().new_uid()}", keeper)

        async def purge(batch: Sequence[Outlived]) -> Purged:
            return await store.purge_ended(batch, before, who)

        old = old_tasks(age, rules, store.now()) if rules else []
        count = sum([each async for each in purging_by_rules(store, archive, old, purge)])
        count += sum([each async for each in purging(store, archive, None if rules else before, purge)])
        records = pruning(store, archive, before, lambda found: store.prune_as(found, who))
        return count, sum([each async for each in records])
