"""Submissions of one client at one time: they share commits, and each caller receives its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stepward import App, Client, CommitUnknown, Refused, StoreUnavailable, TaskConflict, TaskHandle, workflow
from stepward.client import session_of
from stepward.client.submitting import grouped_submissions
from stepward.model.pipeline_plan import Plans
from stepward.model.records import Task
from stepward.store.contract import ClientStore, Submitted

CALLERS = 100
REFUSED = "7"


@workflow
async def greet(name: str) -> str:
    return f"Hello, {name}"


class WatchedStore:
    """The client's part of a store: notes how many tasks each call submits, and may fail."""

    def __init__(self, inner: ClientStore) -> None:
        self.inner = inner
        self.groups: list[int] = []
        self.called = asyncio.Event()
        self.failing: Callable[[list[Task]], Exception | None] = lambda tasks: None

    async def submit(self, tasks: list[Task], plans: Plans) -> list[Submitted]:
        self.groups.append(len(tasks))
        self.called.set()
        error = self.failing(tasks)
        if error is not None:
            await asyncio.sleep(0)
            raise error
        return await self.inner.submit(tasks, plans)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with App("shop", workflows=[greet], store=f"sqlite:///{tmp_path}/shop.db").client() as client:
        yield client


@pytest.fixture
def store(client: Client, monkeypatch: pytest.MonkeyPatch) -> WatchedStore:
    session = session_of(client)
    watched = WatchedStore(session.store.client)
    monkeypatch.setattr(session.submissions, "_groups", grouped_submissions.GroupedSubmissions(watched))  # type: ignore[arg-type]
    return watched


async def submitted(client: Client, *names: str) -> list[TaskHandle[str] | BaseException]:
    calls = (client.submit(greet, name, id=name) for name in names)
    return await asyncio.gather(*calls, return_exceptions=True)


def names(count: int) -> list[str]:
    return [str(number) for number in range(count)]


async def test_calls_at_one_time_share_a_commit(client: Client, store: WatchedStore) -> None:
    handles = await submitted(client, *names(CALLERS))
    assert store.groups == [1, CALLERS - 1]
    assert [handle.id for handle in handles if isinstance(handle, TaskHandle)] == names(CALLERS)
    assert (await client.count()).number == CALLERS


async def test_one_call_alone_is_a_commit_of_its_own(client: Client, store: WatchedStore) -> None:
    for name in names(3):
        await client.submit(greet, name)
    assert store.groups == [1, 1, 1]


async def test_a_conflict_is_raised_at_its_caller_alone(client: Client, store: WatchedStore) -> None:
    await client.submit(greet, "Ada", id="5")
    found = await submitted(client, *names(10))
    assert [name for name, each in zip(names(10), found, strict=True) if isinstance(each, TaskConflict)] == ["5"]
    assert (await client.count()).number == 10


async def test_calls_with_one_id_give_one_task(client: Client, store: WatchedStore) -> None:
    found = await submitted(client, *["Ada"] * 10)
    assert {each.id for each in found if isinstance(each, TaskHandle)} == {"Ada"}
    assert (await client.count()).number == 1


async def test_a_submission_that_the_store_refuses_takes_no_other_along(client: Client, store: WatchedStore) -> None:
    store.failing = lambda tasks: Refused("no") if any(task.id == REFUSED for task in tasks) else None
    found = await submitted(client, *names(10))
    assert [name for name, each in zip(names(10), found, strict=True) if isinstance(each, Refused)] == [REFUSED]
    assert (await client.count()).number == 9


@pytest.mark.parametrize("error", [StoreUnavailable("no answer"), CommitUnknown("no answer")])
async def test_an_outage_is_raised_at_every_caller_in_an_exception_of_its_own(
    client: Client, store: WatchedStore, error: Exception
) -> None:
    store.failing = lambda tasks: error
    found = await submitted(client, *names(10))
    assert {type(each) for each in found} == {type(error)}
    assert len({id(each) for each in found}) == 10
    assert store.groups == [1, 9]
    store.failing = lambda tasks: None
    assert isinstance((await submitted(client, "later"))[0], TaskHandle)


async def test_a_call_that_is_cancelled_while_it_waits_is_not_written(client: Client, store: WatchedStore) -> None:
    calls = [asyncio.create_task(client.submit(greet, name, id=name)) for name in names(5)]
    await store.called.wait()
    calls[3].cancel()
    found = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(found[3], asyncio.CancelledError)
    assert (await client.count()).number == 4


@pytest.mark.parametrize(("rows", "size", "groups"), [(4, 1_000, [1, 4, 4, 1]), (100, 30, [1, 4, 4, 1])])
async def test_a_group_is_bounded_in_rows_and_in_bytes(
    client: Client, store: WatchedStore, monkeypatch: pytest.MonkeyPatch, rows: int, size: int, groups: list[int]
) -> None:
    monkeypatch.setattr(grouped_submissions, "MOST_ROWS", rows)
    monkeypatch.setattr(grouped_submissions, "MOST_BYTES", size)
    # Each has arguments of seven bytes.
    await submitted(client, *[f"n-{number}" for number in range(10)])
    assert store.groups == groups
