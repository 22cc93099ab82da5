"""The tables say what the model says, and what runs often never walks over finished rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import apsw
import pytest
from msgspec import Struct
from msgspec.structs import astuple, replace

from stepward.model.agents import AgentStanding
from stepward.model.records import Audit, DeadLetter, InboxKind, InboxRow, Instance, Role, Step, Task
from stepward.model.states import TASK_ENDS, StepKind, StepState, TaskState
from stepward.store.contract import Change
from stepward.store.rules.audit.audit_chain import FIRST_HASH, linked
from stepward.store.sqlite.engine.query_catalogue import load_catalogue
from stepward.store.sqlite.schema.migration import migrations
from tests.store.conformance.world import World
from tests.store.conformance.world import scheduler as registered
from tests.store.places import execute, opened, sqlite

QUERIES = load_catalogue()

MAY_WALK = {
    "erasure.delete_letters",
    "agents.standings",
    "client.workflow",
    "client.workflows",
    "client.instances",
    "alerts_and_audit.alerts",
    "alerts_and_audit.audits",
    "credentials.add",
    "credentials.forget",
    "credentials.listed",
    "gauges.read",
    "alerts_and_audit.last_hash",
    "overview.decided",
    "pruning.head",
    "leadership.read",
    "messages.dead_letters",
    "overview.dead_letters",
    "messages.forget_expired",
    "messages.forget_letters",
    "messages.letters_of",
    "messages.nonempty",
    "pruning.old_alerts",
    "pruning.beginning",
    "schedules.listed",
}
"""What walks a table of few rows, or its newest or oldest end."""
SMALL = (
    "stepward_flow_limit",
    "stepward_task_permit",
    "stepward_rate_bucket",
    "stepward_agent_slot",
    "stepward_alert_sink",
    "stepward_alert_silence",
    "stepward_webhook",
    "stepward_instance",
    "stepward_leadership",
    "json_each",
    "CONSTANT ROW",
    "VALUES CLAUSE",
    "first",
    "subquery",
    "VIRTUAL",
)


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    file = tmp_path / "store.db"
    await (await opened(file)).close()
    return file


def checked(table: str, column: str) -> set[str]:
    """The values that the CHECK of a column allows, from the migrations' text."""
    text = "".join(text for _, text in migrations())
    body = text.split(f"create table {table} (")[1].split("\n) strict")[0]
    found = re.search(rf"\n    {column} text[^(]*check \(([^)]*)\)", body)
    assert found is not None
    return set(re.findall(r"'(\w+)'", found[1]))


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("stepward_task", "state", TaskState),
        ("stepward_task", "undo_to", (TaskState.UNDONE, TaskState.CANCELLED)),
        ("stepward_step", "state", StepState),
        ("stepward_step", "kind", StepKind),
        ("stepward_inbox", "kind", InboxKind),
        ("stepward_instance", "role", Role),
    ],
)
def test_checks_allow_what_the_model_has(table: str, column: str, values: Iterable[StrEnum]) -> None:
    assert checked(table, column) == {value.value for value in values}


READ_ALONG = {"task_id"}
"""Fields that are read from another table and not written."""


@pytest.mark.parametrize(
    ("table", "record", "more"),
    [
        ("stepward_task", Task, []),
        ("stepward_step", Step, []),
        ("stepward_inbox", InboxRow, []),
        ("stepward_dead_letter", DeadLetter, []),
        ("stepward_agent", AgentStanding, []),
        ("stepward_audit", Audit, ["hash"]),
    ],
)
def test_columns_stand_as_the_records_fields(file: Path, table: str, record: type[Struct], more: list[str]) -> None:
    found = [name for (name,) in execute(file, f"select name from pragma_table_info('{table}')")]
    assert found == [*(field for field in record.__struct_fields__ if field not in READ_ALONG), *more]


def test_an_instance_has_its_records_fields_and_what_only_the_store_needs(file: Path) -> None:
    found = {name for (name,) in execute(file, "select name from pragma_table_info('stepward_instance')")}
    assert found == {*Instance.__struct_fields__, "renewed_at", "silent_at", "dead_at"}


@pytest.mark.parametrize(
    "fields",
    [
        {"state": TaskState.PROCESSING},
        {"state": TaskState.PENDING, "locked_by": "s1"},
        {"state": TaskState.UNDOING},
        {"state": TaskState.PENDING, "finished_at": 1.0},
        *({"state": state, "undo_to": TaskState.UNDONE} for state in sorted(TASK_ENDS)),
        {"inbox": -1},
        {"run": 0},
        {"undo_to": TaskState.ERROR},
    ],
    ids=str,
)
def test_no_task_stands_against_the_model(file: Path, fields: dict[str, object]) -> None:
    task = replace(Task(uid="u", id="i", workflow="w", version="1"), **fields)
    connection = apsw.Connection(str(file))
    with pytest.raises(apsw.ConstraintError, match="CHECK"):
        connection.execute(QUERIES["turn.insert_task"], astuple(task))
    connection.close()


