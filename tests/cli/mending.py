"""Workflows that end in every kind of trouble, for the tests of what `show` says to do next."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from stepward import Agent, App, Retry, StepFailed, Supervision, Unrecoverable, side_effect, wait_for, workflow

payments = Agent("payments", retry=Retry(attempts=1))
quick = Supervision(threshold=0)


@payments.operation()
async def charge(order: str) -> str:
    return "charged"


@charge.undo
async def refund(result: str | None, order: str) -> None:
    if order == "stuck":
        raise Unrecoverable("no refund today")


@payments.operation()
async def decline(order: str) -> str:
    raise Unrecoverable("declined")


@payments.operation(complete_by="100ms")
async def hang(order: str) -> str:
    await asyncio.Event().wait()
    return "never"


@hang.undo
async def unhang(result: str | None, order: str) -> None:
    pass


@payments.operation(complete_by="100ms")
async def hang_for_good(order: str) -> str:
    await asyncio.Event().wait()
    return "never"


@payments.operation(irreversible=True)
async def seal(order: str) -> str:
    return "sealed"


@workflow(supervision=quick)
async def refused(order: str) -> str:
    await charge(order)
    return await decline(order)


@workflow(supervision=quick)
async def caught(order: str) -> str:
    try:
        return await decline(order)
    except StepFailed:
        await charge(order)
        raise


@workflow(supervision=quick)
async def raised_anew(order: str) -> str:
    try:
        return await decline(order)
    except StepFailed:
        await charge(order)
        raise StepFailed("nobody takes the order") from None


@workflow(supervision=quick)
async def in_doubt(order: str) -> str:
    return await hang(order)


@workflow(supervision=quick)
async def in_doubt_for_good(order: str) -> str:
    return await hang_for_good(order)


@workflow(supervision=quick)
async def bug(order: str) -> str:
    await charge(order)
    raise KeyError("typo")


@workflow(supervision=Supervision(threshold=0, then="undo"))
async def stuck(order: str) -> str:
    await charge("stuck")
    return await decline(order)


@workflow(supervision=Supervision(threshold=0, then="undo"))
async def sealed(order: str) -> str:
    await seal(order)
    return await decline(order)


@workflow(complete_by="200ms", supervision=quick)
async def late(order: str) -> str:
    await charge(order)
    return await wait_for("never", type=str)


@workflow(supervision=quick)
async def unreadable(order: str) -> Any:
    return await wait_for("approved", type=int)


@workflow(supervision=quick)
async def parent(order: str) -> str:
    return await refused(order)


@workflow(supervision=quick)
async def parent_of_undone(order: str) -> str:
    return await refused(order)


@workflow
async def waiting(order: str) -> Any:
    return await wait_for("approved")


@workflow
async def suspended(order: str) -> Any:
    return await wait_for("approved")


DEPLOYS = itertools.count()


@workflow
async def stopped(order: str) -> Any:
    if next(DEPLOYS):
        return await wait_for("agreed")
    side_effect(lambda: order)
    return await wait_for("approved")


WORKFLOWS = [
    refused,
    caught,
    raised_anew,
    in_doubt,
    in_doubt_for_good,
    bug,
    stuck,
    sealed,
    late,
    unreadable,
    parent,
    parent_of_undone,
    waiting,
    suspended,
    stopped,
]
app = App("mending", workflows=WORKFLOWS, agents=[payments])
