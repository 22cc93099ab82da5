"""The application under torture: every kind of task, and Agents of one remote service that keeps the books."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from stepward import (
    Accepted,
    App,
    Backoff,
    CircuitBreaker,
    HttpAgent,
    Message,
    Retry,
    Supervision,
    Unrecoverable,
    current_step,
    step,
    wait_for,
    workflow,
)
from stepward.workflow.definition import Workflow
from torture.faults.schema_versions import know
from torture.servers.clocks import mend_sleep

NAME = "torture"
QUEUE = "orders"
REPLIES = "replies.torture.web"
SCHEDULE = "minutely"
COMPLETE_BY = 4.0
LEASE = 4.0
SETTINGS: dict[str, Any] = {
    "lease": LEASE,
    "supervisor_every": "500ms",
    "poll": "500ms",
    "drain": "5s",
    # Who waits for long sees many owners die, and no outcome in between.
    "recovery_limit": 1_000,
}
PATIENT = Supervision(threshold=200, backoff=Backoff("200ms", maximum="1s"), then="undo")
ALERTING = Supervision(threshold=200, backoff=Backoff("200ms", maximum="1s"), then="alert")

service = HttpAgent(
    "service",
    os.environ.get("TORTURE_LEDGER", "http://127.0.0.1:1"),
    retry=Retry(attempts=2, initial="50ms"),
    breaker=CircuitBreaker(failures=1_000_000),
    concurrency=16,
)


@service.operation(complete_by=COMPLETE_BY)
async def act(what: str) -> str:
    """Take effect at the service; ``hang`` never ends at the first attempt."""
    now = current_step()
    await service.post("/do", json=_told(what))
    if what == "hang" and now.attempt == 1:
        await asyncio.get_running_loop().create_future()
    return what


@act.undo
async def take_back(result: str | None, what: str) -> None:
    await service.post("/undo", json=_told(what))


@service.operation(complete_by=COMPLETE_BY)
async def refuse() -> None:
    raise Unrecoverable("no money")


@refuse.undo
async def forget(result: None) -> None:
    """A refusal whose answer was lost is in doubt: its step is undone like every other in doubt."""


visits = HttpAgent(
    "visits",
    os.environ.get("TORTURE_LEDGER", "http://127.0.0.1:1"),
    retry=Retry(attempts=2, initial="50ms"),
    breaker=CircuitBreaker(failures=1_000_000),
    concurrency=16,
)
"""The Agent whose narrow login others have, too."""


@visits.operation(complete_by=COMPLETE_BY)
async def visit(what: str) -> str:
    await visits.post("/do", json=_told(what))
    return what


@visit.undo
async def leave(result: str | None, what: str) -> None:
    await visits.post("/undo", json=_told(what))


@step(transaction=True)
async def book(transaction: Any, task: str) -> None:
    await transaction.execute("insert into booked values ($1)", (task,))


@workflow(supervision=PATIENT)
async def plain(name: str) -> list[str]:
    return [await act("a"), await act("b"), await act("c")]


@workflow(supervision=PATIENT)
async def parallel(name: str) -> list[str]:
    first = await act("a")
    return [first, *await asyncio.gather(act("b"), act("c"), act("d")), await act("e")]


@workflow(supervision=PATIENT)
async def refused(name: str) -> None:
    for what in ("a", "b", "c"):
        await act(what)
    await refuse()


@workflow(supervision=PATIENT)
async def broken(name: str) -> None:
    await act("a")
    await asyncio.gather(act("b"), act("c"))
    await refuse()


@workflow(supervision=PATIENT)
async def slow(name: str) -> list[str]:
    return [await act("a"), await act("hang"), await act("c")]


@workflow(supervision=PATIENT)
async def unanswered(name: str) -> list[str]:
    return [await act("a"), await act("lose"), await act("c")]


@workflow(supervision=PATIENT)
async def child(name: str) -> list[str]:
    return [await act("d"), await act("e")]


@workflow(supervision=PATIENT)
async def parent(name: str) -> list[str]:
    return [await act("a"), *await child(name), await act("b")]


@workflow(supervision=PATIENT)
async def booking(name: str) -> list[str]:
    first = await act("a")
    await book(name)
    return [first, await act("b")]


@workflow(supervision=PATIENT)
async def timed(name: str) -> list[str]:
    first = await act("a")
    await asyncio.sleep(2)
    return [first, await act("b")]


@workflow(supervision=PATIENT)
async def asked(name: str) -> list[str]:
    first = await act("a")
    await wait_for("go")
    return [first, await act("b")]


@workflow(supervision=PATIENT)
async def withdrawn(name: str) -> None:
    for what in ("a", "b", "c"):
        await act(what)
    await wait_for("never")


@workflow(supervision=PATIENT)
async def returned(name: str) -> list[str]:
    return [await act("a"), await act("b"), await act("c")]


@workflow(supervision=ALERTING)
async def stuck(name: str) -> None:
    await act("a")
    await refuse()


@workflow(supervision=PATIENT)
async def tick(name: str) -> str:
    return await act("a")


@workflow(supervision=PATIENT)
async def visiting(name: str) -> list[str]:
    return [await act("a"), await visit("v"), await act("b")]


async def accept(message: Message, transaction: Any) -> Accepted:
    """A row of the application's and a task for each message, which names its workflow."""
    await transaction.execute("insert into placed values ($1, $2)", (message.id, os.getpid()))
    return Accepted(message.read(str), message.id)


def _told(what: str) -> dict[str, Any]:
    now = current_step()
    return {"task": now.task_id, "what": what, "attempt": now.attempt, "pid": os.getpid()}


WORKFLOWS: list[Workflow[Any, Any]] = [
    *(plain, parallel, refused, broken, slow, unanswered, child, parent, booking, timed, asked, withdrawn),
    *(returned, stuck, tick, visiting),
]
mend_sleep()
know()
app = App(NAME, workflows=WORKFLOWS, agents=[service, visits], **SETTINGS)
app.submission(QUEUE, accept=accept)
app.schedule(SCHEDULE, tick, "* * * * *", args=(SCHEDULE,), catch_up="all")
