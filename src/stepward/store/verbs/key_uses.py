"""The uses of keys in stored payloads, and encryption with the current key, in bounded pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from stepward.errors import Refused
from stepward.model.records import Audit
from stepward.payload.sealed import PayloadCodec, envelope
from stepward.store.contract.by_subject.key_uses import RowPlace, SealedPage
from stepward.store.sealing.columns import (
    ACT_FORMS,
    ALERT_FORMS,
    ANSWER,
    INBOX_BOUND,
    INBOX_FORMS,
    STEP_FORMS,
    STREAMED,
    TASK_FORMS,
    WRITTEN,
    Columns,
    PayloadForm,
    columns_among,
)
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.verbs import alerts_and_audit
from stepward.store.verbs.actors.host import KEY_MARK
from stepward.store.verbs.connection import VerbConnection, VerbRow
from stepward.store.verbs.engine import VerbPart

PAGE_ROWS = 100
STEP_KEY = ("task", "run", "key")


class SealedTable(NamedTuple):
    """A table with payloads: its columns as they are read, the key first."""

    first: RowPlace
    """A place before every row; as many columns of a row are its key."""
    columns: Columns
    update: str | None
    """The query that replaces payloads; None where they stay as they are."""


TABLES = {
    "tasks": SealedTable(("",), columns_among(("uid", *TASK_FORMS), "task", TASK_FORMS, ("uid",)), "keys.seal_task"),
    "steps": SealedTable(
        ("", 0, ""), columns_among((*STEP_KEY, *STEP_FORMS), "step", STEP_FORMS, STEP_KEY), "keys.seal_step"
    ),
    "inbox": SealedTable(
        (0,), columns_among(("number", *INBOX_BOUND, "body"), "inbox", INBOX_FORMS, INBOX_BOUND), "keys.seal_inbox"
    ),
    "values": SealedTable(("", ""), WRITTEN, "keys.seal_value"),
    "streams": SealedTable(("", "", -1), STREAMED, "keys.seal_streamed"),
    "updates": SealedTable(("", ""), ANSWER, "keys.seal_update"),
    "alerts": SealedTable(
        (0,),
        columns_among(("number", "kind", "message", "details"), "alert", ALERT_FORMS, (), unless="kind"),
        "keys.seal_alert",
    ),
    "acts": SealedTable((0,), columns_among(("number", "task", "details"), "audit", ACT_FORMS, ("task",)), None),
    "schedules": SealedTable(
        ("",),
        columns_among(("name", "input"), "schedule", {"input": PayloadForm.JSON}, ("name",)),
        "keys.seal_schedule",
    ),
    "letters": SealedTable(
        (0,), columns_among(("number", "reason"), "dead_letter", {"reason": PayloadForm.TEXT}, ()), "keys.seal_letter"
    ),
}
"""By name, each table with a query of that name that reads a page."""


class KeyUseVerbs(VerbPart):
    """Implements ``KeyUseStore``."""

    @property
    def sealed_tables(self) -> Sequence[str]:
        return tuple(TABLES)

    async def sealed_page(self, table: str, after: RowPlace | None, codec: PayloadCodec | None) -> SealedPage:
        if codec is None:
            return await self._transactions.read(_page, table, after, None)
        return await self._transactions.write(_page, table, after, codec)

    async def forget_key(self, key: str, actor: str) -> None:
        await self._transactions.write(_forget, key, actor, self._clock.now())


async def has_arriving_shard(connection: VerbConnection) -> bool:
    """Whether the store has parts of a shard that has not arrived."""
    return any(found for (found,) in await connection.rows("keys.arriving"))


async def _check_arrived(connection: VerbConnection) -> None:
    if await has_arriving_shard(connection):
        raise Refused(
            "keys: expected every shard to have arrived in this store, found parts of one whose move was cut off, "
            "with keys that are not counted; run `stepward partitions move` with all stores first"
        )


async def _page(
    connection: VerbConnection, name: str, after: RowPlace | None, codec: PayloadCodec | None
) -> SealedPage:
    if after is None:
        await _check_arrived(connection)
    table = TABLES[name]
    rows = await connection.rows(f"keys.{name}", *(table.first if after is None else after), PAGE_ROWS)
    keys = [[_key_of(row[column.place]) for column in table.columns] for row in rows]
    uses = Counter(key for row in keys for key in row if key is not None)
    resealed = 0
    if codec is not None and table.update is not None:
        others = [row for row, used in zip(rows, keys, strict=True) if set(used) - {None, codec.current}]
        resealed = await connection.change_each(table.update, _resealed(table, others, codec))
    last = tuple(rows[-1][: len(table.first)]) if len(rows) == PAGE_ROWS else None
    return SealedPage(uses, resealed, last)


def _resealed(table: SealedTable, rows: Sequence[VerbRow], codec: PayloadCodec) -> list[tuple[Any, ...]]:
    """Values of the update: the key, the payloads under the current key, and the payloads as they were read.

    What cannot be opened stays as it is.
    """
    row_codec = RowCodec(codec, {"": table.columns}, {"": table.columns})
    places = [column.place for column in table.columns]
    opened = row_codec.opened("", [list(row) for row in rows])
    found = []
    for row, new in zip(rows, row_codec.sealed_rows("", opened), strict=True):
        payloads = tuple(new[place] for place in places)
        found.append((*row[: len(table.first)], *payloads, *(row[place] for place in places)))
    return found


def _key_of(payload: Any) -> str | None:
    found = envelope(payload.encode() if isinstance(payload, str) else payload or b"")
    return None if found is None else found.key


async def _forget(connection: VerbConnection, key: str, actor: str, now: float) -> None:
    await _check_arrived(connection)
    if await connection.change("keys.forget_mark", KEY_MARK + key):
        act = Audit(actor=actor, act="forget", details=msgspec.json.encode({"name": key}))
        await alerts_and_audit.write_audits(connection, [act], now)
