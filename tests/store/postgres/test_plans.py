"""How the queries go over the rows: by an index of live rows, whatever the tables held when they were prepared."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stepward.store.postgres.engine.connecting.connector import PINNED
from stepward.store.postgres.engine.query_catalogue import load_catalogue
from stepward.store.postgres.engine.search_dialect import search_dialect
from stepward.store.search.parser import parsed
from stepward.store.search.statements import sample
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

Nodes = list[dict[str, Any]]
PARAMETERS = "select cardinality(parameter_types) from pg_prepared_statements where name = 'it'"
BOOK = load_catalogue("stepward_shop")
SMALL = {
    "instance",
    "leadership",
    "meta",
    "workflow",
    "schedule",
    "alert",
    "alert_sink",
    "alert_silence",
    "webhook",
    "state_sample",
    "flow",
    "flow_limit",
    "agent_slot",
    "agent",
    "credential",
    "batch",
}
"""Tables of a few rows."""
CATALOGUE = {"pg_class", "pg_database", "pg_namespace"}
MAY_WALK = {"erasure.delete_letters", "gauges.read", "messages.dead_letters", "messages.letters_of"}
"""Over a bounded number of rows in the order of their keys."""
LARGE_ALERTS = {"alert_undelivered", "alert_task"}
"""Indexes that find few of many alerts."""
LARGE = {"task", "step", "inbox", "message"}
BOUNDED = {
    ("gauges.heads", "message_queue"),
    ("early_warnings.heads", "message_queue"),
    ("early_warnings.late_tasks", "task_deadline"),
    ("early_warnings.newest_token", "message_pkey"),
    ("early_warnings.waiting", "task_claimable"),
    ("messages.forget_expired", "message_queue"),
    ("scheduler.next_wake", "task_claimable"),
    ("scheduler.next_wake", "task_waking"),
    ("supervisor.due", "task_claimable"),
    ("supervisor.unserved", "task_claimable"),
    ("grace.held", "task_held"),
    ("gauges.read", "message_queue"),
    ("gauges.read", "task_held"),
    ("alerts_and_audit.resolve", "task_by_error"),
    ("overview.late", "task_deadline"),
    ("overview.processing", "task_held"),
    ("overview.queues", "message_queue"),
}
"""The first of an index, or as many as the query's own limit; ``settle`` is asked once for an alert."""
EXPECTED = {
    "turn.held": {"task_pkey"},
    "inbox.lock": {"task_pkey"},
    "turn.finish": {"step_pkey"},
    "turn.finish_compact": {"step_pkey"},
    "turn.dispatch": {"step_pkey"},
    "turn.watch": {"step_pkey"},
    "turn.move_step": {"step_pkey"},
    "turn.fill_step": {"step_pkey"},
    "turn.deliver": {"step_pkey"},
    "turn.move_task": {"task_pkey"},
    "turn.take_inbox": {"inbox_pkey"},
    "inbox.count": {"task_pkey"},
    "completions.step": {"step_pkey"},
    "completions.complete": {"step_pkey"},
    "completions.lock_steps": {"step_pkey"},
    "completions.steps": {"step_pkey"},
    "completions.complete_all": {"step_pkey"},
    "inbox.move_free_all": {"task_pkey"},
    "inbox.skip_all": {"step_pkey"},
    "status_events.next_of": {"task_pkey"},
    "progress.note": {"step_pkey"},
    "misrouted_replies.defer": {"step_pkey"},
    "scheduler.open_claim": {"task_waking", "task_pkey", "rate_bucket_due"},
    "scheduler.claim": {"task_claimable", "task_pkey"},
    "scheduler.tasks": {"task_pkey"},
    "scheduler.steps": {"step_pkey"},
    "scheduler.inbox": {"inbox_task"},
    "scheduler.read_inbox": {"inbox_pkey", "task_pkey"},
    "scheduler.read_inbox_since": {"inbox_xid", "task_pkey"},
    "scheduler.next_wake": {"task_claimable", "task_waking", "rate_bucket_due"},
    "given_back_tasks.lock": {"task_held"},
    "given_back_tasks.release": {"task_held", "inbox_task"},
    "messages.take": {"message_queue", "message_pkey"},
    "messages.delete": {"message_pkey"},
    "erasure.events": {"message_queue"},
    "erasure.delete_events": {"message_pkey"},
    "messages.extend": {"message_pkey"},
    "messages.withdraw": {"message_asked", "message_pkey"},
    "messages.bury": {"message_pkey"},
    "messages.forget_expired": {"message_queue", "message_pkey"},
    "messages.read": {"message_queue"},
    "messages.nonempty": {"message_queue"},
    "messages.read_since": {"message_queue"},
    "grace.held": {"task_held"},
    "grace.extend_tasks": {"task_pkey"},
    "grace.extend_steps": {"task_pkey", "step_pkey"},
    "grace.restart_deadlines": {"task_deadline", "task_pkey"},
    "supervisor.free": {"task_held", "task_pkey"},
    "supervisor.expired_steps": {"step_watched", "task_pkey"},
    "supervisor.decide": {"step_pkey"},
    "supervisor.expired_tasks": {"task_deadline"},
    "retention.outlived": {"task_finished", "task_pkey", "step_pkey"},
    "retention.tasks": {"task_pkey"},
    "retention.steps": {"step_pkey"},
    "retention.inbox": {"inbox_task", "inbox_pkey"},
    "retention.signals": {"signal_seen_pkey"},
    "retention.standing": {"task_pkey", "step_pkey"},
    "retention.lock_standing": {"task_pkey", "step_pkey"},
    "retention.purge_tasks": {"task_pkey"},
    "retention.purge_steps": {"step_pkey"},
    "retention.purge_inbox": {"inbox_task", "inbox_pkey"},
    "retention.purge_signals": {"signal_seen_pkey"},
    "retention.values": {"live_value_pkey"},
    "retention.streams": {"stream_value_pkey"},
    "retention.updates": {"update_request_pkey"},
    "retention.purge_values": {"live_value_pkey"},
    "retention.purge_streams": {"stream_value_pkey"},
    "retention.purge_updates": {"update_request_pkey"},
    "retention.is_left": {
        "step_pkey",
        "inbox_task",
        "signal_seen_pkey",
        "live_value_pkey",
        "stream_value_pkey",
        "update_request_pkey",
        "joined_submission_task",
    },
    "keyed.holder": {"task_pkey"},
    "keyed.known": {"task_id_key", "joined_submission_pkey"},
    "keyed.postpone": {"task_pkey"},
    "keyed.blocked": {"submission_key_task", "task_pkey"},
    "overview.attempts": {"task_pkey", "step_pkey"},
    "overview.submitted": {"task_by_created"},
    "overview.ended": {"task_finished"},
    "alerts_and_audit.task_alerts": {"task_id_key", "task_pkey", "alert_task"},
    "alerts_and_audit.task_audits": {"task_id_key", "task_pkey", "audit_task"},
    "client.live_value": {"live_value_pkey"},
    "client.live_values": {"live_value_pkey"},
    "client.stream_values": {"stream_value_pkey"},
    "client.update": {"update_request_pkey"},
    "directives.drop_child_end": {"inbox_task"},
    "turn.answer": {"update_request_pkey"},
    "client.streams": {"stream_value_pkey"},
    "client.steps": {"task_id_key", "step_pkey"},
    "submission.existing": {"task_id_key"},
}


