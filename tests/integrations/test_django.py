"""Django: the example as a project of its own, its commands, its views and the link in its admin."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stepward.cli.main import cli
from stepward.integrations.django.management.commands.stepward import TARGET, with_target

pytestmark = pytest.mark.servers

ROOT = Path(__file__).parents[2]

VIEWS = """
from django.contrib.auth.models import Group, User
from django.test import Client
from stepward import App
from stepward.integrations.django import client, stepward_app

web = Client(raise_request_exception=False)
for _ in range(2):
    answer = web.post("/clubs", {"name": "chess"}, headers={"Idempotency-Key": "chess"})
    assert (answer.status_code, answer.json()) == (202, {"task": "chess"}), answer
conflict = web.post("/clubs", {"name": "go"}, headers={"Idempotency-Key": "chess"})
assert (conflict.status_code, conflict.headers["content-type"]) == (409, "application/problem+json"), conflict
assert web.get("/clubs/none").status_code == 404

import asyncio
async def work():
    async with stepward_app().running(), stepward_app().client() as ours:
        return await ours.task("chess").result(timeout=60)
number = asyncio.run(work())
assert Group.objects.get(pk=number).name == "chess"
assert web.get("/clubs/chess").json() == {"state": "processed"}

web.force_login(User.objects.create_superuser("ada", password="ada"))
assert b"Console" in web.get("/admin/").content
link = web.get("/admin/stepward/consolelink/")
assert (link.status_code, link.headers["location"]) == (302, "http://127.0.0.1:8321/"), link
print("done")
"""


def manage(folder: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "examples.frameworks.django_shop.manage", *words],
        cwd=ROOT,
        env={**os.environ, "SHOP_FOLDER": str(folder), "STEPWARD_STORE": f"sqlite:///{folder}/tasks.db"},
        input=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_views_submit_the_worker_uses_models_and_the_admin_leads_to_the_console(tmp_path: Path) -> None:
    assert manage(tmp_path, "migrate", "--verbosity", "0").returncode == 0
    made = manage(tmp_path, "makemigrations", "--check", "--dry-run")
    assert made.returncode == 0, made.stdout
    found = manage(tmp_path, "shell", "--verbosity", "0", given=VIEWS)
    assert (found.returncode, found.stdout.splitlines()[-1:]) == (0, ["done"]), found.stderr
    listed = manage(tmp_path, "stepward", "tasks", "--json")
    assert '"chess"' in listed.stdout, listed.stderr
    assert "found none" in manage(tmp_path, "stepward", "show", "go").stderr


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    code = (
        "from django.conf import settings; settings.STEPWARD_APP = 'shop.tasks'\n"
        "from stepward.integrations.django import stepward_app; stepward_app()"
    )
    found = manage(tmp_path, "shell", "--verbosity", "0", "-c", code)
    assert "STEPWARD_APP: expected module:attribute, such as 'shop.tasks:app', found 'shop.tasks'" in found.stderr


def test_a_command_that_takes_an_application_gets_the_projects() -> None:
    assert with_target(["run", "--processes", "2"]) == ["run", TARGET, "--processes", "2"]
    assert with_target(["tasks", "--json"]) == ["tasks", "--json"]
    assert with_target(["submit", "open_club", '"go"']) == ["submit", TARGET, "open_club", '"go"']
    assert with_target([]) == []
    takers = {name for name in cli.commands if with_target([name]) != [name]}
    assert {"run", "scheduler", "agent", "submission", "supervisor", "console", "submit", "replay"} <= takers
