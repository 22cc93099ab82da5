"""The remote services of the order example: one effect per idempotency key."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.shop.services.process import ServiceProcess
from servers.keeper.process import Process, ProcessDied, Upkeep
from tests.examples.service_calls import CHARGE, Start, assert_problem, post
from tests.tiers import sampled

pytestmark = pytest.mark.servers

FORWARD: dict[str, tuple[str, str, dict[str, Any], str | None]] = {
    "stock": ("reserve", "reservation_id", {"product": "teapot", "quantity": 2}, "release"),
    "payment": ("charge", "charge_id", {"amount_cents": 4200}, "refund"),
    "parcel": ("create", "tracking", {"address": "Harbour Street 5"}, "cancel"),
    "mail": ("send", "message_id", {"template": "thanks"}, None),
}


@pytest.mark.parametrize("name", sampled(FORWARD, "payment"))
async def test_acts_and_keeps_a_ledger(start_service: Start, name: str) -> None:
    action, reference, details, _ = FORWARD[name]
    service = await start_service(name)
    response = await post(service, action, {"order_id": "order-1", **details})
    assert response.status_code == 200
    assert response.json() == {reference: f"{name}-000001"}
    [effect] = await service.ledger()
    assert datetime.fromisoformat(effect.pop("at")) <= datetime.now(UTC)
    assert effect == {
        "number": 1,
        "key": "key-1",
        "action": action,
        "order_id": "order-1",
        "details": details,
        "undoes": None,
    }


@pytest.mark.parametrize("name", sampled(("stock", "payment", "parcel"), "payment"))
async def test_undoes_once(start_service: Start, name: str) -> None:
    action, _, details, undo = FORWARD[name]
    assert undo is not None
    service = await start_service(name)
    await post(service, action, {"order_id": "order-1", **details})
    for key in ("undo-1", "undo-1", "undo-2"):
        response = await post(service, undo, {"order_id": "order-1"}, key, Stepward_Undoes="key-1")
        assert (response.status_code, response.json()) == (200, {"undone": True})
    done, undone = await service.ledger()
    assert (undone["action"], undone["undoes"], undone["details"]) == (undo, done["key"], details)


async def test_an_undo_must_name_an_effect_of_its_order(payment: ServiceProcess) -> None:
    await post(payment, "charge", CHARGE)
    other = await post(payment, "refund", {"order_id": "order-2"}, "undo-1", Stepward_Undoes="key-1")
    assert_problem(other, 409, "no effect of this order")
    assert len(await payment.ledger()) == 1


async def test_repeats_the_answer_and_not_the_effect(payment: ServiceProcess) -> None:
    responses = await asyncio.gather(*(post(payment, "charge", CHARGE) for _ in range(20)))
    assert {(response.status_code, response.text) for response in responses} == {
        (200, '{"charge_id":"payment-000001"}')
    }
    assert len(await payment.ledger()) == 1
    assert await payment.deliveries() == {"key-1": 20}


async def test_a_quoted_key_is_the_same_key(payment: ServiceProcess) -> None:
    await post(payment, "charge", CHARGE)
    await post(payment, "charge", CHARGE, '"key-1"')
    assert await payment.deliveries() == {"key-1": 2}


async def test_a_key_belongs_to_one_request(payment: ServiceProcess) -> None:
    await post(payment, "charge", CHARGE)
    assert_problem(await post(payment, "charge", {**CHARGE, "amount_cents": 1}), 422)
    assert_problem(await post(payment, "refund", {"order_id": "order-1"}, Stepward_Undoes="key-1"), 422)
    assert len(await payment.ledger()) == 1


async def test_refuses_what_was_undone_before_it_arrived(payment: ServiceProcess) -> None:
    for undo_key in ("undo-1", "undo-2"):
        undo = await post(payment, "refund", {"order_id": "order-1"}, undo_key, Stepward_Undoes="key-1")
        assert (undo.status_code, undo.json()) == (200, {"undone": False})
    for _ in range(2):
        assert_problem(await post(payment, "charge", CHARGE), 410)
    assert await payment.ledger() == []


async def test_stock_runs_out_and_comes_back(start_service: Start) -> None:
    stock = await start_service("stock", stock={"teapot": 3})
    order = {"order_id": "order-1", "product": "teapot", "quantity": 2}
    assert (await post(stock, "reserve", order, "first")).status_code == 200
    assert_problem(await post(stock, "reserve", order, "second"), 409, "not enough stock")
    assert_problem(await post(stock, "reserve", {**order, "product": "unicorn"}, "third"), 409)
    await post(stock, "release", {"order_id": "order-1"}, "undo", Stepward_Undoes="first")
    assert_problem(await post(stock, "reserve", order, "second"), 409, "not enough stock")
    assert (await post(stock, "reserve", {**order, "quantity": 3}, "fourth")).status_code == 200


async def test_late_is_refused(payment: ServiceProcess) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    future = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    assert_problem(await post(payment, "charge", CHARGE, Stepward_Complete_By=past), 408)
    assert await payment.ledger() == []
    assert (await post(payment, "charge", CHARGE, Stepward_Complete_By=future)).status_code == 200


async def test_says_what_is_wrong_with_a_request(payment: ServiceProcess) -> None:
    assert_problem(await post(payment, "charge", CHARGE, key=None), 400, "Idempotency-Key")
    assert_problem(await post(payment, "charge", CHARGE, "k" * 501), 400, "Idempotency-Key")
    assert_problem(await post(payment, "refund", {"order_id": "order-1"}), 400, "Stepward-Undoes")
    assert_problem(await post(payment, "charge", CHARGE, Stepward_Complete_By="soon"), 400, "RFC3339")
    assert_problem(await post(payment, "charge", {**CHARGE, "amount_cents": "4"}), 400, "$.amount_cents")
    assert_problem(await post(payment, "charge", {**CHARGE, "tip": 1}), 400, "tip")
    assert_problem(await post(payment, "charge", "x" * 1024 * 1024), 413)
    assert_problem(await post(payment, "reserve", CHARGE), 404, "charge, refund")
    assert_problem(await post(payment, "no/such/path", CHARGE), 404)
    assert (await payment.ledger(), await payment.deliveries()) == ([], {})


async def test_health(payment: ServiceProcess) -> None:
    async with httpx.AsyncClient(base_url=payment.url, trust_env=False) as client:
        assert (await client.get("/health")).json() == {"service": "payment", "status": "ok"}


async def test_listens_at_the_given_port(tmp_path: Path) -> None:
    place = ["mail", "--host", "127.0.0.2", "--ledger", str(tmp_path / "mail.db")]
    process = Process("mail", "examples.shop.services", *place, port=0)
    async with process as mail, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.get(f"http://127.0.0.2:{mail.port}/health")).status_code == 200
        with pytest.raises(httpx.ConnectError):
            await client.get(f"http://127.0.0.1:{mail.port}/health")


async def test_restarts_only_what_died_unasked(start_process: Start) -> None:
    mail = await start_process("mail", upkeep=Upkeep(restarting=True))
    url = mail.url
    os.kill(mail.pid, signal.SIGKILL)
    await mail.started(2)
    assert mail.url == url
    assert await mail.kill() == -signal.SIGKILL
    assert mail.starts == 2
    await mail.restart()
    assert (mail.starts, await mail.ledger()) == (3, [])
    assert await mail.terminate() == 0


async def test_a_service_that_cannot_start_reports_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    service = ServiceProcess("stock", tmp_path / "stock.db", stock={"teapot": -1})
    with pytest.raises(ProcessDied, match="stock exited with 2 before it was ready"):
        await service.start()
    assert "argument --stock: Expected `int` >= 0" in capfd.readouterr().err