@asynccontextmanager
async def planning(database: Database) -> AsyncIterator[Callable[[str], Awaitable[Nodes]]]:
    """What gives every node of the plan that our connections make, with nothing known of the values."""
    connection = await database.connect()
    for name, value in PINNED.items():
        await connection.execute(f"set {name} = {value}")

    async def plan(sql: str) -> Nodes:
        await connection.execute(f"prepare it as {sql}")
        ((count,),) = await connection.fetch(PARAMETERS)
        values = f"({', '.join(['null'] * count)})" if count else ""
        ((text,),) = await connection.fetch(f"explain (format json) execute it{values}")
        await connection.execute("deallocate it")
        return list(_nodes(json.loads(text)[0]["Plan"]))

    yield plan


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for below in node.get("Plans", []):
        yield from _nodes(below)


def indexes(nodes: Nodes) -> set[str]:
    """The indexes that the plan reads, those of small tables left out."""
    names = {node["Index Name"] for node in nodes if "Index Name" in node}
    return {name for name in names if name.partition("_")[0] not in SMALL or name in LARGE_ALERTS}


@pytest.fixture(params=["new", "full"])
async def filled(request: pytest.FixtureRequest, database: Database) -> Database:
    await database.opened()
    if request.param == "full":
        await database.run(FILL)
    return database


async def test_no_query_walks_over_a_table(filled: Database) -> None:
    async with planning(filled) as plan:
        for name, sql in BOOK.items():
            if name not in MAY_WALK:
                walked = {node["Relation Name"] for node in await plan(sql) if node["Node Type"] == "Seq Scan"}
                assert walked - SMALL - CATALOGUE == set(), name


