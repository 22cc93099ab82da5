"""`check`: settings, store, instances, and where they differ."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from stepward.model.agents import Report
from stepward.model.records import Role
from stepward.store.sqlite.schema.migration import migrations

from .conftest import SHOP, Stepward, one_line
from .stores import URL, as_json, instance, opened, register

NEWEST = migrations()[-1][0]
AT_WORK = (instance("scheduler-a", ["good@1", "approval@1"]), instance("supervisor-a", [], Role.SUPERVISOR))


def test_check_shows_every_setting_with_its_source(store: Path, stepward: Stepward) -> None:
    Path("stepward.toml").write_text("lease = '20s'\n")
    result = stepward("check", STEPWARD_POLL="2s", STEPWARD_WEBHOOK_SECRET="hush")
    assert re.search(r"^lease +20s +stepward.toml$", result.stdout, re.MULTILINE)
    assert re.search(r"^poll +2s +STEPWARD_POLL$", result.stdout, re.MULTILINE)
    assert f"Store of shop, schema version {NEWEST} of {NEWEST}" in result.stdout
    assert "hush" not in result.stdout


@pytest.mark.parametrize(
    ("url", "secret", "says"),
    [
        (
            "https://user:pw@example.com/",
            "a secret of enough bytes",
            "webhook_url: expected https://HOST/PATH without a user",
        ),
        ("https://example.com/", "short", "webhook_secret: expected 16 bytes or more"),
    ],
)
def test_check_refuses_a_webhook_with_which_nothing_would_run(
    store: Path, stepward: Stepward, url: str, secret: str, says: str
) -> None:
    result = stepward("check", STEPWARD_WEBHOOK_URL=url, STEPWARD_WEBHOOK_SECRET=secret)
    assert says in one_line(result)
    assert result.exit_code == 2


def test_check_finds_schedulers_that_serve_different_versions(store: Path, stepward: Stepward) -> None:
    register(instance("scheduler-a", ["good@1", "other@1"]), instance("scheduler-b", ["good@1", "good@2"], pid=2))
    result = stepward("check")
    assert result.exit_code == 1
    assert "✗ workflow good: expected all live Schedulers to serve the same versions" in result.stdout
    assert "h:1 serves 1; h:2 serves 1, 2" in " ".join(result.stdout.split())
    drift = [line for line in as_json(stepward, "check", code=1)["problems"] if line.startswith("workflow good: ")]
    assert len(drift) == 1


def test_a_dead_scheduler_is_not_compared(empty: Path, stepward: Stepward) -> None:
    register(instance("scheduler-old", ["good@1"]), lease=-1)
    assert stepward("supervisor", "--once").exit_code == 0
    register(instance("scheduler-new", ["good@2"], pid=2))
    assert stepward("check").exit_code == 0


def test_an_idle_store_has_no_findings(empty: Path, stepward: Stepward) -> None:
    register()
    result = stepward("check", STEPWARD_STORE=URL)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "✓ Nothing is wrong."


def test_open_alerts_are_findings_until_acknowledged(store: Path, stepward: Stepward) -> None:
    register(*AT_WORK)
    result = stepward("check", COLUMNS="300")
    assert result.exit_code == 1
    assert "✗ alerts: expected none open, found task_error × 2, the oldest since " in result.stdout
    assert result.stdout.splitlines()[-1] == "✗ 1 thing is wrong."
    stepward("alerts", "acknowledge", *(str(each["number"]) for each in as_json(stepward, "alerts")))
    assert stepward("check").exit_code == 0


def test_live_tasks_without_a_scheduler_are_wrong(store: Path, stepward: Stepward) -> None:
    found = as_json(stepward, "check", code=1)
    assert found["problems"][0].startswith("Schedulers: expected one at work for 2 live tasks, found none")
    assert found["warnings"][0].startswith("Supervisors: expected one at work, found none")
    assert stepward("check").stdout.splitlines()[-1] == "✗ 2 things are wrong, and 1 warning."


def test_tasks_of_which_no_scheduler_serves_the_workflow_are_wrong(store: Path, stepward: Stepward) -> None:
    register(instance("scheduler-a", ["good@1"]))
    (wrong, _) = as_json(stepward, "check", code=1)["problems"]
    assert wrong == "workflow approval@1: expected a Scheduler that serves it, found none for 1 live task; start one"


def test_steps_that_wait_for_an_unserved_agent_are_a_finding(empty: Path, stepward: Stepward) -> None:
    async def asked() -> None:
        async with opened() as store:
            scheduler = instance("scheduler-a", ["good@1"])
            await store.host.register(scheduler, 3600)
            await store.host.renew([scheduler.id], 3600, {scheduler.id: Report(demand={"payments": 3})})

    asyncio.run(asked())
    (wrong,) = as_json(stepward, "check", code=1)["problems"]
    assert wrong == "Agent payments: expected an instance that offers it, found none for 3 steps; start one"


def test_a_lease_that_was_just_missed_is_a_warning(empty: Path, stepward: Stepward) -> None:
    register(instance("scheduler-a", ["good@1", "approval@1"]), lease=-3)
    result = stepward("check", COLUMNS="300")
    assert result.exit_code == 0
    assert "! instance scheduler-a (process 1 on h): expected its lease renewed, found it late by 3s" in result.stdout


def test_an_instance_past_its_lease_is_silent_and_serves_nothing(store: Path, stepward: Stepward) -> None:
    register(instance("scheduler-a", ["good@1", "approval@1"]), lease=-120)
    result = stepward("check", COLUMNS="300")
    assert result.exit_code == 1
    assert "✗ silent since 2m" in result.stdout
    assert (
        "✗ instance scheduler-a (process 1 on h): expected its lease renewed, found it silent since 2m" in result.stdout
    )
    assert "✗ Schedulers: expected one at work for 2 live tasks, found none" in result.stdout
    assert "✗ silent since 2m" in stepward("instances", COLUMNS="300").stdout
    assert "alive" not in stepward("instances", COLUMNS="300").stdout


def test_a_host_whose_clock_is_apart_is_warned_of(empty: Path, stepward: Stepward) -> None:
    async def tell(ahead: float) -> None:
        async with opened() as store:
            await store.host.renew(["scheduler-a"], 3600, {}, ahead)

    register(instance("scheduler-a", ["good@1"]))
    asyncio.run(tell(0.4))
    assert "+0.4s" in stepward("instances").stdout
    assert not [line for line in as_json(stepward, "check", code=0)["warnings"] if "wall clock" in line]
    asyncio.run(tell(-3661.04))
    assert "-3,661.0s" in stepward("instances").stdout
    assert as_json(stepward, "instances")[0]["ahead"] == -3661.04
    (warning,) = [line for line in as_json(stepward, "check", code=0)["warnings"] if "wall clock" in line]
    assert warning == (
        "host h: expected a wall clock within 1 s of the store's, found it 3,661.0 s behind; tasks follow the store's, "
        "but its logs do not: set it by NTP"
    )


def test_an_orderly_end_is_distinguished_from_a_death(empty: Path, stepward: Stepward) -> None:
    async def end() -> None:
        async with opened() as store:
            await store.host.retire("scheduler-a")
            await store.host.retire("scheduler-b", in_order=False)

    register(instance("scheduler-a", ["good@1"]), instance("scheduler-b", ["good@1"]))
    asyncio.run(end())
    lines = stepward("instances").stdout.splitlines()
    assert ["- ended" in line for line in lines if "scheduler-a" in line] == [True]
    assert ["✗ dead" in line for line in lines if "scheduler-b" in line] == [True]


def test_warnings_are_counted_and_do_not_change_the_exit_code(store: Path, stepward: Stepward) -> None:
    register(instance("scheduler-a", ["good@1", "approval@1"]))
    stepward("alerts", "acknowledge", *(str(each["number"]) for each in as_json(stepward, "alerts")))
    result = stepward("check")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "! 1 warning; nothing else is wrong."


def test_check_finds_code_that_differs_from_what_is_registered(store: Path, stepward: Stepward) -> None:
    assert not [line for line in as_json(stepward, "check", SHOP, code=1)["problems"] if "registered" in line]
    code = Path(SHOP.rpartition(":")[0]).read_text().replace('then="undo"', 'then="alert"')
    Path("changed.py").write_text(code)
    result = stepward("check", "changed.py:app")
    assert result.exit_code == 1
    assert "workflow undoing@1: expected what the store has registered, found another policy" in " ".join(
        result.stdout.split()
    )


def test_check_of_another_app_and_of_no_store(store: Path, stepward: Stepward) -> None:
    Path("other.py").write_text("from stepward import App\napp = App('other')\n")
    assert stepward("check", "other.py:app").exit_code == 1
    assert stepward("check", "--store", "sqlite:///none.db").exit_code == 3
    assert as_json(stepward, "check", "--store", "sqlite:///none.db", code=3)["store"] is None
    assert not Path("none.db").exists()
