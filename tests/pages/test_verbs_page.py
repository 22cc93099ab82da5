"""``docs/verbs.md``: one verb for one act in Python, the commands, the store, the audit and the status events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

import stepward
from stepward import Agent, App, workflow
from stepward.cli.main import cli
from stepward.client import session_of
from stepward.model.messages.status_events import StatusEventType
from stepward.model.tasks.directives import DirectiveVerb
from stepward.store.contract import Completion

PAGE = Path(__file__).parents[2] / "docs" / "verbs.md"
TWINS = {
    "AlertSinks": "SyncAlertSinks",
    "Batches": "SyncBatches",
    "Client": "SyncClient",
    "Queues": "SyncQueues",
    "TaskHandle": "SyncTaskHandle",
}
RUNNING = {
    "init",
    "run",
    "scheduler",
    "agent",
    "submission",
    "supervisor",
    "console",
    "mcp",
    "check",
    "replay",
    "contract-kit",
    "migrate",
    "version",
}
READING = {
    "events",
    "tasks",
    "show",
    "steps",
    "history",
    "alerts",
    "alerts sinks",
    "alerts silences",
    "dead-letters",
    "webhooks",
    "instances",
    "agents",
    "agents stats",
    "limit",
    "schedules",
    "audit",
    "partitions",
} | {
    "token",
    "token list",
    "keys",
    "batch",
    "batch preview",
    "batch show",
    "audit list",
    "audit verify",
    "audit head",
    "audit export",
    "completion",
}
NOT_ACTS = RUNNING | READING
"""Commands that run actors, read, or see to the program itself."""
bank = Agent("bank")


@bank.operation
async def pay() -> None: ...


@workflow
async def close_books() -> None: ...


class Row(NamedTuple):
    act: str
    python: str
    command: str
    audit: str
    event: str

    @property
    def verb(self) -> str:
        return self.command.split()[-1].replace("-", "_") if self.command else self.python.partition(".")[2]


def rows() -> list[Row]:
    lines = [line.strip("|\n ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    found = [Row(*(cell.strip("`– ") for cell in line.split(" | "))) for line in lines[2:]]
    assert len(found) > 15
    return found


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[str]:
    """All commands by what is typed."""
    if path:
        yield " ".join(path)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, (*path, name))


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.act)
def test_the_method_the_command_and_the_act_in_the_audit_are_one_verb(row: Row) -> None:
    class_, _, method = row.python.partition(".")
    assert method in {"", row.verb} or method.startswith(f"{row.verb}_")
    assert row.audit in {"", row.verb}
    if class_:
        assert callable(getattr(getattr(stepward, class_), method))
        assert hasattr(getattr(stepward, TWINS[class_]), method)
    assert row.event in {"", *StatusEventType}


def test_every_command_that_acts_is_in_the_table() -> None:
    acting = {each for each in commands(cli) if each not in NOT_ACTS}
    assert {row.command.removeprefix("stepward ") for row in rows() if row.command} == acting


def test_every_directive_and_completion_is_in_the_table_with_its_act() -> None:
    audited = {row.audit for row in rows()}
    done = Completion(**_completion(), output=b"1")
    failed = Completion(**_completion(), error=b"{}")
    assert {*DirectiveVerb, done.act, failed.act} <= audited


def _completion() -> dict[str, Any]:
    return {"task": "t", "run": 1, "key": "pay/1", "attempt": 1, "actor": "ada"}


async def test_the_audit_has_the_verbs_of_the_table(tmp_path: Path) -> None:
    app = App("books", workflows=[close_books], agents=[bank], store=f"sqlite:///{tmp_path / 's.db'}")
    app.schedule("nightly", close_books, "0 1 * * *")
    async with app.running(scheduler=False), app.client() as client:
        await session_of(client).store.messages.bury_bodies("bank", [(b"a", "unread", 1), (b"b", "unread", 1)])
        first, second = [letter.number for letter in await client.dead_letters()]
        acts: dict[str, list[Any]] = {
            "suspend_agent": ["bank"],
            "resume_agent": ["bank"],
            "set_limit": ["agent:bank", 5],
            "reset_limit": ["agent:bank"],
            "pause_schedule": ["nightly"],
            "resume_schedule": ["nightly"],
            "remove_schedule": ["nightly"],
            "put_back": [first],
            "discard": [second],
        }
        for method, arguments in acts.items():
            await getattr(client, method)(*arguments)
        written = [audit.act for audit in reversed(await client.audits())]
    audits = {row.python.partition(".")[2]: row.audit for row in rows()}
    assert written == [audits[method] for method in acts]
