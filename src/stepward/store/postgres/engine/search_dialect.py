"""Searches on PostgreSQL: conditions word for word as in the partial indexes, so that the server uses them."""

from __future__ import annotations

from functools import lru_cache

from stepward.model.records import Task
from stepward.store.postgres.engine.query_catalogue import CATALOGUES_KEPT, quoted
from stepward.store.search.dialect import SearchDialect
from stepward.store.search.listed_columns import listed_columns

BLOCKS = 120
"""Of the table of tasks, so many blocks are a sample."""
PERCENT = "least(100.0, {blocks} * 819200.0 / greatest(1, pg_relation_size('{task}'::regclass)))"
"""819,200 is a hundred blocks of 8 KiB."""


@lru_cache(maxsize=CATALOGUES_KEPT)
def search_dialect(schema: str) -> SearchDialect:
    """The words for tables in the schema of that name."""
    name = quoted(schema)
    tasks = f"from {name}.task as t where"
    percent = PERCENT.replace("{blocks}", str(BLOCKS)).replace("{task}", f"{name}.task".replace("'", "''"))
    return SearchDialect(
        mark="$",
        task=f"{name}.task",
        step=f"{name}.step",
        alert=f"{name}.alert",
        search=f"{name}.search",
        unindexed="",
        columns=listed_columns(Task, input="'[]'::bytea"),
        # The limit has the server look each candidate up, and not read the whole table.
        joined="from ({keys}) as c cross join lateral "
        f"(select t.* from {name}.task as t where t.uid = c.uid and {{rest}} limit 1) as t",
        page_order=" order by c.created_at {down}, c.uid {down}",
        error_type=f"{name}.error_type(t.error)",
        listed=f"{tasks} t.state not in ('processing', 'processed', 'undone', 'cancelled')",
        ended=f"{tasks} t.finished_at is not null and t.state <> 'error'",
        held=f"{tasks} t.locked_by is not null",
        with_error=f"{tasks} t.error is not null",
        by_workflow=f"{tasks} true",
        by_created=f"{tasks} true",
        by_id=f"{tasks} true",
        text_of=f"from {name}.search as f where true",
        number_of=f"from {name}.search as f where true",
        fence=" offset 0",
        # Else the server may hash the values of all tasks for the few of the sample.
        sample=f"select count(*), 100.0 / {percent} from (select t.uid from {name}.task as t "
        f"tablesample system ({percent}) repeatable (1)) as c cross join lateral "
        f"(select 1 from {name}.task as t where t.uid = c.uid and {{rest}} limit 1) as t",
    )
