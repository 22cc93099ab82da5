"""The Scheduler of a process: replaced under a new instance id when it is fenced or fails."""

from __future__ import annotations

import asyncio

from stepward.errors import CommitUnknown, InstanceFenced, StoreError, StoreUnusable
from stepward.host.actors.supervisor_pace import SupervisorPace
from stepward.host.agent_capacity import AgentCapacity
from stepward.host.assembly import Parts
from stepward.host.leases import InstanceLeases
from stepward.host.queues.reply_rerouting import ReplyRerouting
from stepward.host.workflow_digests import digests_of
from stepward.model.records import Role
from stepward.scheduler.assembly import assemble
from stepward.scheduler.commits import Listeners
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.intake import LocalSubmissions
from stepward.scheduler.scheduler import Scheduler


class SchedulerActor:
    """Runs a Scheduler, and after it the next; ``current`` is the one at work."""

    def __init__(self, parts: Parts, leases: InstanceLeases, pace: SupervisorPace, *, is_run: bool) -> None:
        self._parts = parts
        self.local_submissions = LocalSubmissions(parts.registry)
        """The submissions of this process, for its present Scheduler."""
        self._leases = leases
        self._pace = pace
        # Read once, at the start: the files on the disk may be newer than the imported code.
        self._digests = digests_of(parts.registry) if is_run else {}
        self.current: Scheduler | None = None

    @property
    def instance(self) -> str | None:
        """The instance id of the Scheduler at work."""
        return self.current.instance if self.current is not None else None

    async def start(self, capacity: AgentCapacity) -> None:
        """Register the first Scheduler. Raises StoreError."""
        self.current = await self._new(capacity)

    async def keep(self, capacity: AgentCapacity, rerouting: ReplyRerouting) -> None:
        """Run until cancelled; a successor starts with an empty memory and claims tasks like any other Scheduler.

        Raises StoreUnusable.
        """
        while True:
            scheduler = self.current or await self._replace(capacity)
            try:
                await scheduler.run()
            except (InstanceFenced, CommitUnknown) as error:
                self.current = None
                self._parts.observers.emit("scheduler.fenced", instance=scheduler.instance, reason=str(error))
                await self._leases.retire([scheduler.instance], in_order=False)
            except StoreUnusable:
                self.current = None
                self._leases.abandon(scheduler.instance)
                raise
            except Exception as error:
                self.current = None
                await self._let_lapse(scheduler.instance, error)
            rerouting.left(scheduler.instance)
            await self._replace(capacity)
            await rerouting.adopt()

    async def _let_lapse(self, instance: str, error: Exception) -> None:
        """Let the lease of a Scheduler that failed run out.

        Its tasks then count as taken over from a dead instance, so that a task which breaks every owner is parked.
        """
        self._parts.observers.emit("scheduler.broke", instance=instance, error=repr(error))
        self._leases.abandon(instance)
        await asyncio.sleep(self._parts.settings.poll)

    async def _replace(self, capacity: AgentCapacity) -> Scheduler:
        while self.current is None:
            try:
                self.current = await self._new(capacity)
            except StoreError as error:
                self._parts.observers.emit("store.unavailable", error=str(error))
                await asyncio.sleep(self._parts.settings.poll)
        return self.current

    async def _new(self, capacity: AgentCapacity) -> Scheduler:
        parts = self._parts
        served = [f"{name}@{version}" for name, version in parts.registry.workflows]
        instance = await self._leases.register(
            Role.SCHEDULER, served, parts.settings.tasks_in_flight, digests=self._digests
        )
        context = SchedulerContext(
            instance,
            parts.store.scheduler,
            parts.transport,
            parts.registry,
            parts.settings,
            parts.environment,
            parts.observers,
            parts.failures,
            parts.keeper,
        )
        endings = parts.endings
        listeners = Listeners(
            ended=endings.report_end,
            events_written=parts.queues.wake,
            wrote=endings.written.hint,
            gave_up=self._pace.ask,
        )
        return assemble(context, capacity.rooms(instance), self.local_submissions, listeners, threads=parts.threads)
