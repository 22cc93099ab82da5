"""The values that tasks have written, for readers outside."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

MOST_VALUES = 1_000
"""Most published values, or streams, of a task that one read returns."""
STREAM_ROWS = 1_000
STREAM_BYTES = 1024 * 1024
"""Most rows and bytes of a page of a stream; a single value may be larger."""


class LiveValue(Struct, frozen=True):
    """A published value: JSON, and when it was committed."""

    name: str
    value: bytes
    at: float


class StreamValue(Struct, frozen=True):
    """A value of a stream; positions count from 0 without gaps."""

    position: int
    value: bytes
    at: float


class LiveValueStore(Protocol):
    """Reads of values, by the uid of their task."""

    async def live_value(self, task: str, name: str) -> LiveValue | None:
        """The published value of that name; None if there is none."""
        ...

    async def live_values(self, task: str) -> list[LiveValue]:
        """The published values by name, at most ``MOST_VALUES``."""
        ...

    async def stream_values(self, task: str, name: str, start: int) -> list[StreamValue]:
        """A page of a stream from a position on; empty where nothing is written there."""
        ...

    async def streams(self, task: str) -> dict[str, int]:
        """The number of values of each stream by its name, at most ``MOST_VALUES`` streams."""
        ...
