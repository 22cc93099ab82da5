"""``stepward purge``, and what it archives first."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from tests.store.places import execute

from .conftest import LONG_ID, SHOP, Stepward, one_line
from .stores import as_json

PRUNED = "1 of the acts of the audit and of the acknowledged alerts archived and deleted\n"
AGED = "update stepward_task set finished_at = 1.0 where state in ('processed', 'undone')"


def kept(folder: Path) -> dict[str, list[str]]:
    """The archived tasks by id, each with the keys of its steps."""
    found: dict[str, list[str]] = {}
    for path in folder.rglob("*.jsonl.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                task = json.loads(line)
                if "record" in task:
                    continue
                found[task["id"]] = [step["key"] for step in task["steps"]]
    return found


def test_purge_says_what_was_archived_where(store: Path, stepward: Stepward) -> None:
    folder = store.parent / "old tasks"
    folder.mkdir()
    steps = {id: [step["key"] for step in as_json(stepward, "steps", id)] for id in ("good", LONG_ID, "undone")}
    result = stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old tasks")
    assert result.stdout == "3 tasks deleted that ended more than 0ms ago, and archived in old tasks\n" + PRUNED
    assert kept(folder) == steps
    again = stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old tasks")
    assert again.stdout.startswith("0 tasks deleted that ended more than 0ms ago\n")


def test_without_the_archives_folder_nothing_is_deleted(store: Path, stepward: Stepward) -> None:
    before = as_json(stepward, "tasks")
    result = stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="gone")
    assert result.exit_code == 1
    assert one_line(result) == (
        "stepward: archive gone: expected a folder that may be written, found: No such file or directory; "
        "create it, make room there or allow writing: nothing is deleted meanwhile"
    )
    assert as_json(stepward, "tasks") == before


def test_a_pass_of_the_supervisor_archives_too(store: Path, stepward: Stepward) -> None:
    folder = store.parent / "old"
    folder.mkdir()
    execute(store, AGED)
    done = stepward("supervisor", SHOP, "--once", STEPWARD_ARCHIVE="old")
    assert "3 tasks purged" in done.stdout
    assert set(kept(folder)) == {"good", LONG_ID, "undone"}
    assert set(kept(folder)).isdisjoint({task["id"] for task in as_json(stepward, "tasks")})


def test_a_supervisor_that_cannot_archive_raises_an_alert(store: Path, stepward: Stepward) -> None:
    execute(store, AGED)
    for _ in range(2):
        done = stepward("supervisor", SHOP, "--once", STEPWARD_ARCHIVE="gone")
        assert (done.exit_code, "purged" in done.stdout) == (0, False)
    (alert,) = [alert for alert in as_json(stepward, "alerts") if alert["kind"] == "archive"]
    assert alert["message"].startswith("archive gone: expected a folder")
    assert "good" in {task["id"] for task in as_json(stepward, "tasks")}


def records(folder: Path) -> list[dict[str, Any]]:
    """The archived acts and alerts, oldest file first."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("records/*/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            found += [json.loads(line) for line in file]
    return found


def test_old_acts_and_acknowledged_alerts_go_into_the_archive_and_the_audit_stays_whole(
    store: Path, stepward: Stepward
) -> None:
    number = as_json(stepward, "alerts")[0]["number"]
    assert stepward("alerts", "acknowledge", str(number)).exit_code == 0
    acts = [act["act"] for act in as_json(stepward, "audit")][::-1]
    folder = store.parent / "old"
    folder.mkdir()
    assert stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old").exit_code == 0
    kept_records = records(folder)
    assert [each["act"] for each in kept_records if each["record"] == "act"] == acts
    assert [each["number"] for each in kept_records if each["record"] == "alert"] == [number]
    assert number not in [alert["number"] for alert in as_json(stepward, "alerts", "--all")]
    assert [act["act"] for act in as_json(stepward, "audit")] == ["prune", "purge"]
    whole = stepward("audit", "verify")
    assert whole.stdout == f"The audit is whole: 2 acts, those up to number {len(acts)} are archived.\n"


def test_a_head_that_was_noted_shows_that_the_newest_acts_were_removed(store: Path, stepward: Stepward) -> None:
    noted = stepward("audit", "head").stdout.strip()
    assert stepward("audit", "verify", "--anchor", noted).stdout.startswith("The audit is whole: ")
    execute(store, "delete from stepward_audit where number = (select max(number) from stepward_audit)")
    assert stepward("audit", "verify").exit_code == 0
    found = stepward("audit", "verify", "--anchor", noted)
    assert found.exit_code == 1
    assert "acts were removed from the end" in one_line(found)
    assert stepward("audit", "verify", "--anchor", "7").exit_code == 2


def test_exported_acts_are_those_of_the_audit_and_end_with_its_head(store: Path, stepward: Stepward) -> None:
    lines = [json.loads(line) for line in stepward("audit", "export").stdout.splitlines()]
    assert [line["act"] for line in lines[:-1]] == [act["act"] for act in as_json(stepward, "audit")][::-1]
    assert [line["record"] for line in lines] == ["act"] * (len(lines) - 1) + ["head"]
    head = f"{lines[-1]['number']}:{lines[-1]['hash']}"
    assert head == stepward("audit", "head").stdout.strip()
    assert lines[-2]["hash"] == lines[-1]["hash"]


def test_the_archive_is_verified_with_the_store(store: Path, stepward: Stepward) -> None:
    folder = store.parent / "old"
    folder.mkdir()
    stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old")
    assert " in the archive, " in stepward("audit", "verify", "--archive", str(folder)).stdout
    assert one_line(stepward("audit", "verify", "--archive", "gone")).startswith("stepward: archive gone: expected the")


def test_a_removed_act_is_found(store: Path, stepward: Stepward) -> None:
    assert stepward("audit", "verify").stdout.startswith("The audit is whole: ")
    folder = store.parent / "old"
    folder.mkdir()
    stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old")
    execute(store, "delete from stepward_audit where act = 'purge'")
    found = stepward("audit", "verify")
    assert found.exit_code == 1
    assert one_line(found).startswith(
        "stepward: audit: expected each act to follow from the one before it, found 1 that do not: number "
    )


def test_without_an_archive_the_audit_stays(store: Path, stepward: Stepward) -> None:
    before = as_json(stepward, "audit")
    stepward("purge", "--older-than", "0s")
    assert as_json(stepward, "audit")[1:] == before
