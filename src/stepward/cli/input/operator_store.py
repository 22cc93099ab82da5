"""Operators' access to a store: ``--store``, ``STEPWARD_STORE`` or the settings files; no application code is
needed."""

from __future__ import annotations

import asyncio
import functools
import os
import shlex
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import click

from stepward.app import App
from stepward.cli.input.passwords import holds_password
from stepward.client import Client, ClientSession, client_on, session_of
from stepward.clock import Environment
from stepward.encryption import operator_codec
from stepward.running import keeper_for
from stepward.settings import Settings
from stepward.store.partitions.single_or_partitioned import identify_any, missing_in

StoreWork = Callable[..., Coroutine[Any, Any, None]]

store_option = click.option(
    "--store",
    metavar="URL",
    multiple=True,
    callback=lambda _context, _parameter, given: " ".join(given) or None,
    help="The state store's address, of several stores each in order; by default STEPWARD_STORE or the settings files.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, instants in RFC 3339 UTC.")


def with_client(work: StoreWork) -> Callable[..., None]:
    """Make a command of a coroutine that receives a client on the chosen store first."""

    @store_option
    @functools.wraps(work)
    def command(*args: Any, store: str | None, **options: Any) -> None:
        run_with_client(store or _store_of(click.get_current_context().parent), work, *args, **options)

    return command


def run_with_client(store: str | None, work: StoreWork, *args: Any, **options: Any) -> None:
    """Run a coroutine that receives a client on that store first."""

    async def run() -> None:
        async with operator_client(settings_for(store)) as client:
            await work(client, *args, **options)
            say_missing(client)

    asyncio.run(run())


def settings_for(store: str | None) -> Settings:
    """The settings of this folder and environment, with that store if one is named."""
    return Settings.load({} if store is None else {"store": store}, os.environ, Path.cwd())


@asynccontextmanager
async def operator_client(settings: Settings) -> AsyncIterator[Client]:
    """A client under the application's name in the store; a missing store is not created."""
    app = identify_any(settings.stores).app
    codec = operator_codec(app, settings.encryption)
    keeper = keeper_for(app, settings, Environment())
    session = ClientSession(
        settings.stores, app=app, payload_bytes=settings.payload_bytes, codec=codec, keeper=keeper, creates=False
    )
    async with client_on(session) as client:
        yield client


def operator_client_of(app: App) -> Client:
    """A client on an application's store for an operator, who needs no key to look."""
    settings = app.settings
    session = ClientSession(
        settings.stores,
        app=app.name,
        registry=app.registry,
        environment=app.environment,
        transport=settings.transport,
        payload_bytes=settings.payload_bytes,
        codec=operator_codec(app.name, settings.encryption),
        keeper=keeper_for(app.name, settings, app.environment),
    )
    return client_on(session)


def say_missing(client: Client) -> None:
    """Say on stderr which partitions are not in what was printed."""
    for name, why in missing_in(session_of(client).store).items():
        click.echo(f"{name} is missing here: {why}", err=True)


def command_line(*words: str) -> str:
    """A command as an operator types it here, on the same store as the present one, without repeating a password."""
    store = _store_of(click.get_current_context(silent=True))
    if store is not None and holds_password(store):
        return f'{shlex.join(["stepward", *words])} --store "$STEPWARD_STORE"'
    return shlex.join(["stepward", *words, *(["--store", store] if store else [])])


def _store_of(context: click.Context | None) -> str | None:
    return None if context is None else context.params.get("store")
