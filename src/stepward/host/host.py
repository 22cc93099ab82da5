"""Runs the actors of one process: gives each a lease, replaces one that was fenced, ends them in good order."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from stepward.clock import SystemClock
from stepward.errors import CommitUnknown, InstanceFenced, StoreError, StoreUnusable
from stepward.host.agent_capacity import AgentCapacity
from stepward.host.agents import AgentActors
from stepward.host.leases import InstanceLeases
from stepward.host.parts import Parts, Roles
from stepward.host.queues.lost_requests import LostRequests
from stepward.host.queues.refused_queues import RefusedQueueAlerts
from stepward.host.queues.rejection_alerts import RejectionAlerts
from stepward.host.queues.relay import relay_of
from stepward.host.queues.remote_agents import RemoteAgents
from stepward.host.queues.reply_rerouting import ReplyRerouting
from stepward.host.queues.unserved_queues import UnservedQueues
from stepward.host.submissions import keep, submitter
from stepward.host.supervisor_pace import SupervisorPace
from stepward.host.watchdog.hang_counts import Hangs
from stepward.host.watchdog.watchdog import Watchdog
from stepward.host.workflow_digests import digests_of
from stepward.model.agents import Report
from stepward.model.records import Role, Task
from stepward.scheduler.assembly import assemble
from stepward.scheduler.conclusions import Listeners
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.scheduler import Scheduler
from stepward.store.change_watcher import ChangeWatcher
from stepward.store.contract import Submitted
from stepward.submission import Submitter
from stepward.supervisor.report import PassReport
from stepward.supervisor.supervisor import Supervisor

ActorMain = Callable[[], Coroutine[Any, Any, None]]
"""What runs until it is cancelled."""
CANCEL_AGAIN_SECONDS = 2.0
"""Clients of brokers swallow a cancellation now and then."""


class Host:
    """The actors of one process."""

    def __init__(self, parts: Parts, roles: Roles) -> None:
        self._parts = parts
        self._roles = roles
        self._submitters: list[Submitter] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._leases = InstanceLeases(parts, self._lost, self._reports)
        self._agents = AgentActors(parts, roles, self._leases)
        self._capacity = AgentCapacity(
            parts, self._agents, scheduler=lambda: self._scheduler, report=self._leases.report
        )
        self._adoption = ReplyRerouting(parts, heir=lambda: self._scheduler.instance if self._scheduler else None)
        # Read once: what stands on the disk may be newer than what was imported.
        self._digests = digests_of(parts.registry) if roles.scheduler else {}
        self._watcher = ChangeWatcher(parts.store.host, parts.hints)
        self._watchdog = self._watching()
        self._scheduler: Scheduler | None = None
        self._supervisor: Supervisor | None = None
        self._pace = SupervisorPace(parts.environment.clock)
        self._relay = relay_of(parts, roles, lambda: self._scheduler.instance if self._scheduler else None)
        self._supervisor_instance = ""
        self._submission_instance = ""
        parts.endings.hear(self._is_held)

    @property
    def scheduler(self) -> Scheduler | None:
        """The Scheduler of the moment; after a fence it is another."""
        return self._scheduler

    def submit_locally(self, task: Task) -> asyncio.Future[Submitted | None] | None:
        """Let a submission be born claimed here, if there is a Scheduler with room that serves its workflow."""
        if self._parts.registry.workflow(task.workflow, task.version) is None:
            return None
        scheduler = self._scheduler
        return scheduler.submit(task) if scheduler is not None and scheduler.has_room else None

    def _is_held(self, uid: str) -> bool:
        return self._scheduler is not None and self._scheduler.holds(uid)

    async def start(self) -> None:
        """Register and begin; what cannot be registered raises here."""
        parts = self._parts
        roles = self._roles
        if not self._agents.names or roles.scheduler or roles.supervisor or roles.submission:
            await self._register_declared()
        if self._roles.scheduler or self._agents.names:
            await self._start_agents()
        if self._roles.scheduler:
            self._scheduler = await self._new_scheduler()
            self._run(self._keep_scheduling)
        if self._roles.supervisor:
            self._supervisor = await self._new_supervisor()
            self._run(self._keep_supervising)
        if self._roles.submission:
            await self._start_submissions()
        self._run(self._leases.keep)
        if self._roles.scheduler:
            self._run(self._adoption.keep)
            self._run(LostRequests(parts, lambda: self._scheduler.instance if self._scheduler else None).keep)
        self._start_at_queues()
        if self._roles.scheduler or self._agents.names:
            self._run(self._capacity.keep)
        self._watcher.start()
        if parts.threads:
            self._watchdog.start()
        parts.hints.listen(self._hinted)

    async def supervise_once(self) -> PassReport:
        """What is due for a Supervisor now, and no more; nothing else is started."""
        supervisor = await self._new_supervisor()
        try:
            return await supervisor.once()
        finally:
            await supervisor.close()
            await self._leases.retire()

    async def stop(self) -> None:
        """End in good order: claim nothing more, let what runs end within the grace, hand the rest over."""
        grace = self._parts.settings.drain
        if self._scheduler is not None:
            self._scheduler.stop_taking()
        try:
            if self._scheduler is not None:
                await self._scheduler.hand_out()
            await asyncio.gather(self._agents.drain(grace), *[actor.drain(grace) for actor in self._submitters])
            if self._scheduler is not None:
                await self._scheduler.settle()
            if self._relay is not None:
                await self._relay.finish()
        finally:
            instance = self._scheduler.instance if self._scheduler is not None else None
            await self._end()
            if instance is not None:
                await self._adoption.release(instance)

    async def _end(self) -> None:
        """Whatever went wrong before: let nothing run on, and give up the leases."""
        await self._end_actors()
        await self._watcher.stop()
        self._watchdog.stop()
        if self._supervisor is not None:
            await self._supervisor.close()
        await self._leases.retire()

    async def _end_actors(self) -> None:
        """Cancel them until they end; one that has not within a lease is left behind."""
        until = asyncio.get_running_loop().time() + self._parts.settings.lease
        running = set(self._tasks)
        while running and asyncio.get_running_loop().time() < until:
            for task in reversed(self._tasks):
                task.cancel()
            _, running = await asyncio.wait(running, timeout=CANCEL_AGAIN_SECONDS)
        for task in running:
            self._parts.observers.tell("process.stop_stuck", what=task.get_name())

    async def wait(self) -> None:
        """Wait until an actor ends by a bug, and raise it."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    def _run(self, actor: ActorMain) -> None:
        name = getattr(actor, "__qualname__", "actor")
        self._tasks.append(asyncio.get_running_loop().create_task(self._told(actor, name), name=name))

    async def _told(self, actor: ActorMain, name: str) -> None:
        """An actor that ends by a bug does not end in silence, also where nobody waits for it."""
        try:
            await actor()
        except Exception as error:
            where = "".join(traceback.format_exception(error))
            self._parts.observers.tell("actor.failed", actor=name, error=repr(error), traceback=where)
            raise

    async def _keep_scheduling(self) -> None:
        """A Scheduler that was fenced forgets everything; another, under a new id, takes over like any other would."""
        while True:
            scheduler = self._scheduler or await self._replace_scheduler()
            try:
                await scheduler.run()
            except (InstanceFenced, CommitUnknown) as error:
                self._scheduler = None
                self._parts.observers.tell("scheduler.fenced", instance=scheduler.instance, reason=str(error))
                await self._leases.retire([scheduler.instance], in_order=False)
            except StoreUnusable:
                self._scheduler = None
                self._leases.abandon(scheduler.instance)
                raise
            except Exception as error:
                self._scheduler = None
                await self._let_lapse(scheduler.instance, error)
            self._adoption.left(scheduler.instance)
            await self._replace_scheduler()
            await self._adoption.adopt()

    async def _let_lapse(self, instance: str, error: Exception) -> None:
        """A bug ended it: its tasks count as taken over from the dead, and one that breaks every owner is parked."""
        self._parts.observers.tell("scheduler.broke", instance=instance, error=repr(error))
        self._leases.abandon(instance)
        await asyncio.sleep(self._parts.settings.poll)

    async def _replace_scheduler(self) -> Scheduler:
        while self._scheduler is None:
            try:
                self._scheduler = await self._new_scheduler()
            except StoreError as error:
                self._parts.observers.tell("store.unavailable", error=str(error))
                await asyncio.sleep(self._parts.settings.poll)
        return self._scheduler

    async def _new_scheduler(self) -> Scheduler:
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
        )
        listeners = Listeners(ended=parts.endings.tell, told=parts.queues.wake, gave_up=self._pace.ask)
        return assemble(context, self._capacity.rooms(instance), listeners, threads=parts.threads)

    async def _keep_supervising(self) -> None:
        while self._supervisor is not None:
            try:
                delay = await self._supervisor.turn()
                if self._supervisor.acted:
                    self._parts.hints.hint()
            except StoreUnusable:
                raise
            except Exception as error:
                # It remembers nothing that the store does not hold: the next pass begins anew.
                self._parts.observers.tell("supervisor.broke", error=repr(error))
                await asyncio.sleep(self._parts.settings.lease)
            else:
                # Whoever stands by has nothing to decide sooner.
                await (self._pace.pause(delay) if self._supervisor.leads else asyncio.sleep(delay))

    async def _new_supervisor(self) -> Supervisor:
        parts = self._parts
        self._supervisor_instance = await self._leases.register(Role.SUPERVISOR, [], 0)
        return Supervisor(
            parts.store.supervisor,
            instance=self._supervisor_instance,
            settings=parts.settings,
            observers=parts.observers,
            environment=parts.environment,
            sinks=parts.sinks,
        )

    async def _register_declared(self) -> None:
        """Record workflows and schedules; a process that only serves Agents needs no rights on them."""
        parts = self._parts
        await parts.store.host.register_workflows(parts.registry.records())
        if parts.schedules:
            now = parts.store.now()
            await parts.store.host.register_schedules([schedule.record(now) for schedule in parts.schedules])

    async def _start_agents(self) -> None:
        """They know how their Agents stand before they take anything, and so does whoever asks them."""
        if self._agents.names:
            await self._agents.register()
        runners = await self._agents.make(self._capacity)
        await self._capacity.look()
        for runner in runners:
            self._run(runner.run)

    def _start_at_queues(self) -> None:
        """What a process does for the queues beside its actors."""
        parts = self._parts
        if parts.brokered is not None:
            self._run(RefusedQueueAlerts(parts, lambda: next(iter(self._leases.instances), parts.app)).keep)
            self._run(RejectionAlerts(parts).keep)
        if self._relay is not None:
            self._run(self._relay.run)
            self._run(self._relay.keep_burying)
            self._run(RemoteAgents(parts).keep)
        if self._roles.scheduler:
            carried = self._relay.carried_to if self._relay is not None else {}
            self._run(
                UnservedQueues(parts, lambda: self._scheduler.instance if self._scheduler else None, carried).keep
            )

    async def _start_submissions(self) -> None:
        parts = self._parts
        if parts.submissions:
            await self._register_submissions()
        for submission in parts.submissions:
            actor = submitter(parts, submission)
            self._submitters.append(actor)
            self._run(partial(keep, actor, parts))

    async def _register_submissions(self) -> None:
        serves = [submission.queue for submission in self._parts.submissions]
        self._submission_instance = await self._leases.register(Role.SUBMISSION, serves, 0)

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
        """What the instances of this process say of themselves."""
        reports = {}
        if self._agents.names:
            reports[self._agents.instance] = Report(health=self._agents.health())
        if self._scheduler is not None:
            reports[self._scheduler.instance] = Report(health=self._scheduler.health(), demand=self._scheduler.demand())
        return reports

    async def _lost(self, instance: str) -> None:
        """This process slept past a lease: what that instance was doing is over, what comes next has a new one."""
        self._parts.observers.tell("instance.lost", instance=instance)
        if instance == self._agents.instance:
            await self._agents.register()
            # A process hears nothing of its own changes: its Scheduler is to learn that there is room again.
            self._parts.hints.hint()
        elif instance == self._submission_instance:
            await self._register_submissions()
        elif instance == self._supervisor_instance and self._supervisor is not None:
            await self._supervisor.close()
            self._supervisor = await self._new_supervisor()
        elif self._scheduler is not None and instance == self._scheduler.instance:
            self._scheduler.fence()

    def _hinted(self) -> None:
        self._pace.hint()
        if self._scheduler is not None:
            self._scheduler.hint()
