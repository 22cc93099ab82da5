"""Fake queues: tests see what was posted, and provide the status events."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from stepward import StatusEvent, StepwardError

BEGAN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Posted(msgspec.Struct, frozen=True):
    """One message as it was posted."""

    queue: str
    id: str
    reply_to: str
    data: dict[str, Any]


class FakeDoor:
    """Shaped like `stepward.Queues`; `error` is raised by each post."""

    def __init__(self) -> None:
        self.posted: list[Posted] = []
        self.error: StepwardError | None = None
        self.heard_on: list[str] = []
        self.dealt_with: list[StatusEvent] = []
        self._told: Counter[str] = Counter()
        self._waiting: asyncio.Queue[StatusEvent] = asyncio.Queue()

    async def post(self, queue: str, data: Any, *, id: str, reply_to: str) -> str:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.posted.append(Posted(queue, id, reply_to, data))
        return id

    async def events(self, queue: str) -> AsyncIterator[StatusEvent]:
        self.heard_on.append(queue)
        while True:
            event = await self._waiting.get()
            yield event
            self.dealt_with.append(event)

    def tell(self, order: str, happened: str, **data: Any) -> StatusEvent:
        """The next event of an order."""
        self._told[order] += 1
        event = status_event(order, self._told[order], happened, **data)
        self.tell_again(event)
        return event

    def tell_again(self, event: StatusEvent) -> None:
        self._waiting.put_nowait(event)

    def tell_all(self, order: str, *happened: tuple[str, dict[str, Any]]) -> None:
        for name, data in happened:
            self.tell(order, name, **data)


def status_event(order: str, sequence: int, happened: str, **data: Any) -> StatusEvent:
    return StatusEvent(
        id=f"{order}/{sequence}",
        type=f"stepward.{happened}",
        subject=order,
        sequence=sequence,
        time=BEGAN + timedelta(seconds=sequence),
        data=data,
    )


RECEIVED: tuple[str, dict[str, Any]] = ("request.received", {})
STARTED: tuple[str, dict[str, Any]] = ("task.started", {})
DECLINED = {
    "message": "POST payment:/charge: expected success, found 402",
    "type": "Unrecoverable",
    "data": {"status": 402},
}


def step(name: str, occurrence: int = 1, happened: str = "completed", **data: Any) -> tuple[str, dict[str, Any]]:
    return f"step.{happened}", {"step": f"{name}/{occurrence}", "name": name, **data}


def task(happened: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return f"task.{happened}", data


ALL_WELL = (
    RECEIVED,
    STARTED,
    step("begin"),
    step("stock.reserve"),
    step("payment.charge"),
    step("parcel.create"),
    step("finish"),
    step("mail.send"),
    task("completed", result="parcel-000001"),
)
