"""The application of the command line's tests."""

from __future__ import annotations

import asyncio
from typing import Any

from stepward import Agent, App, Supervision, Unrecoverable, wait_for, workflow

HOSTILE = "refused by \x1b[31mthe bank\x1b[0m\r\n\x1b]0;title\x07 of 日本 🙈👨‍👩‍👧"

payments = Agent("payments", concurrency=7)


@payments.operation()
async def charge(order: str, amount: int) -> dict[str, Any]:
    return {"charged": amount, "note": HOSTILE}


@charge.undo
async def refund(result: dict[str, Any] | None, order: str, amount: int) -> None:
    pass


@payments.operation()
async def decline(order: str) -> None:
    raise Unrecoverable(HOSTILE, code="declined")


@payments.operation(complete_by="20s")
async def hang(order: str) -> None:
    print("hanging", flush=True)
    await asyncio.Event().wait()


@workflow()
async def good(number: int, note: str = "") -> dict[str, Any]:
    return {"number": number, "charged": (await charge(note, number))["charged"]}


@workflow()
async def failing(order: str) -> None:
    await charge(order, 1)
    await decline(order)


@workflow(supervision=Supervision(then="undo"))
async def undoing(order: str) -> None:
    await charge(order, 1)
    await decline(order)


@workflow()
async def approval(order: str) -> Any:
    await charge(order, 1)
    return await wait_for("approved")


@workflow()
async def hanging(order: str) -> None:
    await hang(order)


app = App("shop", workflows=[good, failing, undoing, approval, hanging], agents=[payments])
not_an_app = 5
