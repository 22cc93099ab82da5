from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import App, workflow


@workflow
async def greet(name: str) -> str:
    return f"hello {name}"


@asynccontextmanager
async def caller(asgi: Any, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the ASGI application, under a name of loopback."""
    transport = httpx.ASGITransport(asgi)
    async with asgi, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321", **options) as client:
        yield client


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An application at work, with one workflow."""
    app = App("shop", workflows=[greet], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.running():
        yield app


@pytest.fixture
async def local(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """A caller of the application that serves its own host alone."""
    async with caller(app.asgi(local_admin=True)) as client:
        yield client
