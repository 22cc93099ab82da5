"""The raw limit writes what the product writes: else it would be the limit of something else."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple

from benchmarks.application import make_app, ten
from benchmarks.floor import floor, loop
from benchmarks.store_locations import Place
from benchmarks.store_queries import looking

TASK = "workflow, version, state, priority, labels, run, input, output, error, locked_by, complete_by, wake_at, \
waits_for, undo_to, inbox, failure_count, recovery_count, parent, reply_to, events, \
started_at is null, finished_at is null"
STEP = "run, key, number, name, kind, state, agent, attempt, failure_count, complete_seconds, repeat_at, ordinal, \
length(input), length(output), error, has_undo, irreversible, in_doubt, watched, generation, \
complete_by is null, started_at is null, finished_at is null"


@pytest.fixture
async def product(place: Place) -> str:
    """The address of a store in which the product has processed one ten-step task."""
    address = await place.fresh()
    app = make_app(address)
    async with app.running(), app.client() as client:
        await (await client.submit(ten, "some text")).result()
    return address


async def test_a_task_is_the_products_but_for_its_identity_and_its_times(place: Place, product: str) -> None:
    address = await place.fresh()
    async with floor(address) as raw:
        await raw.ten_step_tasks(1, 1)
    written = f"select {TASK} from {{task}}"
    assert await _row(address, "floor", written) == await _row(product, "bench", written)


async def test_its_steps_are_the_products(place: Place, product: str) -> None:
    address = await place.fresh()
    async with floor(address) as raw:
        await raw.ten_step_tasks(1, 1)
    for number in range(1, 11):
        written = f"select {STEP} from {{step}} where number = {number}"
        assert await _row(address, "floor", written) == await _row(product, "bench", written)


async def test_every_task_of_every_batch_is_written(place: Place) -> None:
    address = await place.fresh()
    async with floor(address) as raw:
        await raw.ten_step_tasks(5, 2)
        await raw.one_task(1)
    assert await _row(address, "floor", "select count(*) from {task} where state = 'processed'") == (6,)
    assert await _row(address, "floor", "select count(*) from {step} where state = 'completed'") == (60,)


async def test_no_row_is_made_while_rows_are_written(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0
    made_at: list[int] = []

    def counted(row: Any) -> tuple[Any, ...]:
        nonlocal made
        made += 1
        return astuple(row)

    monkeypatch.setattr(loop, "astuple", counted)
    async with floor(await place.fresh()) as raw:
        write = raw.write

        async def watched(commit: loop.Commit) -> None:
            made_at.append(made)
            await write(commit)
            made_at.append(made)

        monkeypatch.setattr(raw, "write", watched)
        await raw.ten_step_tasks(5, 2)
    assert len(made_at) == 3 * 11 * 2
    assert set(made_at) == {made}


async def _row(address: str, app: str, query: str) -> tuple[Any, ...]:
    async with looking(address, app) as look:
        return await look(query)
