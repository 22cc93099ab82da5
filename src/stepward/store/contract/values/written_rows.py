"""Rows of the values that tasks write for readers outside."""

from __future__ import annotations

from msgspec import Struct

from stepward.model.live_values import read_written


class WrittenRow(Struct, frozen=True, gc=False):
    """A value under its name: published, or the next one of a stream."""

    task: str
    name: str
    value: bytes
    at: float


class StreamRow(Struct, frozen=True, gc=False):
    """A value of a stream; positions count from 0 without gaps."""

    task: str
    name: str
    position: int
    value: bytes
    at: float


def written_rows(task: str, written: bytes, now: float) -> tuple[list[WrittenRow], list[WrittenRow]]:
    """The published values and those for streams that a step of the task wrote. Raises Refused."""
    found = read_written(written)
    published = [WrittenRow(task, name, bytes(value), now) for name, value in found.publish.items()]
    appended = [WrittenRow(task, name, bytes(value), now) for name, many in found.stream.items() for value in many]
    return published, appended
