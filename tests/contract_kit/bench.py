"""The contract kit and the small Agent in one process, over a broker in memory and in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from stepward.clock import Environment
from stepward.contract_kit.bench import BenchOptions, ContractBench
from stepward.contract_kit.checked_service import CheckedService
from stepward.contract_kit.observed_changes import Changes
from stepward.contract_kit.scheduler_role import SchedulerRole
from stepward.model.messages.signing import KEY_BYTES, STORE_BYTES, Signer, StoreIdentity
from tests.contract_kit.fake_broker import FakeBroker, FakeServer
from tests.contract_kit.small_agent import SmallAgent

IDENTITY = StoreIdentity("c" * 2 * STORE_BYTES, b"k" * KEY_BYTES)
LEASE = 2.0
CAPACITY = 3


class TaskProcess:
    """Implements ``AgentProcess`` by a task that runs the small Agent."""

    def __init__(self, server: FakeServer, service: CheckedService, wrong: str) -> None:
        self._server = server
        self._service = service
        self._wrong = wrong
        self._agent: SmallAgent | None = None
        self._task: asyncio.Task[int] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    async def start(self) -> None:
        self._agent = SmallAgent(
            FakeBroker(self._server),
            self._post,
            store=IDENTITY.store,
            lease=LEASE,
            capacity=CAPACITY,
            now=asyncio.get_running_loop().time,
            wrong=self._wrong,
        )
        self._task = asyncio.create_task(self._agent.run())

    def terminate(self) -> None:
        assert self._agent is not None, "runs"
        self._agent.end()

    async def kill(self) -> None:
        assert self._task is not None, "was started"
        self._task.cancel()
        await asyncio.wait([self._task])

    async def ended(self, seconds: float) -> int | None:
        assert self._task is not None, "was started"
        done, _ = await asyncio.wait([self._task], timeout=seconds)
        return self._task.result() if done else None

    async def _post(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        reply = await self._service.answer(path, headers, body)
        return reply.status, reply.body


@asynccontextmanager
async def bench_of(
    wrong: str = "", *, has_leases: bool = True, attach_seconds: float = 0.0
) -> AsyncIterator[ContractBench]:
    """A run of the kit with that Agent, at a broker at which each link takes so long to stand."""
    now, changes = asyncio.get_running_loop().time, Changes()
    server = FakeServer(has_leases=has_leases, attach_seconds=attach_seconds)
    scheduler = SchedulerRole(
        FakeBroker(server),
        app="contract",
        agent="contract",
        signer=Signer(IDENTITY),
        lease=LEASE,
        now=now,
        new_uid=Environment().new_uid,
        changes=changes,
    )
    service = CheckedService(now, changes)
    process = TaskProcess(server, service, wrong)
    await scheduler.open()
    try:
        yield ContractBench(scheduler, service, process, changes, BenchOptions(capacity=CAPACITY, lease=LEASE))
    finally:
        await process.kill()
        await scheduler.close()
