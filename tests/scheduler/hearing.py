"""The events of a private response queue, as short lines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepward import Backoff, Client, StatusEvent
from tests.scheduler.world import Service, World

QUEUE = "replies.shop.web"
BEGUN = ["request.received", "started"]
QUICK = Backoff("1s", factor=1.0, maximum="1s")
SILENCE = 3.0
"""Seconds without an event after which all events have arrived."""


class Hearing:
    """The one reader of a response queue; it keeps the events."""

    def __init__(self, client: Client, queue: str = QUEUE) -> None:
        self._events = client.events(queue)
        self._heard: list[StatusEvent] = []

    async def lines(self, task: str) -> list[str]:
        """The task's events so far, once no more arrive; their sequence must have no gap."""
        while True:
            try:
                async with asyncio.timeout(SILENCE):
                    self._heard.append(await anext(self._events))
            except TimeoutError:
                break
        told = [event for event in self._heard if event.subject == task]
        assert [event.sequence for event in told] == list(range(1, len(told) + 1))
        assert len({event.id for event in told}) == len(told)
        return [line(event) for event in told]

    async def until(self, kind: str) -> StatusEvent:
        """The next event of that kind; what comes before it is remembered."""
        async with asyncio.timeout(300):
            async for event in self._events:
                self._heard.append(event)
                if event.type == f"stepward.{kind}":
                    return event
        raise LookupError(kind)


def line(event: StatusEvent) -> str:
    """The kind, and the one thing that matters of its data."""
    data = event.data
    words = [event.type.removeprefix("stepward.").removeprefix("task.")]
    if "step" in data:
        words.append(data["step"])
    elif data.get("waits_for"):
        words.append(data["waits_for"])
    if "failures" in data:
        words.append(str(data["failures"]))
    elif data.get("error"):
        words.append(f"({data['error'].get('message')})")
    elif "result" in data:
        words.append(f"= {data['result']}")
    return " ".join(words)


async def course(world: World, service: Service, ending: type[Exception] | None, *workflows: Any) -> list[str]:
    """Submits the first of the workflows as task ``t``, waits for its end, and returns its events."""
    client = await world.start(workflows, [service.agent])
    handle = await client.submit(workflows[0], id="t", reply_to=QUEUE)
    if ending is None:
        await handle.result(timeout="10m")
    else:
        with pytest.raises(ending):
            await handle.result(timeout="10m")
    assert world.told("task.missed") == []
    return await Hearing(client).lines("t")
