"""``keys``: which keys the stored payloads are encrypted with, and encrypting them with the current one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import click

from stepward.cli.input.operator_store import json_option, run_with_client, store_option, with_client
from stepward.cli.output.json_output import print_json
from stepward.cli.output.table import Cell, Column
from stepward.cli.output.terminal import print_table
from stepward.client import Client, session_of
from stepward.client.handle import actor
from stepward.errors import Refused
from stepward.payload.sealed import PayloadCodec
from stepward.store.contract.by_subject.key_uses import SealedPage

COLUMNS = (Column(name="KEY"), Column(name="CURRENT"), Column(name="PAYLOADS", right=True), Column(name="IN"))


@click.group("keys", invoke_without_command=True)
@json_option
@store_option
@click.pass_context
def key_uses(context: click.Context, as_json: bool, store: str | None) -> None:
    """List the keys that encrypt stored payloads, and how many each; `reencrypt` and `forget KEY` end a rotation."""
    if context.invoked_subcommand is None:
        run_with_client(store, _list, as_json=as_json)


@key_uses.command("reencrypt")
@with_client
async def reencrypt(client: Client) -> None:
    """Encrypt stored payloads with the current key, in small pieces, while the application runs."""
    codec = session_of(client).codec
    if codec is None or codec.current is None:
        raise Refused("keys: expected a key to encrypt with, found none; set STEPWARD_ENCRYPTION")
    rows = 0
    async for _, page in _pages(client, codec):
        rows += page.resealed
    click.echo(f"encrypted {rows:,} rows with the key {codec.current}")


@key_uses.command("forget")
@click.argument("key")
@with_client
async def forget(client: Client, key: str) -> None:
    """Let processes start without KEY, which no stored payload needs any more."""
    uses = await _uses(client)
    if key in uses:
        found = ", ".join(f"{count:,} in {table}" for table, count in uses[key].items())
        raise Refused(f"key {key}: expected no payload that it encrypts, found {found}; run `stepward keys reencrypt`")
    await session_of(client).store.operators.forget_key(key, actor())
    click.echo(f"key {key}: forgotten")


async def _list(client: Client, as_json: bool) -> None:
    session = session_of(client)
    uses, marked = await _uses(client), await session.store.host.key_marks()
    current = None if session.codec is None else session.codec.current
    found = {key: uses.get(key, Counter()) for key in sorted(marked.keys() | uses.keys())}
    if as_json:
        print_json([{"key": key, "current": key == current, "payloads": dict(each)} for key, each in found.items()])
        return
    print_table(
        COLUMNS,
        [
            (Cell(key), Cell("yes" if key == current else ""), Cell(f"{each.total():,}"), Cell(", ".join(each) or "–"))
            for key, each in found.items()
        ],
        "no payload is encrypted",
    )


async def _uses(client: Client) -> dict[str, Counter[str]]:
    """By the id of each key in use, the number of payloads in each table."""
    uses: dict[str, Counter[str]] = {}
    async for table, page in _pages(client, None):
        for key, count in page.uses.items():
            uses.setdefault(key, Counter())[table] += count
    return uses


async def _pages(client: Client, codec: PayloadCodec | None) -> AsyncIterator[tuple[str, SealedPage]]:
    store = session_of(client).store.operators
    for table in store.sealed_tables:
        page = await store.sealed_page(table, None, codec)
        yield table, page
        while page.after is not None:
            page = await store.sealed_page(table, page.after, codec)
            yield table, page
