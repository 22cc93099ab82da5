"""Real processes that submit under one key at once: the rules hold between them as within one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from servers.postgres import versions
from stepward import App, Client, Collect, Debounce, Singleton, Throttle, workflow
from stepward.client import session_of
from stepward.model.states import TaskState
from tests.store.postgres.server import Servers

pytestmark = pytest.mark.servers

PROCESSES, EACH = 3, 8
REPLACED = (TaskState.CANCELLED, TaskState.UNDOING)
SUBMITTER = """
import asyncio, sys
from stepward import App, Collect, Debounce, Singleton, TaskConflict, Throttle, workflow


@workflow
async def work(text: str) -> str:
    return text


@workflow
async def gather(texts: list[str]) -> int:
    return len(texts)


async def main(address: str, name: str) -> None:
    rule = eval(sys.argv[3])
    async with App("shop", workflows=[work, gather], store=address).client() as client:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(sys.argv[4])):
            try:
                given = [name] if sys.argv[5] == "gather" else name
                handle = await client.submit(sys.argv[5], given, id=f"{name}-{number}", per_key=rule)
            except TaskConflict:
                print("refused")
            else:
                print(handle.id)


asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


@workflow
async def work(text: str) -> str:
    return text


@workflow
async def gather(texts: list[str]) -> int:
    return len(texts)


@pytest.fixture(params=["sqlite", "postgresql"])
async def address(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'tasks.db'}"
    return await servers.emptied(max(versions()))


def submitted(address: str, rule: str, workflow: str = "work") -> list[str]:
    """The answers to the submissions of all processes: the id of a task, or ``refused``."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SUBMITTER, address, f"p{number}", rule, str(EACH), workflow],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    return [word for words in told for word in words]


async def live(client: Client) -> list[str]:
    return [task.id for task in await client.tasks() if task.state not in REPLACED]


@pytest.mark.parametrize(
    ("rule", "is_joined"),
    [
        (Singleton("k"), False),
        (Singleton("k", if_running="join"), True),
        (Throttle("k", every="1h"), False),
        (Throttle("k", every="1h", if_too_soon="join"), True),
        (Debounce("k", wait="1h", latest="2h"), True),
    ],
)
async def test_of_many_submitters_one_makes_the_task(address: str, rule: object, is_joined: bool) -> None:
    async with App("shop", workflows=[work], store=address).client() as client:
        told = Counter(submitted(address, _written(rule)))
        (task,) = await live(client)
    others = PROCESSES * EACH - 1
    assert told == ({task: others + 1} if is_joined else {task: 1, "refused": others})


async def test_every_submission_is_in_one_list_once(address: str) -> None:
    async with App("shop", workflows=[work, gather], store=address).client() as client:
        submitted(address, _written(Collect("k", size=5, within="1h")), workflow="gather")
        store = session_of(client).store.client
        tasks = [await store.task(task) for task in await live(client)]
    lists = [json.loads(task.input)[0] for task in tasks if task is not None]
    assert Counter(item for items in lists for item in items) == {f"p{number}": EACH for number in range(PROCESSES)}
    assert sorted(map(len, lists))[-4:] == [5, 5, 5, 5]


async def test_of_many_replacements_one_is_left(address: str) -> None:
    async with App("shop", workflows=[work], store=address).client() as client:
        told = submitted(address, _written(Singleton("k", if_running="replace")))
        assert len(set(told)) == PROCESSES * EACH
        assert len(await live(client)) == 1


def _written(rule: object) -> str:
    given = {
        name: getattr(rule, name)
        for name in ("key", "wait", "latest", "every", "if_running", "if_too_soon", "size", "within")
        if hasattr(rule, name)
    }
    return f"{type(rule).__name__}(**{given!r})"
