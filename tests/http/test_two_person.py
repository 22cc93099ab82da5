"""The two-person rule: dangerous acts are proposed by one principal and carried out when another confirms them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepward import App, Client
from stepward.http.access import two_person
from stepward.model.states import TaskState
from stepward.payload import readable

from .conftest import Minted, approval, caller, greet, order, pay
from .test_api import in_state

TASK = "/api/v1/tasks/order-1"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    """An application at work, with the rule."""
    store = f"sqlite:///{tmp_path}/shop.db"
    app = App("shop", workflows=[greet, order, approval], agents=[pay], store=store, two_person=True)
    async with app.running():
        yield app


@pytest.fixture
async def remote(app: App) -> AsyncIterator[httpx.AsyncClient]:
    async with caller(app.asgi()) as client:
        yield client


@pytest.fixture
async def people(minted: Minted) -> tuple[dict[str, str], dict[str, str]]:
    return await minted("operator", "ada", payloads=True), await minted("operator", "bob", payloads=True)


@pytest.fixture
async def done(client: Client) -> None:
    await (await client.submit(greet, "Ada", id="order-1")).result(timeout=30)


async def proposed(remote: httpx.AsyncClient, headers: dict[str, str], act: str = "undo", **more: Any) -> str:
    answer = await remote.post(f"{TASK}/{act}", headers=headers, params={"reason": "the customer left"}, **more)
    assert answer.status_code == 202, answer.text
    assert answer.json()["proposal"] is not None
    return str(answer.json()["proposal"])


async def test_an_act_is_carried_out_when_another_person_confirms_it(
    remote: httpx.AsyncClient, client: Client, done: None, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, bob = people
    proposal = await proposed(remote, ada)
    assert (await client.task("order-1").status()).state is TaskState.PROCESSED
    (shown,) = (await remote.get(f"{TASK}/proposals", headers=bob)).json()
    assert (shown["id"], shown["verb"], shown["actor"]) == (proposal, "undo", "token:ada")
    assert shown["reason"] == "the customer left"
    alone = await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=ada)
    assert alone.status_code == 403 and "expected another person than token:ada" in alone.json()["detail"]
    confirmed = await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=bob)
    assert confirmed.status_code == 202 and confirmed.json()["proposal"] is None
    with pytest.raises(Exception, match="undone"):
        await client.task("order-1").result(timeout=30)
    (undo,) = [act for act in await client.audits("order-1") if act.act == "undo"]
    assert (undo.actor, readable(undo.details)) == (
        "token:bob",
        {"reason": "proposed by token:ada: the customer left"},
    )
    assert (await remote.get(f"{TASK}/proposals", headers=bob)).json() == []


async def test_of_two_confirmations_at_once_one_is_carried_out(
    remote: httpx.AsyncClient, client: Client, done: None, people: tuple[dict[str, str], dict[str, str]], minted: Minted
) -> None:
    proposal = await proposed(remote, people[0])
    eve = await minted("operator", "eve")
    answers = await asyncio.gather(
        *[remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=who) for who in (people[1], eve) * 3]
    )
    assert min(answer.status_code for answer in answers) == 202
    assert {answer.status_code for answer in answers} <= {202, 409, 412}
    assert len([act for act in await client.audits("order-1") if act.act == "undo"]) == 1


async def test_a_proposal_for_a_task_that_has_changed_is_not_open(
    remote: httpx.AsyncClient, client: Client, people: tuple[dict[str, str], dict[str, str]], minted: Minted
) -> None:
    ada, bob = people
    await client.submit(approval, id="order-1")
    await in_state(remote_as(remote, bob), "order-1", "waiting")
    proposal = await proposed(remote, ada, "cancel")
    await client.task("order-1").signal("approved", 1)
    assert await client.task("order-1").result(timeout=30) == 1
    late = await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=bob)
    assert late.status_code == 409 and "expected an open one of this task" in late.json()["detail"]
    assert (await client.task("order-1").status()).state is TaskState.PROCESSED


async def test_a_proposal_expires(
    remote: httpx.AsyncClient,
    done: None,
    people: tuple[dict[str, str], dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(two_person, "OPEN_SECONDS", -1.0)
    proposal = await proposed(remote, people[0])
    assert (await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=people[1])).status_code == 409
    assert (await remote.get(f"{TASK}/proposals", headers=people[1])).json() == []


async def test_a_result_by_hand_is_recorded_as_it_was_proposed(
    remote: httpx.AsyncClient, client: Client, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, bob = people
    await client.submit(order, "bad", id="order-1")
    await in_state(remote_as(remote, ada), "order-1", "error")
    body = {"step": "pay.charge/1", "result": "by hand"}
    proposal = await proposed(remote, ada, "mark-done", json=body)
    assert (await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=bob)).status_code == 202
    assert await client.task("order-1").result(timeout=30) == "by hand"


async def test_a_resubmit_that_undoes_steps_first_is_carried_out_as_it_was_proposed(
    remote: httpx.AsyncClient, client: Client, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, bob = people
    await client.submit(order, "bad", id="order-1")
    await in_state(remote_as(remote, ada), "order-1", "error")
    body = {"step": "pay.charge/1", "input": ["good"], "later": "undo"}
    proposal = await proposed(remote, ada, "resubmit", json=body)
    assert (await client.task("order-1").status()).state is TaskState.ERROR
    assert (await remote.post(f"{TASK}/proposals/{proposal}/confirm", headers=bob)).status_code == 202
    assert await client.task("order-1").result(timeout=30) == "charged good"


async def test_what_the_state_forbids_is_not_even_proposed(
    remote: httpx.AsyncClient, client: Client, done: None, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, _ = people
    assert (await remote.post(f"{TASK}/cancel", headers=ada)).status_code == 409
    stale = await remote.post(f"{TASK}/undo", headers=ada | {"If-Match": '"another"'})
    assert stale.status_code == 412
    assert [act for act in await client.audits("order-1") if act.act == "propose"] == []


async def test_acts_that_take_nothing_back_need_no_second_person(
    remote: httpx.AsyncClient, client: Client, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, _ = people
    await client.submit(approval, id="order-1")
    await in_state(remote_as(remote, ada), "order-1", "waiting")
    assert (await remote.post(f"{TASK}/suspend", headers=ada)).json()["proposal"] is None
    await in_state(remote_as(remote, ada), "order-1", "suspended")


@pytest.mark.parametrize("act", [{"verb": "undo"}, {"verb": "resubmit", "later": "undo"}])
async def test_guarded_acts_in_bulk_are_refused(
    remote: httpx.AsyncClient,
    client: Client,
    done: None,
    people: tuple[dict[str, str], dict[str, str]],
    act: dict[str, str],
) -> None:
    ada, _ = people
    act = act | {"where": "state = 'processed'"}
    preview = (await remote.post("/api/v1/batches/preview", headers=ada, json=act)).json()["preview"]
    refused = await remote.post("/api/v1/batches", headers=ada, json=act | {"preview": preview, "confirm": 1})
    assert refused.status_code == 403 and "two-person rule" in refused.json()["detail"]
    assert (await client.task("order-1").status()).state is TaskState.PROCESSED


async def test_the_reason_of_a_proposal_is_hidden_like_a_payload(
    remote: httpx.AsyncClient, done: None, people: tuple[dict[str, str], dict[str, str]], minted: Minted
) -> None:
    await proposed(remote, people[0])
    for path in ("proposals", "audit"):
        shown = (await remote.get(f"{TASK}/{path}", headers=people[1])).text
        hidden = (await remote.get(f"{TASK}/{path}", headers=await minted("viewer", f"eve-{path}"))).text
        assert "the customer left" in shown and "the customer left" not in hidden, path


def remote_as(remote: httpx.AsyncClient, headers: dict[str, str]) -> Any:
    """The caller in the name of a principal."""

    class Signed:
        async def get(self, path: str) -> httpx.Response:
            return await remote.get(path, headers=headers)

    return Signed()


async def test_a_fork_that_undoes_steps_of_its_origin_is_refused(
    remote: httpx.AsyncClient, client: Client, people: tuple[dict[str, str], dict[str, str]]
) -> None:
    ada, _ = people
    await (await client.submit("order", "good", id="order-1")).result(timeout=30)
    asked = {"from_step": "pay.charge/1", "id": "order-2", "undo_later": True}
    refused = await remote.post(f"{TASK}/fork", headers=ada, json=asked)
    assert refused.status_code == 409 and "where an undo needs a second person" in refused.json()["detail"]
    kept = await remote.post(f"{TASK}/fork", headers=ada, json=asked | {"undo_later": False})
    assert kept.status_code == 202, kept.text
