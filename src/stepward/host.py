"""Runs the actors of one process: gives each a lease, replaces one that was fenced, ends them in good order."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stepward.agent.declaration import Agent
from stepward.agent.runner import AgentRunner
from stepward.client.waiting import Endings
from stepward.clock import Environment
from stepward.errors import CommitUnknown, InstanceFenced, StoreError
from stepward.events import AlertSink, Hints, Observers
from stepward.model.messages import reply_queue
from stepward.model.records import Instance, Role, Task
from stepward.scheduler.scheduler import Scheduler
from stepward.settings import Settings
from stepward.store.contract import Store, Submitted
from stepward.store.watcher import Watcher
from stepward.supervisor.report import PassReport
from stepward.supervisor.supervisor import Supervisor
from stepward.transport.contract import Transport
from stepward.workflow.registry import Registry

BEATS_PER_LEASE = 3
DRAIN_LOOK = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a process has to run actors with."""

    registry: Registry
    agents: Sequence[Agent]
    settings: Settings
    environment: Environment
    observers: Observers
    store: Store
    transport: Transport
    hints: Hints
    endings: Endings
    sinks: Sequence[AlertSink]
    threads: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which actors a process runs; ``agents`` None means all of the application's."""

    scheduler: bool = True
    agents: frozenset[str] | None = None
    supervisor: bool = True


