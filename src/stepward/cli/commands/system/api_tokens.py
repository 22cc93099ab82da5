"""``token``: API tokens, by which programs prove over HTTP who they are."""

from __future__ import annotations

import click
from msgspec.structs import asdict

from stepward.cli.input.arguments import label
from stepward.cli.input.operator_store import json_option, with_client
from stepward.cli.output.json_output import print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.client.submitting import act_arguments
from stepward.durations import seconds
from stepward.errors import Refused, StepwardError
from stepward.http.access.api_tokens import fresh_secret
from stepward.model.credentials import AccessRole, Credential, CredentialKind
from stepward.views.times import full

NAME_LENGTH = 100
COLUMNS = (
    Column(name="NAME", least=10, middle=True),
    Column(name="ROLE"),
    Column(name="PAYLOADS"),
    Column(name="SCOPE", least=8),
    Column(name="CREATED BY", spare=True),
    Column(name="EXPIRES", least=8),
)


@click.group("token")
def token() -> None:
    """Create, list and revoke API tokens: `create --role ROLE NAME`, `list`, `revoke NAME`."""


@token.command("create")
@click.argument("name")
@click.option("--role", type=click.Choice([role.value for role in AccessRole]), required=True, help="The token's role.")
@click.option("--payloads", is_flag=True, help="Show it inputs, outputs, errors and messages.")
@click.option(
    "--workflow", "workflows", metavar="W", multiple=True, help="Only tasks of that workflow; may be repeated."
)
@click.option("--label", "labels", metavar="K=V", multiple=True, help="Only tasks with that label; may be repeated.")
@click.option("--expires", metavar="D", default="90d", show_default=True, help="A duration such as 30d, or never.")
@with_client
async def create(
    client: Client,
    name: str,
    role: str,
    payloads: bool,
    workflows: tuple[str, ...],
    labels: tuple[str, ...],
    expires: str,
) -> None:
    """Create a token and print it, once: the store keeps only its hash."""
    session, secret = session_of(client), fresh_secret()
    credential = Credential(
        id=secret.id,
        kind=CredentialKind.TOKEN,
        name=_name(name),
        secret_hash=secret.hash,
        role=AccessRole(role),
        payloads=payloads,
        workflows=[act_arguments.wanted_workflow(workflow) or "" for workflow in workflows],
        labels=dict(label(each) for each in labels),
        created_by=session.actor,
        expires_at=None if expires == "never" else session.store.now() + seconds(expires, "--expires"),
    )
    if not await session.store.operators.add_credential(credential, session.actor):
        raise StepwardError(
            f"token {name}: expected a name that no live token has, found it taken; revoke that one first"
        )
    click.echo("Keep it now: it is not shown again.", err=True)
    click.echo(secret.text)


@token.command("list")
@json_option
@with_client
async def list_tokens(client: Client, as_json: bool) -> None:
    """List the live tokens, by name."""
    now = session_of(client).store.now()
    found = [each for each in await session_of(client).store.operators.credentials() if each.is_live(now)]
    tokens = [each for each in found if each.kind is CredentialKind.TOKEN]
    if as_json:
        print_json([{k: v for k, v in asdict(each).items() if k != "secret_hash"} for each in tokens])
        return
    print_table(COLUMNS, [_row(each, now) for each in tokens], "No tokens.")


@token.command("revoke")
@click.argument("name")
@with_client
async def revoke(client: Client, name: str) -> None:
    """Revoke a token at once."""
    session = session_of(client)
    found = [each for each in await session.store.operators.credentials() if each.kind is CredentialKind.TOKEN]
    live = [each for each in found if each.name == name and each.is_live(session.store.now())]
    if not live or not await session.store.operators.revoke_credential(live[0].id, session.actor):
        raise StepwardError(f"token {name}: expected a live one, found none such; look at `stepward token list`")
    click.echo(f"token {name}: revoked")


def _name(name: str) -> str:
    if not act_arguments.APP.fullmatch(name):
        raise Refused(f"NAME: expected 1 to {NAME_LENGTH} of A-Z a-z 0-9 _ -, found {name[:60]!r}; choose another")
    return name


def _row(credential: Credential, now: float) -> list[Cell]:
    scope = [*credential.workflows, *(f"{name}={value}" for name, value in credential.labels.items())]
    return [
        Cell(credential.name),
        Cell(credential.role, "cyan"),
        Cell("shown" if credential.payloads else "hidden", "" if credential.payloads else "dim"),
        Cell(", ".join(scope) or "all tasks"),
        Cell(credential.created_by, "dim"),
        Cell("never" if credential.expires_at is None else full(credential.expires_at, now), "dim"),
    ]
