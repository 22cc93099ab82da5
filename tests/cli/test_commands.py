"""What the commands do, and what their JSON holds."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from stepward import Webhook, __version__
from stepward.cli.main import cli
from stepward.model.records import Role
from tests.store.places import execute

from .conftest import SHOP, Stepward, one_line
from .stores import URL, as_json, instance, opened, register

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TASK = {
    "id",
    "uid",
    "workflow",
    "version",
    "attributes",
    "state",
    "process_state",
    "locked_by",
    "complete_by",
    "failure_count",
    "priority",
    "fairness_key",
    "run",
    "waits_for",
    "error",
    "labels",
    "created_at",
    "deadline",
    "started_at",
    "finished_at",
    "progress",
    "steps_total",
    "steps_done",
}
SHOWN = {
    "waiting_signals",
    "forked_from",
    "forks",
    "input",
    "output",
    "reply_to",
    "events",
    "plan",
    "steps",
    "open_alerts",
}
STEP = {
    "key",
    "name",
    "run",
    "kind",
    "state",
    "attempt",
    "failure_count",
    "complete_by",
    "started_at",
    "finished_at",
    "in_doubt",
    "input",
    "output",
    "error",
    "agent",
    "progress",
    "progress_at",
    "deferred_at",
    "generation",
    "set_aside_at",
}
ALERT = {
    "severity",
    "workflow",
    "resolved_at",
    "number",
    "at",
    "kind",
    "task",
    "task_id",
    "step",
    "message",
    "details",
    "delivered_at",
    "tries",
    "acknowledged_at",
    "acknowledged_by",
}
INSTANCE = {
    "id",
    "role",
    "host",
    "pid",
    "serves",
    "started_at",
    "expires_at",
    "alive",
    "ended",
    "ahead",
    "capacity",
    "health",
    "demand",
    "waits",
    "digests",
    "drain_at",
}
AUDIT = {"number", "at", "actor", "act", "task", "step", "before", "after", "details", "task_id"}
CHECK = {"settings", "store", "server", "instances", "problems", "warnings", "versions"}


def test_json_of_every_reading_command(store: Path, stepward: Stepward) -> None:
    assert set(as_json(stepward, "tasks")[0]) == TASK
    assert set(as_json(stepward, "steps", "failed")[0]) == STEP
    shown = as_json(stepward, "show", "failed")
    assert set(shown) == TASK | SHOWN
    assert set(shown["steps"][0]) == STEP
    assert set(shown["open_alerts"][0]) == ALERT
    assert set(as_json(stepward, "alerts")[0]) == ALERT
    assert set(as_json(stepward, "instances")[0]) == INSTANCE
    assert set(as_json(stepward, "audit")[0]) == AUDIT
    assert set(as_json(stepward, "version")) == {"stepward", "python", "sqlite"}
    assert set(as_json(stepward, "check", code=1)) == CHECK


@pytest.mark.parametrize("args", [["tasks"], ["show", "failed"], ["steps", "failed"], ["alerts"], ["audit"]])
def test_the_keys_of_the_json_stand_in_the_help(store: Path, stepward: Stepward, args: list[str]) -> None:
    found = as_json(stepward, *args)
    fields = found[0] if isinstance(found, list) else found
    told = " ".join(stepward(args[0], "--help").stdout.split()).partition("Keys under --json: ")[2]
    assert set(told.rstrip(".").split(", ")) == set(fields)


def test_json_has_instants_in_utc_and_payloads_as_they_are(store: Path, stepward: Stepward) -> None:
    shown = as_json(stepward, "show", "failed")
    assert RFC_3339.fullmatch(shown["created_at"])
    assert RFC_3339.fullmatch(shown["steps"][0]["complete_by"])
    assert RFC_3339.fullmatch(shown["open_alerts"][0]["at"])
    assert shown["input"] == ["f"]
    assert shown["error"]["data"] == {"code": "declined"}
    assert shown["steps"][0]["output"]["charged"] == 1


def test_tasks_are_found_by_state_workflow_and_label(store: Path, stepward: Stepward) -> None:
    assert {task["id"] for task in as_json(stepward, "tasks", "--state", "suspended")} == {"suspended"}
    assert {task["id"] for task in as_json(stepward, "tasks", "--workflow", "undoing")} == {"undone"}
    assert {task["id"] for task in as_json(stepward, "tasks", "--label", "customer=42")} == {"failed"}
    assert [task["id"] for task in as_json(stepward, "tasks", "--limit", "1")] == ["pending"]
    page = stepward("tasks", "--limit", "1").stdout
    assert "\nThe newest 1; more with --cursor " in page
    cursor = page.split()[-1]
    assert stepward("tasks", "--cursor", cursor).stdout.count("\n") == stepward("tasks").stdout.count("\n") - 1
    assert stepward("tasks", "--count").stdout.endswith(" tasks\n")
    assert "newest" not in stepward("tasks").stdout


@pytest.mark.parametrize("target", [SHOP, URL], ids=["app", "store"])
def test_submitting(store: Path, stepward: Stepward, target: str) -> None:
    options = ["--id", "new", "--priority", "9", "--delay", "1h", "--complete-by", "2h", "--label", "a=b=c"]
    options += ["--fairness-key", "tenant 7"]
    result = stepward("submit", target, "good", "-5", '"note"', *options)
    assert (result.stdout, result.stderr, result.exit_code) == ("new\n", "", 0)
    shown = as_json(stepward, "show", "new")
    assert shown["input"] == [-5, "note"]
    assert shown["labels"] == {"a": "b=c"}
    assert (shown["priority"], shown["fairness_key"]) == (9, "tenant 7")
    assert "9, in turn as tenant 7" in stepward("show", "new").stdout
    assert shown["state"] == "pending"
    again = stepward("submit", target, "good", "-5", '"note"', *options)
    assert (again.stdout, again.exit_code) == ("new\n", 0)


@pytest.mark.parametrize(
    ("id", "workflow", "arguments", "code", "stdout", "stderr"),
    [
        ("failed", "failing", ['"f"'], 1, "", "is in error"),
        ("undone", "undoing", ['"u"'], 1, "", "was undone"),
        ("good", "good", ["1"], 0, '{"charged": 1, "number": 1}\n', ""),
    ],
)
def test_waiting_for_the_end(
    store: Path,
    stepward: Stepward,
    id: str,
    workflow: str,
    arguments: list[str],
    code: int,
    stdout: str,
    stderr: str,
) -> None:
    result = stepward("submit", SHOP, workflow, *arguments, "--id", id, "--wait")
    assert (result.stdout, result.exit_code) == (stdout, code)
    assert stderr in result.stderr.splitlines()[-1]


def test_directives(store: Path, stepward: Stepward) -> None:
    assert stepward("resume", "suspended").stdout == "suspended: pending\n"
    assert stepward("suspend", "suspended", "pending").stdout == "suspended: suspended\npending: suspended\n"
    assert stepward("cancel", "pending").exit_code == 0
    assert stepward("undo", "good").stdout == "good: undoing\n"
    assert stepward("mark-done", "failed", "payments.decline/1", "null").stdout == "failed: pending\n"
    assert stepward("signal", "waiting", "approved", "--id", "s1").stdout == "waiting: signalled\n"
    assert stepward("signal", "waiting", "approved", "--id", "s1").stdout == "waiting: this signal came before\n"
    acts = [entry["act"] for entry in as_json(stepward, "audit") if entry["act"] != "acknowledge"]
    assert acts[:7] == ["signal", "mark_done", "undo", "cancel", "suspend", "suspend", "resume"]


def test_an_update_is_asked_for_and_its_answer_printed(store: Path, stepward: Stepward) -> None:
    asking = ("update", "waiting", "pay", "5", "--id", "u1", "--timeout", "0")
    asked = stepward(*asking)
    assert (asked.exit_code, "ask again with id='u1'" in asked.stderr) == (1, True)
    for state, answer, code, shown in (
        ("accepted", '{"total":5}', 0, '{"total": 5}'),
        ("rejected", '{"message":"too little","type":"UpdateRejected"}', 1, "update pay of task waiting: too little"),
    ):
        body = f"cast('{answer}' as blob)"
        execute(store, f"update stepward_update_request set state = '{state}', answer = {body}, answered_at = 1")
        result = stepward(*asking)
        assert (result.exit_code, (result.stdout or result.stderr).strip().endswith(shown)) == (code, True)
    assert [entry["act"] for entry in as_json(stepward, "audit", "waiting")][:1] == ["update"]


def test_an_ended_task_is_forked_and_both_name_each_other(store: Path, stepward: Stepward) -> None:
    step = as_json(stepward, "steps", "good")[-1]["key"]
    assert stepward("fork", "good", "--from", step, "--id", "again", "--undo-later").stdout == "again\n"
    assert re.search(rf"forked from +good, from its step {re.escape(step)} on", stepward("show", "again").stdout)
    assert re.search(rf"fork +again, from {re.escape(step)} on", stepward("show", "good").stdout)
    assert as_json(stepward, "show", "again")["forked_from"] == {"id": "good", "step": step}
    assert as_json(stepward, "show", "good")["forks"] == [{"id": "again", "step": step}]
    for arguments, code, said in (
        (("fork", "waiting", "--from", step), 1, "expected a task that has ended"),
        (("fork", "good", "--from", "none/1"), 1, "expected a step 'none/1'"),
        (("fork", "good", "--from", step, "--args", "5"), 2, "expected an array"),
    ):
        refused = stepward(*arguments)
        assert (refused.exit_code, said in refused.stderr) == (code, True)


def test_the_audit_names_a_task_as_operators_do(store: Path, stepward: Stepward) -> None:
    assert stepward("cancel", "waiting").exit_code == 0
    [entry] = [entry for entry in as_json(stepward, "audit") if entry["act"] == "cancel"]
    assert entry["task_id"] == "waiting"
    assert entry["task"] == as_json(stepward, "show", "waiting")["uid"]
    [line] = [line for line in stepward("audit").stdout.splitlines() if " cancel " in line]
    assert "  waiting  " in line


def test_resubmission_with_edited_input(store: Path, stepward: Stepward) -> None:
    result = stepward("resubmit", "failed", "--step", "payments.decline/1", "--input", '["edited"]')
    assert (result.stdout, result.exit_code) == ("failed: pending\n", 0)
    assert as_json(stepward, "steps", "failed")[1]["input"] == ["edited"]


def test_a_directive_for_an_owned_task_is_reported_as_pending(store: Path, stepward: Stepward) -> None:
    async def claim() -> None:
        async with opened() as claimed:
            await claimed.host.register(instance("scheduler-x", ["approval@1"]), 3600)
            await claimed.client.signal("waiting", "approved", b"1", None)
            assert len(await claimed.scheduler.claim("scheduler-x", [("approval", "1")], 10)) == 1

    asyncio.run(claim())
    result = stepward("cancel", "waiting")
    assert result.stdout == "waiting: processing (its Scheduler will carry it out)\n"


def test_sinks_are_listed_and_only_those_are_tested(store: Path, stepward: Stepward) -> None:
    assert stepward("alerts", "sinks").stdout == "No sinks: no Supervisor has led yet.\n"
    result = stepward("alerts", "test", "log")
    assert (result.exit_code, one_line(result)) == (
        1,
        "stepward: sink log: expected one of the leading Supervisor's (none), found none such; name one",
    )
    stepward("supervisor", "--once")
    assert as_json(stepward, "alerts", "sinks")[0]["description"] == "log: all alerts"
    assert "log" in stepward("alerts", "sinks").stdout


def test_webhooks_are_listed_disabled_and_enabled(store: Path, stepward: Stepward) -> None:
    assert stepward("webhooks").stdout.startswith("No webhooks")
    asyncio.run(_report_webhook())
    assert "crm      https://crm.example.com/…  enabled" in stepward("webhooks", COLUMNS="120").stdout
    assert stepward("webhooks", "disable", "crm").stdout == "webhook crm: disabled\n"
    assert "expected an enabled one, found none such" in one_line(stepward("webhooks", "disable", "crm"))
    (found,) = as_json(stepward, "webhooks")
    assert found["name"] == "crm" and found["disabled_at"] is not None
    assert stepward("webhooks", "enable", "crm").stdout == "webhook crm: enabled\n"
    assert "expected a disabled one, found none such" in one_line(stepward("webhooks", "enable", "crm"))


async def _report_webhook() -> None:
    async with opened() as store:
        await store.supervisor.report_webhooks([Webhook(name="crm", description="https://crm.example.com/…")])


def test_a_kind_of_alerts_is_silenced_until_a_time_and_sent_again(store: Path, stepward: Stepward) -> None:
    said = stepward("alerts", "silence", "task_error", "--until", "2h", "--workflow", "checkout", "--note", "we know")
    assert said.stdout.startswith("alerts task_error of checkout: silent until 20")
    (found,) = as_json(stepward, "alerts", "silences")
    assert (found["kind"], found["workflow"], found["note"]) == ("task_error", "checkout", "we know")
    assert RFC_3339.fullmatch(found["until"])
    assert "task_error  checkout" in stepward("alerts", "silences", COLUMNS="120").stdout
    told = stepward("alerts", "unsilence", "task_error", "--workflow", "checkout")
    assert told.stdout == "alerts task_error of checkout: no longer silent\n"
    assert stepward("alerts", "silences").stdout == "No silences.\n"
    assert "expected a silence, found none such" in one_line(stepward("alerts", "unsilence", "task_error"))
    assert "at most 30 days" in one_line(stepward("alerts", "silence", "task_error", "--until", "31d"))
    assert "expected one of an alert" in one_line(stepward("alerts", "silence", "Task Error", "--until", "1h"))


def test_alerts_are_acknowledged(store: Path, stepward: Stepward) -> None:
    numbers = [str(alert["number"]) for alert in as_json(stepward, "alerts")]
    assert stepward("alerts", "acknowledge", *numbers).exit_code == 0
    assert stepward("alerts").stdout == "No open alerts.\n"
    assert all(alert["acknowledged_by"] for alert in as_json(stepward, "alerts", "--all"))
    assert "expected an open alert" in one_line(stepward("alerts", "acknowledge", numbers[0]))


def test_the_store_is_inherited_by_subcommands(empty: Path, filled: Path, stepward: Stepward) -> None:
    result = stepward("alerts", "--store", f"sqlite:///{filled}", "acknowledge", "99")
    assert "alert 99" in one_line(result)


def test_purge_deletes_what_ended_and_keeps_errors(store: Path, stepward: Stepward) -> None:
    assert stepward("purge", "--older-than", "1h").stdout.startswith("0 tasks deleted")
    assert stepward("purge", "--older-than", "0s").stdout.startswith("3 tasks deleted")
    states = {task["state"] for task in as_json(stepward, "tasks")}
    assert states == {"error", "suspended", "waiting", "pending"}
    assert "expected a duration, found never" in one_line(stepward("purge", STEPWARD_RETENTION="never"))


def test_purge_works_beside_a_supervisor_and_is_audited(store: Path, stepward: Stepward) -> None:
    async def lead() -> None:
        async with opened() as led:
            await led.host.register(instance("supervisor-x", [], Role.SUPERVISOR), 3600)
            assert await led.supervisor.lead("supervisor-x", 3600) is not None

    asyncio.run(lead())
    assert stepward("purge", "--older-than", "0s").stdout.startswith("3 tasks deleted")
    (purged,) = [audit for audit in as_json(stepward, "audit") if audit["act"] == "purge"]
    assert purged["details"]["tasks"] == 3
    once = stepward("supervisor", URL, "--once")
    assert (once.stdout, once.exit_code) == ("Another Supervisor leads: nothing was done here.\n", 0)


@pytest.mark.parametrize("target", [[], [URL], [SHOP]], ids=["settings", "store", "app"])
def test_one_pass_of_a_supervisor(store: Path, stepward: Stepward, target: list[str]) -> None:
    register(instance("scheduler-gone", ["good@1"]), lease=-1)
    result = stepward("supervisor", *target, "--once")
    assert result.stdout == "One pass: 1 instances fenced, 2 alerts delivered.\n"
    assert stepward("supervisor", *target, "--once").stdout == "One pass: nothing was due.\n"


def test_agents_alone_need_queues_that_others_see(store: Path, stepward: Stepward) -> None:
    for args in (["agent", SHOP], ["agent", SHOP, "--only", "payments"], ["scheduler", SHOP]):
        result = stepward(*args)
        assert "STEPWARD_TRANSPORT=store" in one_line(result)
        assert result.exit_code == 2


def test_an_agent_that_the_app_does_not_have(store: Path, stepward: Stepward) -> None:
    result = stepward("agent", SHOP, "--only", "nobody", STEPWARD_TRANSPORT="store")
    assert "found nobody" in one_line(result)
    assert result.exit_code == 2


def test_help_and_version(empty: Path, stepward: Stepward) -> None:
    for args in ([], ["--help"], ["-h"]):
        result = stepward(*args)
        assert result.exit_code == 0
        assert re.search(r"^Look:\n  tasks ", result.stdout, re.MULTILINE)
    assert stepward("--version").stdout == f"stepward {__version__}\n"
    assert stepward("version").stdout.startswith(f"stepward {__version__} (Python ")


def test_every_command_is_in_a_section_of_the_help(empty: Path, stepward: Stepward) -> None:
    text = stepward("--help").stdout
    for name in cli.commands:
        assert re.search(rf"^  {name} ", text, re.MULTILINE)
        assert stepward(name, "--help").exit_code == 0


def test_show_and_steps_print_where_an_attempt_failed(store: Path, stepward: Stepward) -> None:
    shown = stepward("show", "failed", COLUMNS="200").stdout
    assert "attempt 1: Unrecoverable: refused by" in shown
    assert "(shop.py:" in shown
    assert "Traceback (most recent call last):" in shown
    assert "in decline" in shown
    assert "(shop.py:" in stepward("steps", "failed", COLUMNS="300").stdout
    error = json.loads(stepward("show", "failed", "--json").stdout)["steps"][-1]["error"]
    assert error["at"].startswith("shop.py:")
    assert "in decline" in error["traceback"]
    (alert, *_) = [each for each in json.loads(stepward("alerts", "--json").stdout) if each["task_id"] == "failed"]
    assert alert["details"]["error"]["failure"]["at"] == error["at"]


def test_a_dry_run_prints_what_is_missing_and_changes_nothing(store: Path, stepward: Stepward) -> None:
    assert stepward("migrate", "--dry-run").stdout.splitlines()[1:] == []
    execute(store, "update stepward_meta set value = value - 1 where key = 'schema_version'")
    printed = stepward("migrate", "--dry-run").stdout
    assert printed.startswith("-- sqlite:///stepward.db (app shop): schema version is ")
    assert "begin;\n" in printed
    assert "update stepward_meta set value = " in printed
    assert stepward("migrate", "--dry-run").stdout == printed


def test_a_store_that_is_not_there_is_made_for_an_application(empty: Path, stepward: Stepward) -> None:
    made = stepward("migrate", SHOP)
    assert made.stdout == "sqlite:///stepward.db (app shop): the store exists and has this program's schema\n"
    assert stepward("migrate").stdout.startswith("sqlite:///stepward.db (app shop): schema version is ")
    assert "expected no APP, found one" in one_line(stepward("migrate", SHOP, "--dry-run"))
