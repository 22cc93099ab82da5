"""The Agent's actor: takes requests from the queue of its name, as many as it has room for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.agent.breaker import BreakerState
from stepward.agent.calls import Calls
from stepward.agent.declaration import Agent
from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.messages import request_queue
from stepward.payload import PAYLOAD_BYTES
from stepward.transport.contract import Transport

REQUEST_LEASE = 30.0
PAUSE = 1.0
LEASE_LOOK = 0.05
"""Seconds between looks whether the instance's own lease was renewed."""


def no_lease() -> float:
    """The lease of an instance that needs none: it never ends."""
    return float("inf")


class AgentRunner:
    """One instance of an Agent.

    ``now`` is the store's clock; ``lease_until`` says until when this instance may act by its own lease;
    ``threads=False`` runs plain functions in the loop, as the simulation does. Whoever cancels ``run`` calls
    ``drain``.
    """

    def __init__(
        self,
        agent: Agent,
        transport: Transport,
        *,
        now: Callable[[], float],
        environment: Environment,
        observers: Observers,
        lease_until: Callable[[], float] = no_lease,
        request_lease: float = REQUEST_LEASE,
        threads: bool = True,
        payload_bytes: int = PAYLOAD_BYTES,
    ) -> None:
        self.agent = agent
        self._transport = transport
        self._queue = request_queue(agent.name)
        self._environment = environment
        self._observers = observers
        self._request_lease = request_lease
        self._now = now
        self._lease_until = lease_until
        self._calls = Calls(
            agent,
            transport,
            now=now,
            environment=environment,
            observers=observers,
            lease_until=lease_until,
            request_lease=request_lease,
            threads=threads,
            payload_bytes=payload_bytes,
        )
        self._taker: asyncio.Task[None] | None = None
        self._draining = False

    @property
    def capacity(self) -> int:
        """How many requests this instance works on at once."""
        return self.agent.concurrency

    @property
    def in_flight(self) -> int:
        """How many it holds now; a request is held until its reply is published."""
        return len(self._calls.slots)

    @property
    def stuck(self) -> int:
        """How many slots are lost to calls that went past their deadline and do not stop."""
        return sum(call.dropped for call in self._calls.slots)

    @property
    def breaker(self) -> BreakerState:
        """The state of its circuit breaker."""
        return self._calls.breaker

    async def run(self) -> None:
        """Take and perform requests until cancelled or drained."""
        if self._draining:
            return
        stop_listening = self._transport.on_revoke(self._queue, self.revoke)
        self._taker = asyncio.create_task(self._take(), name=f"agent-{self.agent.name}")
        try:
            await asyncio.wait([self._taker])
            if not self._taker.cancelled():
                self._taker.result()
        finally:
            self._taker.cancel()
            stop_listening()

    async def drain(self, grace: float) -> None:
        """Take nothing new, let what runs end within ``grace`` seconds, cancel the rest, close the Agent."""
        self._draining = True
        if self._taker is not None:
            self._taker.cancel()
            await asyncio.wait([self._taker])
        await self._calls.drain(grace)
        await self.agent.close()

    def revoke(self, task: str, run: int, key: str) -> None:
        """Nobody waits for that step any more: stop working on it, and say nothing."""
        self._calls.revoke(task, run, key)

    async def _take(self) -> None:
        slots = self._calls.slots
        while True:
            while not slots.room:
                await slots.released()
            try:
                found = await self._transport.take(self._queue, slots.room, self._request_lease)
            except TransportError as error:
                self._observers.tell("agent.transport_failed", queue=self._queue, verb="take", error=str(error))
                await asyncio.sleep(PAUSE * (0.5 + self._environment.random.random() / 2))
                continue
            while self._now() >= self._lease_until():  # noqa: ASYNC110  its keeper knows no Agent
                # Nothing may be called under a lease that has lapsed, and after an outage its renewal is near.
                await asyncio.sleep(LEASE_LOOK)
            self._calls.receive(found)
