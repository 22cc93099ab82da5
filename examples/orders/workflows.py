"""What it takes to fulfil an order: one function, and three answers to a step that will not go through."""

from __future__ import annotations

from examples.orders import agents, database
from examples.orders.database import OrderCare, OrderRecord, OrderState
from stepward import Backoff, LongWait, StepTransaction, Supervision, step, workflow

SOON = Backoff("200ms", maximum="1s")


@step(transaction=True)
async def begin(connection: StepTransaction, order_id: str) -> OrderRecord:
    """Read the order, and note that work on it has begun."""
    await database.set_state(connection, order_id, OrderState.PROCESSING)
    return await database.read_order(connection, order_id)


@step(transaction=True)
async def finish(connection: StepTransaction, order_id: str, tracking: str) -> None:
    """Note that the order is on its way; the row and this step's outcome commit together."""
    await database.set_state(connection, order_id, OrderState.PROCESSED)
    await database.set_tracking(connection, order_id, tracking)


@workflow(supervision=Supervision(threshold=12, backoff=SOON, then="undo"))
async def fulfil_order(order_id: str) -> str:
    """The usual way: repeat what fails, and past the threshold take everything back."""
    return await _fulfil(order_id)


@workflow(supervision=Supervision(threshold=1, backoff=SOON, then=LongWait("2s", times=10, then="undo")))
async def fulfil_patiently(order_id: str) -> str:
    """For customers who would rather wait: past the threshold wait long, and try again."""
    return await _fulfil(order_id)


@workflow(complete_by="10m", supervision=Supervision(threshold=12, backoff=SOON, then="alert", at_deadline="repeat"))
async def fulfil_personally(order_id: str) -> str:
    """For customers who must not be turned away: keep what is done, and call an operator.

    One that takes longer than ten minutes is treated as the pattern has it: a failure more, a new deadline, and any
    Scheduler goes on with it, up to the threshold.
    """
    return await _fulfil(order_id)


WORKFLOWS = {
    OrderCare.NORMAL: fulfil_order,
    OrderCare.PATIENT: fulfil_patiently,
    OrderCare.PERSONAL: fulfil_personally,
}


async def _fulfil(order_id: str) -> str:
    order = await begin(order_id)
    for line in order.lines:
        await agents.reserve(order_id, line.product, line.quantity)
    await agents.charge(order_id, order.amount_cents)
    tracking = await agents.create(order_id, order.address)
    await finish(order_id, tracking)
    await agents.send(order_id, "on-its-way")
    return tracking
