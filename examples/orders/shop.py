"""The shop's side: orders are placed, followed and corrected here, through a client of Stepward's."""

from __future__ import annotations

from examples.orders import database
from examples.orders.database import Order, OrderState
from examples.orders.workflows import WORKFLOWS
from stepward import Client, TaskCancelled, TaskFailed, TaskHandle, TaskUndone


async def place(client: Client, order: Order) -> TaskHandle:
    """Insert the order and submit its task as one operation: both or neither, once per order."""
    async with client.transaction() as transaction:
        await database.insert_order(transaction, order)
        return await client.submit(
            WORKFLOWS[order.care], order.id, id=order.id, transaction=transaction, labels={"customer": order.customer}
        )


async def conclude(client: Client, handle: TaskHandle) -> OrderState:
    """Wait until the task ends, and note in the order what the workflow itself could not."""
    state = await _end(handle)
    if state is not OrderState.PROCESSED:
        async with client.transaction() as transaction:
            await database.set_state(transaction, handle.id, state)
    return state


async def correct_address(client: Client, handle: TaskHandle, address: str) -> None:
    """What an operator does about a parcel without an address: correct it, and resubmit the step that failed."""
    async with client.transaction() as transaction:
        await database.set_address(transaction, handle.id, address)
        await database.set_state(transaction, handle.id, OrderState.PROCESSING)
    await handle.resubmit(input=[handle.id, address])


async def _end(handle: TaskHandle) -> OrderState:
    try:
        await handle.result()
    except TaskUndone:
        return OrderState.UNDONE
    except TaskCancelled:
        return OrderState.CANCELLED
    except TaskFailed:
        return OrderState.ERROR
    return OrderState.PROCESSED
