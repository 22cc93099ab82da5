"""Clients and operators of programs: they submit, signal, undo what halts, and compare ends with what is legal."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from simulation.environment.world import PROGRAMS, World
from simulation.invariants.watched_rows import TaskRow
from simulation.people.people import People
from simulation.random_programs.legal_ends import LegalEnd, end_of, settled, state_of
from simulation.random_programs.programs import HALT, NAME, SETTLING_NAME, Program
from stepward.client import session_of
from stepward.errors import Refused, StoreError
from stepward.model.states import TaskState
from stepward.store.contract import Directive

LOOK_EVERY = 1.0
MOST_PARTS = 10
DEEPEST = 3
SECONDS = (0.1, 1.0, 3.0)
SIMPLE = ("do", "do", "do", "do", "sleep", "late", "wait")
JOINED = ("sequence", "sequence", "all", "catch", "child")


class Programmer:
    """Draws programs; every step and every signal of one program is numbered."""

    def __init__(self, chance: random.Random, first: int) -> None:
        self._chance = chance
        self._number = first
        self._left = 0
        self.told: dict[str, Any] = {}
        """The payloads of the signals for which the program waits."""
        self._declines = chance.choice([0.0, 0.1, 0.3])

    def program(self) -> Program:
        """A whole program."""
        self._left = 1 + int(self._chance.random() * MOST_PARTS)
        parts = [self._part(DEEPEST) for _ in range(self._chance.choice([1, 2, 3, 4]))]
        if self._chance.random() < 0.15:
            parts.append([HALT])
        if self._chance.random() < 0.25:
            again = ["sequence", *[self._do() for _ in range(self._chance.choice([1, 2]))]]
            return ["again", self._chance.choice([1, 2, 5, 12]), again, ["sequence", *parts]]
        return ["sequence", *parts]

    def _part(self, depth: int) -> Program:
        self._left -= 1
        if depth == 0 or self._left <= 0 or self._chance.random() < 0.5:
            return self._leaf()
        kind = self._chance.choice(JOINED)
        if kind == "child":
            return [kind, ["sequence", *self._few(depth - 1)]]
        if kind == "catch":
            return [kind, self._part(depth - 1), self._part(depth - 1)]
        return [kind, *self._few(depth - 1)]

    def _few(self, depth: int) -> list[Program]:
        return [self._part(depth) for _ in range(self._chance.choice([1, 2, 2, 3]))]

    def _leaf(self) -> Program:
        kind = self._chance.choice(SIMPLE)
        if kind == "do":
            return self._do()
        if kind == "wait":
            self._number += 1
            name = f"w{self._number}"
            self.told[name] = self._number
            return [kind, name]
        return [kind, self._chance.choice(SECONDS)]

    def _do(self) -> Program:
        self._number += 1
        return ["do", self._number, self._chance.random() < self._declines]


class Experiment:
    """A program, its input, and how it must end."""

    def __init__(self, program: Program, told: dict[str, Any], asked: TaskState, *, workflow: str = NAME) -> None:
        self.workflow = workflow
        self.program = program
        self.told = told
        self.asked = asked
        """What an operator makes of it if it halts."""
        self.end: LegalEnd = end_of(program, told)

    @property
    def settled(self) -> dict[int, int]:
        """The effects that stand although the task was undone: those of runs that undo does not reach."""
        return settled(self.program, self.told) if self.workflow == SETTLING_NAME else {}

    @property
    def state(self) -> TaskState:
        """In which it must end."""
        return state_of(self.end, self.asked)


class Laboratory:
    """The programs of a world."""

    def __init__(self, world: World, people: People, given: list[Experiment] | None = None) -> None:
        self._world = world
        self._people = people
        chance = random.Random(f"{world.seed}/programs")
        self._chance = chance
        count = chance.choice([1, 2, 3]) if world.has_programs else 0
        drawn = given if given is not None else [_drawn(chance, 1000 * number) for number in range(count)]
        self._experiments = {f"{PROGRAMS}{number}": each for number, each in enumerate(drawn)}

    def come(self, seconds: float) -> None:
        """Let the programs be submitted within so many seconds."""
        for id, experiment in self._experiments.items():
            told = self._world.readership.queue()
            self._people.add(id, experiment.workflow, experiment.program, told=told, at=self._chance.random() * seconds)

    async def keep(self) -> None:
        """Help the programs until cancelled."""
        while self._experiments:
            await asyncio.sleep(LOOK_EVERY)
            for task in list(self._world.mirror.tasks.values()):
                await self._help(task)

    async def _help(self, task: TaskRow) -> None:
        experiment = self._experiments.get(task.id.partition("/")[0])
        if experiment is None or task.state != TaskState.WAITING or task.waits_for is None:
            return
        name = task.waits_for.removeprefix("signal ").partition(",")[0]
        client = self._world.office.client
        try:
            if name in experiment.told:
                await session_of(client).signal(task.id, name, json.dumps(experiment.told[name]).encode(), name)
            elif name == HALT and experiment.end.halts:
                verb = "undo" if experiment.asked is TaskState.UNDONE else "cancel"
                await session_of(client).direct(task.id.partition("/")[0], Directive(verb=verb, actor="operator"))
        except (Refused, StoreError) as error:
            self._world.trace.note("not helped", task.id, type(error).__name__)

    def check_end(self) -> None:
        """Each program ended as computed, and exactly those effects stand that must."""
        tasks = {task.id: task for task in self._world.mirror.tasks.values()}
        standing = self._standing()
        for id, experiment in self._experiments.items():
            task = tasks.get(id)
            if task is not None:
                self._world.trace.reached(f"a program ended {experiment.state}")
                for wrong in _differences(task, experiment, standing[id]):
                    self._world.trace.violated("S32", f"{id} {wrong}; it is {json.dumps(experiment.program)}")

    def _standing(self) -> dict[str, Counter[int]]:
        """By program, how many effects of each number stand."""
        world = self._world
        found: dict[str, Counter[int]] = defaultdict(Counter)
        for key, number in world.acts.items():
            account, step = world.lab.accounts.get(key), world.mirror.keys.get(key)
            task = world.mirror.tasks.get(step.task) if step is not None else None
            if account is not None and task is not None:
                found[task.id.partition("/")[0]][number] += account.standing
        return found


def _drawn(chance: random.Random, first: int) -> Experiment:
    programmer = Programmer(chance, first)
    program = programmer.program()
    asked = chance.choice([TaskState.UNDONE, TaskState.CANCELLED])
    return Experiment(program, programmer.told, asked, workflow=chance.choice([NAME, NAME, SETTLING_NAME]))


def _differences(task: TaskRow, experiment: Experiment, standing: Counter[int]) -> Iterator[str]:
    state, end = experiment.state, experiment.end
    if task.state != state:
        yield f"ended {task.state}, and must end {state} ({(task.error or b'').decode()[:200]})"
        return
    is_done = state is TaskState.PROCESSED
    if is_done and json.loads(task.output or b"null") != end.value:
        yield f"gave {(task.output or b'').decode()}, and must give {json.dumps(end.value)}"
    must = end.stand if is_done else experiment.settled
    may = end.may if is_done else set()
    for number in sorted({*must, *standing} - may):
        if standing[number] != must.get(number, 0):
            yield f"has effect {number} standing {standing[number]} times, and must have it {must.get(number, 0)} times"
