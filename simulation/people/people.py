"""Clients that submit, double and lose patience, and operators who act at the wrong moment."""

from __future__ import annotations

import asyncio
import random
from typing import Any

from simulation.application.harsh_plans import HarshPlans
from simulation.application.pipelines import PIPELINES
from simulation.application.plans import Planner
from simulation.application.workload import SIGNALS, WORKFLOWS, WorkloadPlan
from simulation.environment.process import SimulatedProcess
from simulation.environment.world import PROGRAMS, World
from simulation.people.crowds import USUAL, Crowd, Rank
from simulation.random_programs.programs import NAME, PROGRAM, SETTLING
from stepward.client import session_of
from stepward.errors import Refused, StoreError
from stepward.store.contract import Directive

PATIENCE = 3.0
SUSPENDED_SECONDS = 15.0
VERBS = ("cancel", "undo", "suspend", "suspend", "resume", "resubmit", "signal", "signal")


class People:
    """Everyone outside."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = random.Random(f"{world.seed}/people")
        self._planner = Planner(random.Random(f"{world.seed}/plans"))
        # A source of its own: the seeds that drew none go on as they always did.
        self._aside = random.Random(f"{world.seed}/pipelines")
        self._planned = 0.0 if world.plain else self._aside.choice([0.0, 0.0, 0.5])
        self._harsh = HarshPlans(world.rates, world.seed)
        self._signals = 0
        self.accepted: dict[str, str] = {}
        """Ids of tasks whose submission was acknowledged, with their uids."""
        self.wanted: dict[str, tuple[str, WorkloadPlan, Any, str | None]] = {}
        self._ranks: dict[str, Rank] = {}
        """Priority and fairness key of each task, in worlds that have such."""

    def come(self, count: int, seconds: float) -> None:
        """Let ``count`` clients come within so many seconds."""
        crowd = Crowd(random.Random(f"{self._world.seed}/crowd"), plain=self._world.plain)
        for number in range(count):
            deadline = self._chance.choice([None, None, None, 10.0, 30.0])
            id = f"task-{number}"
            told = self._world.readership.queue()
            plan = self._harsh.changed(self._with_approval(self._planner.plan(), number))
            self.wanted[id] = (self._policy(), plan, deadline, told)
            self._ranks[id] = crowd.rank(number)
            self._world.loop.call_later(self._chance.random() * seconds, self._begin, id)
        for number, (policy, plan) in enumerate(crowd.plans):
            id = f"crowd-{number}"
            self.wanted[id] = (policy, plan, None, None)
            self._ranks[id] = crowd.rank(number)
            self._world.loop.call_later(self._chance.random(), self._begin, id)
        for id in self._world.cut.tasks & self.wanted.keys():
            del self.wanted[id]

    def add(self, id: str, policy: str, plan: WorkloadPlan, *, told: str | None, at: float) -> None:
        """Let one more task be submitted after so many seconds."""
        if id not in self._world.cut.tasks:
            self.wanted[id] = (policy, plan, None, told)
            self._ranks[id] = USUAL
            self._world.loop.call_later(at, self._begin, id)

    def _with_approval(self, plan: WorkloadPlan, number: int) -> WorkloadPlan:
        """Some plans wait for people, before or beside the rest."""
        chance = self._world.aside
        if not self._world.has_approvals or chance.random() < 0.3:
            return plan
        return [chance.choice(["sequence", "gather", "race"]), ["approval", number, chance.random() < 0.5], plan]

    def _policy(self) -> str:
        """The workflow of a task: code, or a pipeline of the same policy."""
        policy = self._planner.policy()
        return policy if self._aside.random() >= self._planned else f"{policy}.{self._aside.choice(['inner', 'outer'])}"

    async def insist(self) -> None:
        """Submit again whatever was not acknowledged."""
        for id in self.wanted:
            while id not in self.accepted:
                await self._submit(self._world.office, id)

    async def suspend_an_agent(self) -> None:
        """Have an Agent asked nothing for a while."""
        chance = random.Random(f"{self._world.seed}/suspended")
        name = None if self._world.plain else chance.choice([None, "pay", "ship", "mail"])
        if name in self._world.mirror.agents:
            try:
                await self._world.office.client.suspend_agent(name)
            except (Refused, StoreError) as error:
                self._world.trace.note("refused", "suspend", name, type(error).__name__)
                return
            self._world.trace.reached("an Agent was suspended")
            self._world.loop.call_later(SUSPENDED_SECONDS, self._resume_agent, name)

    def _resume_agent(self, name: str) -> None:
        self._world.office.run(self._resumed(name))

    async def _resumed(self, name: str) -> None:
        await self._world.office.client.resume_agent(name)

    async def operate(self, seconds: float) -> None:
        """Act on tasks now and then."""
        every = self._world.rates.operator_every
        until = self._world.loop.instant() + seconds
        while every and self._world.loop.instant() < until:
            await asyncio.sleep(self._chance.expovariate(1 / every))
            rows = [task for task in self._world.mirror.tasks.values() if not task.id.startswith(PROGRAMS)]
            if rows and self._world.loop.instant() < until:
                await self.act(self._chance.choice(rows).id, self._chance.choice(VERBS))

    async def act(self, id: str, verb: str) -> None:
        """Do one thing to a task; a refusal or an unreachable store is taken as it is."""
        client = self._world.office.client
        try:
            if verb == "signal":
                self._signals += 1
                await session_of(client).signal(id, self._chance.choice(SIGNALS), b"%d" % self._signals, None)
            else:
                await session_of(client).direct(id, Directive(verb=verb, actor="operator"))
            self._world.trace.note("operator", verb, id)
            self._world.trace.reached(f"an operator's {verb}")
        except (Refused, StoreError) as error:
            self._world.trace.note("refused", verb, id, type(error).__name__)

    async def send(self, id: str, name: str) -> None:
        """Give a task the signal it waits for."""
        self._signals += 1
        try:
            await session_of(self._world.office.client).signal(id, name, b"%d" % self._signals, None)
        except (Refused, StoreError):
            return

    def _begin(self, id: str) -> None:
        """A client in some process submits; it may do so twice."""
        if id in self._world.cut.tasks:
            return
        for _ in range(1 + (self._chance.random() < self._world.rates.client_doubles)):
            able = [p for p in self._world.processes.values() if p.has_scheduler and not p.dead]
            process = self._chance.choice([*able, self._world.office])
            process.run(self._submit(process, id))

    async def _submit(self, process: SimulatedProcess, id: str) -> None:
        policy, plan, deadline, told = self.wanted[id]
        try:
            async with asyncio.timeout(PATIENCE):
                workflow = PIPELINES.get(policy) or WORKFLOWS.get(policy) or (PROGRAM if policy == NAME else SETTLING)
                options: dict[str, Any] = {"complete_by": deadline, "reply_to": told, **self._ranks[id]}
                handle = await process.client.submit(workflow, plan, id=id, **options)
                uid = (await handle.status()).uid
        except (TimeoutError, StoreError) as error:
            self._world.trace.note("not accepted", id, type(error).__name__)
            return
        except Refused as error:
            self._world.trace.violated("S1", f"{id} was refused: {error}")
            return
        if self.accepted.setdefault(id, uid) != uid:
            self._world.trace.violated("S1", f"{id} was accepted as {self.accepted[id]} and as {uid}")
        self._world.trace.note("accepted", id, uid)
