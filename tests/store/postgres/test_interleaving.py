"""Pairs of verbs that meet on the same rows, in every order of their statements, on a real server.

Each pair is tried again with a guard taken out of the SQL: then some order must break what has to hold.
"""

from __future__ import annotations

import pytest

from tests.store.postgres.scenes import (
    Acts,
    Claims,
    Completion,
    Deadline,
    Expiry,
    Release,
    Retirement,
    Seats,
    Stray,
    Takeover,
    TakeoverOfRetry,
)
from tests.store.postgres.stage import staged, without
from tests.store.postgres.worlds import Database

pytestmark = pytest.mark.servers

SCENES = [Acts, Claims, Completion, Deadline, Expiry, Release, Retirement, Seats, Stray, Takeover, TakeoverOfRetry]


@pytest.mark.parametrize("scene", SCENES)
async def test_two_verbs_that_meet_leave_what_one_after_the_other_leaves(database: Database, scene: type) -> None:
    async with staged(database) as stage:
        await stage.meeting.every_order(lambda: scene(stage))
        assert stage.meeting.orders > 3


INBOX = "and (not v.let_go or t.inbox = v.inbox)"
GUARDS = [
    (
        Acts,
        "alerts_and_audit.lock_chain",
        "pg_advisory_xact_lock(hashtextextended('stepward audit ' || $1, 0))",
        "$1::text",
    ),
    (Claims, "scheduler.claim", "for update of t skip locked", ""),
    (Completion, "turn.move_task", INBOX, ""),
    (Completion, "client.lock_task", "for update", ""),
    (Deadline, "turn.move_task", INBOX, ""),
    (Deadline, "supervisor.clear_deadline", "and t.finished_at is null", ""),
    (
        Expiry,
        "turn.finish_compact",
        "and (s.state = 'running' or (s.state = 'abandoned' and s.finished_at is null))",
        "",
    ),
    (Expiry, "supervisor.decide", "and s.state = 'running'", ""),
    (Release, "turn.move_task", INBOX, ""),
    (Release, "inbox.count", "least(t.wake_at, $4)", "coalesce(t.wake_at, $4 + 9)"),
    (Retirement, "given_back_tasks.lock", "for update", ""),
    (Seats, "leadership.read_to_lead", "for update", ""),
    (Stray, "inbox.lock", "for update", ""),
    (Takeover, "turn.fence", "and alive for share", ""),
]


@pytest.mark.parametrize(("scene", "query", "guard", "instead"), GUARDS)
async def test_a_guard_that_is_taken_out_is_missed(
    database: Database, scene: type, query: str, guard: str, instead: str
) -> None:
    with without(query, guard, instead):
        async with staged(database) as stage:
            with pytest.raises(AssertionError):
                await stage.meeting.every_order(lambda: scene(stage))


@pytest.mark.parametrize("guarded", [True, False])
async def test_fencing_waits_for_a_commit_that_has_begun(database: Database, guarded: bool) -> None:
    with without("turn.fence", "for share" if not guarded else ""):
        async with staged(database) as stage:
            scene = Takeover(stage)
            await scene.make()
            beside = await database.connect()
            async with beside.transaction():
                await beside.execute("select 1 from stepward_shop.step where task = $1 for update", scene.task.uid)
                is_held_up, has_waited = await stage.meeting.both_stand(scene)
            assert is_held_up
            assert has_waited is guarded
            left, right = await stage.meeting.both_end()
            if guarded:
                await scene.check(left, right)
