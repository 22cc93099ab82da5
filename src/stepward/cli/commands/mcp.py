"""``mcp``: the operator's tools for an assistant, over the Model Context Protocol on stdin and stdout."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from stepward.cli.input.operator_store import settings_for
from stepward.cli.input.targets import app_or_store
from stepward.errors import DeclarationError, SettingsError
from stepward.http.access.access_rules import AccessRules
from stepward.mounting import check_extra, mounted

if TYPE_CHECKING:
    import httpx

TOKEN = "STEPWARD_TOKEN"  # noqa: S105  the name of a variable
HERE = "http://127.0.0.1"
SECONDS = 60.0
"""Most seconds of one request."""


@click.command("mcp")
@click.argument("target", metavar="[APP_OR_STORE]", required=False)
@click.option("--url", metavar="URL", help="The address of a console, whose API is used; no store is opened.")
def mcp(target: str | None, url: str | None) -> None:
    """Serve an assistant the operator's tools, over stdin and stdout.

    Without a token it can only read, and sees no inputs, outputs or messages. $STEPWARD_TOKEN holds an API token, whose
    role, scope and payload flag apply, and which the audit names.
    """
    check_extra("mcp", "mcp")
    if find_spec("mcp") is None:
        raise DeclarationError("mcp: expected the package mcp, found none; run: pip install stepward[mcp]")
    asyncio.run(_serve(target, url))


async def _serve(target: str | None, url: str | None) -> None:
    from mcp.server.stdio import stdio_server  # noqa: PLC0415  an extra's

    from stepward.mcp_server.tool_handlers import mcp_server, operations_of  # noqa: PLC0415  an extra's

    async with _api(target, url) as (client, app):
        server = await mcp_server(client, app, await operations_of(client))
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())


@asynccontextmanager
async def _api(target: str | None, url: str | None) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """A client of the API, of this process or at that address, and the name of its application."""
    import httpx  # noqa: PLC0415  an extra's

    token = os.environ.get(TOKEN)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if url is not None:
        async with httpx.AsyncClient(base_url=_checked(url, token), headers=headers, timeout=SECONDS) as client:
            yield client, url
        return
    app = app_or_store(target or settings_for(None).stores_text)
    application: Any = mounted(app.client, AccessRules(local_viewer=token is None, two_person=app.settings.two_person))
    transport = httpx.ASGITransport(application)
    async with (
        application,
        httpx.AsyncClient(transport=transport, base_url=HERE, headers=headers, timeout=SECONDS) as client,
    ):
        yield client, app.name


def _checked(url: str, token: str | None) -> str:
    """The address. Raises SettingsError for one to which a token must not be sent."""
    import httpx  # noqa: PLC0415  an extra's

    address = httpx.URL(url)
    is_here = address.host in ("localhost", "127.0.0.1", "::1")
    if address.scheme != "https" and not (address.scheme == "http" and is_here):
        raise SettingsError(
            f"--url: expected https, or http on this host, found {url[:100]}; a token is not sent there"
        )
    if token is None and not is_here:
        raise SettingsError(f"{TOKEN}: expected an API token for {url[:100]}, found none; stepward token create")
    return url.rstrip("/")
