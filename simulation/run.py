"""One seed, to its verdict: a phase with faults, then one in which everything must come to rest."""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from simulation.application import approvals, live_values, operations, orders
from simulation.application.workload import ENOUGH
from simulation.environment.fence import real_world_forbidden
from simulation.environment.loop import BrokenOff, SimulationLoop, Stalled
from simulation.environment.nemesis import Nemesis
from simulation.environment.world import PROGRAMS, World
from simulation.invariants.history import watched
from simulation.invariants.replays import Replays
from simulation.invariants.verdict import SeedVerdict
from simulation.invariants.watched_rows import TaskRow
from simulation.people.people import People
from simulation.people.queue_posters import Posting
from simulation.people.repairs import Menders
from simulation.people.signal_floods import Flood
from simulation.people.updaters import Updaters
from simulation.random_programs import programs
from simulation.random_programs.program_clients import Experiment, Laboratory
from simulation.reduction import WHOLE, Cut, CutParts
from simulation.roles import drawn_roles, drawn_submitters
from simulation.trace import FLAG_TURNED
from stepward.errors import StoreError, TransportError
from stepward.model.states import TASK_ENDS, TaskState
from stepward.model.tasks import stopped_tasks
from stepward.store import change_watcher
from stepward.submission import message_results, submitter

REST_WITHIN = 240.0
"""Virtual seconds after the last fault in which every task must come to rest (L1)."""
LOOK_EVERY = 1.0
LOOKOUT_EVERY = 0.25
"""How often simulated processes look whether others changed the store: coarser than in production, for speed."""
MESSAGE_LEASE = 2.0
"""How long a message stays with a submission process that died: shorter than in production."""
ENDLESS = b'"endless"'
RUNS = 5
"""After so many runs a task that does not end by itself gets the signal to end."""
FIRST_PROCESS = "p0"
"""The process that has every role."""
MESSAGE_DELAY = 0.25
"""How long it waits after its first failure: shorter too."""


@dataclass(slots=True)
class Result:
    """What became of a seed."""

    seed: int
    fingerprint: str
    violations: list[str]
    timeline: list[str]
    description: str
    parts: CutParts
    faults: Counter[str] = field(default_factory=Counter)
    situations: Counter[str] = field(default_factory=Counter)
    tasks: int = 0
    processed: int = 0
    callbacks: int = 0
    seconds: float = 0.0
    """Virtual seconds that the run took."""


def run_seed(
    seed: int,
    *,
    plain: bool = False,
    cut: Cut = WHOLE,
    direct: bool = False,
    experiments: list[Experiment] | None = None,
) -> Result:
    """Run one seed; the same seed, cut and ``direct`` give the same result in every process.

    A plain world has no pipelines, submissions, response queues and harsh faults: what was found before there were
    any comes about in it again. In a direct world the queues in memory take plain calls, as in a single process.
    ``experiments`` are programs that take the place of those that the seed draws.
    """
    loop = SimulationLoop(random.Random(f"{seed}/order" + (f"/{cut.salt}" if cut.salt else "")))
    collecting = gc.isenabled()
    # What a collector closes at moments of its own would differ from run to run.
    gc.disable()
    try:
        with real_world_forbidden():
            world = World(seed, loop, plain=plain, cut=cut, direct=direct, programs=experiments is not None)
            return _run(world, loop, experiments)
    finally:
        loop.close()
        if collecting:
            gc.enable()


def _run(world: World, loop: SimulationLoop, experiments: list[Experiment] | None) -> Result:
    operations.enter(world)
    orders.enter(world)
    approvals.enter(world)
    programs.enter(world)
    world.rules.live_values.is_on = live_values.enter(world.seed, plain=world.plain)
    loop.on_escape(world.escaped)
    loop.set_exception_handler(lambda _, context: _surprised(world, context))
    course = Course(world, experiments)
    with watched(world.rules.committed), _paces():
        main = loop.create_task(course.run())
        try:
            loop.run_until_complete(main)
        except BrokenOff:
            pass
        except Stalled as error:
            world.trace.violated("L1", str(error))
        finally:
            world.end()
            loop.world.close()
    return _result(world, course)