@pytest.mark.parametrize("name", QUERIES)
def test_every_query_is_understood_and_walks_over_no_table(file: Path, name: str) -> None:
    connection = apsw.Connection(str(file))
    sql = QUERIES[name]
    parameters = (None,) * places(sql)
    plan = [row[3] for row in connection.execute("explain query plan " + sql, parameters)]
    connection.close()
    walks = [line for line in plan if line.startswith("SCAN") and not any(small in line for small in SMALL)]
    walks = [
        line
        for line in walks
        if not re.search(r"USING (COVERING )?INDEX|SCAN (i|s|t|wanted|page|ring|me|other|live|queues|q)\b", line)
    ]
    if name not in MAY_WALK:
        assert walks == []


def places(sql: str) -> int:
    """How many values a query takes: a bare ? is one more than the largest so far."""
    largest = 0
    for number in re.findall(r"\?(\d*)", sql):
        largest = max(largest, int(number)) if number else largest + 1
    return largest


async def test_hot_queries_use_the_indexes_of_live_rows(file: Path) -> None:
    connection = apsw.Connection(str(file))

    def plan(sql: str, count: int) -> str:
        return " ".join(row[3] for row in connection.execute("explain query plan " + sql, (None,) * count))

    of_priority = "stepward_task_claimable (workflow=? AND version=? AND priority=? AND <expr>"
    assert "INDEX stepward_task_claimable (workflow=? AND version=? AND priority>?)" in plan(
        QUERIES["claiming.tops"], 2
    )
    assert f"INDEX {of_priority}>?)" in plan(QUERIES["claiming.ring"], 4)
    assert f"INDEX {of_priority}=?)" in plan(QUERIES["claiming.line"], 5)
    assert "stepward_task_waking" in plan(QUERIES["scheduler.wake"], 2)
    assert "stepward_task_uid (uid=?)" in plan(QUERIES["turn.held"], 2)
    assert "stepward_step_key (task=? AND run=? AND key=?)" in plan(QUERIES["turn.finish"], 11)
    assert "stepward_step_key (task=? AND run>? AND run<?)" in plan(QUERIES["scheduler.steps"], 1)
    assert "INDEX stepward_message_asked (<expr>>? AND <expr><?)" in plan(QUERIES["messages.withdraw"], 5)
    assert "INDEX stepward_message_queue (queue=?)" in plan(QUERIES["erasure.events"], 2)
    assert "stepward_alert_task (task=?)" in plan(QUERIES["alerts_and_audit.task_alerts"], 3)
    assert "stepward_audit_task (task=?)" in plan(QUERIES["alerts_and_audit.task_audits"], 2)
    assert "COVERING INDEX stepward_task_by_created (created_at>?)" in plan(QUERIES["overview.submitted"], 3)
    assert "INDEX stepward_task_finished (finished_at>?)" in plan(QUERIES["overview.ended"], 3)
    due = plan(QUERIES["supervisor.due"], 3)
    for index in ("step_watched", "task_deadline", "task_held", "task_claimable", "task_waking", "alert_undelivered"):
        assert f"stepward_{index}" in due
    assert "stepward_task_claimable (workflow=? AND version>?)" in due
    connection.close()


async def test_the_audit_is_a_chain_that_shows_an_edit(file: Path) -> None:
    world = World(lambda environment: sqlite(file, environment=environment))
    store = await world.open()
    await registered(store)
    for act in ("one", "two", "three"):
        await store.scheduler.commit("s1", [Change(task="x", audits=[Audit(actor="ada", act=act)])], None)
    assert _breaks(file) == []
    execute(file, "update stepward_audit set actor = 'eve' where act = 'two'")
    assert _breaks(file) == [2]
    execute(file, "delete from stepward_audit where act = 'two'")
    assert _breaks(file) == [3]
    await world.close()


def _breaks(file: Path) -> list[int]:
    """The numbers of acts whose hash does not follow from the one before and themselves."""
    previous, found = FIRST_HASH, []
    for number, *values, link in execute(file, "select * from stepward_audit order by number"):
        if linked(previous, tuple(values)) != link:
            found.append(number)
        previous = link
    return found
