"""Every query of this store, by file and name: ``turn.finish``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from stepward.payload.sealed import PayloadCodec
from stepward.store.named_queries import read_catalogue
from stepward.store.sealing.columns import GIVEN, INBOX, SHOWN, TASK, Columns
from stepward.store.sealing.row_codec import RowCodec
from stepward.store.sqlite.engine.parameters import FRAGMENTS

FOLDERS = ("queries/tasks", "queries/instances", "queries/operators", "hot")
"""Where its ``.sql`` files stand."""

SUPERVISION = {
    "alert": "{alert_columns}, (select workflow from stepward_task where uid = stepward_alert.task)".format_map(
        FRAGMENTS
    ),
    # The first claimable task of each workflow: leaps along the index, never a walk over the backlog.
    "first_claimable": """first (id) as (
    select (select rowid from stepward_task where {claimable} order by workflow, version limit 1)
    union all
    select coalesce(
        (select rowid from stepward_task where {claimable} and workflow = t.workflow and version > t.version
            order by version limit 1),
        (select rowid from stepward_task where {claimable} and workflow > t.workflow
            order by workflow, version limit 1))
    from first cross join stepward_task as t on t.rowid = first.id)""".format_map(FRAGMENTS),
    "served": """exists (select 1 from stepward_instance as i cross join json_each(i.serves) as s
    where i.alive = 1 and i.role = 'scheduler' and s.value = t.workflow || '@' || t.version)""",
    # Dead instances are kept for longer than such an alert waits, so that a restarted process raises none.
    "served_since": """exists (select 1 from stepward_instance as i cross join json_each(i.serves) as s
    where (i.alive = 1 or i.dead_at > ?1) and i.role = 'scheduler' and s.value = t.workflow || '@' || t.version)""",
    "alerted": """exists (select 1 from stepward_alert
    where acknowledged_at is null and kind = 'unserved'
        and json_extract(cast(details as text), '$.workflow') = t.workflow
        and json_extract(cast(details as text), '$.version') = t.version)""",
    "s_bytes": "length(s.input) + coalesce(length(s.output), 0) + coalesce(length(s.error), 0)",
    "parent_is_over": """(t.parent is null or not exists (
    select 1 from stepward_task as p where p.uid = t.parent and (p.finished_at is null or p.state = 'error')
        and exists (
            select 1 from stepward_step as b where b.task = p.uid and b.run = t.parent_run and b.kind = 'child')))""",
}
"""What several of the Supervisor's queries share, those of retention among them."""
SHOWN_HERE: dict[str, Columns] = {"claiming.claim": TASK, "scheduler.read_inbox": INBOX}
"""Rows with payloads of queries that this engine alone has, or has with other columns."""


@cache
def load_catalogue() -> dict[str, str]:
    """The queries of all ``.sql`` files of this store."""
    return read_catalogue("stepward.store.sqlite", FOLDERS, FRAGMENTS | SUPERVISION)


def row_codec(codec: PayloadCodec | None) -> RowCodec | None:
    """The codec of this store's rows, by the texts of its queries, as a connection knows no names."""
    return None if codec is None else RowCodec(codec, _by_text(GIVEN), _by_text(SHOWN | SHOWN_HERE))


def _by_text(columns: Mapping[str, Columns]) -> dict[str, Columns]:
    """Also by the names of composed queries."""
    catalogue = load_catalogue()
    return {catalogue.get(query, query): each for query, each in columns.items()}
