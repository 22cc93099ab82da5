"""What the conformance tests build on: stores on one place, a clock that is moved by hand, records made shortly."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, Protocol

from stepward.clock import Environment
from stepward.model.records import Audit, History, Instance, Role, Step, Task
from stepward.model.states import StepKind, StepState, TaskState
from stepward.store.contract import Change, Finish, Store, TaskMove, Watch

START = 1_800_000_000.0
SERVED = [("order", "1")]
DONE = b'{"ok":true}'
FAILED = b'{"message":"no","type":"Unrecoverable"}'


class HandClock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.walls = START
        self.boots = 100.0
        self.id = "first-start"

    def wall(self) -> float:
        return self.walls

    def boot(self) -> float:
        return self.boots

    def boot_id(self) -> str:
        return self.id

    def advance(self, seconds: float) -> None:
        self.walls += seconds
        self.boots += seconds


class Place(Protocol):
    """Where stores stand that share their rows, and what such stores can."""

    one_writer: bool
    """Transactions follow one another, whatever they touch."""
    host_clock: bool
    """The store's clock is the host's boot clock with an offset kept beside the rows."""
    hears: bool
    """A store is notified of other processes' changes, and does not only poll."""
    notified: bool
    """That notification says what they are about."""
    doomed: str
    """A statement that fails where ``cart`` holds a pen, and rolls back all of its transaction."""
    steps: str
    """The table of steps, in SQL."""

    def make(self, environment: Environment) -> Store:
        """A store at this place, not yet opened."""
        ...


Maker = Callable[[Environment], Store]


class MadePlace:
    """A place of SQLite stores that a function makes."""

    one_writer = True
    host_clock = True
    hears = True
    notified = True
    doomed = "insert or rollback into cart values ('pen')"
    steps = "stepward_step"

    def __init__(self, make: Maker) -> None:
        self._make = make

    def make(self, environment: Environment) -> Store:
        return self._make(environment)


class World:
    """Stores that share one place, and their clock."""

    def __init__(self, place: Place | Maker) -> None:
        self.clock = HandClock()
        self.environment = Environment(clock=self.clock, random=random.Random(7))
        self.place: Place = MadePlace(place) if callable(place) else place
        self._opened: list[Store] = []

    async def open(self) -> Store:
        """One more store on the same place, as another process would have it."""
        store = self.place.make(self.environment)
        await store.open()
        self._opened.append(store)
        return store

    async def close(self) -> None:
        for store in self._opened:
            await store.close()

    def task(self, id: str | None = None, **fields: Any) -> Task:
        uid = self.environment.new_uid()
        self.clock.advance(0.001)
        usual: dict[str, Any] = {"workflow": "order", "version": "1", "created_at": self.clock.wall()}
        return Task(uid=uid, id=id or uid, **usual | fields)

    def born(self, instance: str, **fields: Any) -> Task:
        now = self.clock.wall()
        return self.task(state=TaskState.PROCESSING, locked_by=instance, started_at=now, **fields)


async def scheduler(store: Store, id: str = "s1", lease: float = 10.0, serves: str = "order@1") -> str:
    """Register a Scheduler."""
    instance = Instance(id=id, role=Role.SCHEDULER, host="here", pid=1, serves=[serves])
    await store.host.register(instance, lease)
    return id


async def claimed(world: World, store: Store, instance: str = "s1", **fields: Any) -> Task:
    """A task that the instance holds."""
    task = world.task(**fields)
    await store.client.submit([task])
    served = [(task.workflow, task.version)]
    (history,) = await store.scheduler.claim(instance, served, 1)
    return history.task


def step(task: Task, key: str = "charge/1", number: int = 1, **fields: Any) -> Step:
    usual: dict[str, Any] = {"kind": StepKind.OPERATION, "state": StepState.RUNNING, "attempt": 1, "agent": "pay"}
    name = key.partition("/")[0]
    return Step(task=task.uid, run=task.run, key=key, number=number, name=name, **usual | fields)


def finish(step: Step, state: StepState = StepState.COMPLETED, **fields: Any) -> Finish:
    values: dict[str, Any] = {
        "output": DONE if state is StepState.COMPLETED else None,
        "error": None if state is StepState.COMPLETED else FAILED,
        "in_doubt": False,
        "ordinal": 1,
        "finished_at": START,
    }
    return Finish(task=step.task, run=step.run, key=step.key, attempt=step.attempt, state=state, **values | fields)


def watch(step: Step, complete_by: float, error: bytes | None = None) -> Watch:
    return Watch(step.task, step.run, step.key, step.attempt, complete_by, error, False)


def move(task: Task, after: TaskState, **fields: Any) -> TaskMove:
    usual: dict[str, Any] = {"before": task.state, "inbox": task.inbox, "at": START}
    return TaskMove(after=after, **usual | fields)


def audit(task: Task | None = None, act: str = "repeat") -> Audit:
    return Audit(actor="supervisor", act=act, task=task.uid if task else None)


async def add_steps(store: Store, task: Task, *steps: Step, instance: str = "s1") -> None:
    """Steps of a task that the instance holds."""
    committed = await store.scheduler.commit(instance, [Change(task=task.uid, inserts=list(steps))], None)
    assert committed.missed == {}


async def end(store: Store, task: Task, after: TaskState, instance: str = "s1", **fields: Any) -> None:
    """End a task that the instance holds."""
    change = Change(task=task.uid, move=move(task, after, **fields))
    committed = await store.scheduler.commit(instance, [change], None)
    assert committed.missed == {}


async def read(store: Store, task: Task) -> Task:
    """The task as it stands now."""
    found = await store.client.task(task.id)
    assert found is not None
    return found


async def read_step(store: Store, task: Task, key: str = "charge/1") -> Step:
    """The step as it stands now."""
    (found,) = [step for step in await store.client.steps(task.id) if step.key == key]
    return found


def ids(histories: list[History]) -> list[str]:
    return [history.task.id for history in histories]


async def until(look: Callable[[], object], within: float = 10.0) -> None:
    """Waits until ``look`` returns true: notifications of other processes take their way through the network."""
    async with asyncio.timeout(within):
        while not look():  # noqa: ASYNC110  its cause sets no event of ours
            await asyncio.sleep(0)
