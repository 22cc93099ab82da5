"""The people outside: they submit and post, signal, cancel and undo, again and again until they have an answer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from stepward import Client, Queues, StatusEvent
from stepward.client import session_of
from stepward.errors import Refused, StoreError, TaskNotFound, TransportError
from stepward.model.states import TASK_ENDS, TaskState
from torture.application.application import QUEUE, REPLIES
from torture.application.task_kinds import KINDS

T = TypeVar("T")

AGAIN_SECONDS = 0.3
LATER_SECONDS = (0.1, 2.0)
"""How long after a submission a person acts on the task."""
MOST_OPEN = 150
"""Tasks under way at once; more would make a queue of them and nothing else."""


class Load:
    """A steady stream of tasks, and a book of what was acknowledged."""

    def __init__(self, client: Client, queues: Queues, chance: random.Random, *, pace: float, named: str = "") -> None:
        self._client = client
        self._queues = queues
        self._chance = chance
        self._pace = pace
        self._named = named
        self._doing: set[asyncio.Task[None]] = set()
        self.submitted: dict[str, str] = {}
        """Tasks whose submission was acknowledged, by id: the workflow."""
        self.posted: dict[str, str] = {}
        self.heard: list[StatusEvent] = []
        self.errors: list[str] = []
        """What no fault explains."""

    async def run(self, open_tasks: Callable[[], int]) -> None:
        """Submit and post until cancelled."""
        names = [name for name, kind in KINDS.items() for _ in range(kind.weight)]
        number = 0
        while True:
            if open_tasks() < MOST_OPEN:
                number += 1
                name = self._chance.choice(names)
                id = f"{self._named}{name}-{number}"
                self._do(self._begin(name, id, KINDS[name].posted and self._chance.random() < 0.5))
            await asyncio.sleep(self._chance.expovariate(self._pace))

    async def settled(self) -> None:
        """Wait until every request was answered."""
        while self._doing:
            await asyncio.gather(*self._doing)

    async def read(self) -> None:
        """Hear what becomes of what was posted, until cancelled."""
        async for event in self._queues.events(REPLIES):
            self.heard.append(event)

    async def _begin(self, name: str, id: str, by_queue: bool) -> None:
        if by_queue:
            await self._until_answered(lambda: self._queues.post(QUEUE, name, id=id, reply_to=REPLIES))
            self.posted[id] = name
            return
        await self._until_answered(lambda: self._client.submit(name, id, id=id))
        self.submitted[id] = name
        act = {"asked": self._signal, "withdrawn": self._cancel, "returned": self._undo}.get(name)
        if act is not None:
            await asyncio.sleep(self._chance.uniform(*LATER_SECONDS))
            await act(id)

    async def _signal(self, id: str) -> None:
        await self._until_answered(lambda: self._client.task(id).signal("go", id="the-one"))

    async def _cancel(self, id: str) -> None:
        await self._until_answered(lambda: self._directed(id, self._client.task(id).cancel, TaskState.CANCELLED))

    async def _undo(self, id: str) -> None:
        async def ended() -> bool:
            return (await self._client.task(id).status()).state in TASK_ENDS

        while not await self._until_answered(ended):  # noqa: ASYNC110  the store alone knows, and is asked again
            await asyncio.sleep(AGAIN_SECONDS)
        await self._until_answered(lambda: self._directed(id, self._client.task(id).undo, TaskState.UNDONE))

    async def _directed(self, id: str, act: Callable[[], Awaitable[Any]], end: TaskState) -> None:
        """A refused directive was carried out before, if the task came to that end."""
        try:
            await act()
        except Refused:
            if (await session_of(self._client).record(id)).undo_to is not end:
                raise

    async def _until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                return await ask()
            except TaskNotFound:
                raise
            except (StoreError, TransportError):
                await asyncio.sleep(AGAIN_SECONDS)

    def _do(self, work: Any) -> None:
        doing = asyncio.create_task(self._told(work))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)

    async def _told(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            self.errors.append(f"a person's request failed: {type(error).__name__}: {error}")
