"""One application over one broker, in parts that can be hurt apart, and what must be true of it at the end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from stepward import Client
from stepward.client import session_of
from stepward.errors import TaskUndone
from stepward.events import Event
from stepward.model.records import Step
from stepward.model.states import StepKind, StepState
from tests.crash.ledger import Entry, Ledger
from tests.crash.scene import ROOT, Process, until
from tests.faults.application import CONCURRENCY, EFFECTS, STATES, application, kind_of
from tests.faults.standing import standing
from tests.transport.brokers import clear, new_app

PACE = 0.02
"""Seconds between two submissions of a load."""
MOST_OPEN = 20
PATIENCE = 120.0
CLEAR_SECONDS = 5.0
WARM = 10
"""Effects after which an application is at work."""


class World:
    """A store, a ledger, and actors that the test starts here or in processes of their own."""

    def __init__(self, folder: Path, address: str, *, complete_by: float) -> None:
        self.name = new_app()
        self.address = address
        self.complete_by = complete_by
        self.store = f"sqlite:///{folder / 'tasks.db'}"
        self.ledger = Ledger(str(folder / "ledger.db"))
        self.client = Client(self.store, app=self.name)
        self.events: list[Event] = []
        self.tasks: dict[str, str] = {}
        """All that were submitted, with what they are."""
        self.acts: list[tuple[str, str, int]] = []
        """Each call of an operation in this process: label of the actors, key and attempt."""
        self._folder = folder
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> World:
        await self._stack.enter_async_context(self.client)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        self.ledger.close()
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(CLEAR_SECONDS):
                await clear(self.address, self.name)

    async def start(
        self, *roles: str, transport: str | None = None, concurrency: int = CONCURRENCY, label: str = ""
    ) -> AsyncExitStack:
        """Start actors in this process; they end with what is returned, or with the test."""
        app = application(
            self.name,
            self.store,
            transport or self.address,
            self.ledger,
            complete_by=self.complete_by,
            concurrency=concurrency,
            acted=lambda key, attempt: self.acts.append((label, key, attempt)),
        )
        app.observers.add(self.events.append)
        part = AsyncExitStack()
        self._stack.push_async_callback(part.aclose)
        await part.enter_async_context(
            app.running(
                scheduler="scheduler" in roles,
                agents="agent" in roles,
                supervisor="supervisor" in roles,
                submission=False,
            )
        )
        return part

    async def begin(self, *roles: str, failpoint: str | None = None) -> Process:
        """Start a process of its own and wait until it is at work."""
        number = next(self._numbers)
        errors = self._folder / f"errors-{number}"
        given = {"STEPWARD_FAILPOINT": failpoint, "CRASH_LEDGER": str(self._folder / "ledger.db")}
        with errors.open("wb") as stderr:
            started = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.faults.driver", self.name, self.store, self.address),
                *(str(self.complete_by), *roles),
                cwd=ROOT,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **{name: value for name, value in given.items() if value}},
            )
        process = Process(started, errors)
        self._stack.push_async_callback(process.kill)
        await process.hears("ready")
        return process

    async def submit(self, what: str, count: int = 1) -> list[str]:
        """Submit tasks, each ``WORKFLOW[ TROUBLE]``; their ids."""
        workflow, more = kind_of(what)
        ids = [f"{workflow}-{next(self._numbers)}" for _ in range(count)]
        for id in ids:
            self.tasks[id] = workflow
            await self.client.submit(workflow, id, *more, id=id)
        return ids

    @asynccontextmanager
    async def load(self) -> AsyncIterator[None]:
        """Tasks come in all the while, of which some are under way from the beginning to the end."""
        over = asyncio.Event()
        submitting = asyncio.create_task(self._submit_on(over))
        try:
            await self.effects(WARM)
            yield
        finally:
            # A submission that is cancelled halfway may have made its task or not.
            over.set()
            await asyncio.gather(submitting, return_exceptions=True)

    async def effects(self, count: int) -> None:
        """Wait until so many more things have happened at the service."""
        reached = len(self.ledger.entries()) + count

        async def look() -> bool:
            return len(self.ledger.entries()) >= reached

        await until(look, within=PATIENCE)

    async def open(self) -> int:
        """How many tasks have not ended."""
        return len([each for each in await self.client.tasks(limit=10_000) if each.finished_at is None])

    def told(self, name: str) -> list[dict[str, Any]]:
        """The events of that name that this process's actors emitted."""
        return [event.fields for event in self.events if event.name == name]

    async def settled(self, *, within: float = PATIENCE) -> None:
        """Every task ends, whole, with each effect once; what still comes late changes nothing."""
        await asyncio.gather(*[self._ended(id, within) for id in self.tasks])
        await self._check()
        before = await self._rows()
        await until(self._is_quiet, within=PATIENCE)
        await self._check()
        assert await self._rows() == before

    async def attempts(self, id: str) -> list[int]:
        """The attempts of a task's steps, in their order."""
        return [step.attempt for step in await session_of(self.client).store.client.steps(id)]

    def calls(self) -> dict[str, int]:
        """How often each effect was asked for."""
        return {entry.key: entry.calls for entry in self.ledger.entries()}

    async def _submit_on(self, over: asyncio.Event) -> None:
        while not over.is_set():
            if await self.open() < MOST_OPEN:
                await self.submit("order")
                await self.submit("refused")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PACE):
                    await over.wait()

    async def _is_quiet(self) -> bool:
        return not await standing(self.address, self.name, [each.id for each in await self.client.instances()])

    async def _ended(self, id: str, within: float) -> None:
        try:
            await self.client.task(id).result(timeout=within)
        except TaskUndone:
            return

    async def _rows(self) -> dict[str, list[Any]]:
        store = session_of(self.client).store
        return {id: [await store.client.task(id), *await store.client.steps(id)] for id in self.tasks}

    async def _check(self) -> None:
        entries: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self.ledger.entries():
            entries[entry.task].append(entry)
        for id, workflow in self.tasks.items():
            status = await self.client.task(id).status()
            assert (id, status.state, status.locked_by) == (id, STATES[workflow], None), status.error
            _check_effects(id, workflow, entries.pop(id))
            _check_history(id, await session_of(self.client).store.client.steps(id))
        assert not entries, "nothing happened for a task that there is not"
        assert len(await self.client.tasks(limit=10_000)) == len(self.tasks)


def _check_effects(id: str, workflow: str, entries: list[Entry]) -> None:
    assert len({entry.key for entry in entries}) == len(entries)
    done = [entry.what for entry in entries if entry.verb == "do"]
    assert (id, sorted(done)) == (id, EFFECTS[workflow])
    undone = [entry.what for entry in entries if entry.verb == "undo"]
    assert (id, undone) == (id, done[::-1] if workflow == "refused" else [])


def _check_history(id: str, steps: list[Step]) -> None:
    delivered = sorted(step.ordinal for step in steps if step.ordinal is not None)
    assert (id, delivered) == (id, list(range(1, len(delivered) + 1)))
    own = [step for step in steps if step.kind is not StepKind.UNDO]
    assert (id, sorted(step.number for step in own)) == (id, list(range(1, len(own) + 1)))
    ended = (StepState.COMPLETED, StepState.FAILED, StepState.UNDONE)
    assert all(step.finished_at is not None and step.state in ended for step in steps), id
