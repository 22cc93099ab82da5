"""Early warnings: one open alert for each sign of trouble as long as it lasts, and none in good order."""

from __future__ import annotations

import shutil
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from stepward.model.records import Instance, Role
from stepward.model.schedule import Schedule
from stepward.model.schedule_overlap import Overlap
from stepward.store.contract import Batch, BatchParameters, BatchVerb, Standby
from stepward.store.contract.values.early_warnings import LateTask, QueueHead, WaitingTask, WarningFigures
from stepward.supervisor import Supervisor

from .conftest import Bench

LATE = [LateTask("order", "1", f"order-{number}") for number in range(7)]
INSTANCE = Instance(id="s1", role=Role.SCHEDULER, host="h", pid=7, serves=["order@1"])
OFF: dict[str, Any] = {"warn_disk_free": "never"}


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def open_alerts(bench: Bench) -> list[str]:
    return [alert.message for alert in bench.store.alerts.values() if alert.acknowledged_at is None]


async def passes(bench: Bench, supervisor: Supervisor, seconds: float) -> None:
    """Pass after pass for so many seconds."""
    until = bench.store.time + seconds
    while bench.store.time < until:
        await supervisor.turn()
        bench.store.time += 2


async def test_late_tasks_of_a_workflow_are_one_alert_until_none_is_left(bench: Bench) -> None:
    supervisor = bench.supervisor(**OFF)
    bench.store.signs = WarningFigures(late_tasks=LATE)
    await passes(bench, supervisor, 10)
    assert open_alerts(bench) == [
        "workflow order@1: expected its tasks to end in time, found 7 that have used 80% of the time until their "
        "deadline: order-0, order-1, order-2, order-3, order-4, …; see what they wait for"
    ]
    bench.store.signs = WarningFigures()
    await passes(bench, supervisor, 48)
    assert len(open_alerts(bench)) == 1
    await passes(bench, supervisor, 4)
    assert open_alerts(bench) == []
    changes = [event.fields for event in bench.told if event.name == "warnings.changed"]
    assert changes == [{"raised": 1, "resolved": 0}, {"raised": 0, "resolved": 1}]
    assert bench.store.calls.count("keep_warnings") == 2


async def test_a_sign_that_comes_and_goes_is_one_alert(bench: Bench) -> None:
    supervisor = bench.supervisor(**OFF)
    for late in ([INSTANCE], [], [INSTANCE], []):
        bench.store.late = late
        await passes(bench, supervisor, 20)
    assert len(bench.store.alerts) == 1
    assert open_alerts(bench)[0].startswith(
        "instance s1 (process 7 on h): expected its lease renewed at each third, found 80% of it used"
    )


async def test_a_message_is_old_once_a_look_before_the_limit_saw_it(bench: Bench) -> None:
    supervisor = bench.supervisor(warn_queue_age="1m", **OFF)
    bench.store.signs = WarningFigures(heads=[QueueHead("agents.mail", 5)], newest_token=9)
    await passes(bench, supervisor, 58)
    assert open_alerts(bench) == []
    await passes(bench, supervisor, 6)
    (message,) = open_alerts(bench)
    assert message.startswith("queue agents.mail: expected its messages to be taken within 1m, found an older one")


async def test_a_queue_that_moves_fast_enough_is_not_old(bench: Bench) -> None:
    supervisor = bench.supervisor(warn_queue_age="1m", **OFF)
    for number in range(100):
        # The backlog is half a minute long.
        bench.store.signs = WarningFigures(
            heads=[QueueHead("agents.mail", 10 * number)], newest_token=10 * number + 150
        )
        await passes(bench, supervisor, 2)
    assert open_alerts(bench) == []


async def test_a_queue_that_moves_too_slowly_is_old(bench: Bench) -> None:
    supervisor = bench.supervisor(warn_queue_age="1m", **OFF)
    for number in range(100):
        bench.store.signs = WarningFigures(heads=[QueueHead("agents.mail", number)], newest_token=10 * number)
        await passes(bench, supervisor, 2)
    assert len(open_alerts(bench)) == 1


async def test_a_waiting_task_is_old_if_it_stays_first(bench: Bench) -> None:
    supervisor = bench.supervisor(warn_queue_age="1m", **OFF)
    long_ago = bench.store.time - 3600
    for number in range(20):
        # Tasks that were delayed until now, and are claimed at once.
        bench.store.signs = WarningFigures(waiting=[WaitingTask("order", "1", f"order-{number}", long_ago)])
        await passes(bench, supervisor, 2)
    assert open_alerts(bench) == []
    await passes(bench, supervisor, 30)
    (message,) = open_alerts(bench)
    assert message.startswith(
        "workflow order@1: expected its tasks to start within 1m, found order-19 waiting for longer"
    )


def hourly(name: str, **more: Any) -> Schedule:
    """A schedule of each full hour."""
    given = {"cron": "0 * * * *", "timezone": "UTC", "catch_up": "one", "priority": 5, **more}
    return Schedule(name=name, workflow="report", version="1", input=b"[]", **given)


