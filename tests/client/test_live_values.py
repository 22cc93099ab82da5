"""Published values and streams, from workflow code and every kind of step, over retries, crashes and replays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from stepward import (
    Agent,
    App,
    Refused,
    StepFailed,
    TaskNotFound,
    Unrecoverable,
    ValueNotFound,
    current_step,
    publish,
    step,
    stream,
    workflow,
)
from stepward.testing import environment
from stepward.testing.app_environment import AppEnvironment

models = Agent("models")


@models.operation(complete_by="10s")
async def think(words: list[str]) -> int:
    for word in words:
        stream("tokens").write(word)
    publish("words", len(words))
    return len(words)


@models.operation(complete_by="10s")
def think_in_a_thread(words: list[str]) -> int:
    for word in words:
        stream("tokens").write(word)
    return len(words)


@models.operation(complete_by="10s")
async def refuse() -> None:
    stream("tokens").write("never")
    raise Unrecoverable("no")


@models.operation(complete_by="10s")
async def ask_a_person() -> None:
    stream("tokens").write("early")
    assert current_step().completion_token
    current_step().finish_later()


@models.operation(complete_by="10s")
async def chatter(count: int) -> None:
    for _ in range(count):
        stream("tokens").write("x" * 100)


@step
def note(text: str) -> None:
    stream("tokens").write(text)


@step(transaction=True)
async def book(connection: Any, text: str) -> None:
    stream("tokens").write(text)


@workflow
async def talk() -> int:
    stream("tokens").write("begin")
    found = await think(["a", "b"])
    await think_in_a_thread(["c"])
    await note("noted")
    await book("booked")
    publish("state", "done")
    stream("tokens").write("end")
    return found


@workflow
async def refused() -> str:
    try:
        await refuse()
    except StepFailed:
        stream("tokens").write("refused")
    return "caught"


@workflow
async def asking() -> None:
    await ask_a_person()


@workflow
async def chatting(count: int) -> None:
    await chatter(count)


app = App("talks", workflows=[talk, refused, asking, chatting], agents=[models])
FAKES = {each: each.fn for each in (think, think_in_a_thread, refuse, ask_a_person, chatter, note, book)}
SAID = ["begin", "a", "b", "c", "noted", "booked", "end"]


async def tokens(env: AppEnvironment, id: str, start: int = 0) -> list[Any]:
    found = [each async for each in env.client.task(id).stream("tokens", start)]
    assert [position for position, _ in found] == list(range(start, start + len(found)))
    return [value for _, value in found]


async def test_readers_get_each_value_once_in_order_and_from_any_position() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(talk, id="t")
        first, second = await asyncio.gather(tokens(env, "t"), tokens(env, "t", 3))
        assert (first, second) == (SAID, SAID[3:])
        assert (await task.value("words"), await task.value("state"), await task.result()) == (2, "done", 2)
        assert await tokens(env, "t", 7) == []


async def test_an_attempt_that_fails_writes_nothing() -> None:
    async with environment(app, fakes=FAKES) as env:
        env.lose_reply(think, times=1)
        await env.client.submit(talk, id="lost")
        assert await tokens(env, "lost") == SAID
        await env.client.submit(refused, id="refused")
        assert await tokens(env, "refused") == ["refused"]


async def test_calls_of_one_attempt_before_the_last_write_nothing() -> None:
    calls: list[int] = []

    async def flaky(words: list[str]) -> int:
        calls.append(1)
        await think.fn(words)
        if len(calls) < 3:
            raise ConnectionError("no answer")
        return len(words)

    async with environment(app, fakes=FAKES | {think: flaky}) as env:
        await env.client.submit(talk, id="t")
        assert (await tokens(env, "t"), len(calls)) == (SAID, 3)


@pytest.mark.parametrize("point", ["turn.start.before", "turn.start.after", "turn.finish.before", "turn.finish.after"])
async def test_a_takeover_writes_nothing_again(point: str) -> None:
    async with environment(app, fakes=FAKES) as env:
        await env.client.submit(talk, id="t")
        await env.crash(at=point)
        assert await tokens(env, "t") == SAID


async def test_what_was_never_published_has_a_default_or_an_error() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(talk)
        assert await task.value("none", default=None) is None
        with pytest.raises(ValueNotFound, match="value 'none' of task"):
            await task.value("none")
        with pytest.raises(Refused, match="value: expected a name of 1 to 200"):
            await task.value("two words")
        with pytest.raises(Refused, match="start of stream: expected a number from 0 on, found -1"):
            await anext(task.stream("tokens", -1))
        with pytest.raises(TaskNotFound):
            await env.client.task("none").value("words")


async def test_a_step_that_is_finished_from_outside_writes_nothing() -> None:
    async with environment(app, fakes=FAKES) as env:
        task = await env.client.submit(asking)
        async for record in _failed(env, task.id):
            assert "finish_later() in models.ask_a_person: expected no values written, found 1" in record
            break
        await task.cancel()


async def _failed(env: AppEnvironment, id: str) -> Any:
    for _ in range(100):
        for record in await env.client.task(id).steps():
            if record.error is not None:
                yield record.error["message"]
        await env.skip("1s")


async def test_one_attempt_writes_a_bounded_number_of_values_and_bytes() -> None:
    async with environment(app, fakes=FAKES) as env:
        for count, found in ((5_089, None), (5_100, "524,2")):
            task = await env.client.submit(chatting, count)
            if found is None:
                await task.result()
                assert len(await tokens(env, task.id)) == count
            else:
                async for message in _failed(env, task.id):
                    assert "expected at most 10,000 and 524,288 bytes" in message
                    break
                await task.cancel()


async def test_any_number_of_readers_follow_a_task_until_it_ends() -> None:
    async def states(env: AppEnvironment) -> list[str]:
        return [status.state async for status in env.client.task("t").events()]

    async with environment(app, fakes=FAKES) as env:
        await env.client.submit(talk, id="t")
        for found in await asyncio.gather(states(env), states(env)):
            assert found[-1] == "processed"
        assert await states(env) == ["processed"]


def test_outside_of_tasks_and_for_wrong_names_nothing_is_written() -> None:
    with pytest.raises(Refused, match="publish x: expected to be called in workflow code, a step or an operation"):
        publish("x", 1)
    with pytest.raises(Refused, match="stream x: expected to be called in workflow code"):
        stream("x").write(1)
    with pytest.raises(Refused, match="stream: expected a name of 1 to 200 of A-Z a-z 0-9"):
        stream("no spaces")


def test_a_blocking_reader_gets_the_same(tmp_path: Path) -> None:
    shop = App("talks", workflows=[talk], agents=[models], store=f"sqlite:///{tmp_path / 'talks.db'}")

    async def run() -> None:
        async with shop.running(), shop.client() as client:
            await client.submit(talk, id="t")
            await client.task("t").result(timeout=30)

    asyncio.run(run())
    with shop.sync_client() as client:
        assert [value for _, value in client.task("t").stream("tokens")] == SAID
        assert client.task("t").value("words") == 2
