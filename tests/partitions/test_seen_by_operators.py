"""The console, the API and the commands show one application, and say which part is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from stepward import App, wait_for, workflow
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.model.records import Alert, Audit
from stepward.store.partitions.placement import initial_shards, shard_of


@workflow
async def patient() -> object:
    return await wait_for("go")


def ids_of(partition: int, count: int) -> list[str]:
    shards = initial_shards(2)[partition - 1]
    return [id for number in range(40 * count) if shard_of(id := f"order-{number}") in shards][:count]


@pytest.fixture
def stores(tmp_path: Path) -> list[str]:
    return [f"sqlite:///{tmp_path / name}.db" for name in ("a", "b")]


async def test_pages_and_the_api_show_all_partitions_and_name_a_missing_one(stores: list[str], tmp_path: Path) -> None:
    app = App("tools", workflows=[patient], store=stores)
    ids = [*ids_of(1, 2), *ids_of(2, 2)]
    async with app.running(partitions=["p1"]), app.client() as client:
        for id in ids:
            await client.submit(patient, id=id)
    application = app.asgi(local_admin=True)
    transport = httpx.ASGITransport(application)
    async with application, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321") as browser:
        listed = await browser.get("/api/v1/tasks")
        assert {task["id"] for task in listed.json()["tasks"]} == set(ids)
        assert "stepward-missing-partitions" not in listed.headers
        names = ("", "tasks", "alerts", "agents", "instances", "limits", "schedules", "dead-letters", "batches")
        for path in (*(f"/{name}" for name in names), *(f"/tasks/{id}" for id in ids)):
            page = await browser.get(path, follow_redirects=True)
            assert page.status_code == 200, (path, page.text[:2000])
        page = await browser.get("/tasks")
        assert all(id in page.text for id in ids)
        assert (await browser.get("/metrics")).status_code == 200


async def test_alerts_and_dead_letters_of_every_partition_are_acted_on_by_their_numbers(stores: list[str]) -> None:
    app = App("tools", workflows=[patient], store=stores)
    async with app.client() as client:
        whole: Any = session_of(client).store
        for member in whole.partitions.members:
            await member.store.host.warn(Alert(kind="internal", message=member.name))
            await member.store.messages.put("replies.tools.web", [(b"[]", None)])
        messages = await whole.messages.read("replies.tools.web", 0, 10)
        await whole.messages.bury("replies.tools.web", [(message.token, "no event") for message in messages])
    application = app.asgi(local_admin=True)
    transport = httpx.ASGITransport(application)
    async with application, httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8321/api/v1") as browser:

        async def numbers(listed: str) -> list[int]:
            return sorted(row["number"] for row in (await browser.get(listed)).json())

        letters, alerts = await numbers("dead-letters"), await numbers("alerts")
        assert letters == [1, 10**12 + 1] and set(letters) <= set(alerts)
        of_none = 5 * 10**12 + 1
        assert (await browser.post(f"alerts/{of_none}/acknowledge")).status_code == 404
        gone = await browser.post("dead-letters/discard", json={"numbers": [of_none]})
        assert gone.json() == {"numbers": []}
        assert (await numbers("dead-letters"), await numbers("alerts")) == (letters, alerts)
        for number in alerts:
            assert (await browser.post(f"alerts/{number}/acknowledge")).status_code == 204
        gone = await browser.post("dead-letters/discard", json={"numbers": letters})
        assert sorted(gone.json()["numbers"]) == letters
        assert (await numbers("dead-letters"), await numbers("alerts")) == ([], [])


def test_a_schedule_is_not_created_in_one_store_alone(stores: list[str]) -> None:
    async def register() -> None:
        async with App("tools", workflows=[patient], store=stores).running():
            pass

    asyncio.run(register())
    words = ["schedules", "create", "nightly", "patient", "--every", "1h"]
    refused = CliRunner().invoke(cli, [*words, "--store", stores[1]])
    assert refused.exit_code == 2 and "found p2 alone" in refused.stderr
    made = CliRunner().invoke(cli, [*words, *(word for store in stores for word in ("--store", store))])
    assert made.exit_code == 0, made.output


async def test_an_act_that_is_recorded_on_a_task_stands_in_the_audit_of_that_task(stores: list[str]) -> None:
    app = App("tools", workflows=[patient], store=stores)
    ids = [*ids_of(1, 1), *ids_of(2, 1)]
    async with app.client() as client:
        uids = [(await (await client.submit(patient, id=id)).status()).uid for id in ids]
    async with app.client() as client:
        proposed = [Audit(actor="ada", act="propose", task=uid) for uid in uids]
        await session_of(client).store.operators.record_acts([*proposed, Audit(actor="ada", act="read")])
        for id, uid in zip(ids, uids, strict=True):
            assert [(act.act, act.task) for act in await client.audits(id) if act.actor == "ada"] == [("propose", uid)]
        assert len([act for act in await client.audits() if act.actor == "ada"]) == 3


def test_a_partition_that_is_down_is_named_beside_what_the_others_have(stores: list[str], tmp_path: Path) -> None:
    runner = CliRunner()
    options = [word for store in stores for word in ("--store", store)]
    (tmp_path / "shop.py").write_text(
        "from stepward import App, workflow, wait_for\n"
        "@workflow\nasync def patient() -> None:\n    await wait_for('go')\n"
        f"app = App('tools', workflows=[patient], store={stores!r})\n"
    )
    assert runner.invoke(cli, ["migrate", f"{tmp_path / 'shop.py'}:app"]).exit_code == 0
    for id in (*ids_of(1, 1), *ids_of(2, 1)):
        done = runner.invoke(cli, ["submit", f"{tmp_path / 'shop.py'}:app", "patient", "--id", id])
        assert done.exit_code == 0, done.output
    found = runner.invoke(cli, ["tasks", *options, "--json"])
    assert all(id in found.stdout for id in (*ids_of(1, 1), *ids_of(2, 1)))
    (tmp_path / "b.db").rename(tmp_path / "away.db")
    (tmp_path / "b.db").mkdir()
    found = runner.invoke(cli, ["tasks", *options])
    assert found.exit_code == 0, found.output
    assert ids_of(1, 1)[0] in found.stdout
    assert "p2 is missing here" in found.stderr
    wrong = runner.invoke(cli, ["tasks", "--store", stores[1], "--store", stores[0]])
    assert wrong.exit_code == 2
    assert "in the order p1, p2, found p1" in wrong.stderr
    refused = runner.invoke(cli, ["audit", "verify", *options])
    assert refused.exit_code == 2
    assert len(refused.stderr.strip().splitlines()) == 1
