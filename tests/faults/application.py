"""The application whose brokers are hurt: orders that are paid, refused and slow, with a ledger for a remote service.

Its actors run in one process, each part with a connection of its own, or in processes of their own.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

from stepward import Agent, App, Backoff, Retry, Supervision, Unrecoverable, current_step, workflow
from tests.crash.ledger import Ledger

LEASE = 2.0
SETTINGS: dict[str, Any] = {"lease": LEASE, "supervisor_every": "100ms", "poll": "100ms", "drain": "2s"}
POLICY = Supervision(threshold=8, backoff=Backoff("50ms", maximum="100ms"), then="undo")
STATES = {"order": "processed", "refused": "undone", "slow": "processed"}
EFFECTS = {"order": ["first", "last", "left", "right"], "refused": ["first", "second"], "slow": ["first", "last"]}
CONCURRENCY = 64
DRIVEN = "CRASH_LEDGER"
"""Set in processes that may be stopped."""


def application(
    name: str,
    store: str,
    transport: str,
    ledger: Ledger,
    *,
    complete_by: float,
    concurrency: int = CONCURRENCY,
    acted: Callable[[str, int], None] = lambda key, attempt: None,
) -> App:
    """The application; every call makes Agents of its own. ``acted`` is called with each call of an operation."""
    bank = Agent("bank", retry=Retry(attempts=1), concurrency=concurrency)

    @bank.operation(complete_by=complete_by)
    async def pay(what: str, trouble: str = "") -> str:
        now = current_step()
        acted(now.idempotency_key, now.attempt)
        if now.attempt == 1 and trouble != "pause-after":
            await _trouble(trouble)
        if not ledger.do(now.idempotency_key, now.task_id, what):
            raise Unrecoverable("undone before it was done")
        if now.attempt == 1 and trouble == "pause-after":
            await _trouble("pause")
        return what

    @pay.undo
    async def pay_back(result: str | None, what: str, trouble: str = "") -> None:
        now = current_step()
        ledger.undo(now.idempotency_key, now.undoes or "", now.task_id, what)

    @bank.operation(complete_by=complete_by)
    async def refuse() -> None:
        raise Unrecoverable("no money")

    @workflow(supervision=POLICY)
    async def order(name: str) -> list[str]:
        done = [await pay("first")]
        done += await asyncio.gather(pay("left"), pay("right"))
        return [*done, await pay("last")]

    @workflow(supervision=POLICY)
    async def refused(name: str) -> None:
        await pay("first")
        await pay("second")
        await refuse()

    @workflow(supervision=POLICY)
    async def slow(name: str, trouble: str) -> list[str]:
        return [await pay("first", trouble), await pay("last")]

    return App(name, workflows=[order, refused, slow], agents=[bank], store=store, transport=transport, **SETTINGS)


async def _trouble(kind: str) -> None:
    """What befalls a first attempt: ``wait:SECONDS``, ``deaf:SECONDS``, or ``pause`` of its process."""
    name, _, seconds = kind.partition(":")
    if name == "wait":
        await asyncio.sleep(float(seconds))
    if name == "deaf":
        await _deaf(float(seconds))
    if name == "pause" and DRIVEN in os.environ:
        print("stopping", flush=True)
        os.kill(os.getpid(), signal.SIGSTOP)


async def _deaf(seconds: float) -> None:
    """Work on whatever is said, as code does that catches its cancellation."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while (left := end - loop.time()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            continue


def kind_of(workflow: str) -> tuple[str, list[Any]]:
    """``WORKFLOW[ TROUBLE]`` as a workflow's name and arguments behind the first."""
    name, *trouble = workflow.split(" ")
    return name, list(trouble)
