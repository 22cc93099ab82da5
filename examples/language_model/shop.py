"""What the model may use: an operation that looks up an order, and one that refunds it after a person's approval."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from examples.language_model.books import Books
from stepward import Agent, current_step

LEASE = "1s"
"""Short, so that the example waits a second for a killed process and not ten."""

orders = Agent("orders")
approvals = Agent("approvals")


def books() -> Books:
    """The books of the services outside, which no killed process loses."""
    return Books(os.environ["LANGUAGE_MODEL_BOOKS"])


@orders.operation(complete_by="10s")
async def order_status(order: str) -> str:
    """Look up an order.

    Args:
        order: The order's number.
    """
    return f"{order}: delivered broken, paid 4200 cents"


@orders.operation(complete_by="30s")
async def refund(order: str, cents: int) -> str:
    """Pay money back for an order.

    Args:
        order: The order's number.
        cents: The amount in cents.
    """
    step = current_step()
    if books().count("refund asked", step.idempotency_key) == 1:
        await asyncio.Event().wait()  # The process is killed here, in the middle of the call.
    books().once("refund paid", step.idempotency_key)
    return f"refunded {cents} cents for {order}"


@refund.undo
async def take_back(result: str | None, order: str, cents: int) -> None:
    """Charge the amount again, for a task that is undone."""
    books().once("refund taken back", current_step().idempotency_key)


@approvals.operation(complete_by="1d")
async def ask_person(tool: str, arguments: dict[str, Any]) -> bool:
    """Ask a person, who answers with the completion token; here the token goes into a file."""
    step = current_step()
    books().post(step.completion_token)
    step.finish_later()
