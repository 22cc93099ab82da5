"""Runs the actors of one process: gives each a lease, replaces fenced ones, and ends them in good order."""

from __future__ import annotations

import asyncio
from functools import partial

from stepward.clock import SystemClock
from stepward.host.actors.agent_actors import AgentActors
from stepward.host.actors.running_actors import RunningActors
from stepward.host.actors.scheduler_actor import SchedulerActor
from stepward.host.actors.submission_actors import QueueActor, keep, queue_actors
from stepward.host.actors.supervisor_actor import SupervisorActor
from stepward.host.actors.supervisor_pace import SupervisorPace
from stepward.host.agent_capacity import AgentCapacity
from stepward.host.assembly import Parts, Roles
from stepward.host.declared_limits import declare_limits
from stepward.host.leases import InstanceLeases
from stepward.host.queues.refused_queue_alerts import RefusedQueueAlerts
from stepward.host.queues.rejection_alerts import RejectionAlerts
from stepward.host.queues.remote_agents import RemoteAgents
from stepward.host.queues.reply_rerouting import ReplyRerouting
from stepward.host.queues.status_event_relay import relay_of
from stepward.host.queues.unowned_requests import LostRequests
from stepward.host.queues.unserved_queue_alerts import UnservedQueues
from stepward.host.readiness import Readiness
from stepward.host.watchdog.hang_detection import Watchdog
from stepward.host.watchdog.store_writes import Hangs
from stepward.model.agents import Report
from stepward.model.limits.flow_limit import workflow_limit
from stepward.model.messages.change_kinds import Kinds
from stepward.model.records import Role
from stepward.scheduler.intake import LocalSubmissions
from stepward.scheduler.scheduler import Scheduler
from stepward.store.change_watcher import ChangeWatcher
from stepward.supervisor.pass_report import PassReport


