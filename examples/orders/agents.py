"""The four Agents: each wraps one remote service, and says beside each operation what takes it back.

Where the services are comes from `ORDERS_STOCK_URL`, `ORDERS_PAYMENT_URL`, `ORDERS_PARCEL_URL` and
`ORDERS_MAIL_URL`. An Agent sends the step's stable idempotency key with every call, and to an undo the key of
what it undoes: none of that shows here, `HttpAgent` does it.
"""

from __future__ import annotations

import os
from typing import Any

from stepward import CircuitBreaker, HttpAgent, Retry

# Short, so that the demo need not wait: what takes longer is the Supervisor's affair.
COMPLETE_BY = "3s"
RETRY = Retry(attempts=3, initial="100ms", maximum="1s")
BREAKER = CircuitBreaker(failures=8, reset_after="500ms")


def _agent(name: str, port: int) -> HttpAgent:
    url = os.environ.get(f"ORDERS_{name.upper()}_URL", f"http://127.0.0.1:{port}")
    return HttpAgent(name, url, retry=RETRY, breaker=BREAKER)


stock = _agent("stock", 8101)
payment = _agent("payment", 8102)
parcel = _agent("parcel", 8103)
mail = _agent("mail", 8104)
AGENTS = (stock, payment, parcel, mail)


@stock.operation(complete_by=COMPLETE_BY)
async def reserve(order_id: str, product: str, quantity: int) -> str:
    """Put one product aside for an order; the reservation's number."""
    body = {"order_id": order_id, "product": product, "quantity": quantity}
    return await _reference(stock, "/reserve", body, "reservation_id")


@reserve.undo
async def release(reservation: str | None, order_id: str, product: str, quantity: int) -> None:
    """Put them back on the shelf."""
    await stock.post("/release", json={"order_id": order_id})


@payment.operation(complete_by=COMPLETE_BY)
async def charge(order_id: str, amount_cents: int) -> str:
    """Charge the customer's card; the charge's number."""
    body = {"order_id": order_id, "amount_cents": amount_cents}
    return await _reference(payment, "/charge", body, "charge_id")


@charge.undo
async def refund(charge_id: str | None, order_id: str, amount_cents: int) -> None:
    """Give the money back."""
    await payment.post("/refund", json={"order_id": order_id})


@parcel.operation(complete_by=COMPLETE_BY)
async def create(order_id: str, address: str) -> str:
    """Book a parcel; its tracking number."""
    return await _reference(parcel, "/create", {"order_id": order_id, "address": address}, "tracking")


@create.undo
async def call_off(tracking: str | None, order_id: str, address: str) -> None:
    """Call the parcel off."""
    await parcel.post("/cancel", json={"order_id": order_id})


@mail.operation(complete_by=COMPLETE_BY)
async def send(order_id: str, template: str) -> str:
    """Write to the customer; what is sent is sent, so it has no undo and comes last."""
    return await _reference(mail, "/send", {"order_id": order_id, "template": template}, "message_id")


async def _reference(agent: HttpAgent, path: str, body: dict[str, Any], name: str) -> str:
    answer = await agent.post(path, json=body)
    return str(answer[name])
