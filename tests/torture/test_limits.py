"""Limits under kills: the oracle counts what runs at once, and it can fail."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from torture.limits.run import LimitsPlan, torture_limits
from torture.limits.service import CountingService


async def called(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"key\n")
        return (await reader.readline()).decode()
    finally:
        writer.close()


async def test_the_service_counts_what_runs_at_once() -> None:
    service = CountingService(2, seed=1, longest=0.01)
    port = await service.start()
    await asyncio.gather(*[called(port) for _ in range(2)])
    assert (service.most, service.running, service.violations) == (2, 0, [])
    await asyncio.gather(*[called(port) for _ in range(3)])
    assert service.most == 3
    assert set(service.violations) == {"3 calls run at once, the last one key"}
    await service.stop()


async def test_a_call_whose_caller_is_gone_runs_no_more() -> None:
    service = CountingService(1, seed=1, longest=3600.0)
    port = await service.start()
    for calls in (1, 2):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"key\n")
        async with asyncio.timeout(10):
            while service.calls < calls:  # noqa: ASYNC110  the service sets no event
                await asyncio.sleep(0)
            writer.close()
            while service.running:  # noqa: ASYNC110  likewise
                await asyncio.sleep(0)
    assert (service.most, service.lost, service.violations) == (1, 2, [])
    await service.stop()


@pytest.mark.servers
@pytest.mark.faults
@pytest.mark.timeout(300)
async def test_a_limit_holds_while_processes_are_killed(tmp_path: Path) -> None:
    """Rows 2 and 3: four processes are killed or stopped and started again under load."""
    store = f"sqlite:///{tmp_path / 'limits.db'}"
    plan = LimitsPlan(store=store, transport="store", seconds=30, pause=2, seed=320_000_001, logs=tmp_path)
    verdict = await torture_limits(plan)
    assert verdict.broken == []
    assert verdict.kills > 3
