"""Completions from outside that are refused, and what then becomes of the token."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stepward import (
    CompletionRefused,
    StepFailed,
    Supervision,
    workflow,
)
from stepward.errors import StepwardError
from stepward.model.messages.completion_tokens import signer
from stepward.model.messages.requests import Request
from stepward.model.states import StepKind, TaskState
from tests.scheduler.approvals import MINUTE, Approvals, approved, refusal
from tests.scheduler.world import Service, World, in_state, states

Change = Callable[[str], str]


async def test_a_token_is_good_once(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await client.complete(token, True)
    assert await refusal(client.complete(token, False)) == "used"
    assert await task.result(timeout="1m") == "approved"
    assert await refusal(client.fail(token, "late")) == "used"
    acts = [entry.act for entry in await client.audits(task.id)]
    assert sorted(acts) == ["complete", "refused_completion", "refused_completion"]


async def test_who_comes_after_the_step_failed_of_its_complete_by_is_late(world: World) -> None:
    approvals = Approvals(complete_by="1m")

    @workflow(supervision=Supervision(threshold=0, then="raise"))
    async def asked(order: str) -> str:
        try:
            await approvals.ask(order)
        except StepFailed:
            return "nobody"
        return "somebody"

    client = await world.start([asked], [approvals.agent])
    task = await client.submit(asked, "o1")
    token = await approvals.token()
    assert await task.result(timeout="5m") == "nobody"
    assert await states(task) == {"approvals.ask/1": "failed"}
    assert await refusal(client.complete(token, True)) == "late"


async def test_undo_does_not_wait_for_whom_it_refuses(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await task.cancel()
    await in_state(task, TaskState.CANCELLED, within=60)
    assert approvals.undone == [None]
    assert await refusal(client.complete(token, True)) == "undone"


async def test_a_completion_that_undo_overtook_is_refused(world: World, approvals: Approvals, service: Service) -> None:
    approvals.undo_later = True
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    await task.undo()
    undo = await approvals.token(2)
    assert await refusal(client.complete(token, True)) == "undone"
    # The undo itself is finished from outside; until then its task only waits.
    await asyncio.sleep(2 * MINUTE)
    assert await states(task) == {"approvals.ask/1": "running", "approvals.ask/1~undo": "running"}
    await client.complete(undo)
    await in_state(task, TaskState.UNDONE)
    assert await states(task) == {"approvals.ask/1": "undone", "approvals.ask/1~undo": "completed"}


async def test_what_the_workflow_gave_up_is_not_finished(world: World, approvals: Approvals) -> None:
    @workflow
    async def impatient(order: str) -> str:
        try:
            async with asyncio.timeout(60):
                await approvals.ask(order)
        except TimeoutError:
            return "too late"
        return "in time"

    client = await world.start([impatient], [approvals.agent])
    task = await client.submit(impatient, "o1")
    token = await approvals.token()
    assert await task.result(timeout="5m") == "too late"
    assert approvals.undone == [None]
    assert await refusal(client.complete(token, True)) == "undone"


async def test_a_result_that_is_too_large_is_refused_and_the_token_stays_good(
    world: World, approvals: Approvals
) -> None:
    app = world.app([approved(approvals)], [approvals.agent], payload_bytes="1KiB")
    await world.run(app)
    client = await world.client(app)
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    with pytest.raises(StepwardError, match="expected at most 1,024 bytes"):
        await client.complete(token, "x" * 2_000)
    await client.complete(token, True)
    assert await task.result(timeout="1m") == "approved"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (lambda token: token[:-9], "forged"),
        (lambda token: token.partition(".")[0], "forged"),
        (lambda token: f"{token.partition('.')[0]}.AAAA", "forged"),
        (lambda token: token[:20], "unreadable"),
        (lambda token: "", "unreadable"),
    ],
    ids=["cut", "unsigned", "signed otherwise", "torn", "nothing"],
)
async def test_a_token_that_is_not_ours_changes_nothing(
    world: World, approvals: Approvals, changed: Change, reason: str
) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    token = await approvals.token()
    before = await task.steps(), await task.status()
    assert await refusal(client.complete(changed(token), True)) == reason
    assert (await task.steps(), await task.status()) == before
    acts = [(entry.act, entry.step) for entry in await client.audits(task.id)]
    assert acts == ([("refused_completion", "approvals.ask/1")] if reason == "forged" else [])


async def test_a_token_of_another_app_is_refused(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    await approvals.token()
    request = Request(
        task=(await task.status()).uid,
        task_id=task.id,
        run=1,
        key="approvals.ask/1",
        attempt=1,
        agent="approvals",
        operation="approvals.ask",
        undo=False,
        input=b"[]",
        complete_by=0.0,
        idempotency_key="",
        undoes=None,
        reply_to="",
        priority=5,
    )
    assert await refusal(client.complete(signer("warehouse", b"w" * 32)(request), True)) == "foreign"
    assert await refusal(client.complete(signer("shop", b"w" * 32)(request), True)) == "forged"
    assert await states(task) == {"approvals.ask/1": "running"}


async def test_a_workflow_cannot_finish_steps(world: World, approvals: Approvals) -> None:
    clients: list[Any] = []

    @workflow
    async def odd(order: str) -> None:
        await clients[0].complete("token", True)

    clients.append(await world.start([odd], [approvals.agent]))
    task = await clients[0].submit(odd, "o1")
    await in_state(task, TaskState.ERROR)
    assert "client.complete()" in ((await task.status()).error or {})["message"]


async def test_the_steps_kind_is_distinguished(world: World, approvals: Approvals) -> None:
    client = await world.start([approved(approvals)], [approvals.agent])
    task = await client.submit("approved", "o1")
    await approvals.token()
    assert [step.kind for step in await task.steps()] == [StepKind.OPERATION]


async def test_a_result_of_the_wrong_type_is_refused_and_the_token_is_good_still(world: World) -> None:
    approvals = Approvals()

    @workflow
    async def order() -> bool:
        return await approvals.ask("1")

    client = await world.start([order], [approvals.agent])
    handle = await client.submit(order)
    token = await approvals.token()
    with pytest.raises(CompletionRefused, match=r"approvals\.ask.*expected bool, found") as caught:
        await client.complete(token, "yes")
    assert caught.value.reason == "unfit"
    assert "refused_completion" in [audit.act for audit in await client.audits(handle.id)]
    await client.complete(token, True)
    assert await handle.result(timeout=30) is True
