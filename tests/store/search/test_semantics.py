"""A filter finds and counts on each store just the tasks that it means, page by page."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from servers.postgres import versions
from stepward.model.records import Step, Task
from stepward.model.states import TASK_ENDS, StepState, TaskState
from stepward.model.tasks.attributes import AttributeValue, encoded
from stepward.store.contract import Change, Store, TaskSearch
from stepward.store.search.parser import parsed
from stepward.store.sqlite import SqliteStore
from stepward.store.verbs.tasks import search_and_count
from tests.store.conformance.world import MadePlace, World, end, scheduler, step
from tests.store.postgres.server import Servers
from tests.store.postgres.worlds import SchemaPlace
from tests.store.search.filters import DATE_AT, FILTERS, NOW, Filter, Searched
from tests.tiers import nightly, served

TASKS = 60
ERRORS = (b'{"type":"Declined","message":"no"}', b'{"type":"Timeout"}', b'{"type":5}', b"broken", b'"a text"')
CITIES = (None, "Ulm", "Bonn", "O'Hare", "\U0010ffff", "")
DAY = datetime.fromtimestamp(DATE_AT, UTC)
VALUES: tuple[AttributeValue, ...] = ("alice", "bob", "2023-11-14", 3, 2.5, True, False, DAY)


class Filled(NamedTuple):
    """A store with tasks of all kinds, on a loop of its own."""

    runner: asyncio.Runner
    store: Store
    tasks: list[Searched]

    def __repr__(self) -> str:
        return "Filled()"


@pytest.fixture(scope="module", params=["file", nightly("memory"), served("postgres")])
def filled(request: pytest.FixtureRequest, servers: Servers, tmp_path_factory: Any) -> Iterator[Filled]:
    with asyncio.Runner() as runner:
        if request.param == "postgres":
            world = World(SchemaPlace(runner.run(servers.emptied(max(versions())))))
        else:
            path = f"{tmp_path_factory.mktemp('search')}/shop.db"
            name = path if request.param == "file" else f"file:{path}?vfs=memdb"
            world = World(MadePlace(lambda environment: SqliteStore(name, app="shop", environment=environment)))
        store = runner.run(world.open())
        yield Filled(runner, store, runner.run(_fill(world, store)))
        runner.run(world.close())


async def _fill(world: World, store: Store) -> list[Searched]:
    chance = random.Random(5)
    await scheduler(store, "s1", lease=1e6)
    made = [_task(world, chance, number) for number in range(TASKS)]
    await store.client.submit([task for task in made if task.state is not TaskState.PROCESSING])
    for task in made:
        if task.state is TaskState.PROCESSING:
            await store.scheduler.commit("s1", [Change(task=task.uid, born=task, inserts=_steps(task, chance))], None)
            if chance.random() < 0.5:
                await end(store, task, TaskState.ERROR, error=chance.choice(ERRORS), at=NOW - 300)
    found = [await store.client.task(task.id) for task in made]
    return [Searched(task, await store.client.steps(task.id)) for task in found if task is not None]


def _task(world: World, chance: random.Random, number: int) -> Task:
    state = chance.choice([TaskState.PROCESSING, *TaskState])
    city = chance.choice(CITIES)
    ends = state in TASK_ENDS
    chosen = {name: chance.choice(VALUES) for name in ("x", "y") if chance.random() < 0.6}
    return world.task(
        f"{chance.choice('ab')}-{number}",
        state=state,
        workflow=chance.choice(("order", "refund")),
        version=chance.choice("12"),
        priority=chance.choice((0, 5, 5, 9)),
        failure_count=chance.choice((0, 0, 2, 3)),
        labels=b"{}" if city is None else msgspec.json.encode({"city": city}),
        attributes=encoded(chosen),
        error=chance.choice(ERRORS) if state is TaskState.ERROR else None,
        undo_to=state if state is TaskState.UNDONE else TaskState.UNDONE if state is TaskState.UNDOING else None,
        locked_by="s1" if state is TaskState.PROCESSING else None,
        created_at=NOW - chance.choice((3900, 1800, 5000, 10, 0)),
        finished_at=NOW - chance.choice((600, 800, 1)) if ends else None,
        deadline=chance.choice((None, NOW, NOW + 3600, NOW + 9)),
    )


def _steps(task: Task, chance: random.Random) -> list[Step]:
    names = chance.sample(["charge/1", "pack/1", "charge/2"], k=chance.randrange(3))
    return [
        step(
            task,
            key,
            number,
            agent=chance.choice(("pay", "ship")),
            state=chance.choice((StepState.RUNNING, StepState.COMPLETED, StepState.FAILED)),
            set_aside_at=chance.choice((None, None, NOW)),
        )
        for number, key in enumerate(names, 1)
    ]


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    wanted=FILTERS,
    newest_first=some.booleans(),
    limit=some.integers(1, 70),
    bounds=some.sampled_from([(10_000, 2_000), (50, 5), (7, 1)]),
)
def test_a_filter_finds_what_it_means_in_order(
    filled: Filled, wanted: Filter, newest_first: bool, limit: int, bounds: tuple[int, int]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_and_count, "CANDIDATES", bounds[0])
        patch.setattr(search_and_count, "LOOKS", 10)
        patch.setattr(search_and_count, "SMALL", bounds[1])
        found = filled.runner.run(_all_pages(filled.store, wanted.text, limit, newest_first=newest_first))
    expected = [each.task for each in filled.tasks if wanted.means(each)]
    expected.sort(key=lambda task: (task.created_at, task.uid), reverse=newest_first)
    assert found == [task.id for task in expected], wanted.text


async def _all_pages(store: Store, text: str, limit: int, *, newest_first: bool) -> list[str]:
    asked = TaskSearch(condition=parsed(text, NOW), newest_first=newest_first, limit=limit)
    found: list[str] = []
    while True:
        page = await store.operators.tasks(asked)
        assert len(page.tasks) <= limit
        found += [task.id for task in page.tasks]
        if page.after is None:
            return found
        asked = msgspec.structs.replace(asked, after=page.after)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(wanted=FILTERS, bounds=some.sampled_from([(10_000, 2_000), (7, 1)]))
def test_a_filter_counts_what_it_means(filled: Filled, wanted: Filter, bounds: tuple[int, int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_and_count, "CANDIDATES", bounds[0])
        patch.setattr(search_and_count, "COUNT_LOOKS", 10)
        patch.setattr(search_and_count, "SMALL", bounds[1])
        count = filled.runner.run(filled.store.operators.count(parsed(wanted.text, NOW)))
    assert (count.number, count.is_exact) == (sum(wanted.means(each) for each in filled.tasks), True), wanted.text
