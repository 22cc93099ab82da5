"""Applications that follow their private response queues, crash, and come back; the events that they received (S28)."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any

from simulation.environment.process import APP, SimulatedProcess
from simulation.invariants.history import Mirror
from simulation.invariants.status_events import Tellings
from simulation.invariants.watched_rows import TaskRow
from simulation.trace import Trace
from stepward.client import StatusEvent
from stepward.model.messages.status_events import OF_STATE
from stepward.model.states import TASK_ENDS, TaskState

REFUSED = "refused:"
READ = "status_events.read"
"""The crash point at which an event was given to its reader and not settled."""
PAUSES = (0.0, 0.0, 0.01, 0.5, 2.0)
"""Seconds that a reader takes over an event while anything goes wrong; an endless task tells hundreds of them."""


class Readership:
    """All readers of a world, and what each has received so far."""

    def __init__(
        self,
        mirror: Mirror,
        tellings: Tellings,
        trace: Trace,
        chance: random.Random,
        *,
        is_faulty: Callable[[], bool],
        most: int,
    ) -> None:
        self._mirror = mirror
        self._tellings = tellings
        self._trace = trace
        self._chance = chance
        self._is_faulty = is_faulty
        self._names = [f"r{number}" for number in range(min(chance.choice([1, 2]), most))]
        self._heard: defaultdict[str, int] = defaultdict(int)
        """How far each task's events were received, without a gap."""

    @property
    def processes(self) -> dict[str, Callable[[SimulatedProcess], Coroutine[Any, Any, None]]]:
        """What each reader's process runs, by the name of the process."""
        return {name: self._reading(queue_of(name)) for name in self._names}

    def queue(self) -> str | None:
        """A response queue for a new task; some tasks have none."""
        has_one = bool(self._names) and self._chance.random() < 0.7
        return queue_of(self._chance.choice(self._names)) if has_one else None

    @property
    def has_heard_all(self) -> bool:
        """Whether all events were received."""
        heard = self._heard
        is_all_heard = all(heard[task.uid] == task.events for task in self._mirror.tasks.values())
        return is_all_heard and all(heard[uid] for uid in self._tellings.told if uid.startswith(REFUSED))

    def check_end(self) -> None:
        """At rest every event was received, and the last one is the task's end."""
        for task in self._mirror.tasks.values():
            if self._heard[task.uid] != task.events:
                self._broken(f"{task.id} told {task.events} events, and {self._heard[task.uid]} of them were heard")
            elif task.reply_to is not None and task.state in TASK_ENDS:
                self._check_last(task)

    def _check_last(self, task: TaskRow) -> None:
        told, end = self._tellings.told[task.uid][-1], OF_STATE[TaskState(task.state)]
        self._trace.reached(f"a reader heard {told}")
        if told != end:
            self._broken(f"{task.id} is {task.state}, and the last that was told of it is {told}")

    def _reading(self, queue: str) -> Callable[[SimulatedProcess], Coroutine[Any, Any, None]]:
        async def read(process: SimulatedProcess) -> None:
            async for event in process.queues.events(queue):
                self._hear(queue, event)
                process.failpoint(READ)
                await asyncio.sleep(self._chance.choice(PAUSES) if self._is_faulty() else 0.0)

        return read

    def _hear(self, queue: str, event: StatusEvent) -> None:
        uid = event.id.rpartition("/")[0]
        told, heard = self._tellings.told.get(uid, []), self._heard[uid]
        self._trace.note("heard", queue, uid, event.sequence, event.type)
        if told[event.sequence - 1 : event.sequence] != [event.type]:
            self._broken(f"{queue} heard {event.type} as {event.id}, which was never committed")
        elif event.sequence > heard + 1:
            self._broken(f"{queue} heard {event.id} ({event.type}) after {heard}")
        elif event.sequence <= heard:
            self._trace.reached("an event was heard again")
        self._heard[uid] = max(heard, event.sequence)

    def _broken(self, message: str) -> None:
        self._trace.violated("S28", message)


def queue_of(name: str) -> str:
    """The private response queue of a reader."""
    return f"replies.{APP}.{name}"
