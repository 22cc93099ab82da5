"""The storefront as a process in front of real queues."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from examples.shop.storefront.half_open import MOST_OF_ONE_ADDRESS
from tests.examples.storefront.customers import order

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[3]


def command(folder: Path, *more: str, queues: str = "orders.db") -> list[str]:
    given = ["--queues", f"sqlite:///{folder / queues}", "--database", str(folder / "storefront.db")]
    return [sys.executable, "-m", "examples.shop.storefront", *given, "--name", "storefront-1", *more]


@asynccontextmanager
async def running(folder: Path, *more: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(folder, *more), cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        async with asyncio.timeout(30):
            line = (await process.stdout.readline()).decode()
        start, _, port = line.strip().rpartition(":")
        assert start == "storefront listening on http://127.0.0.1", (await process.stderr.read()).decode()
        yield process, f"http://127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """The exit code and standard error, which names the work that was cut off."""
    assert process.stderr is not None
    async with asyncio.timeout(30):
        said = (await process.stderr.read()).decode()
        return await process.wait(), said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_ends_in_good_order_though_a_page_is_open(tmp_path: Path, number: signal.Signals) -> None:
    async with running(tmp_path) as (process, url), httpx.AsyncClient(base_url=url, trust_env=False) as ada:
        assert (await order(ada)).status_code == 303
        async with ada.stream("GET", "/orders/order-01/live") as response:
            lines = response.aiter_lines()
            assert await anext(lines) == "retry: 1000"
            process.send_signal(number)
            assert await ended(process) == (0, "")


async def test_ends_when_its_standard_input_is_closed(tmp_path: Path) -> None:
    async with running(tmp_path, "--tethered") as (process, _):
        assert process.stdin is not None
        process.stdin.write(b"whatever\n")
        await process.stdin.drain()
        process.stdin.close()
        assert await ended(process) == (0, "")


async def test_does_not_end_with_its_input_when_it_is_not_tethered(tmp_path: Path) -> None:
    async with running(tmp_path) as (process, url), httpx.AsyncClient(base_url=url, trust_env=False) as ada:
        assert process.stdin is not None
        process.stdin.close()
        assert (await ada.get("/health")).status_code == 200


async def test_orders_outlive_kill_9(tmp_path: Path) -> None:
    async with running(tmp_path) as (process, url), httpx.AsyncClient(base_url=url, trust_env=False) as ada:
        await order(ada)
        cookies = ada.cookies
        process.kill()
    async with (
        running(tmp_path) as (_, url),
        httpx.AsyncClient(base_url=url, trust_env=False, cookies=cookies) as ada,
    ):
        assert (await ada.get("/orders/order-01.json")).json()["state"] == "sent"


async def test_says_in_a_line_that_there_are_no_queues(tmp_path: Path) -> None:
    (tmp_path / "orders.db").write_text("this is no database, " * 100)
    process = await asyncio.create_subprocess_exec(
        *command(tmp_path), cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, said = await process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert said.startswith(b"storefront: ") and said.count(b"\n") == 1 and b"orders.db" in said


async def test_idle_connections_do_not_block_others(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, url), httpx.AsyncClient(base_url=url, trust_env=False) as ada:
        assert (await ada.get("/basket")).status_code == 200
        port = int(url.rpartition(":")[2])
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_OF_ONE_ADDRESS)]
        for _, writer in idle:
            writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        async with asyncio.timeout(30):
            reader, more = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""  # one more is closed at once
            assert (await ada.get("/basket")).status_code == 200  # who is known already goes on
            idle[0][1].write(b"x\r\n\r\n")
            assert (await idle[0][0].readline()).startswith(b"HTTP/1.1 200")
            async with httpx.AsyncClient(base_url=url, trust_env=False) as bob:
                assert (await bob.get("/basket")).status_code == 200
        for writer in (more, *(writer for _, writer in idle)):
            writer.close()


async def test_its_database_is_its_owners_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        async with running(tmp_path) as (_, url), httpx.AsyncClient(base_url=url, trust_env=False) as ada:
            assert (await order(ada)).status_code == 303
            rights = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("storefront.db*")}
    finally:
        os.umask(umask)
    assert len(rights) > 1
    assert set(rights.values()) == {"0o600"}