@contextmanager
def _paces() -> Iterator[None]:
    """Makes some waits shorter or longer than in production, so that a run is short."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(change_watcher, "EVERY", LOOKOUT_EVERY))
        stack.enter_context(patch.object(submitter, "LEASE", MESSAGE_LEASE))
        stack.enter_context(patch.object(message_results, "FIRST_DELAY", MESSAGE_DELAY))
        yield


def _surprised(world: World, context: dict[str, Any]) -> None:
    """What no actor expected is a bug; what the dead leave behind is not."""
    error = context.get("exception")
    if context.get("future") in world.loop.torn_down:
        return
    if isinstance(error, Exception) and not isinstance(error, StoreError | TransportError):
        message = f"{context.get('message')}: {type(error).__name__}: {error}"
        world.trace.violated("bug", message)


def _result(world: World, course: Course) -> Result:
    trace, tasks = world.trace, world.mirror.tasks.values()
    word = next((task.id for task in tasks if trace.violations and _names(trace.violations[0], task)), None)
    uid = next((task.uid for task in tasks if task.id == word), word)
    return Result(
        seed=world.seed,
        fingerprint=trace.fingerprint(),
        violations=list(trace.violations),
        timeline=trace.timeline(uid and uid[-12:]) if trace.violations else [],
        description=course.description,
        parts=course.parts(),
        faults=trace.faults,
        situations=trace.situations,
        tasks=len(tasks),
        processed=sum(task.state == TaskState.PROCESSED for task in tasks),
        callbacks=world.loop.callbacks,
        seconds=world.loop.instant(),
    )


def _names(violation: str, task: TaskRow) -> bool:
    return task.uid in violation or task.id in violation.split()


class Course:
    """The course of a run."""

    def __init__(self, world: World, experiments: list[Experiment] | None = None) -> None:
        chance = world.chance
        self._world = world
        self._people = People(world)
        self._posting = Posting(world)
        self._laboratory = Laboratory(world, self._people, experiments)
        self._nemesis = Nemesis(world)
        self._flood = Flood(world)
        self._updaters = Updaters(world)
        self._menders = Menders(world)
        self._faulty_seconds = chance.choice([5.0, 15.0, 30.0])
        self._at_rest_by = 0.0
        self._clients = chance.choice([2, 4, 6, 10])
        self._submitters = {} if world.plain else drawn_submitters(random.Random(f"{world.seed}/submitters"))
        drawn = drawn_roles(chance) | self._submitters
        self._roles = {name: roles for name, roles in drawn.items() if name not in world.cut.processes}
        self.description = (
            f"{len(self._roles)} processes, {self._clients} clients, {self._faulty_seconds:g} s of faults: "
            f"{world.rates.text()}; lease {world.settings.lease:g} s"
        )

    def parts(self) -> CutParts:
        """The parts of this world that can be left out."""
        spared = [name for name in self._roles if name != FIRST_PROCESS]
        return CutParts(
            self._world.rates.kinds(), [*self._people.wanted, *self._posting.ids, *self._updaters.ids], spared
        )

    async def run(self) -> None:
        """The two phases and the verdict."""
        world = self._world
        await world.prepare()
        for name, roles in self._roles.items():
            world.start(name, roles)
        for name, work in world.readership.processes.items():
            world.start(name, None, work)
        helping = asyncio.create_task(self._laboratory.keep())
        await self._suffer()
        if not world.trace.violations:
            await self._recover()
        helping.cancel()
        if not world.trace.violations:
            await SeedVerdict(world, self._people).reach(world.office.store.client)
            self._posting.check_end()
            self._laboratory.check_end()
            world.readership.check_end()
            self._updaters.check_end()

    async def _suffer(self) -> None:
        self._world.faulty = True
        self._people.come(self._clients, self._faulty_seconds * 0.7)
        self._laboratory.come(self._faulty_seconds * 0.7)
        if self._submitters:
            self._posting.come(self._faulty_seconds * 0.7)
        self._flood.come(self._faulty_seconds)
        self._updaters.come(self._faulty_seconds * 0.7)
        self._menders.come(self._faulty_seconds)
        operating = asyncio.create_task(self._people.operate(self._faulty_seconds))
        await self._nemesis.run(self._faulty_seconds)
        operating.cancel()
        self._world.faulty = False
        self._world.trace.note("calm")
        self._nemesis.heal()

    async def _recover(self) -> None:
        world = self._world
        await self._people.suspend_an_agent()
        await self._people.insist()
        await self._posting.insist()
        await self._updaters.insist()
        self._at_rest_by = world.loop.instant() + REST_WITHIN
        while world.loop.instant() < self._at_rest_by and not world.trace.violations:
            await asyncio.sleep(LOOK_EVERY)
            await self._posting.mend()
            waiting = [task for task in world.mirror.tasks.values() if task.state not in TASK_ENDS]
            if not waiting and self._is_quiet:
                return
            for task in waiting:
                await self._help(task)

    @property
    def _is_quiet(self) -> bool:
        """Whether nothing outside of the tasks is still to act or to be notified."""
        world = self._world
        is_told = self._posting.is_at_rest and self._updaters.is_at_rest
        return is_told and world.readership.has_heard_all and not world.people_to_come

    async def _help(self, task: TaskRow) -> None:
        """Give a task what only people can: it is resumed, and gets the signal it waits for."""
        if task.id.startswith(PROGRAMS):
            return  # The laboratory helps it.
        if ENDLESS in task.input and self._is_enough(task) and not self._is_told(task, ENOUGH):
            await self._people.send(task.id, ENOUGH)
        if task.state == TaskState.SUSPENDED:
            await self._people.act(task.id, "resume")
        elif task.state == TaskState.WAITING and task.waits_for == stopped_tasks.WAITS_FOR:
            await self._end_stopped(task)
        elif task.state == TaskState.WAITING and (task.waits_for or "").startswith("signal "):
            name = (task.waits_for or "").split()[1].rstrip(",")
            if not self._is_told(task, name):
                await self._people.send(task.id, name)

    def _is_enough(self, task: TaskRow) -> bool:
        """Whether a task that does not end by itself has had runs enough, or time."""
        return task.run > RUNS or self._world.loop.instant() > self._at_rest_by - REST_WITHIN / 2

    def _is_told(self, task: TaskRow, name: str) -> bool:
        """Whether that signal stands in the task's inbox."""
        return any((row.task, row.name) == (task.uid, name) for row in self._world.mirror.inbox.values())

    async def _end_stopped(self, task: TaskRow) -> None:
        """What no deployed code fits any more is undone; what the right code fits goes on by itself.

        Of a flag that was turned back no process tells: there an operator has the task tried again.
        """
        store = self._world.office.store
        record = await store.client.task(task.id)
        if record is None:
            return
        if not Replays(self._world).fits(record, await store.client.steps(task.id)):
            self._world.trace.reached("a task that no code fits was undone")
            await self._people.act(task.id, "undo")
        elif self._world.trace.faults[FLAG_TURNED]:
            await self._people.act(task.id, "resubmit")
