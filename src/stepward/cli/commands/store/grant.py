"""``grant``: logins of PostgreSQL that can do no more than their kind of process needs."""

from __future__ import annotations

import click

from stepward.cli.input.operator_store import settings_for, store_option
from stepward.store.store_at_address import granted

KINDS = ("scheduler", "agent", "submission", "supervisor", "client", "operator", "read-only")


@click.command("grant")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("login")
@click.option("--apply", is_flag=True, help="Run the SQL as the store's owner instead of printing it.")
@store_option
def grant(kind: str, login: str, apply: bool, store: str | None) -> None:
    """Print the SQL that gives LOGIN the rights that a kind of process needs, and no others.

    It may be run again, and must be after a migration that creates a table.
    """
    stores = settings_for(store).stores
    statements = [statement for each in stores for statement in granted(each, kind, login, apply=apply)]
    if apply:
        click.echo(f"{login}: granted what a login for {kind} needs; give it a password with \\password in psql")
        return
    for statement in statements:
        click.echo(f"{statement};")
