"""``complete`` and ``fail``: steps that are finished from outside, by their completion tokens."""

from __future__ import annotations

import click

from stepward.cli.input.arguments import json_value
from stepward.cli.input.arguments import token as token_of
from stepward.cli.input.operator_store import with_client
from stepward.client import Client

BY = click.option("--by", metavar="NAME", help="The actor in the audit; by default the user of this process.")


@click.command("complete", context_settings={"ignore_unknown_options": True})
@click.argument("token")
@click.argument("value", metavar="[JSON]", default="null")
@BY
@with_client
async def complete(client: Client, token: str, value: str, by: str | None) -> None:
    """Finish a step from outside: JSON is its result.

    TOKEN may be - for a line of standard input, or @PATH for a file: other users can read arguments.
    """
    await client.complete(token_of(token), json_value(value, "result"), by=by)
    click.echo("completed")


@click.command("fail", context_settings={"ignore_unknown_options": True})
@click.argument("token")
@click.argument("message")
@BY
@with_client
async def fail(client: Client, token: str, message: str, by: str | None) -> None:
    """Finish a step from outside: it has failed for good, and MESSAGE says why.

    TOKEN may be - for a line of standard input, or @PATH for a file: other users can read arguments.
    """
    await client.fail(token_of(token), message, by=by)
    click.echo("failed")
