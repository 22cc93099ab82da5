"""Waiting for tasks to end: notified within a process, by reading the store elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from stepward.errors import StoreUnavailable
from stepward.events import Hints
from stepward.model.messages.change_kinds import PROGRESS
from stepward.model.records import Task
from stepward.model.states import TASK_ENDS
from stepward.store.contract import ClientStore

LOOKED_AT_ONCE = 500


class Endings:
    """The waits in this process for the ends of tasks; Schedulers in the same process notify it."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[Task]]] = {}
        self._is_held: Callable[[str], bool] = lambda _uid: False
        self.written = Hints()
        """Signals that a Scheduler of this process committed values or answers for readers outside."""

    def hear(self, is_held: Callable[[str], bool]) -> None:
        """Sets ``is_held``, which says which tasks a Scheduler of this process holds: it reports their ends itself."""
        self._is_held = is_held

    def is_held(self, uid: str) -> bool:
        """Whether the task has not ended, and a Scheduler of this process will report its end."""
        return self._is_held(uid)

    def wait(self, uid: str) -> asyncio.Future[Task]:
        """A future of the ended task."""
        future: asyncio.Future[Task] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(uid, []).append(future)
        return future

    def leave(self, uid: str, future: asyncio.Future[Task]) -> None:
        """That future is no longer awaited."""
        futures = self._waiting.get(uid, [])
        if future in futures:
            futures.remove(future)
        if not futures:
            self._waiting.pop(uid, None)

    def report_end(self, task: Task) -> None:
        """The task has ended."""
        for future in self._waiting.pop(task.uid, ()):
            if not future.done():
                future.set_result(task)

    @property
    def awaited(self) -> list[str]:
        """The uids of tasks that are waited for."""
        return list(self._waiting)


class StoreChanges:
    """Waits for changes that the store may have, for a reader that looks again after each; use it with ``with``."""

    def __init__(self, sources: Sequence[Hints], poll: float) -> None:
        self._sources = sources
        self._poll = poll
        self._stirred = asyncio.Event()

    def __enter__(self) -> StoreChanges:
        for source in self._sources:
            source.listen(self._stirred.set, PROGRESS)
        return self

    def __exit__(self, *exception: object) -> None:
        for source in self._sources:
            source.unlisten(self._stirred.set)

    async def wait(self) -> None:
        """Wait for a hint since the last wait ended, or for the poll."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._poll):
                await self._stirred.wait()
        self._stirred.clear()


class Lookout:
    """Looks into the store for ends that no Scheduler of this process brings about: at hints, and at a slow poll."""

    def __init__(self, store: ClientStore, endings: Endings, hints: Hints, poll: float) -> None:
        self._store = store
        self._endings = endings
        self._hints = hints
        self._poll = poll
        self._stirred = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._asked: list[tuple[str, asyncio.Future[Task]]] = []
        self._answering: asyncio.Task[None] | None = None
        """Reads together what many ask at once."""

    async def ended(self, uid: str) -> Task:
        """Wait until the task has ended."""
        future = self._endings.wait(uid)
        try:
            if not self._endings.is_held(uid):
                self._ask(uid, future)
            self._start()
            return await future
        finally:
            self._endings.leave(uid, future)

    async def stop(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._hints.unlisten(self._stirred.set)
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
            self._looking = None

    def _ask(self, uid: str, future: asyncio.Future[Task]) -> None:
        self._asked.append((uid, future))
        if self._answering is None:
            self._answering = asyncio.get_running_loop().create_task(self._answer_all())

    async def _answer_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked[:LOOKED_AT_ONCE], self._asked[LOOKED_AT_ONCE:]
            await self._answer(asked)
        self._answering = None

    async def _answer(self, asked: list[tuple[str, asyncio.Future[Task]]]) -> None:
        """Answer each waiter whose task has ended, or with the error of the store; the others wait on."""
        try:
            found = {task.uid: task for task in await self._store.ended([uid for uid, _ in asked])}
        except Exception as error:
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
            return
        for uid, future in asked:
            if uid in found and not future.done():
                future.set_result(found[uid])

    def _start(self) -> None:
        if self._looking is None:
            self._hints.listen(self._stirred.set, PROGRESS)
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll):
                    await self._stirred.wait()
            self._stirred.clear()
            with contextlib.suppress(StoreUnavailable):
                await self._look_once()

    async def _look_once(self) -> None:
        awaited = self._endings.awaited
        for start in range(0, len(awaited), LOOKED_AT_ONCE):
            for task in await self._store.ended(awaited[start : start + LOOKED_AT_ONCE]):
                if task.state in TASK_ENDS:
                    self._endings.report_end(task)
