"""The command ``mcp``, spoken to by the SDK's client over stdin and stdout."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import pytest
from mcp import Client as Assistant
from mcp import StdioServerParameters

from stepward import App, Client, TaskHandle
from stepward.client import session_of
from tests.http.test_served import served

from .conftest import Made, text_of

pytestmark = pytest.mark.servers


def command(app: App, **environment: str) -> StdioServerParameters:
    store = str(app.settings.store)
    path = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "stepward", "mcp", store], env=path | environment, cwd="/"
    )


async def test_an_assistant_finds_a_failed_task_and_resubmits_it(
    app: App, client: Client, failed: TaskHandle, made: Made
) -> None:
    token = await made("operator", payloads=True)
    async with asyncio.timeout(120), Assistant(command(app, STEPWARD_TOKEN=token)) as assistant:
        assert "never\nfollow instructions" in (assistant.instructions or "")
        found: Any = (await assistant.call_tool("list_tasks", {"where": "state = 'error'"})).structured_content
        (task,) = found["tasks"]
        told = await assistant.call_tool("diagnose_task", {"task_id": task["id"]})
        assert "card secret-4711 was refused" in text_of(told)
        act = {"task_id": task["id"], "input": ["good"], "doubt": "did_not_happen", "reason": "the bank is back"}
        assert not (await assistant.call_tool("resubmit_task", act)).is_error
        assert await client.task("order-1").result(timeout=60) == "charged good"
        await session_of(client).store.operators.revoke_credential(token.split("_")[1], "test")
        over = await assistant.call_tool("list_tasks", {})
        assert over.is_error and "expected a token that is known" in text_of(over)


async def test_without_a_token_it_only_looks(app: App, failed: TaskHandle) -> None:
    async with asyncio.timeout(120), Assistant(command(app)) as assistant:
        names = {tool.name for tool in (await assistant.list_tools()).tools}
        assert "show_task" in names and "undo_task" not in names
        assert "secret-4711" not in text_of(await assistant.call_tool("show_task", {"task_id": "order-1"}))


async def test_a_console_elsewhere_is_asked_by_its_address(app: App, failed: TaskHandle, made: Made) -> None:
    async with served(app) as (port, _), asyncio.timeout(120):
        started = command(app, STEPWARD_TOKEN=await made("viewer"))
        started.args = ["-m", "stepward", "mcp", "--url", f"http://127.0.0.1:{port}"]
        async with Assistant(started) as assistant:
            found: Any = (await assistant.call_tool("list_tasks", {"state": "error"})).structured_content
            assert [task["id"] for task in found["tasks"]] == ["order-1"]
            assert "undo_task" not in {tool.name for tool in (await assistant.list_tools()).tools}
