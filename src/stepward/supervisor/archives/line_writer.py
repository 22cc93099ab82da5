"""A task as one line of the archive: its record, its steps and its inbox, as JSON.

Pure: records in, bytes out. A line is written in pieces, so that a long history is never in memory as a whole.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from stepward.model.records import Alert, Audit, InboxRow, Step, Task
from stepward.store.contract import AuditedAct, AuditHead, OldRecords, SignalSeen, StreamRow, UpdateRow, WrittenRow

FORMAT = 1
"""The first field of every line; a reader of another version's lines must consult the documentation again."""
ACT, ALERT, HEAD = "act", "alert", "head"
"""The field ``record`` of lines in files of records."""

Item = Task | Step | InboxRow | SignalSeen | WrittenRow | StreamRow | UpdateRow

PARTS: tuple[type[Struct], ...] = (Task, Step, InboxRow, SignalSeen, WrittenRow, StreamRow, UpdateRow)
SECTIONS = {kind: number for number, kind in enumerate(PARTS)}
NAMES = ("steps", "untaken", "signals", "values", "streams", "updates")
OPENINGS = (b"", b',"steps":[', *(f'],"{name}":['.encode() for name in NAMES[1:]), b"]}\n")
CLOSED = len(OPENINGS) - 1
SPACES = bytes.maketrans(b"\r\n", b"  ")
"""In JSON a line break occurs between values only, never within a string."""


class ArchiveLines:
    """Writes records, task by task and in the order of the sections, as lines."""

    def __init__(self) -> None:
        self._section = CLOSED

    def written(self, items: Iterable[Item]) -> bytes:
        """The bytes of more records."""
        return b"".join(part for item in items for part in self._parts(item))

    def ended(self) -> bytes:
        """The end of the last line."""
        return b"".join(self._openings(CLOSED))

    def _parts(self, item: Item) -> Iterable[bytes]:
        if isinstance(item, Task):
            yield self.ended()
            self._section = 0
            yield msgspec.json.encode({"format": FORMAT, **_fields(item)})[:-1]
            return
        if self._section == SECTIONS[type(item)]:
            yield b","
        else:
            yield from self._openings(SECTIONS[type(item)])
        yield msgspec.json.encode(_fields(item))

    def _openings(self, section: int) -> list[bytes]:
        """The separator between the present section and that one."""
        between = list(OPENINGS[self._section + 1 : section + 1])
        self._section = section
        return between


def record_lines(records: OldRecords) -> bytes:
    """A line for each audit entry, with the input of its hash, and for each alert; then one for the audit's head."""
    head = [] if records.head is None else [head_line(records.head)]
    return b"".join([*map(act_line, records.acts), *(_line(ALERT, alert) for alert in records.alerts), *head])


def act_line(act: AuditedAct) -> bytes:
    """The line of an audit entry."""
    return _line(ACT, act.audit, instant=act.audit.at, hash=act.hash.hex())


def head_line(head: AuditHead) -> bytes:
    """The line that tells how far the audit went when the lines before it were written."""
    fields = {"format": FORMAT, "record": HEAD, "number": head.number, "hash": head.hash.hex()}
    return msgspec.json.encode(fields) + b"\n"


def _line(kind: str, record: Audit | Alert, **more: Any) -> bytes:
    fields = {name: _value(name, value) for name, value in structs.asdict(record).items()}
    fields |= {"format": FORMAT, "record": kind, "at": _instant(record.at), **more}
    return msgspec.json.encode(fields) + b"\n"


def weight(item: Item) -> int:
    """The bytes of a record's payloads."""
    return sum(len(value) for value in structs.astuple(item) if isinstance(value, bytes))


def _fields(item: Item) -> dict[str, Any]:
    """The fields without the task's id, which the line gives once."""
    return {name: _value(name, value) for name, value in structs.asdict(item).items() if name != "task"}


def _value(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return _payload(value)
    if isinstance(value, float) and name.endswith(("_at", "_by")):
        return _instant(value)
    return value


def _payload(data: bytes) -> Any:
    """JSON unchanged, within one line; anything else as base64."""
    try:
        data.decode()
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {"base64": base64.b64encode(data).decode()}
    return msgspec.Raw(data.translate(SPACES))


def bytes_of(payload: msgspec.Raw) -> bytes:
    """A payload of a line as the store had it, but for line breaks between the values of JSON. Raises ValueError."""
    text = bytes(payload)
    if text.startswith(b'{"base64":'):
        return base64.b64decode(msgspec.json.decode(text, type=dict[str, str])["base64"])
    return text


def _instant(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
