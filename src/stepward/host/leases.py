"""The leases of a process's instances, all renewed by one statement."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from stepward.errors import StoreError
from stepward.host.assembly import Parts
from stepward.model.agents import AgentHealth, Report
from stepward.model.records import Digest, Instance, Role

HEARTBEATS_PER_LEASE = 3


class InstanceLeases:
    """Knows until when each instance may act, counted from before the renewal was sent.

    ``lost`` is called with an instance that lost its lease; ``reports`` returns the health of each; ``drain`` is called
    where an operator wants this process to end.
    """

    def __init__(
        self,
        parts: Parts,
        lost: Callable[[str], Awaitable[None]],
        reports: Callable[[], Mapping[str, Report]],
        drain: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._lost = lost
        self._reports = reports
        self._drain = drain
        self._wanted = asyncio.Event()
        self.ends: dict[str, float] = {}
        """By instance that was not given up, the end of its lease by the store's clock."""
        self._jumped = parts.store.host.jumped()
        self._unreported: list[str] = []
        """Lost instances for which ``lost`` failed, because the store was unavailable."""
        self._retiring: dict[str, bool] = {}
        """Instances given up without the store's knowledge, and whether in good order."""

    @property
    def instances(self) -> list[str]:
        """The instances that have not been given up."""
        return list(self.ends)

    async def register(
        self,
        role: Role,
        serves: list[str],
        capacity: int,
        health: Sequence[AgentHealth] = (),
        digests: Mapping[str, Digest] = {},
    ) -> str:
        """A new instance under an id never used before."""
        parts = self._parts
        instance = f"{role}-{parts.environment.new_uid()}"
        sent_at = parts.store.now()
        record = Instance(
            id=instance,
            role=role,
            host=socket.gethostname(),
            pid=os.getpid(),
            serves=serves,
            capacity=capacity,
            health=list(health),
            digests=dict(digests),
            ahead=self._ahead(),
        )
        await parts.store.host.register(record, parts.settings.lease)
        self.ends[instance] = sent_at + parts.settings.lease
        return instance

    async def keep(self) -> None:
        """Renew until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._parts.settings.lease / HEARTBEATS_PER_LEASE):
                    await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._renew()
            except StoreError as error:
                self._parts.observers.emit("store.unavailable", error=str(error))

    def report(self) -> None:
        """Renew at once: a report of an instance has changed."""
        self._wanted.set()

    async def retire(self, instances: Iterable[str] | None = None, *, in_order: bool = True) -> None:
        """Give up these instances, or all: their tasks are free at once."""
        for instance in list(self.ends if instances is None else instances):
            self.ends.pop(instance, None)
            self._retiring[instance] = in_order
        await self._retire()

    def abandon(self, instance: str) -> None:
        """Let the instance's lease run out."""
        self.ends.pop(instance, None)

    async def _retire(self) -> None:
        """Instances that could not be given up are sent with the next renewal."""
        for instance, in_order in sorted(self._retiring.items()):
            try:
                await self._parts.store.host.retire(instance, in_order=in_order)
            except StoreError as error:
                self._parts.observers.emit("store.unavailable", error=str(error))
                return
            self._retiring.pop(instance, None)

    async def _renew(self) -> None:
        await self._retire()
        await self._report_lost()
        instances = list(self.ends)
        if not instances:
            return
        store = self._parts.store
        sent_at, jumped = store.now(), store.host.jumped()
        alive = await store.host.renew(instances, self._parts.settings.lease, self._reports(), self._ahead())
        sent_at += store.host.jumped() - jumped
        self._emit_jump()
        for instance in instances:
            if instance not in self.ends:
                continue
            if instance in alive:
                self.ends[instance] = sent_at + self._parts.settings.lease
            else:
                del self.ends[instance]
                self._unreported.append(instance)
        await self._report_lost()
        if await store.host.is_drained(list(self.ends)):
            self._drain()

    def _ahead(self) -> float:
        """Seconds by which this host's wall clock is ahead of the store's."""
        return self._parts.environment.clock.wall() - self._parts.store.now()

    def _emit_jump(self) -> None:
        before, self._jumped = self._jumped, self._parts.store.host.jumped()
        if self._jumped != before:
            self._parts.observers.emit("clock.jumped", seconds=round(self._jumped - before, 3))

    async def _report_lost(self) -> None:
        while self._unreported:
            await self._lost(self._unreported[0])
            self._unreported.pop(0)