async def test_no_query_walks_along_an_index_further_than_its_limit(filled: Database) -> None:
    async with planning(filled) as plan:
        walks = {
            (name, node["Index Name"])
            for name, sql in BOOK.items()
            for node in await plan(sql)
            if "Index Name" in node and "Index Cond" not in node and node.get("Relation Name") in LARGE
        }
    assert walks - BOUNDED == set()


async def test_hot_queries_use_the_indexes_made_for_them(filled: Database) -> None:
    async with planning(filled) as plan:
        found = {name: indexes(await plan(BOOK[name])) for name in EXPECTED}
        assert found == EXPECTED


async def test_each_sampled_task_is_looked_up_alone(filled: Database) -> None:
    statement = sample(search_dialect("stepward_shop"), parsed("attr.total > 499.5", 0.0))
    async with planning(filled) as plan:
        nodes = await plan(statement.sql)
    kinds = {node["Node Type"] for node in nodes}
    assert "Limit" in kinds
    assert "Hash" not in kinds


async def test_a_pass_of_the_supervisor_leaps(filled: Database) -> None:
    async with planning(filled) as plan:
        found = indexes(await plan(BOOK["supervisor.due"]))
    expected = {"step_watched", "task_deadline", "task_held", "task_claimable", "task_waking", "alert_undelivered"}
    assert expected <= found


async def test_what_a_claim_reads_depends_on_what_it_takes(database: Database) -> None:
    await database.opened()
    await database.run(BACKLOG)
    connection = await database.connect()
    for name, value in PINNED.items():
        await connection.execute(f"set {name} = {value}")
    await connection.execute(f"prepare it as {BOOK['scheduler.claim']}")
    for limit, most in ((1, 100), (100, 2_500)):
        turns = "array['', '', '', '', '', 'k7']"
        values = f"(array['w0', 'w1'], array['1', '1'], {limit}, 's1', 0, {turns}, 0, '{{}}', 30)"
        ((text,),) = await connection.fetch(f"explain (analyze, format json) execute it{values}")
        nodes = list(_nodes(json.loads(text)[0]["Plan"]))
        read = sum(node["Actual Rows"] * node["Actual Loops"] for node in nodes if "Index Name" in node)
        assert 0 < read < most, limit


BACKLOG = """
insert into stepward_shop.task (uid, id, workflow, version, state, priority, fairness_key, labels, run, input, inbox,
    failure_count, recovery_count, created_at)
select 't' || n, 'i' || n, 'w' || n % 2, '1', 'pending', 5, case when n % 2 = 0 then 'big' else 'k' || n % 999 end,
    '{}', 1, '[]', 0, 0, 0, 0
from generate_series(1, 40000) as n;
"""
FILL = """
insert into stepward_shop.task (uid, id, workflow, version, state, priority, labels, run, input, locked_by, inbox,
    failure_count, recovery_count, created_at, finished_at)
select 't' || n, 'i' || n, 'w' || n % 5, '1', case when n % 10 = 0 then 'pending' when n % 10 = 1 then 'processing'
    else 'processed' end, 5, '{}', 1, '[]', case when n % 10 = 1 then 's1' end, 0, 0, 0, n,
    case when n % 10 > 1 then n end
from generate_series(1, 20000) as n;
insert into stepward_shop.step (task, run, key, number, name, kind, state, attempt, failure_count, complete_by, input,
    has_undo, irreversible, in_doubt, watched, generation)
select 't' || n, 1, 'pay/' || m, m, 'pay', 'operation', 'running', 1, 0, n, '[]', false, false, false, n % 100 = 1, 0
from generate_series(1, 20000) as n, generate_series(1, 3) as m;
insert into stepward_shop.message (queue, body, taken_until)
select 'q' || n % 3, 'x', case when n % 2 = 0 then n else 0 end from generate_series(1, 20000) as n;
insert into stepward_shop.inbox (task, kind, name, body, sender)
select 't' || n, 'signal', 'x', 'x', '' from generate_series(1, 20000) as n;
insert into stepward_shop.alert (at, kind, task, task_id, message, details, tries, next_try)
select n, 'task_error', 't' || n, 'i' || n, 'no', '{}', 0, n from generate_series(1, 20000) as n;
insert into stepward_shop.instance
select 's' || n, 'scheduler', 'h', 1, '[]', 0, n, true, 0, 0 from generate_series(1, 5) as n;
analyze;
"""
