"""``webhooks``: where status events are posted to, and how each receiver fares."""

from __future__ import annotations

import click

from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import keys, plain, print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.errors import StepwardError
from stepward.model.messages.webhook_retries import Webhook
from stepward.views.times import NOTHING, span

COLUMNS = (
    Column(name="WEBHOOK"),
    Column(name="POSTS TO", least=16),
    Column(name="STATE"),
    Column(name="TAKEN", right=True),
    Column(name="LAST", right=True),
    Column(name="LAST REFUSAL", least=16),
)
NAME = click.argument("name", metavar="WEBHOOK")
STYLES = {"disabled": "bold red", "failing": "yellow"}


@click.group("webhooks", invoke_without_command=True, epilog=keys(Webhook))
@json_option
@store_option
@click.pass_context
def webhooks(context: click.Context, as_json: bool, store: str | None) -> None:
    """List the webhooks that get status events; `enable WEBHOOK` and `disable WEBHOOK` act."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@webhooks.command("enable")
@NAME
@with_client
async def enable(client: Client, name: str) -> None:
    """Have a disabled webhook get events again, first those that wait; the audit records the operator."""
    if not await client.enable_webhook(name):
        raise StepwardError(f"webhook {name}: expected a disabled one, found none such; look at `stepward webhooks`")
    click.echo(f"webhook {name}: enabled")


@webhooks.command("disable")
@NAME
@with_client
async def disable(client: Client, name: str) -> None:
    """Have a webhook get nothing until it is enabled; its events wait for seven days each."""
    if not await client.disable_webhook(name):
        raise StepwardError(f"webhook {name}: expected an enabled one, found none such; look at `stepward webhooks`")
    click.echo(f"webhook {name}: disabled")


async def _list(client: Client, *, as_json: bool) -> None:
    found = await client.webhooks()
    if as_json:
        print_json([plain(webhook) for webhook in found])
        return
    now = session_of(client).store.now()
    print_table(COLUMNS, [_row(webhook, now) for webhook in found], "No webhooks: no Supervisor that has some led yet.")


def _row(webhook: Webhook, now: float) -> list[Cell]:
    state = webhook.state
    return [
        Cell(webhook.name),
        Cell(webhook.description),
        Cell(state, STYLES.get(state, "")),
        Cell(f"{webhook.taken:,}"),
        Cell(NOTHING if webhook.taken_at is None else span(now - webhook.taken_at), "dim"),
        Cell(webhook.error or NOTHING, "dim"),
    ]
