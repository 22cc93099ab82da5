"""What `show`, `steps`, `tasks` and `alerts` tell of a task beside its own row."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from stepward.cli.commands.tasks.steps import STEP_COLUMNS, step_row
from stepward.client.handle import actor
from stepward.client.task_status import StepRecord
from stepward.model.records import Alert, Role
from stepward.model.states import StepState
from stepward.store.rules.supervisor_rows import unserved_alert

from .conftest import Stepward
from .stores import as_json, instance, opened, register

WIDE = "200"
NOW = 1_800_000_000.0
TOOK = [column.name for column in STEP_COLUMNS].index("TOOK")


def record(state: StepState, finished_at: float | None = None) -> StepRecord:
    rest: dict[str, Any] = dict.fromkeys(StepRecord.__struct_fields__)
    given = {"key": "payments.charge/1", "name": "payments.charge", "run": 1, "kind": "operation", "attempt": 1}
    known = {"state": state, "failure_count": 0, "in_doubt": False, "generation": 0, "started_at": NOW - 60}
    return StepRecord(**{**rest, **given, **known, "finished_at": finished_at})


def test_a_failed_child_and_its_parent_name_each_other(troubled: Path, stepward: Stepward) -> None:
    shown = stepward("show", "parent", COLUMNS=WIDE).stdout
    children = shown.partition("Children that failed, or that it waits for\n")[2].splitlines()
    assert children[0] == "  ✗ error  parent/refused/1  stepward show parent/refused/1"
    child = stepward("show", "parent/refused/1", COLUMNS=WIDE).stdout
    assert re.search(r"parent +parent, as its step refused/1", child)
    assert "Children" not in child


def test_errors_in_lists_begin_with_their_type(troubled: Path, stepward: Stepward) -> None:
    assert "KeyError: 'typo'" in stepward("tasks", COLUMNS=WIDE).stdout
    alerts = stepward("alerts", COLUMNS=WIDE).stdout
    assert re.search(r" bug +KeyError: 'typo'$", alerts, re.MULTILINE)
    assert re.search(r" refused +Unrecoverable: declined$", alerts, re.MULTILINE)


def test_code_that_does_not_fit_is_listed_with_the_difference(troubled: Path, stepward: Stepward) -> None:
    (task,) = [line for line in stepward("tasks", COLUMNS="110").stdout.splitlines() if line.startswith("stopped ")]
    assert "code that fits: a wait for" in task
    (alert,) = [line for line in stepward("alerts", COLUMNS="110").stdout.splitlines() if "non_deterministic" in line]
    assert re.search(r"stopped +the record has ", alert)


def test_alerts_name_the_command_that_says_what_to_do(troubled: Path, stepward: Stepward) -> None:
    assert stepward("alerts").stdout.splitlines()[-1] == "What to do about a task: stepward show ID"


def test_a_hang_that_was_counted_is_shown(troubled: Path, stepward: Stepward) -> None:
    async def hang() -> None:
        async with opened("mending") as store:
            task = await store.client.task("waiting")
            assert task is not None
            assert await store.host.count_hang(task.uid, "scheduler-a", "job.py:9 in run") == 1

    assert "hangs" not in stepward("show", "waiting", COLUMNS=WIDE).stdout
    asyncio.run(hang())
    shown = stepward("show", "waiting", COLUMNS=WIDE).stdout
    assert re.search(r"hangs +1: its code held up an event loop for a lease, last at job.py:9 in run; see", shown)


def test_missing_instances_are_named(store: Path, stepward: Stepward) -> None:
    def held_up(id: str) -> list[str]:
        return re.findall(r"held up +(.*?) *│", stepward("show", id, COLUMNS=WIDE).stdout)

    assert held_up("waiting") == [
        "Schedulers: expected one at work for 1 live task, found none; start one: stepward run APP"
    ]
    assert held_up("good") == held_up("suspended") == []
    register(instance("scheduler-a", ["good@1"]))
    assert held_up("waiting") == [
        "workflow approval@1: expected a Scheduler that serves it, found none for 1 live task; start one"
    ]
    register(instance("scheduler-b", ["approval@1"]))
    assert held_up("waiting") == []


def test_failures_are_counted_by_cause(troubled: Path, stepward: Stepward) -> None:
    async def take_over() -> None:
        async with opened("mending") as store:
            await store.host.register(instance("scheduler-a", ["waiting@1"]), 60.0)
            assert await store.scheduler.claim("scheduler-a", [("waiting", "1")], 1)
            await store.host.renew(["scheduler-a"], 0.0)
            term = await store.supervisor.lead("supervisor-a", 60.0)
            assert term is not None
            await store.supervisor.fence(term)
            assert await store.supervisor.free(term, 5) == 1

    def failures(id: str) -> list[str]:
        return re.findall(r"failures +(.*?) *│", stepward("show", id, COLUMNS=WIDE).stdout)

    assert failures("waiting") == ["0"]
    assert failures("in_doubt") == ["1: 1 by attempts of its steps"]
    assert stepward("signal", "waiting", "approved", "1").exit_code == 0
    asyncio.run(take_over())
    assert failures("waiting") == ["1: 1 by takeover from a Scheduler that died"]


def test_an_alert_for_unserved_work_names_it(troubled: Path, stepward: Stepward) -> None:
    async def tell(alert: Alert) -> None:
        async with opened("mending") as store:
            await store.host.register(instance("supervisor-a", [], Role.SUPERVISOR), 3600)
            term = await store.supervisor.lead("supervisor-a", 60.0)
            assert term is not None
            await store.supervisor.raise_alert(term, alert)

    asyncio.run(tell(unserved_alert("approval", "7")))
    (line,) = [line for line in stepward("alerts", COLUMNS=WIDE).stdout.splitlines() if "unserved" in line]
    assert line.split()[4] == "approval@7"


def test_signals_that_came_and_were_not_taken_are_shown(troubled: Path, stepward: Stepward) -> None:
    assert "not taken" not in stepward("show", "waiting", COLUMNS=WIDE).stdout
    for name in ("approved", "other", "other"):
        assert stepward("signal", "waiting", name, "1").exit_code == 0
    shown = stepward("show", "waiting", COLUMNS=WIDE).stdout
    assert re.search(r"signals +came and not taken yet: other × 2, approved × 1", shown)
    assert as_json(stepward, "show", "waiting")["waiting_signals"] == {"approved": 1, "other": 2}


def test_an_operators_signal_is_audited_with_name_and_payload(troubled: Path, stepward: Stepward) -> None:
    for _ in range(2):
        assert stepward("signal", "waiting", "approved", "1", "--id", "s-1").exit_code == 0
    (entry,) = as_json(stepward, "audit", "waiting")
    assert (entry["act"], entry["actor"], entry["before"]) == ("signal", actor(), "waiting")
    assert entry["details"] == {"signal": "approved", "id": "s-1"}


@pytest.mark.parametrize("state", [StepState.RUNNING, StepState.TO_REPEAT])
def test_a_step_whose_task_waits_for_code_that_fits_waits_too(state: StepState) -> None:
    row = step_row(record(state), NOW, waits=True)
    assert row[TOOK].text == "–"
    assert row[-1].text == "waits with its task for code that fits"
    assert step_row(record(state), NOW, waits=False)[TOOK].text == "1m"


def test_an_abandoned_step_shows_no_running_time() -> None:
    assert step_row(record(StepState.ABANDONED), NOW, waits=False)[TOOK].text == "–"
    assert step_row(record(StepState.ABANDONED, NOW - 30), NOW, waits=False)[TOOK].text == "30s"
