"""The control page as a process of its own, as the tests start it and call it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("stock", "payment", "parcel", "mail")
# No process listens on port 1.
NOWHERE = "http://127.0.0.1:1"


@asynccontextmanager
async def panel_over(urls: Mapping[str, str], *options: str) -> AsyncIterator[str]:
    """The panel over the services at these URLs, those not named being gone; its own URL."""
    process, url = await start_panel(urls, *options)
    try:
        yield url
    finally:
        assert process.stdin is not None
        process.stdin.close()
        assert await ended(process) == (0, "")


async def start_panel(urls: Mapping[str, str], *options: str) -> tuple[asyncio.subprocess.Process, str]:
    """The panel's process and its URL."""
    places = [word for name in NAMES for word in (f"--{name}", urls.get(name, NOWHERE))]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *["-m", "examples.shop.services.control", *places, "--tethered", *options],
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    if not line.startswith("control listening on http://127.0.0.1:"):
        pytest.fail(f"the panel did not start: {line}{await ended(process)}")
    return process, line.split()[-1]


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """How the process ended, and what it complained about."""
    assert process.stderr is not None
    said = (await process.stderr.read()).decode()
    return await process.wait(), said


def browser_of(url: str, transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """A client that goes to the panel as a browser's own page would."""
    return httpx.AsyncClient(
        base_url=url,
        transport=transport,
        trust_env=False,
        follow_redirects=True,
        timeout=30,
        headers={"Sec-Fetch-Site": "same-origin"},
    )
