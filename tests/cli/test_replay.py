"""``stepward replay``: the histories of a store or an archive, replayed by changed code before it is deployed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepward import NonDeterministic
from stepward.cli.input.targets import load_app
from stepward.errors import DeclarationError
from stepward.testing import replay
from tests.store.places import execute

from .conftest import SHOP, Stepward, one_line
from .stores import as_json

CHANGES = {
    "renamed": ("await charge(order, 1)\n    return await wait_for", "await inspect(order)\n    return await wait_for"),
    "added at the end": (
        'return await wait_for("approved")',
        'await wait_for("approved")\n    return await charge(order, 2)',
    ),
    "other result": ('return {"number": number, "charged"', 'return {"number": str(number), "charged"'),
    "dropped": ("workflows=[good, failing, undoing, approval, hanging]", "workflows=[good, failing, undoing]"),
}
INSPECT = "\n\n@payments.operation\nasync def inspect(order: str) -> None: ...\n\n\n@workflow()\nasync def good"


def changed(folder: Path, change: str) -> str:
    """The application of these tests with one change, as a target in that folder."""
    old, new = CHANGES[change]
    code = Path(SHOP.removesuffix(":app")).read_text().replace("\n\n@workflow()\nasync def good", INSPECT, 1)
    assert old in code
    (folder / "changed.py").write_text(code.replace(old, new))
    return "changed.py:app"


def test_code_that_has_not_changed_fits_every_history(store: Path, stepward: Stepward) -> None:
    result = stepward("replay", SHOP)
    assert (result.exit_code, result.stdout) == (0, "✓ 7 tasks replayed; the code fits them.\n")


def test_the_first_difference_is_named_with_its_line_and_its_tasks(store: Path, stepward: Stepward) -> None:
    result = stepward("replay", changed(store.parent, "renamed"))
    assert result.exit_code == 1
    heading, message, total = result.stdout.splitlines()
    assert re.fullmatch("✗ approval 1: 2 tasks: (suspended, waiting|waiting, suspended)", heading)
    line = (store.parent / "changed.py").read_text().split("\n").index("    await inspect(order)") + 1
    assert re.match(r"  task (suspended|waiting) \(approval@1, run 1\): the record has payments.charge as ", message)
    assert f"command 1, the code asks for payments.inspect (changed.py:{line})" in message
    assert total == "✗ 2 of 7 tasks would stop: see docs/changing-code.md."


@pytest.mark.parametrize("change", ["added at the end", "other result"])
def test_a_change_that_no_running_task_notices_is_no_failure(change: str, store: Path, stepward: Stepward) -> None:
    result = stepward("replay", changed(store.parent, change))
    assert result.exit_code == 0, result.stdout
    assert ("! good 1: 2 tasks:" in result.stdout) is (change == "other result")
    assert "the record holds the result" in result.stdout or change != "other result"


def test_running_tasks_whose_code_is_gone_are_reported(store: Path, stepward: Stepward) -> None:
    result = stepward("replay", changed(store.parent, "dropped"))
    assert result.exit_code == 1
    assert "expected workflow approval in version 1, found no workflow of that name; keep its code" in result.stdout
    assert result.stdout.endswith("✗ 2 of 7 tasks would stop: see docs/changing-code.md.\n")


def test_a_filter_chooses_the_histories(store: Path, stepward: Stepward) -> None:
    target = changed(store.parent, "renamed")
    assert stepward("replay", target, "--workflow", "good").stdout == "✓ 3 tasks replayed; the code fits them.\n"
    assert stepward("replay", target, "--where", "state = 'error'").exit_code == 0
    assert one_line(stepward("replay", target, "--where", "state ~ 1")).startswith("stepward: where, character 7")


def test_the_findings_as_json(store: Path, stepward: Stepward) -> None:
    found = as_json(stepward, "replay", changed(store.parent, "renamed"), code=1)
    assert {"workflow": "good", "version": "1", "tasks": 3} in found["replayed"]
    (finding,) = found["findings"]
    assert (finding["workflow"], finding["number"], finding["stops"]) == ("approval", 2, True)
    assert sorted(finding["tasks"]) == ["suspended", "waiting"]


def test_histories_of_an_archive_are_replayed(store: Path, stepward: Stepward) -> None:
    (store.parent / "old").mkdir()
    execute(store, "update stepward_task set finished_at = 1.0 where state in ('processed', 'undone')")
    assert stepward("purge", "--older-than", "0s", STEPWARD_ARCHIVE="old").exit_code == 0
    result = stepward("replay", SHOP, "--from", "old")
    assert (result.exit_code, result.stdout) == (0, "✓ 2 tasks replayed; the code fits them.\n")
    result = stepward("replay", changed(store.parent, "other result"), "--from", "old")
    assert result.exit_code == 0
    assert "! good 1: 2 tasks:" in result.stdout


def test_an_archive_that_cannot_be_read_is_refused(store: Path, stepward: Stepward) -> None:
    assert one_line(stepward("replay", SHOP, "--from", "gone")).startswith(
        "stepward: archive gone: expected a file or folder of histories, found none"
    )
    (store.parent / "old" / "2026-01-01").mkdir(parents=True)
    (store.parent / "old" / "2026-01-01" / "1.jsonl.gz").write_bytes(b"no gzip")
    assert "expected a file as retention wrote it" in one_line(stepward("replay", SHOP, "--from", "old"))
    assert "--where: expected a store, found the archive that --from names" in one_line(
        stepward("replay", SHOP, "--from", "old", "--where", "state = 'error'")
    )


def test_check_replays_live_tasks_and_names_versions_without_any(store: Path, stepward: Stepward) -> None:
    code = Path(changed(store.parent, "renamed").removesuffix(":app"))
    newer = '@workflow(name="good", version="2")\nasync def better() -> None: ...\n\n\n'
    newer += '@workflow(name="approval", version="2")\nasync def quick() -> None: ...\n\n\napp = '
    text = (
        code.read_text()
        .replace("\n\n\napp = ", "\n\n\n" + newer)
        .replace("hanging], agents", "hanging, better, quick], agents")
    )
    code.write_text(text)
    execute(store, "update stepward_task set state = 'processed', finished_at = 1.0 where id = 'pending'")
    found = as_json(stepward, "check", "changed.py:app", code=1)
    (misfit,) = [line for line in found["problems"] if line.startswith("approval@1")]
    assert "expected code that fits the record of its tasks, found that 1 would stop, waiting among them" in misfit
    assert found["versions"] == [
        "approval@1: 2 of its tasks have not ended",
        "good@1: all of its tasks have ended; its code may be removed",
    ]
    assert "· good@1: all of its tasks have ended" in stepward("check", "changed.py:app").stdout


def test_the_history_of_a_task_can_be_kept_and_replayed_in_tests(store: Path, stepward: Stepward) -> None:
    result = stepward("history", "waiting", "good")
    assert result.exit_code == 0
    (store.parent / "kept").mkdir()
    file = store.parent / "kept" / "orders.jsonl"
    file.write_text(result.stdout)
    assert stepward("replay", SHOP, "--from", str(file)).stdout == "✓ 2 tasks replayed; the code fits them.\n"
    replay(load_app(SHOP), file.parent)
    changed_app = load_app(changed(store.parent, "renamed"))
    with pytest.raises(NonDeterministic, match="command 1, the code asks for payments"):
        replay(changed_app, file)
    waiting, good = result.stdout.encode().splitlines()
    replay(changed_app, good)
    with pytest.raises(NonDeterministic):
        replay(changed_app, waiting)
    (store.parent / "empty.jsonl").touch()
    with pytest.raises(DeclarationError, match="expected a history of a task of <App shop>, found none"):
        replay(changed_app, store.parent / "empty.jsonl")


def test_a_limit_takes_the_newest_tasks(store: Path, stepward: Stepward) -> None:
    assert stepward("replay", SHOP, "--limit", "2").stdout == "✓ 2 tasks replayed; the code fits them.\n"
