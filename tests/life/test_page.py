"""``docs/life-of-a-task.md`` names what is passed: each path is walked by a real application, and traced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepward.supervisor.judge import policy_of
from tests.life.paths import PATHS
from tests.life.trace import PACKAGE, Trace
from tests.scheduler.world import World

PAGE = Path(__file__).parents[2] / "docs" / "life-of-a-task.md"
HEADINGS = {
    "submit": "Submit",
    "step": "A step",
    "undo": "Undo",
    "decision": "A Supervisor's decision",
    "takeover": "A takeover",
}
FILE = re.compile(r"`([a-z_/]+\.py)`")
MOST = {"submit": 28, "step": 40}
"""The files of which a line is executed while these two run, to be lowered as they get fewer.

``submit`` counts from the client's call until it returns, in a process that has submitted before: what the caller's
task executes, and the Scheduler's turn with its commit, which it waits for. ``step`` counts the second step of a task,
from its call in workflow code until the request for the next step is with its Agent.
"""


def named(path: str) -> list[str]:
    (section,) = re.findall(rf"^## {HEADINGS[path]}\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return FILE.findall("\n".join(line for line in section.splitlines() if line.startswith("|")))


@pytest.fixture(autouse=True)
def unread_policies() -> None:
    """A Supervisor that has read no policy yet, whatever other tests of this process have it remember."""
    policy_of.cache_clear()


async def walked(world: World, path: str) -> list[str]:
    trace = Trace()
    with trace.installed():
        await PATHS[path](world, trace)
    return trace.files


@pytest.mark.parametrize("path", PATHS)
async def test_a_path_passes_every_file_that_its_table_names(world: World, path: str) -> None:
    files = named(path)
    assert len(files) > 10
    assert [file for file in files if not Path(PACKAGE, file).exists()] == []
    passed = await walked(world, path)
    assert [file for file in files if file not in passed] == []


@pytest.mark.parametrize("path", MOST)
async def test_the_two_commonest_paths_execute_lines_of_no_more_files_than_listed(world: World, path: str) -> None:
    files = await walked(world, path)
    assert len(files) <= MOST[path], "\n".join([f"{path}: expected {MOST[path]} files, found {len(files)}:", *files])
