"""The faults that the remote services of the order example can be set to have."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from examples.shop.services.process import ServiceProcess
from servers.keeper.process import Upkeep
from tests.examples.service_calls import CHARGE, Start, assert_problem, hits, post
from tests.tiers import nightly

pytestmark = pytest.mark.servers


async def test_down_until_switched_off(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "down"}])
    for _ in range(3):
        response = await post(payment, "charge", CHARGE)
        assert_problem(response, 503)
        assert response.headers["retry-after"] == "1"
    [fault] = await payment.faults()
    assert (fault["times"], fault["hits"]) == (None, 3)
    async with httpx.AsyncClient(base_url=payment.url, trust_env=False) as client:
        assert (await client.delete("/faults")).status_code == 204
    assert await payment.faults() == []
    assert (await post(payment, "charge", CHARGE)).status_code == 200
    assert await payment.deliveries() == {"key-1": 4}


async def test_flaky_strikes_each_third(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "flaky", "rate": 1 / 3}])
    answers = [(await post(payment, "charge", CHARGE)).status_code for _ in range(9)]
    assert answers == [200, 200, 503] * 3
    assert await hits(payment) == [3]


async def test_declined_for_one_order_and_action(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "declined", "order_id": "order-1", "action": "charge", "times": 1}])
    assert (await post(payment, "charge", {**CHARGE, "order_id": "order-2"}, "other")).status_code == 200
    assert_problem(await post(payment, "charge", CHARGE), 402, "card declined")
    assert len(await payment.ledger()) == 1
    assert (await post(payment, "charge", CHARGE)).status_code == 200
    [fault] = await payment.faults()
    assert (fault["times"], fault["hits"]) == (0, 1)


async def test_slow_answers_late(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "slow", "seconds": 0.2, "times": 1}])
    response = await post(payment, "charge", CHARGE)
    assert (response.status_code, response.elapsed >= timedelta(seconds=0.2)) == (200, True)


async def test_slow_past_the_complete_by_does_nothing(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "slow", "seconds": 1.5}])
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    assert_problem(await post(payment, "charge", CHARGE, Stepward_Complete_By=soon), 408)
    assert (await payment.ledger(), await hits(payment)) == ([], [1])


async def test_a_slow_request_undone_meanwhile_comes_too_late(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "slow", "seconds": 1, "action": "charge"}])
    charge, undo = await asyncio.gather(
        post(payment, "charge", CHARGE),
        post(payment, "refund", {"order_id": "order-1"}, "undo-1", Stepward_Undoes="key-1"),
    )
    assert_problem(charge, 410)
    assert undo.json() == {"undone": False}
    assert (await payment.ledger(), await hits(payment)) == ([], [1])


async def test_hang_gives_no_answer(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "hang", "times": 1}])
    with pytest.raises(httpx.ReadTimeout):
        await post(payment, "charge", CHARGE, timeout=1)
    assert (await payment.ledger(), await hits(payment)) == ([], [1])
    assert (await post(payment, "charge", CHARGE)).status_code == 200


@pytest.mark.parametrize("fault", [{"kind": "hang"}, nightly({"kind": "slow", "seconds": 3600})])
async def test_waiting_requests_do_not_keep_a_service_from_stopping(
    payment_process: ServiceProcess, fault: dict[str, Any]
) -> None:
    await payment_process.put_faults([fault])
    waiting = asyncio.create_task(post(payment_process, "charge", CHARGE))
    done, _ = await asyncio.wait({waiting}, timeout=1)
    assert (done, await hits(payment_process)) == (set(), [1])
    assert await payment_process.terminate() == 0
    with pytest.raises(httpx.TransportError):
        await waiting
    await payment_process.restart()
    assert await payment_process.ledger() == []


async def test_answer_lost_leaves_the_effect(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "answer_lost", "times": 1}])
    with pytest.raises(httpx.RemoteProtocolError):
        await post(payment, "charge", CHARGE)
    assert (len(await payment.ledger()), await hits(payment)) == (1, [1])
    assert (await post(payment, "charge", CHARGE)).json() == {"charge_id": "payment-000001"}
    assert len(await payment.ledger()) == 1


async def test_a_crash_keeps_the_effect(payment_process: ServiceProcess) -> None:
    await payment_process.put_faults([{"kind": "crash", "times": 1}])
    url, pid = payment_process.url, payment_process.pid
    with pytest.raises(httpx.TransportError):
        await post(payment_process, "charge", CHARGE)
    assert await payment_process.exited() == 137
    await payment_process.restart()
    assert (payment_process.url, payment_process.pid != pid) == (url, True)
    assert (await post(payment_process, "charge", CHARGE)).json() == {"charge_id": "payment-000001"}
    assert (len(await payment_process.ledger()), await payment_process.deliveries()) == (1, {"key-1": 2})
    assert await hits(payment_process) == [1]


async def test_the_rest_of_a_crash_fault_survives_the_crash(start_process: Start) -> None:
    payment = await start_process("payment", upkeep=Upkeep(restarting=True))
    await payment.put_faults([{"kind": "crash", "times": 2}])
    for starts in (2, 3):
        with pytest.raises(httpx.TransportError):
            await post(payment, "charge", CHARGE)
        await payment.started(starts)
    assert (await post(payment, "charge", CHARGE)).status_code == 200
    assert (len(await payment.ledger()), await hits(payment)) == (1, [2])


async def test_the_first_fault_that_strikes_wins(payment: ServiceProcess) -> None:
    await payment.put_faults([{"kind": "flaky", "rate": 0.5, "times": 1}, {"kind": "declined", "times": 2}])
    answers = [(await post(payment, "charge", CHARGE)).status_code for _ in range(4)]
    assert answers == [402, 503, 402, 200]
    assert await hits(payment) == [1, 2]


async def test_says_what_is_wrong_with_a_fault(payment: ServiceProcess) -> None:
    malformed: list[tuple[dict[str, Any], str]] = [
        ({"kind": "lazy"}, "lazy"),
        ({"kind": "down", "times": 0}, ">= 1"),
        ({"kind": "slow"}, "a slow fault needs `seconds`"),
        ({"kind": "down", "seconds": 1}, "a down fault has no `seconds`"),
        ({"kind": "flaky"}, "a flaky fault needs `rate`"),
        ({"kind": "flaky", "rate": 1.5}, "<= 1"),
        ({"kind": "down", "action": "reserve"}, "use *, charge, refund"),
        ({"kind": "down", "order": "order-1"}, "unknown field"),
    ]
    for fault, words in malformed:
        with pytest.raises(ValueError, match="malformed faults") as refusal:
            await payment.put_faults([{"kind": "hang"}, fault])
        assert words in str(refusal.value)
        assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="at most"):
        await payment.put_faults([{"kind": "down"}] * 1001)
    assert await payment.faults() == []
