"""Values that workflow code and steps write for readers outside: published ones, of which the last counts, and streams.

A step's values travel with its reply and are committed with its outcome: an attempt that fails writes nothing.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Raw, Struct

from stepward.errors import PayloadTooLarge, Refused
from stepward.payload import check_size, decode

WRITTEN_BYTES = 512 * 1024
"""Bytes of all values that one attempt of a step writes, as JSON."""
SEALED_WRITTEN_CHARACTERS = 2 * WRITTEN_BYTES
"""Most characters of all of them in a message, with their names or encrypted."""
MOST_WRITTEN = 10_000
"""Values that one attempt of a step writes."""
PATTERN = r"^[A-Za-z0-9._:-]{1,200}$"
VALUE_NAME = re.compile(PATTERN)
ADVICE = "write fewer, or make several steps of it"

ValueName = Annotated[str, Meta(pattern=PATTERN)]


class WriteKind(StrEnum):
    """The kind of a write; the names of the records that workflow code leaves begin with it."""

    PUBLISH = "publish"
    """It replaces the one of that name."""
    STREAM = "stream"
    """It is appended to the stream of that name."""


class WrittenValue(Struct, frozen=True, gc=False):
    """A value that workflow code writes."""

    kind: WriteKind
    name: str
    value: bytes


class WrittenValues(Struct, frozen=True, omit_defaults=True):
    """The values that an attempt of a step wrote, by name."""

    publish: dict[ValueName, Raw] = {}
    stream: dict[ValueName, list[Raw]] = {}


class WriteBuffer:
    """The values that one call of a step's function has written so far; a thread of the function may write."""

    __slots__ = ("_appended", "_bytes", "_count", "_published")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forgets everything: the function is called again."""
        self._published: dict[str, bytes] = {}
        self._appended: dict[str, list[bytes]] = {}
        self._bytes = self._count = 0

    def __len__(self) -> int:
        return self._count

    def write(self, written: WrittenValue, what: str) -> None:
        """Adds a value; ``what`` names the step. Raises PayloadTooLarge."""
        self._bytes += len(written.value) + 1
        self._count += 1
        if self._bytes > WRITTEN_BYTES or self._count > MOST_WRITTEN:
            raise PayloadTooLarge(
                f"values of {what}: expected at most {MOST_WRITTEN:,} and {WRITTEN_BYTES:,} bytes from one attempt of "
                f"a step, found {self._count:,} and {self._bytes:,}; {ADVICE}"
            )
        if written.kind is WriteKind.PUBLISH:
            self._published[written.name] = written.value
        else:
            self._appended.setdefault(written.name, []).append(written.value)

    def encoded(self) -> bytes | None:
        """The values as a reply carries them; None if there are none."""
        if not self._count:
            return None
        published = {name: Raw(value) for name, value in self._published.items()}
        appended = {name: [Raw(value) for value in values] for name, values in self._appended.items()}
        return msgspec.json.encode(WrittenValues(published, appended))


def read_written(data: bytes) -> WrittenValues:
    """The values in a reply, which any program may have sent. Raises Refused."""
    check_size(data, "written values", limit=SEALED_WRITTEN_CHARACTERS, advice=ADVICE)
    decode(data, "written values")
    found: WrittenValues = decode(data, "written values", WrittenValues)
    count = len(found.publish) + sum(map(len, found.stream.values()))
    if count > MOST_WRITTEN:
        raise PayloadTooLarge(f"written values: expected at most {MOST_WRITTEN:,}, found {count:,}; {ADVICE}")
    return found


def checked_value_name(name: str, what: str) -> str:
    """The name of a value or a stream. Raises Refused."""
    if not isinstance(name, str) or not VALUE_NAME.fullmatch(name):
        raise Refused(f"{what}: expected a name of 1 to 200 of A-Z a-z 0-9 . _ : -, found {name!r:.60}")
    return name
