"""The Supervisor of a process: its passes, its pauses, and its registration."""

from __future__ import annotations

import asyncio

from stepward.errors import StoreUnusable
from stepward.host.actors.supervisor_pace import SupervisorPace
from stepward.host.assembly import Parts
from stepward.host.leases import InstanceLeases
from stepward.model.records import Role
from stepward.supervisor.pass_report import PassReport
from stepward.supervisor.supervisor import Supervisor


class SupervisorActor:
    """Runs one Supervisor; after a lost lease it is registered again, under another instance id."""

    def __init__(self, parts: Parts, leases: InstanceLeases, pace: SupervisorPace) -> None:
        self._parts = parts
        self._leases = leases
        self._pace = pace
        self._supervisor: Supervisor | None = None
        self.instance: str | None = None
        """The instance id that was registered last."""

    async def start(self) -> None:
        """Register a Supervisor, in place of the one before it. Raises StoreError."""
        await self.close()
        self._supervisor = await self._new()

    async def keep(self) -> None:
        """Make one pass after another until cancelled. Raises StoreUnusable."""
        while self._supervisor is not None:
            try:
                delay = await self._supervisor.turn()
                if self._supervisor.acted:
                    self._parts.hints.hint()
            except StoreUnusable:
                raise
            except Exception as error:
                # A Supervisor remembers nothing that the store does not hold: the next pass begins from the store.
                self._parts.observers.emit("supervisor.broke", error=repr(error))
                await asyncio.sleep(self._parts.settings.lease)
            else:
                # A standby has nothing to decide, so a hint does not shorten its pause.
                await (self._pace.pause(delay) if self._supervisor.leads else asyncio.sleep(delay))

    async def once(self) -> PassReport:
        """Make one pass, whether or not another Supervisor leads. Raises StoreUnavailable."""
        supervisor = await self._new()
        try:
            return await supervisor.once()
        finally:
            await supervisor.close()

    async def close(self) -> None:
        """Close the Supervisor, if one was started."""
        if self._supervisor is not None:
            await self._supervisor.close()

    async def _new(self) -> Supervisor:
        parts, others = self._parts, self._parts.others
        self.instance = await self._leases.register(Role.SUPERVISOR, [], 0)
        return Supervisor(
            parts.store.supervisor,
            instance=self.instance,
            settings=parts.settings,
            observers=parts.observers,
            environment=parts.environment,
            sinks=parts.sinks,
            webhooks=parts.webhooks,
            keeper=parts.keeper,
            owners=None if others is None else others.owners,
            down=dict if others is None else others.down,
        )
