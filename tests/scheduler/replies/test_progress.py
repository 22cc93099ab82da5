"""What operations tell of their progress reaches operators, and the attempt that comes next."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from stepward import Agent, Retry, Supervision, current_step, workflow
from stepward.client import session_of
from stepward.errors import StoreUnavailable
from stepward.events import Observers
from stepward.model.current_step import PROGRESS_BYTES
from stepward.model.messages.requests import Progress
from stepward.scheduler.agent_replies.progress import ProgressUpdates
from stepward.store.contract import SchedulerStore
from tests.scheduler.world import World, until


class Import:
    """A long step; ``told`` holds its progress messages, in order, a part for each attempt."""

    def __init__(self, complete_by: str = "4h") -> None:
        self.agent = Agent("imports", retry=Retry(attempts=1))
        self.given: list[Any] = []
        self.go_on = asyncio.Event()

        @self.agent.operation(complete_by=complete_by)
        async def load(pages: int) -> int:
            self.given.append(current_step().progress)
            first = (current_step().progress or {"page": 0})["page"]
            for page in range(first + 1, pages + 1):
                current_step().heartbeat({"page": page})
                await asyncio.sleep(1.1)
                if page == 2 and len(self.given) == 1:
                    raise OSError("no answer")
            await self.go_on.wait()
            return pages

        self.load = load


def importing(service: Import) -> Any:
    @workflow(name="importing", supervision=Supervision(then="alert"))
    async def body(pages: int) -> int:
        return await service.load(pages)

    return body


async def test_operators_see_it_and_the_next_attempt_goes_on_from_it(world: World) -> None:
    service = Import()
    client = await world.start([importing(service)], [service.agent])
    task = await client.submit("importing", 5)

    async def is_at(page: int) -> bool:
        return [step.progress for step in await task.steps()] == [{"page": page}]

    await until(lambda: is_at(2))
    (step,) = await task.steps()
    assert step.progress_at == pytest.approx(session_of(client).store.now(), abs=1)
    await until(lambda: is_at(5))
    (step,) = await task.steps()
    assert step.attempt == 2
    assert service.given == [None, {"page": 2}]
    service.go_on.set()
    assert await task.result(timeout="1m") == 5
    # The last progress stays visible.
    assert await is_at(5)


async def test_the_complete_by_is_not_moved_by_heartbeats(world: World) -> None:
    service = Import(complete_by="4s")
    client = await world.start([importing(service)], [service.agent])
    task = await client.submit("importing", 100)

    async def looks() -> Any:
        steps = await task.steps()
        return steps if steps and steps[0].failure_count else None

    (step,) = await until(looks, within=20)
    assert step.complete_by == pytest.approx(step.started_at + 4) or step.attempt > 1
    assert service.given[:1] == [None]


class Noted:
    """A store that delays progress on request."""

    def __init__(self) -> None:
        self.calls: list[list[Progress]] = []
        self.passes_over: set[str] = set()
        self.is_away = False

    async def note_progress(self, words: list[Progress]) -> set[tuple[str, int, str]]:
        self.calls.append(words)
        if self.is_away:
            raise StoreUnavailable("away")
        return {(word.task, word.run, word.key) for word in words if word.task not in self.passes_over}


def word(task: str = "t1", progress: bytes = b"1", attempt: int = 1, at: float = 1.0) -> Progress:
    return Progress(task=task, run=1, key="a/1", attempt=attempt, progress=progress, at=at)


class Desk:
    """Words on their way into such a store."""

    def __init__(self) -> None:
        self.store = Noted()
        self.told: list[str] = []
        observers = Observers(lambda event: self.told.append(event.name))
        self.words = ProgressUpdates(cast("SchedulerStore", self.store), observers)

    async def written(self) -> list[list[Progress]]:
        await asyncio.sleep(1)
        await self.words.stop()
        return self.store.calls


async def test_of_many_updates_the_last_of_each_step_is_written_once() -> None:
    desk = Desk()
    desk.words.add(word(at=1.0))
    await asyncio.sleep(0.01)
    for number in range(2, 50):
        desk.words.add(word(progress=b"%d" % number, at=float(number)))
    desk.words.add(word(progress=b"0", at=3.5))
    desk.words.add(word("t2"))
    calls = await desk.written()
    assert calls == [[word()], [word(progress=b"49", at=49.0), word("t2")]]


async def test_progress_of_a_later_attempt_replaces_that_of_an_earlier_one() -> None:
    desk = Desk()
    desk.words.add(word(attempt=2, progress=b"2", at=1.0))
    desk.words.add(word(attempt=1, progress=b"1", at=9.0))
    assert await desk.written() == [[word(attempt=2, progress=b"2", at=1.0)]]


async def test_a_step_that_is_busy_is_tried_once_more() -> None:
    desk = Desk()
    desk.store.passes_over = {"t1"}
    desk.words.add(word())
    desk.words.add(word("t2"))
    assert await desk.written() == [[word(), word("t2")], [word()]]


async def test_a_store_that_is_away_costs_progress_updates_and_no_more() -> None:
    desk = Desk()
    desk.store.is_away = True
    desk.words.add(word())
    await asyncio.sleep(0.1)
    desk.store.is_away = False
    desk.words.add(word(at=2.0))
    assert await desk.written() == [[word()], [word(at=2.0)]]
    assert desk.told == ["store.unavailable"]


@pytest.mark.parametrize(
    "progress",
    [b"", b"{", b"nan", b"\xff", b'"' + b"x" * PROGRESS_BYTES + b'"', b"[" * 200 + b"]" * 200],
    ids=["empty", "torn", "nan", "bytes", "large", "deep"],
)
async def test_progress_that_is_no_json_is_reported_and_dropped(progress: bytes) -> None:
    desk = Desk()
    desk.words.add(word(progress=progress))
    assert await desk.written() == []
    assert desk.told == ["scheduler.not_progress"]
