from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp import Client as Assistant
from mcp.types import CallToolResult, TextContent

from stepward import App, Client, TaskHandle
from stepward.http.access.access_rules import AccessRules
from stepward.mcp_server.tool_handlers import mcp_server, operations_of
from stepward.mounting import mounted
from tests.http.conftest import app, bearer, client, order, token_for  # noqa: F401  fixtures

Connected = Callable[[str | None], AbstractAsyncContextManager[Assistant]]


@pytest.fixture
def connected(app: App) -> Connected:  # noqa: F811
    """Connects an assistant in this process, with a token or without one."""

    @asynccontextmanager
    async def connect(token: str | None = None) -> AsyncIterator[Assistant]:
        application: Any = mounted(app.client, AccessRules(local_viewer=token is None))
        headers = {} if token is None else bearer(token)
        transport = httpx.ASGITransport(application)
        async with (
            application,
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as api,
        ):
            server = await mcp_server(api, "shop", await operations_of(api))
            async with Assistant(server) as assistant:
                yield assistant

    return connect


Made = Callable[..., Awaitable[str]]


@pytest.fixture
async def made(client: Client) -> Made:  # noqa: F811
    """Makes a token; its text."""

    async def make(role: str, **more: Any) -> str:
        return await token_for(client, "assistant", role, **more)

    return make


@pytest.fixture
async def failed(client: Client) -> TaskHandle:  # noqa: F811
    """A task in error, whose error quotes a payload."""
    task = await client.submit(order, "bad", id="order-1")
    with pytest.raises(Exception, match="refused"):
        await task.result(timeout=30)
    return task


def text_of(result: CallToolResult) -> str:
    """The text of a tool's result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text
