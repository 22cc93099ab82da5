"""Processes are killed with `kill -9` while orders are on the way; others have to take their work over."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from examples.shop.processes.crews import Member
from servers.keeper.process import Process
from showcase.plots import Plot
from showcase.processes import Processes
from showcase.proof import Takeover
from showcase.proof.words import count, listed
from showcase.telling import Teller
from showcase.waiting import Waits
from stepward import Client, TaskStatus
from stepward.model.records import Role

SUBMISSION, SUBMISSION_AFTER = "submission-1", "submission-2"
AGENTS = "agents-1"
MOST_LISTED = 1000
DECIDES = "supervisor/"
"""The prefix of a Supervisor's instance where the audit names the decider."""

Found = Mapping[Process, str]
"""Processes, each with the id of the instance that is at work in it."""


class Chosen(NamedTuple):
    """The instances that are killed together."""

    leader: Sequence[Process]
    """One process, or none."""
    schedulers: Found


class Kills:
    """The kills, each with the instances and what they held: `takeovers`."""

    def __init__(self, plot: Plot, client: Client, processes: Processes, waits: Waits, teller: Teller) -> None:
        self.takeovers: list[Takeover] = []
        self._plot = plot
        self._client = client
        self._processes = processes
        self._waits = waits
        self._teller = teller

    async def kill_submission(self) -> None:
        """Kill the submission process, with messages before it; more may come while there is none."""
        await self._processes.worker(SUBMISSION).kill()
        self._teller.tell(f"kill -9 {SUBMISSION}; the storefront goes on taking orders", "bold red")

    async def take_submission_over(self, placed: Sequence[str]) -> None:
        """Start another, with all that is left in the queue before it."""
        held = frozenset(placed) - {task.id for task in await self._tasks()}
        self.takeovers.append(Takeover(killed=SUBMISSION, held=held))
        await self._processes.start_worker(Member(name=SUBMISSION_AFTER, arguments=["submission"]))
        self._teller.tell(
            f"{SUBMISSION_AFTER} is started in its place, and finds {len(held)} orders in the queue", "green"
        )

    async def kill_agents(self) -> None:
        """Kill Agents with calls in flight, where they are in a process of their own; another is started for them."""
        if not self._plot.crew.has_agents_apart:
            return
        names = listed(self._plot.killed_agents)
        held = await self._waits.until(
            f"{count(self._plot.enough_calls, 'call')} in flight at {names}", self._enough_calls
        )
        await self._processes.worker(AGENTS).kill()
        held &= await self._in_call()
        self.takeovers.append(Takeover(killed=AGENTS, held=held))
        self._teller.tell(
            f"kill -9 {AGENTS} ({names}), with calls for {count(len(held), 'order')} in flight", "bold red"
        )
        another = self._plot.crew.agents_member(len(self._plot.crew.agents) + 1, self._plot.killed_agents)
        await self._processes.start_worker(another)
        self._teller.tell(f"{another.name} is started in its place, as infrastructure would do", "green")

    async def leader(self) -> list[Process]:
        """The leading Supervisor, where it is to be killed."""
        return [await self._leader()] if self._plot.kills_leader else []

    async def busiest(self) -> Found:
        """The Schedulers with most tasks, once they have enough."""
        enough = count(self._plot.enough_tasks, "order")
        wanted = f"{self._plot.killed_schedulers} Schedulers with {enough} in flight"
        return await self._waits.until(wanted, self._busiest)

    async def kill(self, chosen: Chosen) -> None:
        """Kill them all at once; see others free their orders."""
        leader, schedulers = chosen.leader, await self._still_busy(chosen.schedulers)
        await asyncio.gather(*(worker.kill() for worker in (*leader, *schedulers)))
        await self._see_killed(schedulers, leader)
        await self._see_freed(schedulers, leader)

    async def _see_killed(self, schedulers: Found, leader: Sequence[Process]) -> None:
        """Note what was in their hands: in a leader's, what the Schedulers that died with it leave."""
        held = {worker: await self._held_by(instance) for worker, instance in schedulers.items()}
        for worker, orders in held.items():
            self.takeovers.append(Takeover(killed=worker.name, held=orders))
            self._teller.tell(f"kill -9 {worker.name}, with {count(len(orders), 'order')} in flight", "bold red")
        for worker in leader:
            self.takeovers.append(Takeover(killed=worker.name, held=frozenset().union(*held.values())))
            self._teller.tell(f"kill -9 {worker.name}, the one that leads and would have to free them", "bold red")

    async def _see_freed(self, schedulers: Found, leader: Sequence[Process]) -> None:
        killed = {worker.name for worker in (*schedulers, *leader)}
        dead = listed([worker.name for worker in schedulers])
        for instance in schedulers.values():
            await self._waits.until(f"the orders of {dead} to be freed", partial(self._is_freed, instance))
        others = [name for name in self._processes.crew.scheduler_names if name not in killed]
        leading = [name for name in self._processes.crew.supervisor_names if name not in killed]
        finder = f"{leading[0]} leads now, and" if leader else "The Supervisor"
        if len(schedulers) == 1:
            told = f"{finder} finds {dead}’s lease run out and frees its orders: {listed(others)} goes on with them"
        else:
            told = (
                f"{finder} finds the leases of {dead} run out and frees their orders: {listed(others)} go on with them"
            )
        self._teller.tell(told, "green")

    async def _leader(self) -> Process:
        """The Supervisor that decided last, once one that lives has."""

        async def leader() -> Process | None:
            workers = await self._at_work(self._processes.crew.supervisor_names, Role.SUPERVISOR)
            deciders = [audit.actor for audit in await self._client.audits(limit=MOST_LISTED)]
            last = next((actor for actor in deciders if actor.startswith(DECIDES)), "")
            return next((worker for worker, instance in workers.items() if last == f"{DECIDES}{instance}"), None)

        found = await self._waits.until("a Supervisor to decide", leader)
        assert found is not None, "until() gives what it found"
        return found

    async def _busiest(self) -> Found:
        """The Schedulers with the most orders, if each of them has enough."""
        workers = await self._at_work(self._processes.crew.scheduler_names, Role.SCHEDULER)
        held = {worker: len(await self._held_by(instance)) for worker, instance in workers.items()}
        busiest = sorted(held, key=lambda worker: held[worker], reverse=True)[: self._plot.killed_schedulers]
        enough = [worker for worker in busiest if held[worker] >= self._plot.enough_tasks]
        return {worker: workers[worker] for worker in enough} if len(enough) == self._plot.killed_schedulers else {}

    async def _still_busy(self, chosen: Found) -> Found:
        """The chosen Schedulers, others in the place of those whose orders have ended meanwhile."""
        workers = await self._at_work(self._processes.crew.scheduler_names, Role.SCHEDULER)
        held = {worker: len(await self._held_by(instance)) for worker, instance in workers.items()}
        busy = sorted((each for each in held if held[each]), key=lambda each: (each not in chosen, -held[each]))
        return {worker: workers[worker] for worker in busy[: len(chosen)]} or chosen

    async def _enough_calls(self) -> frozenset[str]:
        calls = await self._in_call()
        return calls if len(calls) >= self._plot.enough_calls else frozenset()

    async def _in_call(self) -> frozenset[str]:
        """The orders for which one of the Agents that are killed is at work."""
        ids = [task.id for task in await self._tasks() if task.finished_at is None]
        # All at once: a look that takes long finds what is over already.
        steps = await asyncio.gather(*(self._client.task(each).steps() for each in ids))
        return frozenset(
            task
            for task, begun in zip(ids, steps, strict=True)
            if any(step.state == "running" and step.agent in self._plot.killed_agents for step in begun)
        )

    async def _at_work(self, names: Sequence[str], role: Role) -> Found:
        living = [each for each in await self._client.instances() if each.alive and each.role is role]
        instances = {instance.pid: instance.id for instance in living}
        workers = [self._processes.worker(name) for name in names]
        return {worker: instances[worker.pid] for worker in workers if worker.pid in instances}

    async def _held_by(self, instance: str) -> frozenset[str]:
        return frozenset(task.id for task in await self._tasks() if task.locked_by == instance)

    async def _is_freed(self, instance: str) -> bool:
        return not await self._held_by(instance)

    async def _tasks(self) -> list[TaskStatus]:
        return await self._client.tasks(limit=MOST_LISTED)
