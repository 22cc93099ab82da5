"""What developers wait for: a test in virtual time, the replay of recorded histories, the values of streams."""

from __future__ import annotations

import asyncio
import time

from benchmarks.application import act, service
from benchmarks.loads import AT_ONCE, concurrently, median
from benchmarks.store_locations import Place
from stepward import App, Client, stream, workflow
from stepward.replaying.histories import histories_of
from stepward.supervisor.archives.task_reader import history_line
from stepward.testing import environment, replay

ROUNDS = 15
HISTORIES = 1_000
STREAMS = 200
VALUES = 500
"""Values of one stream: as many as a model's answer has tokens."""
DAY = 86_400
MILLISECONDS = 1e3


@workflow
async def ten_over_three_days(text: str) -> int:
    for n in range(10):
        await act(text, n)
        if n == 4:
            await asyncio.sleep(3 * DAY)
    return 10


@workflow
async def twenty(text: str) -> int:
    for n in range(20):
        await act(text, n)
    return 20


@service.operation
async def answer(values: int) -> int:
    for n in range(values):
        stream("tokens").write(f"token {n}")
    return values


@workflow
async def answered(values: int) -> int:
    return await answer(values)


async def development(
    place: Place, *, rounds: int = ROUNDS, histories: int = HISTORIES, streams: int = STREAMS, values: int = VALUES
) -> dict[str, float]:
    """Milliseconds of a whole user's test, seconds of a replay, and values a second from steps to readers."""
    app = App("bench", workflows=[ten_over_three_days, twenty, answered], agents=[service], store=await place.fresh())
    await _user_test(app)
    seconds = [await _user_test(app) for _ in range(rounds)]
    return {
        "user_test_ms": median(seconds) * MILLISECONDS,
        "replay_1000_histories_s": await _replay(app, place, histories) * HISTORIES / histories,
        "stream_values_per_s": await _streamed(app, streams, values),
    }


async def _user_test(app: App) -> float:
    """Seconds of a test of ten steps and a wait of three days, its environment included."""
    began = time.perf_counter()
    async with environment(app) as env:
        task = await env.client.submit(ten_over_three_days, "order")
        assert await task.result() == 10
    return time.perf_counter() - began


async def _replay(app: App, place: Place, histories: int) -> float:
    """Seconds of the replay of that many histories of 20 steps, from a file."""
    file = place.folder / "histories.jsonl"
    async with app.running(), app.client() as client:
        await concurrently(AT_ONCE, histories, lambda n: _ended(client, n))
        ids = [task.id for task in await client.tasks(workflow="twenty", limit=histories)]
        with file.open("wb") as lines:
            async for task, steps in histories_of(client, ids):
                lines.write(history_line(task, steps))
    began = time.perf_counter()
    replay(app, file)
    return time.perf_counter() - began


async def _ended(client: Client, n: int) -> None:
    await (await client.submit(twenty, f"order {n}")).result()


async def _streamed(app: App, streams: int, values: int) -> float:
    """Values a second: each task has one step that writes them, and one reader that reads them to the end."""

    async def read(_: int) -> None:
        task = await client.submit(answered, values)
        assert [position async for position, _ in task.stream("tokens")] == list(range(values))

    async with app.running(), app.client() as client:
        return streams * values / await concurrently(AT_ONCE, streams, read)