class Host:
    """The actors of one process."""

    def __init__(self, parts: Parts, roles: Roles) -> None:
        self._parts = parts
        self._roles = roles
        self._submitters: list[QueueActor] = []
        self._actors = RunningActors(parts.observers)
        self._leases = InstanceLeases(parts, self._lost, self._reports, self._drain)
        self._agents = AgentActors(parts, roles, self._leases)
        self._pace = SupervisorPace(parts.environment.clock)
        self._schedulers = SchedulerActor(parts, self._leases, self._pace, is_run=roles.scheduler)
        self._supervisors = SupervisorActor(parts, self._leases, self._pace)
        self._capacity = AgentCapacity(
            parts, self._agents, scheduler=lambda: self.scheduler, report=self._leases.report
        )
        self._rerouting = ReplyRerouting(parts, heir=self._scheduler_instance)
        self._watcher = ChangeWatcher(parts.store.host, parts.hints)
        self._watchdog = self._watching()
        self._drained = asyncio.Event()
        """Set when an operator wants this process to end."""
        self._stopping: asyncio.Task[None] | None = None
        """The end that this began; None before that."""
        self._relay = relay_of(parts, roles, self._scheduler_instance)
        self._submission_instance = ""
        self._readiness = Readiness(parts, roles, self._leases, self._agents, self._schedulers, self._supervisors)
        parts.endings.hear(self._is_held)

    @property
    def scheduler(self) -> Scheduler | None:
        """The present Scheduler; after a fence it is another."""
        return self._schedulers.current

    @property
    def local_submissions(self) -> LocalSubmissions:
        """The submissions of this process, for its Scheduler."""
        return self._schedulers.local_submissions

    def unready(self) -> list[str]:
        """Why the actors cannot do their work now, a line for each reason; empty if they can."""
        return self._readiness.reasons()

    def waits(self) -> dict[str, float]:
        """By Agent, the seconds for which the oldest step has waited for room in the Scheduler here."""
        scheduler, now = self._schedulers.current, self._parts.store.now()
        waits = {} if scheduler is None else scheduler.waits()
        return {agent: max(0.0, now - since) for agent, since in waits.items()}

    def _scheduler_instance(self) -> str | None:
        return self._schedulers.instance

    def _is_held(self, uid: str) -> bool:
        return self.scheduler is not None and self.scheduler.holds(uid)

    async def start(self) -> None:
        """Register and start the actors. Raises StoreError."""
        parts = self._parts
        roles = self._roles
        if not self._agents.names or roles.scheduler or roles.supervisor or roles.submission:
            await self._register_declared()
        if roles.scheduler:
            names = [workflow_limit(name) for name in parts.registry.newest]
            await declare_limits(parts.store.host, parts.registry.limits(), names)
        if self._roles.scheduler or self._agents.names:
            await self._start_agents()
        if self._roles.scheduler:
            await self._schedulers.start(self._capacity)
            self._actors.run(self._keep_scheduling)
        if self._roles.supervisor:
            await self._supervisors.start()
            self._actors.run(self._supervisors.keep)
        if self._roles.submission:
            await self._start_submissions()
        self._actors.run(self._leases.keep)
        if self._roles.scheduler:
            self._actors.run(self._rerouting.keep)
            self._actors.run(LostRequests(parts, self._scheduler_instance).keep)
        self._start_at_queues()
        if self._roles.scheduler or self._agents.names:
            self._actors.run(self._capacity.keep)
        self._watcher.start()
        if parts.threads:
            self._watchdog.start()
        parts.hints.receive(self._hinted)

    async def supervise_once(self) -> PassReport:
        """Make one pass of the Supervisor, without starting anything else."""
        try:
            return await self._supervisors.once()
        finally:
            await self._leases.retire()

    async def stop(self) -> None:
        """End in good order: claim nothing more, let running work end within the grace period, hand the rest over.

        After an operator's drain this waits for the end that has begun.
        """
        await (self._stop() if self._stopping is None else self._stopping)

    def _drain(self) -> None:
        """End in good order because an operator wants it, whatever the application waits for."""
        if not self._readiness.is_ending:
            self._readiness.is_ending = True
            self._parts.observers.emit("process.drained")
            self._stopping = asyncio.get_running_loop().create_task(self._stop(), name="drain")
            self._drained.set()

    async def _stop(self) -> None:
        grace = self._parts.settings.drain
        self._readiness.is_ending = True
        if self.scheduler is not None:
            self.scheduler.stop_taking()
        try:
            if self.scheduler is not None:
                await self.scheduler.hand_out()
            await self._capacity.give_back()
            await asyncio.gather(self._agents.drain(grace), *[actor.drain(grace) for actor in self._submitters])
            await self._capacity.give_back()
            if self.scheduler is not None:
                await self.scheduler.settle()
            if self._relay is not None:
                await self._relay.finish()
        finally:
            instance = self._scheduler_instance()
            await self._end()
            if instance is not None:
                await self._rerouting.release(instance)

    async def _end(self) -> None:
        """Stop everything and give up the leases, whatever failed before."""
        await self._actors.end(self._parts.settings.lease)
        await self._watcher.stop()
        self._watchdog.stop()
        await self._supervisors.close()
        await self._leases.retire()

    async def wait(self) -> None:
        """Wait until an actor ends by a bug, and raise it, or until an operator wants this process to end."""
        working = asyncio.ensure_future(self._actors.wait())
        drained = asyncio.ensure_future(self._drained.wait())
        try:
            await asyncio.wait({working, drained}, return_when=asyncio.FIRST_COMPLETED)
            if not drained.done():
                working.result()
        finally:
            working.cancel()
            drained.cancel()

    async def _keep_scheduling(self) -> None:
        await self._schedulers.keep(self._capacity, self._rerouting)

    async def _register_declared(self) -> None:
        """Record workflows and schedules; a process that only serves Agents needs no rights on them."""
        parts = self._parts
        await parts.store.host.register_workflows(parts.registry.records())
        if parts.schedules:
            now = parts.store.now()
            await parts.store.host.register_schedules([schedule.record(now) for schedule in parts.schedules])

    async def _start_agents(self) -> None:
        """Start the Agents once their state was read, so that the Agents and this process's Scheduler know it from
        the start."""
        if self._agents.names:
            await self._agents.register()
            await self._agents.declare_limits()
        runners = await self._agents.make(self._capacity)
        await self._capacity.look()
        for runner in runners:
            self._actors.run(runner.run)

    def _start_at_queues(self) -> None:
        """Start the actors for the queues."""
        parts = self._parts
        if parts.brokered is not None:
            self._actors.run(RefusedQueueAlerts(parts, lambda: next(iter(self._leases.instances), parts.app)).keep)
            self._actors.run(RejectionAlerts(parts).keep)
        if self._relay is not None:
            self._actors.run(self._relay.run)
            self._actors.run(self._relay.keep_burying)
            self._actors.run(RemoteAgents(parts).keep)
        if self._roles.scheduler:
            carried = self._relay.carried_to if self._relay is not None else {}
            self._actors.run(UnservedQueues(parts, self._scheduler_instance, carried).keep)

    async def _start_submissions(self) -> None:
        parts = self._parts
        if parts.submissions:
            await self._register_submissions()
        self._submitters = queue_actors(parts)
        for actor in self._submitters:
            self._actors.run(partial(keep, actor, parts))

    async def _register_submissions(self) -> None:
        serves = [submission.queue for submission in self._parts.submissions]
        self._submission_instance = await self._leases.register(Role.SUBMISSION, serves, 0)
        self._readiness.submission_instance = self._submission_instance

    def _watching(self) -> Watchdog:
        settings = self._parts.settings
        hangs = Hangs(self._parts, lambda: self._leases.instances)
        return Watchdog(
            SystemClock(),
            self._parts.observers,
            lease=settings.lease,
            limit=settings.hang_limit,
            count=hangs.count,
            break_off=hangs.break_off,
            leave=hangs.leave,
        )

    def _reports(self) -> dict[str, Report]:
        """The reports of this process's instances."""
        reports = {}
        if self._agents.names:
            reports[self._agents.instance] = Report(health=self._agents.health())
        if self.scheduler is not None:
            scheduler = self.scheduler
            reports[scheduler.instance] = Report(
                health=scheduler.health(), demand=scheduler.demand(), waits=scheduler.waits()
            )
        return reports

    async def _lost(self, instance: str) -> None:
        """Replace an instance whose lease ran out while this process was paused."""
        self._parts.observers.emit("instance.lost", instance=instance)
        if instance == self._agents.instance:
            await self._agents.register()
            # A process receives no hint for its own changes: its Scheduler must see that there is room again.
            self._parts.hints.hint()
        elif instance == self._submission_instance:
            await self._register_submissions()
        elif instance == self._supervisors.instance:
            await self._supervisors.start()
        elif self.scheduler is not None and instance == self.scheduler.instance:
            self.scheduler.fence()

    def _hinted(self, kinds: Kinds) -> None:
        self._pace.hint()
        if self.scheduler is not None:
            self.scheduler.hint(kinds)