class Host:
    """The actors of one process."""

    def __init__(self, parts: Parts, roles: Roles) -> None:
        self._parts = parts
        self._roles = roles
        self._agents = [a for a in parts.agents if roles.agents is None or a.name in roles.agents]
        self._runners: list[AgentRunner] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._leases: dict[str, float] = {}
        self._watcher = Watcher(parts.store, parts.hints)
        self._scheduler: Scheduler | None = None
        self._supervisor: Supervisor | None = None
        self._agent_instance = ""
        self._stopping = False

    @property
    def scheduler(self) -> Scheduler | None:
        """The Scheduler of the moment; after a fence it is another."""
        return self._scheduler

    def birth(self, task: Task) -> asyncio.Future[Submitted | None] | None:
        """Let a submission be born claimed here, if there is a Scheduler with room."""
        scheduler = self._scheduler
        return scheduler.submit(task) if scheduler is not None and scheduler.has_room else None

    async def start(self) -> None:
        """Register and begin; what cannot be registered raises here."""
        parts = self._parts
        await parts.store.register_workflows(parts.registry.records())
        if self._agents:
            await self._start_agents()
        if self._roles.scheduler:
            self._scheduler = await self._new_scheduler()
            self._run(self._keep_scheduling())
        if self._roles.supervisor:
            self._run(self._keep_supervising())
        self._run(self._beat())
        self._watcher.start()
        parts.hints.listen(self._hinted)

    async def supervise_once(self) -> PassReport:
        """What is due for a Supervisor now, and no more; nothing else is started."""
        supervisor = await self._new_supervisor()
        try:
            return await supervisor.once()
        finally:
            await supervisor.close()
            await self._retire(self._leases)

    async def stop(self) -> None:
        """End in good order: claim nothing more, let what runs end within the grace, hand the rest over."""
        self._stopping = True
        grace = self._parts.settings.drain
        if self._scheduler is not None:
            self._scheduler.stop_taking()
        await asyncio.gather(*(runner.drain(grace) for runner in self._runners))
        if self._scheduler is not None:
            await asyncio.sleep(0)  # the turn that takes the last replies
        for task in reversed(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._watcher.stop()
        if self._supervisor is not None:
            await self._supervisor.close()
        await self._retire(self._leases)

    async def wait(self) -> None:
        """Wait until an actor ends by a bug, and raise it."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    def _run(self, actor: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(actor))

    async def _keep_scheduling(self) -> None:
        """A Scheduler that was fenced forgets everything; another, under a new id, takes over like any other would."""
        while True:
            scheduler = self._scheduler or await self._replace_scheduler()
            try:
                await scheduler.run()
            except (InstanceFenced, CommitUnknown) as error:
                self._parts.observers.tell("scheduler.fenced", instance=scheduler.instance, reason=str(error))
                self._scheduler = None
                await self._retire([scheduler.instance])
                await self._parts.transport.adopt(
                    reply_queue(scheduler.instance), reply_queue((await self._replace_scheduler()).instance)
                )

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
        instance = await self._register(Role.SCHEDULER, served, parts.settings.tasks_in_flight)
        return Scheduler(
            parts.store,
            parts.transport,
            parts.registry,
            instance=instance,
            settings=parts.settings,
            environment=parts.environment,
            observers=parts.observers,
            capacities=await self._capacities(),
            ended=parts.endings.tell,
            threads=parts.threads,
        )

    async def _keep_supervising(self) -> None:
        self._supervisor = await self._new_supervisor()
        while True:
            delay = await self._supervisor.turn()
            await asyncio.sleep(delay)

    async def _new_supervisor(self) -> Supervisor:
        parts = self._parts
        instance = await self._register(Role.SUPERVISOR, [], 0)
        return Supervisor(
            parts.store,
            instance=instance,
            settings=parts.settings,
            observers=parts.observers,
            environment=parts.environment,
            sinks=parts.sinks,
        )

    async def _start_agents(self) -> None:
        parts = self._parts
        serves = [f"{agent.name}:{agent.concurrency}" for agent in self._agents]
        self._agent_instance = await self._register(
            Role.AGENT, serves, sum(agent.concurrency for agent in self._agents)
        )
        for agent in self._agents:
            runner = AgentRunner(
                agent,
                parts.transport,
                now=parts.store.now,
                environment=parts.environment,
                observers=parts.observers,
                lease_until=self._agent_lease,
                threads=parts.threads,
                payload_bytes=parts.settings.payload_bytes,
            )
            self._runners.append(runner)
            self._run(runner.run())

    def _agent_lease(self) -> float:
        return self._leases.get(self._agent_instance, 0.0)

    async def _register(self, role: Role, serves: list[str], capacity: int) -> str:
        parts = self._parts
        instance = f"{role}-{parts.environment.new_uid()}"
        sent_at = parts.store.now()
        await parts.store.register(
            Instance(
                id=instance,
                role=role,
                host=socket.gethostname(),
                pid=os.getpid(),
                serves=serves,
                capacity=capacity,
            ),
            parts.settings.lease,
        )
        self._leases[instance] = sent_at + parts.settings.lease
        return instance

    async def _beat(self) -> None:
        """Renew the leases of Agents and Supervisor, and learn what Agents elsewhere publish."""
        settings = self._parts.settings
        while True:
            await asyncio.sleep(settings.lease / BEATS_PER_LEASE)
            for instance in list(self._leases):
                if self._scheduler is None or instance != self._scheduler.instance:
                    await self._renew(instance)
            if self._scheduler is not None and settings.transport != "local":
                self._scheduler.set_capacities(await self._capacities())

    async def _renew(self, instance: str) -> None:
        sent_at = self._parts.store.now()
        try:
            if await self._parts.store.renew(instance, self._parts.settings.lease):
                self._leases[instance] = sent_at + self._parts.settings.lease
            elif instance == self._agent_instance:
                await self._revive_agents()
            else:
                del self._leases[instance]
        except StoreError as error:
            self._parts.observers.tell("store.unavailable", error=str(error))

    async def _revive_agents(self) -> None:
        """This process slept past its lease: what its Agents were doing is over, what comes next has a new lease."""
        del self._leases[self._agent_instance]
        serves = [f"{agent.name}:{agent.concurrency}" for agent in self._agents]
        self._agent_instance = await self._register(
            Role.AGENT, serves, sum(agent.concurrency for agent in self._agents)
        )

    async def _capacities(self) -> dict[str, int]:
        """Room by Agent: this process's own with the local transport, else what live instances publish."""
        if self._parts.settings.transport == "local":
            return {agent.name: agent.concurrency for agent in self._agents}
        capacities: dict[str, int] = {}
        for instance in await self._parts.store.instances():
            if instance.alive and instance.role is Role.AGENT:
                for entry in instance.serves:
                    name, _, count = entry.rpartition(":")
                    capacities[name] = capacities.get(name, 0) + int(count)
        return capacities

    def _hinted(self) -> None:
        if self._scheduler is not None:
            self._scheduler.hint()

    async def _retire(self, instances: Iterable[str]) -> None:
        for instance in list(instances):
            self._leases.pop(instance, None)
            try:
                await self._parts.store.retire(instance)
            except StoreError as error:
                self._parts.observers.tell("store.unavailable", error=str(error))
