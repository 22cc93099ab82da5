"""Acts in bulk through the client: preview, token, rate, and the leading Supervisor that carries them out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from stepward import Agent, App, Batch, BatchNotFound, Client, InvalidFilter, Refused, Unrecoverable, workflow
from stepward.client import session_of
from stepward.client.batches.preview import BatchCount
from stepward.client.batches.preview_tokens import VALID_SECONDS, token_of
from stepward.model.states import TaskState
from stepward.store.contract import BATCH_ENDS, BatchState
from tests.until import until

bank = Agent("bank")
broken = True


@bank.operation
async def pay(card: str) -> str:
    if broken:
        raise Unrecoverable("no")
    return f"paid {card}"


@workflow
async def order(card: str) -> str:
    return await pay(card)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """A client of an application at work, whose bank refuses everything until it is mended."""
    global broken  # noqa: PLW0603
    broken = True
    app = App("shop", workflows=[order], agents=[bank], store=f"sqlite:///{tmp_path}/shop.db")
    async with app.running(supervisor_every="50ms"), app.client() as client:
        yield client


async def failed(client: Client, count: int, **options: Any) -> list[str]:
    handles = [await client.submit(order, f"card-{n}", id=f"o-{n}", **options) for n in range(count)]
    await until(lambda: client.count(where="state = 'error'"), lambda found: found.number == count)
    return [handle.id for handle in handles]


async def ended(client: Client, batch: Batch) -> Batch:
    return await until(lambda: client.batches.get(batch.id), lambda found: found.state in BATCH_ENDS)


async def test_failed_tasks_are_found_by_a_filter_and_resubmitted(client: Client) -> None:
    global broken  # noqa: PLW0603
    ids = await failed(client, 30)
    found = await client.batches.preview("resubmit", "state = 'error' and error.type = 'StepFailed'", priority=7)
    assert (found.count.number, found.count.is_exact, len(found.sample)) == (30, True, 10)
    assert [each.id for each in found.sample] == ids[:10]
    assert {each.refusal for each in found.sample} == {None}
    broken = False
    batch = await ended(client, await client.batches.start(found, rate=200, reason="the bank is mended"))
    assert (batch.done, batch.refused, batch.matched, batch.state) == (30, 0, 30, BatchState.DONE)
    assert {await client.task(id).result() for id in ids} == {f"paid card-{n}" for n in range(30)}
    assert {task.priority for task in await client.tasks()} == {7}
    assert [each.id for each in await client.batches.recent()] == [batch.id]


async def test_it_asks_no_faster_than_its_rate_and_can_be_stopped(client: Client) -> None:
    await failed(client, 5)
    found = await client.batches.preview("cancel", "state = 'error'")
    batch = await client.batches.start(found, rate=0.01)
    await until(lambda: client.batches.get(batch.id), lambda found: found.done > 0)
    await client.batches.pause(batch.id)
    await client.batches.pace(batch.id, 0.02)
    await client.batches.resume(batch.id)
    stopped = await client.batches.stop(batch.id)
    assert (stopped.state, stopped.rate) == (BatchState.STOPPED, 0.02)
    assert (await client.batches.get(batch.id)).done < 5


async def test_a_preview_says_why_a_task_would_refuse(client: Client) -> None:
    await failed(client, 1)
    found = await client.batches.preview("resume", "state = 'error'")
    (sample,) = found.sample
    assert sample.refusal is not None
    assert "expected a task that is suspended" in sample.refusal
    assert (await client.task("o-0").status()).state is TaskState.ERROR


async def test_the_token_of_another_act_starts_nothing(client: Client) -> None:
    found = await client.batches.preview("suspend", "workflow = 'order'")
    for other in (
        replace(found.order, where="created <= now"),
        replace(found.order, actor="eve"),
        replace(found.order, workflows=["other"]),
    ):
        with pytest.raises(Refused, match="preview: expected the token of a preview of just this act"):
            await client.batches.start(replace(found, order=other))
    with pytest.raises(Refused, match="preview: expected the token"):
        await client.batches.start(replace(found, token=found.token[:-2]))
    with pytest.raises(Refused, match="preview: expected the token"):
        await client.batches.start(replace(found, token=""))
    assert await client.batches.recent() == []


async def test_a_preview_grows_old(client: Client) -> None:
    found = await client.batches.preview("suspend", "workflow = 'order'")
    store = session_of(client).store
    count = BatchCount(1, True, store.now() - VALID_SECONDS - 1)
    old = token_of(found.order, count, await store.client.completion_key(b""))
    with pytest.raises(Refused, match="expected one of the last 15 minutes"):
        await client.batches.start(replace(found, token=old))


@pytest.mark.parametrize(
    ("verb", "where", "said", "why"),
    [
        ("repeat", "state = 'error'", {}, "verb: expected one of"),
        ("undo", " ", {}, "where: expected a filter"),
        ("undo", "state = 'error'", {"step": "pay/1"}, "step: expected nothing that undo has no use for"),
        ("mark_done", "state = 'error'", {"step": "pay/1"}, "mark_done: expected a step and a result"),
        ("resubmit", "state = 'error'", {"priority": 10}, "priority: expected 0"),
        ("resubmit", "state = 'error'", {"input": "x"}, "input: expected a list"),
        ("resubmit", "state = 'error'", {"doubt": "maybe"}, "doubt: expected one of"),
    ],
)
async def test_what_does_not_fit_is_refused(
    client: Client, verb: str, where: str, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        await client.batches.preview(verb, where, **said)


async def test_filters_rates_and_ids_that_are_wrong_are_refused(client: Client) -> None:
    with pytest.raises(InvalidFilter):
        await client.batches.preview("undo", "state = 'eror'")
    found = await client.batches.preview("suspend", "state = 'error'")
    for rate in (0, -1, 1e9, float("nan")):
        with pytest.raises(Refused, match="rate: expected"):
            await client.batches.start(found, rate=rate)
    with pytest.raises(Refused, match="reason: expected"):
        await client.batches.start(found, reason="x" * 501)
    with pytest.raises(BatchNotFound):
        await client.batches.get("none")
