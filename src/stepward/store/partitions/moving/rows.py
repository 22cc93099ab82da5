"""The rows that move with a task, by table, and those that stay: ``tests/partitions`` compares them with the schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

OF_TASK = {
    "stepward_task": "uid",
    "stepward_step": "task",
    "stepward_inbox": "task",
    "stepward_signal_seen": "task",
    "stepward_live_value": "task",
    "stepward_stream_value": "task",
    "stepward_update_request": "task",
    "stepward_task_permit": "task",
    "stepward_joined_submission": "task",
    "stepward_alert": "task",
}
"""Tables whose rows move with their task, each with the column that has the task's uid."""
OF_KEY = {
    **{"stepward_schedule": "name", "stepward_submission_key": "key"},
    **{"stepward_message": "token", "stepward_dead_letter": "number"},
}
"""Tables whose rows are placed by themselves."""
WITH_ALERT = "stepward_alert_receipt"
WITH_MESSAGE = "stepward_webhook_refusal"
"""Deleted with its message: the webhook is offered the event again from the new store."""
BY_TRIGGER = frozenset({"stepward_search"})
"""Written when the task arrives, and deleted when it leaves."""
STAYS = frozenset(
    {
        *("stepward_agent", "stepward_agent_slot", "stepward_flow_limit", "stepward_rate_bucket"),
        *("stepward_alert_silence", "stepward_alert_sink", "stepward_webhook", "stepward_workflow"),
        *("stepward_instance", "stepward_leadership", "stepward_credential", "stepward_meta", "stepward_state_sample"),
        *("stepward_audit", "stepward_batch"),
    }
)
"""Tables of each store by itself: the chain of acts cannot be parted."""
GENERATED = {
    **{"stepward_inbox": "number", "stepward_alert": "number"},
    **{"stepward_message": "token", "stepward_dead_letter": "number"},
}
"""Numbers that each store gives itself."""
PART_BYTES = 1_000_000
"""Bytes of rows after which a part of what moves ends."""
NUMBER_BYTES = 8
ROWS_READ = 200
"""Tasks, or messages, whose rows are read with one statement."""


class Piece(NamedTuple):
    """Rows of one table."""

    table: str
    columns: list[str]
    rows: list[tuple[Any, ...]]


def chunks(values: Sequence[Any]) -> Iterator[str]:
    """The values in arrays of JSON, each for one statement."""
    for start in range(0, len(values), ROWS_READ):
        yield msgspec.json.encode(values[start : start + ROWS_READ]).decode()


def parts(pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The pieces in parts that are kept until all have arrived.

    A part ends with the row that fills it: a store takes no value of a gigabyte, and each row may have large payloads.
    """
    part, size = list[Piece](), 0
    for piece in pieces:
        begun = 0
        for end, row in enumerate(piece.rows, 1):
            size += sum(len(cell) if isinstance(cell, bytes | str) else NUMBER_BYTES for cell in row)
            if size >= PART_BYTES:
                yield msgspec.msgpack.encode([*part, piece._replace(rows=piece.rows[begun:end])])
                part, size, begun = [], 0, end
        if begun < len(piece.rows):
            part.append(piece._replace(rows=piece.rows[begun:]))
    if part:
        yield msgspec.msgpack.encode(part)


def read(part: bytes) -> list[Piece]:
    """The pieces of one of the ``parts``."""
    return msgspec.msgpack.decode(part, type=list[Piece])
