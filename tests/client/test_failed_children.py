"""Failed children repeated together: the others keep their results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import (
    Agent,
    App,
    IllegalTransition,
    StepFailed,
    Supervision,
    TaskFailed,
    TaskHandle,
    Unrecoverable,
    workflow,
)
from stepward.model.states import TaskState
from stepward.testing import environment
from stepward.testing.app_environment import AppEnvironment

shop = Agent("shop")
quick = Supervision(threshold=0)


@shop.operation(complete_by="10s")
async def send(item: str) -> str:
    return f"{item} sent"


@workflow(supervision=quick)
async def parcel(item: str) -> str:
    return await send(item)


@workflow(supervision=quick)
async def side_by_side(items: list[str]) -> list[str]:
    found = await asyncio.gather(*(parcel(item) for item in items), return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [str(each) for each in found]


@workflow(supervision=quick)
async def first_failure_ends(items: list[str]) -> list[str]:
    return list(await asyncio.gather(*(parcel(item) for item in items)))


@workflow(supervision=quick)
async def one_after_another(items: list[str]) -> list[str]:
    failed = []
    for item in items:
        try:
            await parcel(item)
        except StepFailed as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return items


app = App("shop", workflows=[parcel, side_by_side, first_failure_ends, one_after_another], agents=[shop])
ITEMS = ["a", "b", "c", "d", "e"]
SENT = [f"{item} sent" for item in ITEMS]


def failing(*items: str) -> tuple[dict[Any, Any], set[str]]:
    broken = set(items)

    async def fake(item: str) -> str:
        if item in broken:
            raise Unrecoverable(f"no parcel for {item}")
        return f"{item} sent"

    return {send: fake}, broken


async def ended_in_error(task: TaskHandle[Any]) -> None:
    with pytest.raises(TaskFailed):
        await task.result()


def sent(env: AppEnvironment) -> list[str]:
    return sorted(call.args[0] for call in env.calls(send))


async def test_failed_children_are_repeated_together_and_the_others_kept() -> None:
    fakes, broken = failing("b", "d")
    async with environment(app, fakes=fakes) as env:
        task = await env.client.submit(side_by_side, ITEMS, id="t")
        await ended_in_error(task)
        broken.clear()
        await task.resubmit(failed_children=True)
        assert await task.result() == SENT
        assert sent(env) == sorted([*ITEMS, "b", "d"])


async def test_children_that_fail_again_can_be_repeated_again() -> None:
    fakes, broken = failing("b", "d")
    async with environment(app, fakes=fakes) as env:
        task = await env.client.submit(side_by_side, ITEMS, id="t")
        await ended_in_error(task)
        broken.remove("b")
        await task.resubmit(failed_children=True)
        await ended_in_error(task)
        broken.clear()
        await task.resubmit(failed_children=True)
        assert await task.result() == SENT
        assert sent(env) == sorted([*ITEMS, "b", "d", "d"])


async def test_children_that_failed_after_the_end_are_repeated_too() -> None:
    fakes, broken = failing("b", "d")
    async with environment(app, fakes=fakes) as env:
        task = await env.client.submit(first_failure_ends, ITEMS, id="t")
        await ended_in_error(task)
        await env.skip("1m")
        broken.clear()
        await task.resubmit(failed_children=True)
        assert await task.result() == SENT
        assert sent(env) == sorted([*ITEMS, "b", "d"])


async def test_undone_children_are_started_again() -> None:
    fakes, broken = failing("b")
    async with environment(app, fakes=fakes) as env:
        task = await env.client.submit(side_by_side, ITEMS, id="t")
        await ended_in_error(task)
        await env.client.task("t/parcel/2").undo()
        await env.skip("1m")
        broken.clear()
        await task.resubmit(failed_children=True)
        assert await task.result() == SENT


async def test_children_that_came_after_a_failure_need_a_choice() -> None:
    fakes, broken = failing("b", "d")
    async with environment(app, fakes=fakes) as env:
        task = await env.client.submit(one_after_another, ITEMS, id="t")
        await ended_in_error(task)
        broken.clear()
        with pytest.raises(IllegalTransition, match=r"found parcel/3, parcel/4, parcel/5, which would be set aside"):
            await task.resubmit(failed_children=True)
        await task.resubmit(failed_children=True, later="keep")
        assert await task.result() == ITEMS


async def test_what_has_no_failed_children_or_names_a_step_is_refused() -> None:
    fakes, broken = failing("a")
    async with environment(app, fakes=fakes) as env:
        child = await env.client.submit(parcel, "a", id="alone")
        await ended_in_error(child)
        with pytest.raises(IllegalTransition, match="resubmit of task alone: expected failed child tasks, found none"):
            await child.resubmit(failed_children=True)
        task = await env.client.submit(side_by_side, ["a"], id="t")
        await ended_in_error(task)
        with pytest.raises(IllegalTransition, match="expected no step beside failed_children, found parcel/1"):
            await task.resubmit("parcel/1", failed_children=True)
        broken.clear()
        await task.resubmit(failed_children=True)
        assert await task.result() == ["a sent"]
        assert (await child.status()).state is TaskState.ERROR
