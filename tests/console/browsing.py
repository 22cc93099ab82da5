"""A real browser, and a console that it reaches."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from playwright.async_api import Browser, Page, async_playwright, expect

from stepward import App
from tests.programs import program

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

# A bound, not a wait: a busy machine is slow.
expect.set_options(timeout=20_000)


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    executable = program("chromium", "Debian's package chromium")
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=executable, args=FLAGS.split())
        yield chromium
        await chromium.close()


@pytest.fixture
async def address(app: App) -> AsyncIterator[str]:
    """Where the console of the application listens."""
    application: Any = app.asgi(local_admin=True)
    config = uvicorn.Config(application, port=0, ws="none", log_level="warning", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.ensure_future(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


async def opened(browser: Browser, url: str, **options: Any) -> Page:
    page = await browser.new_page(**options)
    page.on("console", lambda message: pytest.fail(message.text))
    page.on("pageerror", lambda error: pytest.fail(str(error)))
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    await page.goto(url)
    return page
