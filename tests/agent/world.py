from __future__ import annotations

import asyncio
import random
from typing import Any

from stepward.agent.declaration import Agent
from stepward.agent.runner import AgentRunner
from stepward.clock import Environment, SystemClock, no_failpoint
from stepward.events import Event, Observers
from stepward.model.messages.requests import Reply, Request, reply_queue, request_queue
from stepward.payload import encode
from stepward.transport.contract import Transport
from stepward.transport.memory.memory_transport import MemoryTransport

REPLIES = reply_queue("scheduler-1")
LONGEST = 86_400.0
"""Virtual seconds within which a reply comes, or never."""


class World:
    """One Agent instance (or more, on a shared transport) and a Scheduler's side of its queues."""

    def __init__(
        self,
        agent: Agent,
        *,
        transport: Transport | None = None,
        failpoint: Any = no_failpoint,
        **options: Any,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.agent = agent
        self.transport = transport if transport is not None else MemoryTransport(self.now)
        self.events: list[Event] = []
        self.runner = AgentRunner(
            agent,
            self.transport,
            now=self.now,
            environment=Environment(SystemClock(), random.Random(1), failpoint),
            observers=Observers(self.events.append),
            **options,
        )
        self.running = asyncio.create_task(self.runner.run())

    def now(self) -> float:
        return self.loop.time()

    def request(self, operation: str, *args: Any, **fields: Any) -> Request:
        given: dict[str, Any] = {
            "task": "uid-1",
            "task_id": "order-1",
            "run": 1,
            "key": f"{operation}/1",
            "attempt": 1,
            "agent": self.agent.name,
            "operation": operation,
            "undo": False,
            "input": encode(list(args), "arguments"),
            "complete_by": self.now() + 20,
            "idempotency_key": f"uid-1/1/{operation}/1",
            "undoes": None,
            "reply_to": REPLIES,
            "priority": 5,
        }
        return Request(**{**given, **fields})

    async def ask(self, operation: str, *args: Any, **fields: Any) -> Request:
        request = self.request(operation, *args, **fields)
        await self.transport.publish(request_queue(self.agent.name), [request])
        return request

    async def replies(self, count: int = 1, queue: str = REPLIES) -> list[Reply]:
        found: list[Reply] = []
        async with asyncio.timeout(LONGEST):
            while len(found) < count:
                taken = await self.transport.take(queue, count - len(found), 60)
                await self.transport.settle(queue, taken)
                found += [delivery.message for delivery in taken if isinstance(delivery.message, Reply)]
        return found

    async def call(self, operation: str, *args: Any, **fields: Any) -> Reply:
        await self.ask(operation, *args, **fields)
        return (await self.replies())[0]

    async def is_silent(self, seconds: float, queue: str = REPLIES) -> bool:
        """Whether no message comes to ``queue`` in that time."""
        try:
            async with asyncio.timeout(seconds):
                await self.transport.take(queue, 1, 0.001)
        except TimeoutError:
            return True
        return False

    def breaker(self) -> str:
        return str(self.runner.breaker)

    def told(self, name: str) -> list[dict[str, Any]]:
        return [event.fields for event in self.events if event.name == name]

    async def close(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])
        await self.runner.drain(0)