async def test_a_nominal_time_that_passed_without_a_start_is_an_alert_until_starts_are_in_time(bench: Bench) -> None:
    due = 3600.0
    bench.store.time = due + 61 * 60.0
    bench.store.recurring = {
        each.name: each
        for each in (
            hourly("late", next_at=due),
            hourly("dropped", next_at=due, catch_up="none"),
            hourly("waiting", next_at=due, overlap=Overlap.BUFFER_ONE),
            hourly("jittered", next_at=due + 3600, jitter=7200.0),
            hourly("in time", next_at=due + 2 * 3600),
        )
    }
    supervisor = bench.supervisor(warn_schedule_late="30s", **OFF)
    await passes(bench, supervisor, 10)
    assert sorted(open_alerts(bench)) == [
        f"schedule {name}: expected a start within 30s of 1970-01-01 01:00:00 UTC, found none after 1h 1m; see why no "
        "Supervisor ran, and whether the task is still needed"
        for name in ("dropped", "late")
    ]
    await passes(bench, supervisor, 62)
    assert open_alerts(bench) == []


async def test_starts_are_not_watched_where_the_setting_says_never(bench: Bench) -> None:
    bench.store.time = 7300.0
    bench.store.recurring = {"late": hourly("late", next_at=3600.0)}
    await passes(bench, bench.supervisor(warn_schedule_late="never", **OFF), 10)
    assert open_alerts(bench) == []


async def test_a_disk_that_is_nearly_full_is_an_alert_until_there_is_room(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = Usage(100, 96, 4)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    supervisor = bench.supervisor(store="sqlite:////data/shop.db")
    await passes(bench, supervisor, 20)
    assert open_alerts(bench) == ["disk of /data: expected 5.0% free, found 4.0%; make room before writing fails"]
    usage = Usage(100, 50, 50)
    await passes(bench, supervisor, 80)
    assert open_alerts(bench) == []


async def test_a_folder_that_cannot_be_read_is_no_sign(bench: Bench) -> None:
    await passes(bench, bench.supervisor(store="sqlite:////absent/folder/shop.db"), 20)
    assert open_alerts(bench) == []


async def test_a_standby_that_is_far_behind_is_an_alert(bench: Bench) -> None:
    behind = Standby(name="one", state="streaming", sync="async", behind=70 * 1024**2)
    bench.store.attached = [behind, replace(behind, name="two", behind=9)]
    await passes(bench, bench.supervisor(**OFF), 20)
    (message,) = open_alerts(bench)
    assert message.startswith("standby one: expected at most 67,108,864 bytes behind the primary, found 73,400,320")


async def test_an_idle_store_is_asked_for_leases_often_and_for_work_seldom(bench: Bench) -> None:
    await passes(bench, bench.supervisor(**OFF), 60)
    assert (bench.store.calls.count("late_leases"), bench.store.calls.count("early_warnings")) == (30, 6)


async def test_what_is_switched_off_raises_nothing(bench: Bench) -> None:
    bench.store.signs = WarningFigures(heads=[QueueHead("agents.mail", 5)], newest_token=9)
    bench.store.attached = [Standby(name="one", state="streaming", sync="async", behind=2**40)]
    supervisor = bench.supervisor(warn_queue_age="never", warn_standby_behind="never", warn_lease_at="never", **OFF)
    await passes(bench, supervisor, 700)
    assert open_alerts(bench) == []
    assert not {"standbys", "late_leases"} & set(bench.store.calls)


async def test_a_new_leader_takes_over_the_open_alerts(bench: Bench) -> None:
    bench.store.signs = WarningFigures(late_tasks=LATE)
    await passes(bench, bench.supervisor(**OFF), 4)
    bench.store.signs = WarningFigures()
    await passes(bench, bench.supervisor(**OFF), 4)
    assert (len(bench.store.alerts), open_alerts(bench)) == (1, [])


async def test_a_batch_whose_key_is_missing_is_one_alert_until_it_can_be_read(bench: Bench) -> None:
    supervisor = bench.supervisor(**OFF)
    locked = Batch(
        id="b-1",
        verb=BatchVerb.RESUBMIT,
        filter="state = 'error'",
        as_of=1.0,
        parameters=BatchParameters(is_sealed=True),
        actor="ada",
        rate=20.0,
        matched=2,
        is_exact=True,
        next_at=1.0,
        created_at=1.0,
    )
    bench.store.batches = [locked]
    await passes(bench, supervisor, 10)
    assert open_alerts(bench) == [
        "batch b-1: expected the leading Supervisor to have the key that its parameters are encrypted with, found it "
        "missing; give that process the key in STEPWARD_ENCRYPTION, and restart it"
    ]
    assert "advance_batch" not in bench.store.calls
    bench.store.batches = []
    await passes(bench, supervisor, 62)
    assert open_alerts(bench) == []
