"""The shop of these tests: two versions of one workflow, of which the file ``CODE`` says what a process declares.

Each step stops at a gate that the test holds, which is at once the ledger of what was done.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from stepward import Accepted, Agent, App, Message, Supervision, current_step, workflow
from stepward.errors import ServiceUnavailable
from stepward.store.contract import Transaction

bank = Agent("bank", concurrency=10)


async def through_the_gate(step: str, what: str, version: str) -> str:
    try:
        reader, writer = await asyncio.open_unix_connection(os.environ["GATE"])
    except OSError:
        raise ServiceUnavailable("the gate is closed for good") from None
    told = {"step": step, "what": what, "version": version, "pid": os.getpid(), "key": current_step().idempotency_key}
    writer.write(f"{json.dumps(told)}\n".encode())
    let_through = await reader.readline()
    writer.close()
    if not let_through:
        raise ServiceUnavailable("turned away")
    return f"{step} {version}"


@bank.operation(complete_by="8s")
async def pay(what: str, version: str) -> str:
    return await through_the_gate("pay", what, version)


@bank.operation(complete_by="8s")
async def insure(what: str, version: str) -> str:
    return await through_the_gate("insure", what, version)


@bank.operation(complete_by="8s")
async def ship(what: str, version: str) -> str:
    return await through_the_gate("ship", what, version)


@workflow(name="order", version="1", supervision=Supervision(threshold=5))
async def old_order(what: str) -> list[str]:
    return [await pay(what, "1"), await ship(what, "1")]


@workflow(name="order", version="2", supervision=Supervision(threshold=5))
async def new_order(what: str) -> list[str]:
    return [await pay(what, "2"), await insure(what, "2"), await ship(what, "2")]


DECLARED: dict[str, list[Any]] = {"old": [old_order], "new": [new_order], "both": [old_order, new_order]}
app = App("shop", workflows=DECLARED[Path(os.environ["CODE"]).read_text()], agents=[bank])


async def accept(message: Message, transaction: Transaction) -> Accepted:
    return Accepted("order", message.id)


app.submission("orders", accept=accept)
