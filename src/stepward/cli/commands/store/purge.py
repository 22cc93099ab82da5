"""``purge``: tasks that ended long ago are archived, if settings say so, and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import click

from stepward.cli.input.operator_store import operator_client, settings_for, store_option
from stepward.client import session_of
from stepward.client.handle import actor
from stepward.clock import Environment
from stepward.durations import seconds, text
from stepward.errors import SettingsError
from stepward.partitions_running import refuse_partitions
from stepward.settings import Settings
from stepward.settings.readers import RetentionRule
from stepward.store.contract import Outlived, Purged
from stepward.store.large_payloads.address_check import check_large_payloads
from stepward.supervisor.archives.folder_archive import folder_archive
from stepward.supervisor.retention import pruning, purging, purging_by_rules
from stepward.supervisor.retention_rules import old_tasks
from stepward.views.printable import clean


@click.command("purge")
@click.option("--older-than", metavar="D", help="Age in place of the setting `retention`.")
@store_option
def purge(older_than: str | None, store: str | None) -> None:
    """Delete tasks that ended long ago, except those in error; with the setting `archive` they are archived first."""
    settings = settings_for(store)
    refuse_partitions(settings, "purge")
    age = settings.retention if older_than is None else seconds(older_than, "--older-than", zero=True)
    if age is None:
        raise SettingsError("retention: expected a duration, found never; name one with --older-than")
    rules = settings.retention_rules or () if older_than is None else ()
    count, records = asyncio.run(_purge(settings, age, rules))
    where = f", and archived in {clean(settings.archive)}" if settings.archive is not None and count else ""
    click.echo(f"{count:,} tasks deleted that ended more than {text(age)} ago{where}")
    if records:
        click.echo(f"{records:,} of the acts of the audit and of the acknowledged alerts archived and deleted")


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
