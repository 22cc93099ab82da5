"""Live values and the history of a task, as the page of the task shows them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from stepward.client import TaskStatus
from stepward.http.access.scopes.scoped_client import ScopedClient
from stepward.http.api.tasks.history import HistoryEntry, history_of
from stepward.model.records import Audit, Step
from stepward.store.contract import LiveValue, StreamValue

VALUES_SHOWN = 50
"""Most published values on the page."""
STREAMS_SHOWN = 10
"""Most streams on the page."""
LAST_SHOWN = 10
"""Values of a stream on the page: the last ones."""
HISTORY_SHOWN = 100
"""Most events of the history on the page: the newest ones."""


class ShownStream(Struct, frozen=True, kw_only=True):
    """A stream with its last values."""

    name: str
    count: int
    last: list[StreamValue]
    """In order; empty for a principal that may not see payloads."""


class TaskLiveValues(Struct, frozen=True, kw_only=True):
    """The published values and the streams of a task."""

    values: list[LiveValue]
    streams: list[ShownStream]
    more: int
    """How many values and streams are left out."""


async def read_live_values(client: ScopedClient, id: str) -> TaskLiveValues:
    """The first values and streams by name. Raises TaskNotFound."""
    values, counts = await client.live_values(id), await client.streams(id)
    shown = sorted(counts.items())[:STREAMS_SHOWN]
    return TaskLiveValues(
        values=values[:VALUES_SHOWN],
        streams=[await _stream(client, id, name, count) for name, count in shown],
        more=max(0, len(values) - VALUES_SHOWN) + len(counts) - len(shown),
    )


async def _stream(client: ScopedClient, id: str, name: str, count: int) -> ShownStream:
    if not client.principal.payloads:
        return ShownStream(name=name, count=count, last=[])
    page = await client.stream_values(id, name, max(0, count - LAST_SHOWN))
    return ShownStream(name=name, count=count, last=page[:LAST_SHOWN])


def newest_history(status: TaskStatus, steps: Sequence[Step], acts: Sequence[Audit]) -> list[HistoryEntry]:
    """The newest events of the task, newest first."""
    return history_of(status, steps, acts)[::-1][:HISTORY_SHOWN]
