"""The application whose tasks are recorded half done in the files of SQL beside it, and end after the migration.

Its code is what it was when they were recorded: a replay compares it with the records. Then, what is in ``STUCK`` did
not return, and the process was killed (``record.py``).
"""

from __future__ import annotations

import asyncio

from stepward import Agent, Supervision, Unrecoverable, wait_for, workflow

CALLS: list[str] = []
"""What operations and undos were called for."""
STUCK: set[str] = set()
"""Calls that do not return."""


async def _act(what: str, order: str) -> None:
    CALLS.append(f"{what} {order}")
    if CALLS[-1] in STUCK:
        await asyncio.Event().wait()


payments = Agent("payments")
parcels = Agent("parcels")


@payments.operation(complete_by="1h")
async def charge(order: str) -> str:
    await _act("charge", order)
    return f"charge-{order}"


@charge.undo
async def refund(result: str | None, order: str) -> None:
    await _act("refund", order)


@parcels.operation(complete_by="1h")
async def ship(order: str) -> str:
    await _act("ship", order)
    if order == "refused":
        raise Unrecoverable("no address to ship to")
    return f"parcel-{order}"


@workflow(supervision=Supervision(threshold=3, then="undo"))
async def fulfil(order: str) -> str:
    await charge(order)
    return await ship(order)


@workflow
async def approved(order: str) -> str:
    await charge(order)
    return await wait_for("approval", type=str)


@workflow
async def later(order: str) -> str:
    await charge(order)
    await asyncio.sleep(60)
    return await ship(order)


@workflow
async def parent(order: str) -> str:
    return await fulfil(order)
