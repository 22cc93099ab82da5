"""The application of the end-to-end tests: orders that are paid, refused, and long in coming."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from stepward import Agent, App, Supervision, Unrecoverable, step, wait_for, workflow
from stepward.store.contract import StepTransaction

SETTINGS: dict[str, Any] = {"lease": "1s", "supervisor_every": "50ms", "poll": "100ms"}
paid: list[str] = []
bank = Agent("bank")


@bank.operation(complete_by="20s")
async def pay(what: str) -> str:
    if what == "refused":
        raise Unrecoverable("no money")
    if what == os.environ.get("HANG"):
        print("hanging", flush=True)
        await asyncio.Event().wait()
    paid.append(what)
    return f"paid {what}"


@pay.undo
async def pay_back(result: str | None, what: str) -> None:
    paid.remove(what)


@step(transaction=True)
async def enter(transaction: StepTransaction, what: str) -> str:
    await transaction.execute("insert into entries values ($1)", [what])
    return what


@workflow(supervision=Supervision(threshold=2, then="undo"))
async def order(what: str) -> list[str]:
    first = await pay(what)
    return [first, await pay(f"{what} too")]


@workflow(supervision=Supervision(threshold=2, then="undo"))
async def failing_order(what: str) -> str:
    await pay(what)
    return await pay("refused")


@workflow
async def parent(what: str) -> list[str]:
    go = await wait_for("go", type=str)
    return [go, *await order(what)]


@workflow
async def bookkeeping(what: str) -> str:
    return await enter(what)


def application(store: str, **settings: Any) -> App:
    workflows: list[Any] = [order, failing_order, parent, bookkeeping]
    return App("shop", workflows=workflows, agents=[bank], store=store, **SETTINGS, **settings)


app = application(os.environ.get("STEPWARD_STORE", "sqlite:///never-made.db"))
