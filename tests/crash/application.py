"""The application that is killed: orders that are paid, refused, and slow, with a ledger for a remote service."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stepward import (
    Accepted,
    Agent,
    App,
    Backoff,
    Client,
    Message,
    Retry,
    Supervision,
    Unrecoverable,
    current_step,
    step,
    workflow,
)
from stepward.clock import Environment, failpoint_from
from tests.crash.ledger import Ledger

LEASE = 1.0
QUEUE = "orders"
REPLIES = "replies.crash.web"
COMPLETE_BY = 2.0
SETTINGS: dict[str, Any] = {"lease": LEASE, "supervisor_every": "100ms", "poll": "100ms", "drain": "5s"}
POLICY = Supervision(threshold=5, backoff=Backoff("100ms"), then="undo")

bank = Agent("bank", retry=Retry(attempts=1), concurrency=16)


def ledger() -> Ledger:
    return Ledger(os.environ["CRASH_LEDGER"])


@bank.operation(complete_by=COMPLETE_BY)
async def pay(what: str) -> str:
    """Take effect; ``what`` may ask for trouble on the first attempt."""
    now = current_step()
    if now.attempt == 1:
        await _trouble(what)
    if not ledger().do(now.idempotency_key, now.task_id, what):
        raise Unrecoverable("undone before it was done")
    return what


@pay.undo
async def pay_back(result: str | None, what: str) -> None:
    now = current_step()
    ledger().undo(now.idempotency_key, now.undoes or "", now.task_id, what)


@bank.operation(complete_by=COMPLETE_BY)
async def refuse() -> None:
    raise Unrecoverable("no money")


@bank.operation(complete_by="2s")
def pay_in_thread(what: str) -> str:
    now = current_step()
    if now.attempt == 1 and what == "stuck":
        threading.Event().wait()
    ledger().do(now.idempotency_key, now.task_id, what)
    return what


@step(transaction=True)
async def book(transaction: Any, task: str) -> None:
    await transaction.execute("insert into booked values ($1)", (task,))


@workflow(supervision=POLICY)
async def order(name: str) -> list[str]:
    done = [await pay("first")]
    await book(name)
    done += await asyncio.gather(pay("left"), pay("right"))
    return [*done, await pay("last")]


@workflow(supervision=POLICY)
async def refused(name: str) -> None:
    await pay("first")
    await pay("second")
    await pay("third")
    await refuse()


@workflow(supervision=POLICY)
async def slow(name: str, trouble: str = "hang") -> list[str]:
    return [await pay("first"), await pay(trouble), await pay("last")]


@workflow(supervision=POLICY)
async def stuck(name: str) -> list[str]:
    return [await pay_in_thread("stuck"), await pay("last")]


@workflow(supervision=POLICY)
async def parent(name: str) -> list[str]:
    return [await pay("first"), *await slow(name, "none")]


WORKFLOWS = (order, refused, slow, stuck, parent)


async def accept(message: Message, transaction: Any) -> Accepted:
    """A row of the shop's and a task for each message, which names its workflow."""
    name, *trouble = message.read(str).split(":")
    await transaction.execute("insert into placed values ($1)", (message.id,))
    if name == "poison":
        os._exit(137)
    return Accepted(name, message.id, *trouble)


def application(store: str, transport: str, failpoint: Callable[[str], None] | None = None) -> App:
    app = App(
        "crash",
        workflows=WORKFLOWS,
        agents=[bank],
        store=store,
        transport=transport,
        environment=Environment(failpoint=failpoint or failpoint_from(os.environ.get("STEPWARD_FAILPOINT"))),
        **SETTINGS,
    )
    app.submission(QUEUE, accept=accept)
    return app


async def submit(client: Client, workflow: str, id: str) -> None:
    """Submit ``WORKFLOW[:TROUBLE]`` under an id."""
    name, *trouble = workflow.split(":")
    await client.submit(name, id, *trouble, id=id)


async def _trouble(what: str) -> None:
    if what == "hang":
        await asyncio.get_running_loop().create_future()
    if what == "block" and _is_first(what):
        time.sleep(3 * LEASE)  # what must not be done in an async operation
    if what == "long":
        await asyncio.sleep(1.0)
    if what == "pause" and _is_first(what):
        print("stopping", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)


def _is_first(what: str) -> bool:
    """Whether no other Agent had this trouble: the request of one that stands still is soon another's."""
    mark = Path(f"{os.environ['CRASH_LEDGER']}.{what}")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
