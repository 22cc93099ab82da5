"""The values that a step wrote, recorded with its outcome outside of a turn."""

from __future__ import annotations

from msgspec.structs import astuple

from stepward.store.contract import written_rows
from stepward.store.verbs.connection import VerbConnection


async def write(connection: VerbConnection, task: str, written: bytes | None, now: float) -> None:
    """Records the values of a step of that task."""
    if written is None:
        return
    published, appended = written_rows(task, written, now)
    await connection.change_each("turn.publish", [astuple(row) for row in published])
    await connection.change_each("turn.append", [astuple(row) for row in appended])
