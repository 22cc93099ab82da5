from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from stepward import Client
from stepward.client import session_of
from stepward.http.streaming import polling, stream_limits
from stepward.store.verbs import changed_tasks

from .conftest import Minted, approval, bearer, greet, order, token_for
from .streams import opened

EVENTS = "/api/v1/events"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "PACE_SECONDS", 0.02)
    monkeypatch.setattr(polling, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(polling, "SHARE", 0)


async def test_tasks_are_sent_when_they_are_submitted_end_fail_or_are_acted_upon(
    client: Client, local: httpx.AsyncClient
) -> None:
    async with opened(local, EVENTS, {}) as stream:
        assert stream.status == 200
        await client.submit(greet, "Ada", id="order-1")
        await client.submit(order, "bad", id="order-2")
        waiting = await client.submit(approval, id="order-3")
        await stream.until(("order-1", "processed"), ("order-2", "error"), ("order-3", "waiting"))
        await waiting.suspend()
        await stream.until(("order-3", "suspended"))


async def test_a_stream_goes_on_behind_the_last_event_that_was_received(
    client: Client, local: httpx.AsyncClient
) -> None:
    async with opened(local, EVENTS, {}) as stream:
        await client.submit(greet, "Ada", id="order-1")
        last = (await stream.until(("order-1", "processed")))[-1].id
    await client.submit(greet, "Bob", id="order-2")
    await client.task("order-2").result(timeout=30)
    async with opened(local, EVENTS, {"Last-Event-ID": last}) as stream:
        found = await stream.until(("order-2", "processed"))
    assert all(event.id for event in found)


async def test_messages_without_an_event_keep_a_stream_alive_and_move_its_place(local: httpx.AsyncClient) -> None:
    async with opened(local, EVENTS, {}) as stream, asyncio.timeout(20):
        first, second = await anext(stream.events), await anext(stream.events)
    assert (first.name, first.data) == ("", "") and second.id > first.id


async def test_an_id_that_no_event_had_is_refused(local: httpx.AsyncClient) -> None:
    answer = await local.get(EVENTS, headers={"Last-Event-ID": "yesterday"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "Last-Event-ID"


async def test_more_changes_than_one_read_returns_are_sent_as_a_gap(
    client: Client, local: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changed_tasks, "MOST_CHANGES", 2)
    async with opened(local, EVENTS, {}) as stream, asyncio.timeout(30):
        await anext(stream.events)
        await client.submit_many(greet, [(str(number),) for number in range(5)])
        async for event in stream.events:
            if event.name == "gap":
                assert "list the tasks" in event.data
                return


async def test_only_tasks_in_scope_are_sent(client: Client, remote: httpx.AsyncClient, minted: Minted) -> None:
    headers = await minted("viewer", labels={"shop": "north"})
    async with opened(remote, EVENTS, headers) as stream:
        await client.submit(greet, "Ada", id="order-1")
        await client.submit(greet, "Bob", id="order-2", labels={"shop": "north"})
        found = await stream.until(("order-2", "processed"))
    assert {event.task[0] for event in found if event.name == "status"} == {"order-2"}


async def test_a_stream_shows_no_payload_to_who_may_not_see_it(
    client: Client, remote: httpx.AsyncClient, minted: Minted
) -> None:
    async with opened(remote, EVENTS, await minted("viewer")) as stream:
        await client.submit(order, "bad", id="order-1")
        found = await stream.until(("order-1", "error"))
    assert "secret-4711" not in str(found)


@pytest.mark.parametrize("path", [EVENTS, "/api/v1/tasks/order-1/events", "/live"])
async def test_a_stream_ends_within_five_seconds_of_its_tokens_revocation(
    client: Client, remote: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.undo()  # with the pauses that users have
    await client.submit(approval, id="order-1")
    text = await token_for(client, "ci", "viewer")
    async with opened(remote, path, bearer(text)) as stream:
        async with asyncio.timeout(20):
            await anext(stream.events)
        await session_of(client).store.operators.revoke_credential(text.split("_")[1], "test")
        async with asyncio.timeout(5):
            async for _ in stream.events:
                pass


async def test_a_principal_has_a_bounded_number_of_streams(
    client: Client, remote: httpx.AsyncClient, minted: Minted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_limits, "MOST_OF_PRINCIPAL", 1)
    ada, bob = await minted("viewer", "ada"), await minted("viewer", "bob")
    async with opened(remote, EVENTS, ada) as stream, asyncio.timeout(30):
        await anext(stream.events)
        refused: Any = await remote.get(EVENTS, headers=ada)
        assert refused.status_code == 429 and refused.headers["retry-after"] == "5"
        assert "streams: expected at most 1 of one principal" in refused.json()["detail"]
        async with opened(remote, EVENTS, bob) as other:
            assert other.status == 200
    async with opened(remote, EVENTS, ada) as stream:
        assert stream.status == 200
