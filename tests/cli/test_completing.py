"""Finishing steps from outside on the command line, and what it shows of long steps."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from stepward import Agent, App, SyncClient, TaskHandle, current_step, workflow
from stepward.errors import CompletionRefused
from stepward.model.states import TaskState

from .conftest import Stepward, one_line

TOKENS: list[str] = []
approvals = Agent("approvals")


@approvals.operation(complete_by="4h")
async def ask(order: str) -> str:
    step = current_step()
    step.heartbeat({"asked": "Grace\x1b[31m"})
    TOKENS.append(step.completion_token)
    await asyncio.sleep(0.3)
    step.finish_later()


@workflow
async def approved(order: str) -> str:
    return await ask(order)


def application(store: Path) -> App:
    return App("office", workflows=[approved], agents=[approvals], store=f"sqlite:///{store}")


async def _wait(store: Path) -> None:
    app = application(store)
    async with app.running(), app.client() as client:
        task = await client.submit(approved, "o1", id="o1")
        async with asyncio.timeout(20):
            while not await _waits(task):  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.05)


async def _waits(task: TaskHandle) -> bool:
    return (await task.status()).state is TaskState.WAITING and bool((await task.steps())[0].progress)


async def _result(store: Path) -> Any:
    app = application(store)
    async with app.running(), app.client() as client:
        return await client.task("o1").result(timeout="20s")


async def _ended(store: Path) -> None:
    app = application(store)
    async with app.running(), app.client() as client:
        async with asyncio.timeout(20):
            while (await client.task("o1").status()).state is not TaskState.ERROR:  # noqa: ASYNC110 - no event tells of it
                await asyncio.sleep(0.05)


@pytest.fixture(scope="session")
def waited(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store in which a step waits to be finished, and the token."""
    folder = tmp_path_factory.mktemp("waited")
    asyncio.run(_wait(folder / "stepward.db"))
    return folder / "stepward.db", TOKENS[-1]


@pytest.fixture
def waiting(empty: Path, waited: tuple[Path, str]) -> str:
    """A copy of it in the current folder; the token."""
    store, token = waited
    shutil.copy(store, empty / "stepward.db")
    return token


def test_a_step_is_completed_once(empty: Path, waiting: str, stepward: Stepward) -> None:
    done = stepward("complete", waiting, '"yes"', "--by", "grace")
    assert (done.exit_code, done.output) == (0, "completed\n")
    again = stepward("complete", waiting, '"no"')
    assert again.exit_code == 1
    assert one_line(again) == (
        "stepward: completion of approvals.ask/1 of task o1: expected it to run, found it completed already; "
        "a token is good once"
    )
    assert asyncio.run(_result(empty / "stepward.db")) == "yes"
    entries = json.loads(stepward("audit", "--json").output)
    assert [(entry["actor"], entry["act"]) for entry in entries][-1] == ("grace", "complete")


def test_a_step_is_failed_with_a_message(empty: Path, waiting: str, stepward: Stepward) -> None:
    assert stepward("fail", waiting, "nobody is in").exit_code == 0
    (step,) = json.loads(stepward("steps", "o1", "--json").output)
    assert (step["state"], step["error"]["message"]) == ("failed", "nobody is in")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("complete", "nonsense", "1"), 1, "expected the text that an operation gave out, found no token"),
        (("fail", "nonsense", "why"), 1, "expected the text that an operation gave out, found no token"),
        (("complete", "{cut}", "1"), 1, "expected the signature of this store, found another"),
        (("complete", "{token}", "{"), 2, "result: expected JSON"),
        (("complete", "{token}", "1", "--by", ""), 2, "by: expected 1 to"),
        (("complete", "{token}", "1", "--by", "a\nb"), 2, "by: expected no control characters"),
        (("fail", "{token}", ""), 2, "message: expected words that say why the step failed, found ''"),
        (("fail", "{token}"), 2, "MESSAGE"),
    ],
)
def test_a_refused_completion_is_one_error_line(
    waiting: str, stepward: Stepward, arguments: tuple[str, ...], code: int, said: str
) -> None:
    refused = stepward(*[each.replace("{token}", waiting).replace("{cut}", waiting[:-5]) for each in arguments])
    assert refused.exit_code == code
    assert said in one_line(refused)


def test_progress_and_deferral_are_shown(waiting: str, stepward: Stepward) -> None:
    assert "running" in (row := stepward("steps", "o1", COLUMNS="60").output.splitlines()[2])
    assert "progress {" in row, "before all else, so that it is not cut"
    for command in ("steps", "show"):
        shown = stepward(command, "o1", COLUMNS="200").output
        assert "waits to be finished from outside" in shown
        assert '"asked": "Grace' in shown
        assert "\x1b" not in shown
    (step,) = json.loads(stepward("steps", "o1", "--json").output)
    assert step["progress"] == {"asked": "Grace\x1b[31m"}
    assert step["progress_at"].endswith("Z")
    assert step["deferred_at"].endswith("Z")
    shown = json.loads(stepward("show", "o1", "--json").output)
    assert (shown["state"], shown["waits_for"]) == ("waiting", "approvals.ask/1")


def test_code_without_a_loop_finishes_steps_too(empty: Path, waiting: str) -> None:
    app = application(empty / "stepward.db")
    with app.sync_client() as client:
        assert isinstance(client, SyncClient)
        client.complete(waiting, "yes", by="grace")
        with pytest.raises(CompletionRefused) as caught:
            client.fail(waiting, "no", why="late")
        assert caught.value.reason == "used"
    assert asyncio.run(_result(empty / "stepward.db")) == "yes"


def test_a_result_of_the_wrong_type_is_not_read_again(empty: Path, waiting: str, stepward: Stepward) -> None:
    assert stepward("complete", waiting, "1").exit_code == 0
    asyncio.run(_ended(empty / "stepward.db"))
    shown = stepward("show", "o1", COLUMNS="200").output
    assert "result of approvals.ask: expected str" in shown
    assert "stepward undo o1" in shown
    assert "stepward resubmit" not in shown


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_token_is_read_from_standard_input(waiting: str, stepward: Stepward, verb: str) -> None:
    done = stepward(verb, "-", '"yes"', stdin=f"{waiting}\n")
    assert done.exit_code == 0
    (step,) = json.loads(stepward("steps", "o1", "--json").output)
    assert step["state"] == ("completed" if verb == "complete" else "failed")


@pytest.mark.parametrize("verb", ["complete", "fail"])
def test_a_token_is_read_from_a_file(waiting: str, stepward: Stepward, tmp_path: Path, verb: str) -> None:
    (tmp_path / "token").write_text(f"{waiting}\n")
    assert stepward(verb, f"@{tmp_path / 'token'}", '"yes"').exit_code == 0


@pytest.mark.parametrize("name", ["absent", "", "binary", "/dev/null"])
def test_a_token_file_that_holds_none_is_refused_in_a_line(
    waiting: str, stepward: Stepward, tmp_path: Path, name: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    refused = stepward("complete", f"@{tmp_path / name}", "1")
    assert refused.exit_code == 2
    assert "TOKEN: expected a readable file after @, found" in one_line(refused)
    assert stepward("complete", "-", "1", stdin="").exit_code == 1
