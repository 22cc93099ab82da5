"""The Agent's actor: takes requests from the queue of its name, as many as it has room for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepward.agent.bounded_close import close_agent
from stepward.agent.call_lifecycle import Calls
from stepward.agent.declaration import Agent
from stepward.agent.protection.circuit_breaker import BreakerState
from stepward.agent.protection.shared_state import OwnState, SharedState
from stepward.agent.unbegun_requests import ReturnedRequests
from stepward.clock import Environment
from stepward.errors import TransportError
from stepward.events import Observers
from stepward.model.agents import AgentHealth, AgentStanding
from stepward.model.failures import FailureConverter
from stepward.model.limits.rate import RateLimit
from stepward.model.messages.completion_tokens import Sign
from stepward.model.messages.requests import request_queue
from stepward.payload import PAYLOAD_BYTES
from stepward.transport.contract import Delivery, Transport

REQUEST_LEASE = 10.0
PAUSE = 1.0
LEASE_LOOK = 0.05
"""Seconds between looks whether the instance's own lease was renewed."""
PROBE_LOOK = 1.0
"""Seconds between looks whether the request that is to find out about the service has begun."""


def no_lease() -> float:
    """The lease of an instance that needs none: it never ends."""
    return float("inf")


class AgentRunner:
    """One instance of an Agent.

    ``now`` is the store's clock; ``lease_until`` says until when this instance may act by its own lease; ``standing``
    is that of all instances of the Agent, None where there is no other; ``threads=False`` runs plain functions in the
    loop, as the simulation does. After ``run`` is cancelled, ``drain`` is to be called.
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
        standing: SharedState | None = None,
        request_lease: float = REQUEST_LEASE,
        sign: Sign | None = None,
        threads: bool = True,
        payload_bytes: int = PAYLOAD_BYTES,
        failures: FailureConverter | None = None,
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
            standing=standing or OwnState(),
            request_lease=request_lease,
            sign=sign,
            threads=threads,
            payload_bytes=payload_bytes,
            failures=failures or FailureConverter(),
        )
        self._returning = ReturnedRequests(transport, self._queue, settle=self._calls.settle, observers=observers)
        self._calls.gate.on_shut(self._give_back_unbegun)
        self._taker: asyncio.Task[None] | None = None
        self._draining = False
        self.is_limited = False
        """Whether calls need slots under the limit of all instances."""
        self.slots_until = float("inf")
        """Until then calls may begin in the slots that are leased."""

    @property
    def capacity(self) -> int:
        """How many requests this instance works on at once."""
        return self._calls.slots.capacity

    @property
    def in_flight(self) -> int:
        """How many it holds now; a request is held until its reply is published."""
        return len(self._calls.slots)

    @property
    def latest_end(self) -> float:
        """The latest complete-by of the calls that it holds; 0.0 if it holds none."""
        return max((call.request.complete_by for call in self._calls.slots), default=0.0)

    @property
    def stuck(self) -> int:
        """How many slots are lost to calls that went past their deadline and do not stop."""
        return self._calls.slots.stuck

    @property
    def breaker(self) -> BreakerState:
        """The state of its circuit breaker."""
        return self._calls.gate.state

    @property
    def health(self) -> AgentHealth:
        """How this instance is doing."""
        return AgentHealth(
            agent=self.agent.name,
            capacity=self.capacity,
            in_flight=self.in_flight,
            stuck=self.stuck,
            breaker=self.breaker,
        )

    def heed(self, standing: AgentStanding, *, is_ours: bool, instances: int) -> None:
        """All instances, so many, stand so; ``is_ours``: it is this one that finds out whether the service is back."""
        self._calls.gate.heed(standing, is_ours=is_ours)
        self._calls.gate.share(instances)

    def allow(self, slots: int | None, until: float = float("inf")) -> None:
        """Work on at most so many requests at once, and begin none after ``until``; None: there is no limit."""
        self.is_limited = slots is not None
        self.slots_until = until if self.is_limited else float("inf")
        most = self.agent.concurrency
        self._calls.slots.resize(most if slots is None else min(most, slots))

    def set_rate(self, rate: RateLimit | None) -> None:
        """Start calls at most at this rate, over all instances together; None: there is no rate."""
        self._calls.gate.set_rate(rate)

    async def run(self) -> None:
        """Take and perform requests until cancelled or drained."""
        if self._draining:
            return
        self._calls.open()
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
        await self._returning.finished()
        await self._calls.drain(grace)
        await close_agent(self.agent, self._observers)

    def revoke(self, task: str, run: int, key: str) -> None:
        """Stop working on that step, which was given up, and reply when nothing of it runs."""
        self._calls.revoke(task, run, key)

    async def _take(self) -> None:
        while True:
            room = await self._room()
            try:
                found = await self._transport.take(self._queue, room, self._request_lease)
            except TransportError as error:
                self._observers.emit("agent.transport_failed", queue=self._queue, verb="take", error=str(error))
                await asyncio.sleep(PAUSE * (0.5 + self._environment.random.random() / 2))
                continue
            while self._now() >= min(self._lease_until(), self.slots_until):  # noqa: ASYNC110  its keeper knows no Agent
                # Nothing may be called under a lease that has lapsed, and after an outage its renewal is near.
                await asyncio.sleep(LEASE_LOOK)
            self._receive(found)

    async def _room(self) -> int:
        """Wait for room; behind an open breaker that is one request, which finds out about the service."""
        slots, gate = self._calls.slots, self._calls.gate
        while True:
            while not slots.room:
                await slots.released()
            if gate.state is not BreakerState.CLOSED:
                if self._may_find_out:
                    return 1
                await gate.closes(gate.wait or PROBE_LOOK)
            elif room := gate.within_rate(slots.room, slots.count_unbegun):
                return room
            else:
                await gate.passes()

    def _receive(self, found: list[Delivery]) -> None:
        if self.breaker is not BreakerState.CLOSED:
            # It opened while they were on their way.
            self._returning.give_back(found[int(self._may_find_out) :])
            found = found[: int(self._may_find_out)]
        room = self._calls.slots.room
        if len(found) > room:
            # The slots have become fewer while the requests were on their way.
            self._returning.give_back(found[room:])
            found = found[:room]
        self._calls.receive(found)

    @property
    def _may_find_out(self) -> bool:
        """Whether the service may be probed now, and no request waits for that already."""
        return not self._calls.gate.wait and next(self._calls.slots.unbegun(), None) is None

    def _give_back_unbegun(self) -> None:
        self._returning.give_back(self._calls.let_go_unbegun())
