"""The leases of a process's instances: one statement renews them all, and whoever lost one is told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from stepward.errors import StoreError
from stepward.host.parts import Parts
from stepward.model.agents import AgentHealth, Report
from stepward.model.records import Instance, Role

BEATS_PER_LEASE = 3


class Leases:
    """Knows until when each instance may act: counted from before the renewal was sent.

    ``lost`` is told of an instance that lost its lease, ``reports`` gives what each says of itself.
    """

    def __init__(
        self, parts: Parts, lost: Callable[[str], Awaitable[None]], reports: Callable[[], Mapping[str, Report]]
    ) -> None:
        self._parts = parts
        self._lost = lost
        self._reports = reports
        self._wanted = asyncio.Event()
        self._until: dict[str, float] = {}
        self._untold: list[str] = []
        """Instances found lost whose owner could not be told yet, as the store was out of reach."""
        self._retiring: set[str] = set()
        """Instances given up of which the store has not heard yet."""

    def until(self, instance: str) -> float:
        """The end of the instance's lease by the store's clock; long past if it has none."""
        return self._until.get(instance, 0.0)

    async def register(self, role: Role, serves: list[str], capacity: int, health: Sequence[AgentHealth] = ()) -> str:
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
        )
        await parts.store.register(record, parts.settings.lease)
        self._until[instance] = sent_at + parts.settings.lease
        return instance

    async def keep(self) -> None:
        """Renew until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._parts.settings.lease / BEATS_PER_LEASE):
                    await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._renew()
            except StoreError as error:
                self._parts.observers.tell("store.unavailable", error=str(error))

    def report(self) -> None:
        """What instances say of themselves has changed: renew at once."""
        self._wanted.set()

    async def retire(self, instances: Iterable[str] | None = None) -> None:
        """Give up these instances, or all: what they hold is free at once."""
        for instance in list(self._until if instances is None else instances):
            self._until.pop(instance, None)
            self._retiring.add(instance)
        await self._retire()

    def abandon(self, instance: str) -> None:
        """Let the instance's lease run out."""
        self._until.pop(instance, None)

    async def _retire(self) -> None:
        """Those that the store did not hear of are named again at the next renewal."""
        for instance in sorted(self._retiring):
            try:
                await self._parts.store.retire(instance)
            except StoreError as error:
                self._parts.observers.tell("store.unavailable", error=str(error))
                return
            self._retiring.discard(instance)

    async def _renew(self) -> None:
        await self._retire()
        await self._tell_lost()
        instances = list(self._until)
        if not instances:
            return
        sent_at = self._parts.store.now()
        alive = await self._parts.store.renew(instances, self._parts.settings.lease, self._reports())
        for instance in instances:
            if instance not in self._until:
                continue
            if instance in alive:
                self._until[instance] = sent_at + self._parts.settings.lease
            else:
                del self._until[instance]
                self._untold.append(instance)
        await self._tell_lost()

    async def _tell_lost(self) -> None:
        while self._untold:
            await self._lost(self._untold[0])
            self._untold.pop(0)
