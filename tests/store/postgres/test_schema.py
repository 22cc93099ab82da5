"""The tables: they hold what the model says, their migrations add up, and a step's end stays within its page."""

from __future__ import annotations

from typing import Any

import pytest

from stepward.model.records import Audit
from stepward.model.states import TASK_ENDS, StepKind, StepState, TaskState
from stepward.store.contract import Change
from stepward.store.postgres.schema import versions
from stepward.store.rules.audit.audit_chain import FIRST_HASH, linked
from tests.store.conformance.world import World, add_steps, claimed, finish, scheduler, step
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

STATES: dict[tuple[str, str, str], set[Any]] = {
    ("task", "state", "task_state_check"): set(TaskState),
    ("step", "state", "step_state_check"): set(StepState),
    ("step", "kind", "step_kind_check"): set(StepKind),
}


@pytest.mark.parametrize("check", STATES)
async def test_checks_allow_what_the_model_knows(database: Database, check: tuple[str, str, str]) -> None:
    await database.opened()
    table, _, name = check
    ((text,),) = await database.rows(
        "select pg_get_constraintdef(c.oid) from pg_constraint as c "
        f"where c.conname = '{name}' and c.conrelid = 'stepward_shop.{table}'::regclass"
    )
    allowed = {part.split("'")[0] for part in text.split("'")[1::2]}
    assert allowed == {state.value for state in STATES[check]}


async def test_a_task_that_ended_says_when_and_no_other_does(database: Database) -> None:
    await database.opened()
    for state in TaskState:
        is_end = state in TASK_ENDS
        fields = {"locked_by": "'s'" if state is TaskState.PROCESSING else "null"}
        for finished in ("null", "1.0"):
            insert = INSERT.format(state=state.value, locked_by=fields["locked_by"], finished=finished)
            if is_end == (finished != "null"):
                await database.rows(insert)
            else:
                with pytest.raises(Exception, match=r"task_finished|task_owned"):
                    await database.rows(insert)


async def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in versions.migrations()] == list(range(1, versions.newest() + 1))


async def test_a_step_that_ends_stays_within_its_page(database: Database) -> None:
    world = World(lambda environment: database.store())
    store = await database.opened()
    await scheduler(store)
    task = await claimed(world, store)
    steps = [step(task, f"pay/{number}", number, complete_by=9e9) for number in range(100)]
    await add_steps(store, task, *steps)
    for charge in steps:
        assert (
            await store.scheduler.commit("s1", [Change(task=task.uid, finishes=[finish(charge)])], None)
        ).missed == {}
    await store.close()
    ((updated, within),) = await database.rows(COUNTED)
    assert updated == 100
    assert within >= 95


async def test_the_audit_is_a_chain_that_shows_an_edit(database: Database) -> None:
    store = await database.opened()
    await scheduler(store)
    for act in ("one", "two", "three"):
        await store.scheduler.commit("s1", [Change(task="x", audits=[Audit(actor="ada", act=act)])], None)
    assert await _breaks(database) == []
    await database.rows("update stepward_shop.audit set actor = 'eve' where act = 'two'")
    assert await _breaks(database) == [2]
    await database.rows("delete from stepward_shop.audit where act = 'two'")
    assert await _breaks(database) == [3]


async def _breaks(database: Database) -> list[int]:
    previous, found = FIRST_HASH, []
    for number, *values, link in await database.rows("select * from stepward_shop.audit order by number"):
        if linked(previous, tuple(values)) != link:
            found.append(number)
        previous = link
    return found


INSERT = """
insert into stepward_shop.task (uid, id, workflow, version, state, priority, labels, run, input, locked_by, undo_to,
    inbox, failure_count, recovery_count, created_at, finished_at)
values (gen_random_uuid()::text, gen_random_uuid()::text, 'w', '1', '{state}', 5, '{{}}', 1, '[]', {locked_by},
    'undone', 0, 0, 0, 0, {finished})
"""
COUNTED = """
select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where schemaname = 'stepward_shop' and relname = 'step'
"""
