"""An application that says everything that can be said over a broker."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

from stepward import (
    Accepted,
    Agent,
    App,
    Backoff,
    Client,
    Message,
    Queues,
    Retry,
    Supervision,
    Unacceptable,
    Unrecoverable,
    current_step,
    wait_for,
    workflow,
)
from stepward.client.queues.events import StatusEvents
from stepward.errors import ServiceUnavailable
from stepward.store.contract import Transaction
from tests.transport.wire.taps import Tap

BOUND = 120.0
MANY = 100
SOON = Backoff("10ms", maximum="10ms")


class Stage:
    """What operations and the test tell one another; each application begins with a new one."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.tokens: asyncio.Queue[str] = asyncio.Queue()
        self.heard = asyncio.Event()
        """The progress of the step has arrived."""


stage = Stage()
till = Agent("till", retry=Retry(attempts=1), concurrency=200)


@till.operation(complete_by="30s")
async def charge(order: str, cents: int) -> str:
    return f"charge-é-{order}"


@charge.undo
async def refund(charge_id: str | None, order: str, cents: int) -> None:
    return


@till.operation(complete_by="30s")
async def refuse(order: str) -> None:
    raise Unrecoverable("declined, or not", maybe_done=True, code=14)


@till.operation(complete_by="30s")
async def falter(order: str) -> int:
    if current_step().attempt == 1:
        current_step().heartbeat({"done": order})
        await stage.heard.wait()
        raise ServiceUnavailable("not now")
    return current_step().attempt


@till.operation(complete_by="30s")
async def hang(order: str) -> None:
    await asyncio.Event().wait()


@till.operation(complete_by="30s")
async def approve(order: str) -> str:
    stage.tokens.put_nowait(current_step().completion_token)
    current_step().finish_later()


@workflow
async def fulfil(order: str) -> str:
    return await charge(order, 4200)


@workflow(supervision=Supervision(then="undo"))
async def regret(order: str) -> None:
    await charge(order, 4200)
    await refuse(order)


@workflow(supervision=Supervision(then="alert"))
async def worry(order: str) -> None:
    await refuse(order)


@workflow(supervision=Supervision(threshold=3, backoff=SOON, then="alert"))
async def persist(order: str) -> int:
    return await falter(order)


@workflow
async def hurry(order: str) -> str:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.3):
            await hang(order)
    return "without"


@workflow
async def ask(order: str) -> str:
    return await approve(order)


@till.operation(complete_by="30s")
async def hang_for_anything(order: str) -> Any:
    await asyncio.Event().wait()


@workflow(supervision=Supervision(threshold=0))
async def endure(order: str) -> bool:
    return await hang_for_anything(order) is None


@workflow
async def linger(order: str) -> None:
    await charge(order, 1)
    await wait_for("never")


WORKFLOWS = {each.name: each for each in (fulfil, regret, worry, persist, hurry, ask, linger)}


async def accept(message: Message, transaction: Transaction) -> Accepted:
    kind = message.read(str)
    if kind not in WORKFLOWS:
        raise Unacceptable(f"workflow: expected one of {', '.join(WORKFLOWS)}, found {kind}")
    return Accepted(WORKFLOWS[kind], message.id, priority=9)


def application(name: str, address: str, folder: Path) -> App:
    """The application, over a broker."""
    stage.begin()
    app = App(
        name,
        workflows=[*WORKFLOWS.values(), endure],
        agents=[till],
        store=f"sqlite:///{folder}/traffic.db",
        transport=address,
        supervisor_every="50ms",
    )
    app.submission("orders", accept=accept)
    return app


class Course:
    """The events of a private response queue so far."""

    def __init__(self, events: StatusEvents) -> None:
        self._events = events
        self._heard: set[tuple[str, str]] = set()

    async def until(self, *wanted: tuple[str, str]) -> None:
        """Wait for these events, each a task's id and a type."""
        async with asyncio.timeout(BOUND):
            while not self._heard.issuperset(wanted):
                event = await anext(self._events)
                self._heard.add((event.subject, event.type.removeprefix("stepward.")))


async def say_everything(app: App, client: Client, queues: Queues, tap: Tap) -> None:
    """Have each kind of message sent, and wait until all that was begun has ended."""
    many = await client.submit_many(fulfil, [(f"many-{number}",) for number in range(MANY)])
    await asyncio.gather(*(task.result(timeout=BOUND) for task in many))
    reply_to = f"replies.{app.name}.web.1"
    course = Course(queues.events(reply_to))
    for kind in (*WORKFLOWS, "nonsense"):
        await queues.post("orders", kind, id=kind, reply_to=reply_to)
    await tap.until(lambda tapped: b"stepward.progress" in tapped.body)
    stage.heard.set()
    await client.complete(await stage.tokens.get(), "granted")
    await course.until(("linger", "task.waiting"))
    await client.task("linger").suspend()
    await course.until(("linger", "task.suspended"))
    await client.task("linger").resume()
    await course.until(("linger", "task.resumed"))
    await client.task("linger").cancel()
    await course.until(
        ("fulfil", "task.completed"),
        ("regret", "task.undone"),
        ("worry", "task.failed"),
        ("persist", "task.completed"),
        ("hurry", "task.completed"),
        ("ask", "task.completed"),
        ("linger", "task.cancelled"),
        ("nonsense", "request.refused"),
    )
