"""A high priority overtakes thousands that wait, on a SQLite file and on PostgreSQL alike, in real time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepward import Agent, App, workflow
from tests.store.postgres.worlds import Database
from tests.tiers import sampled

pytestmark = pytest.mark.servers

WITHIN = 120.0
QUEUE = "replies.shop.web"


class Turnstile:
    """An Agent that serves one request at a time, and as many as it is allowed to."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.agent = Agent("turnstile", concurrency=1)
        self._allowed = asyncio.Semaphore(0)
        self._passed = asyncio.Condition()

        @self.agent.operation(complete_by="10m")
        async def go(who: str) -> None:
            await self._allowed.acquire()
            async with self._passed:
                self.served.append(who)
                self._passed.notify_all()

        @workflow
        async def visit(who: str) -> None:
            for _ in range(5):
                await go(who)

        self.visit = visit

    async def let(self, count: int) -> list[str]:
        """Serve so many, and say whom."""
        before = len(self.served)
        for _ in range(count):
            self._allowed.release()
        async with asyncio.timeout(WITHIN), self._passed:
            await self._passed.wait_for(lambda: len(self.served) >= before + count)
        return self.served[before:]


@pytest.mark.parametrize("kind", sampled(("sqlite", "postgres"), "postgres"))
async def test_a_high_priority_overtakes_ten_thousand_that_wait(kind: str, tmp_path: Path, database: Database) -> None:
    store = f"sqlite:///{tmp_path / 'tasks.db'}" if kind == "sqlite" else database.address
    turnstile = Turnstile()
    app = App("shop", workflows=[turnstile.visit], agents=[turnstile.agent], store=store, drain="0s")
    async with app.running() as running, app.client() as client:
        names = [f"low-{number:05}" for number in range(10_000)]
        await client.submit_many(turnstile.visit, [(name,) for name in names], ids=names, priority=1)
        assert len(set(await turnstile.let(20))) == 20
        assert running.host.scheduler is not None
        assert (running.host.scheduler.held, running.host.local_submissions.has_room) == (1000, False)
        handle = await client.submit(turnstile.visit, "urgent", id="urgent", priority=9, reply_to=QUEUE)
        async with asyncio.timeout(WITHIN):
            async for event in client.events(QUEUE):
                if event.type == "stepward.task.started":
                    break
        served = await turnstile.let(6)
        # At most one step of a low priority was under way when it came.
        assert served[served.index("urgent") :][:5] == ["urgent"] * 5
        await handle.result(timeout=WITHIN)
        assert running.host.scheduler.held <= 1000
