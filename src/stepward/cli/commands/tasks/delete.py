"""``delete``: ended tasks are erased, with what the store keeps about them elsewhere."""

from __future__ import annotations

import click

from stepward.cli.commands.tasks.batch import WATCH, start_previewed
from stepward.cli.input.operator_store import with_client
from stepward.client import Client
from stepward.client.batches.batches import RATE
from stepward.errors import Refused

MOST_IDS = 100
"""Ids of one call; a filter may name any number of tasks."""


@click.command("delete")
@click.argument("ids", metavar="[ID…]", nargs=-1)
@click.option("--where", metavar="FILTER", help="The tasks, as in `stepward tasks --where`.")
@click.option("--rate", type=float, default=RATE, show_default=True, help="Most tasks a second.")
@click.option("--reason", metavar="TEXT", help="The reason, for the audit.")
@click.option("--yes", "confirmed", type=int, metavar="N", help="The number of tasks, to confirm without a prompt.")
@WATCH
@with_client
async def delete(
    client: Client,
    ids: tuple[str, ...],
    where: str | None,
    rate: float,
    reason: str | None,
    confirmed: int | None,
    watch: bool,
) -> None:
    """Delete ended tasks for good, with their alerts, dead letters, status events and the details of acts on them.

    A batch deletes them; `stepward purge` deletes what ended long ago.
    """
    found = await client.batches.preview("delete", _filter(ids, where))
    await start_previewed(client, found, rate=rate, reason=reason, confirmed=confirmed, watch=watch)


def _filter(ids: tuple[str, ...], where: str | None) -> str:
    if bool(ids) == bool(where):
        raise Refused("delete: expected ids of tasks or --where, found both or neither; give one of them")
    if where is not None:
        return where
    if len(ids) > MOST_IDS:
        raise Refused(f"delete: expected at most {MOST_IDS} ids, found {len(ids):,}; give a filter by --where")
    quoted = ["'" + id.replace("'", "''") + "'" for id in ids]
    return f"id in ({', '.join(quoted)})"
