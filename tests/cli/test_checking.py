"""`check`: settings, store, instances, and where they differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepward.store.sqlite.schema import migrations

from .conftest import SHOP, Stepward, one_line
from .stores import as_json, instance, register

NEWEST = migrations()[-1][0]


def test_check_shows_every_setting_with_its_source(store: Path, stepward: Stepward) -> None:
    Path("stepward.toml").write_text("lease = '20s'\n")
    result = stepward("check", STEPWARD_POLL="2s", STEPWARD_WEBHOOK_SECRET="hush")
    assert result.exit_code == 0
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
    assert len(as_json(stepward, "check", code=1)["problems"]) == 1


def test_a_dead_scheduler_differs_from_nobody(store: Path, stepward: Stepward) -> None:
    register(instance("scheduler-old", ["good@1"]), lease=-1)
    assert stepward("supervisor", "--once").exit_code == 0
    register(instance("scheduler-new", ["good@2"], pid=2))
    assert stepward("check").exit_code == 0


def test_check_finds_code_that_differs_from_what_is_registered(store: Path, stepward: Stepward) -> None:
    assert stepward("check", SHOP).exit_code == 0
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
