"""Searches on SQLite: each source names its index, so that no plan depends on values or statistics."""

from __future__ import annotations

from stepward.model.records import Task
from stepward.store.search.dialect import SearchDialect
from stepward.store.search.listed_columns import listed_columns

DIALECT = SearchDialect(
    mark="?",
    task="stepward_task",
    step="stepward_step",
    alert="stepward_alert",
    search="stepward_search",
    # Else the rows of each task are looked for among those of all tasks that have such a value.
    unindexed="+",
    columns=listed_columns(Task, input="x'5b5d'"),
    # Joined in this order, which keeps that of the candidates.
    joined="from ({keys}) as c cross join stepward_task as t on t.uid = c.uid where {rest}",
    page_order="",
    error_type="case when not json_valid(cast(t.error as text)) then null "
    "when json_type(cast(t.error as text), '$.type') = 'text' then json_extract(cast(t.error as text), '$.type') end",
    listed="from stepward_task as t indexed by stepward_task_listed where t.state <> 'processing' "
    "and t.state <> 'processed' and t.state <> 'undone' and t.state <> 'cancelled'",
    ended="from stepward_task as t indexed by stepward_task_by_end where t.finished_at is not null "
    "and t.state <> 'error'",
    held="from stepward_task as t indexed by stepward_task_held where t.locked_by is not null",
    with_error="from stepward_task as t indexed by stepward_task_by_error where t.error is not null",
    by_workflow="from stepward_task as t indexed by stepward_task_by_workflow where true",
    by_created="from stepward_task as t indexed by stepward_task_by_created where true",
    by_id="from stepward_task as t indexed by stepward_task_id where true",
    text_of="from stepward_search as f indexed by stepward_search_text where true",
    number_of="from stepward_search as f indexed by stepward_search_number where true",
    fence="",
    sample="""select count(*), coalesce((select max(rowid) from stepward_task)
        - (select min(rowid) from stepward_task) + 1.0, 0.0) / json_array_length({points})
    from json_each({points}) as point cross join stepward_task as t
        on t.rowid = (select min(rowid) from stepward_task) + cast(point.value
            * ((select max(rowid) from stepward_task) - (select min(rowid) from stepward_task) + 1) as integer)
    where {rest}""",
)
