"""The settings that every store has alike: they are copied to a store that is added."""

from __future__ import annotations

from stepward.store.partitions.moving.tables import MovingTables

COPIED = {
    "stepward_workflow": None,
    "stepward_flow_limit": None,
    "stepward_alert_silence": None,
    "stepward_credential": None,
    "stepward_agent": ("name", "suspended_at", "suspended_by", "note"),
}
"""Tables of settings that every store has alike, with the columns that are copied; None: all."""


async def copy_settings(source: MovingTables, target: MovingTables) -> None:
    """Copies what operators and processes have set in every store, and the marks of encryption keys."""
    async with source.transaction() as reading:
        marks = await source.run(reading, "key_marks")
        found = {}
        for table, some in COPIED.items():
            columns = list(some or await source.columns(reading, table))
            found[table] = columns, await source.everything(reading, table, columns)
    async with target.transaction() as writing:
        for mark in marks:
            await target.run(writing, "keep_mark", *mark)
        for table, (columns, those) in found.items():
            await target.put(writing, table, columns, those)
