"""Published values and streams of a task, read at any time by any number of readers."""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator
from typing import Any

from stepward.client.live.client_ports import ValuesClient
from stepward.errors import Refused, ValueNotFound
from stepward.model.live_values import checked_value_name
from stepward.model.states import TASK_ENDS
from stepward.payload import decode
from stepward.store.contract import StreamValue


class Unset:
    """Says that an argument was not given, where None is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


async def published_value(client: ValuesClient, id: str, name: str, default: Any) -> Any:
    """The published value of that name, else ``default``. Raises ValueNotFound without one."""
    task = await client.record(id)
    found = await client.store.client.live_value(task.uid, checked_value_name(name, "value"))
    if found is not None:
        return decode(found.value, f"value {name}")
    if isinstance(default, Unset):
        raise ValueNotFound(
            f"value {name!r} of task {id}: expected one that it has published, found none yet; give a default, or ask "
            "again"
        )
    return default


async def stream_pages(client: ValuesClient, id: str, name: str, start: int) -> AsyncIterator[list[StreamValue]]:
    """The pages of a stream from a position on, until the task has ended and all is read."""
    position = checked_start(start, "stream")
    task = await client.record(id)
    checked_value_name(name, "stream")
    with client.changes() as changes:
        while True:
            has_ended = task.state in TASK_ENDS
            while page := await client.store.client.stream_values(task.uid, name, position):
                position = page[-1].position + 1
                yield page
            if has_ended:
                return
            await changes.wait()
            task = await client.record(id)


async def stream_values(client: ValuesClient, id: str, name: str, start: int) -> AsyncIterator[tuple[int, Any]]:
    """The positions and values of a stream."""
    async for page in stream_pages(client, id, name, start):
        for found in page:
            yield found.position, decode(found.value, f"stream {name}")


def checked_start(start: int, what: str) -> int:
    """A position to read from. Raises Refused."""
    try:
        position = operator.index(start)
    except TypeError:
        position = -1
    if position < 0:
        raise Refused(f"start of {what}: expected a number from 0 on, found {start!r:.40}")
    return position
