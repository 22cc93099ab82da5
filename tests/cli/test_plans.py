"""The plan of a pipeline's task, drawn and described."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from stepward import Agent, App, Given, Pipeline, Stage, Unrecoverable, workflow
from stepward.cli.check_findings.version_diff import from_registered
from stepward.model.states import TaskState
from stepward.views.plan_graph import MOST_LANES, drawn
from stepward.workflow.registry import Registry

from .conftest import Stepward
from .stores import as_json

agent = Agent("svc")


@agent.operation()
async def work(order: str) -> str:
    if order == "bad":
        raise Unrecoverable("not that one")
    return order


def stage(*after: str, order: str = "x") -> Stage:
    return Stage(work, order, after=after)


fulfil = Pipeline(
    "fulfil",
    {
        "reserve": Stage(work, Given("order")),
        "charge": stage("reserve"),
        "gift": stage("reserve", order="bad"),
        "ship": stage("charge", "gift"),
        "thank-the-customer-who-ordered-the-parcel": stage("ship"),
        "count": stage("ship"),
        "close": stage("thank-the-customer-who-ordered-the-parcel", "count"),
    },
    given={"order": str},
)
wide = Pipeline("wide", {"first": stage(), **{f"s{number}": stage("first") for number in range(MOST_LANES + 1)}})


@workflow
async def code(order: str) -> str:
    return await work(order)


@pytest.fixture
def store(empty: Path) -> Path:
    """A store with a task of each of these, in the current folder."""
    asyncio.run(_fill())
    return empty / "stepward.db"


async def _fill() -> None:
    app = App("shop", workflows=[fulfil, wide, code], agents=[agent])
    async with app.running(supervisor=False), app.client() as client:
        handle = await client.submit(fulfil, "A", id="stopped")
        while (await handle.status()).state is not TaskState.ERROR:  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0)
        await (await client.submit(code, "A", id="code")).result()
        await (await client.submit(wide, id="wide")).result()


def test_show_draws_the_plan_with_its_branches(store: Path, stepward: Stepward) -> None:
    text = stepward("show", "stopped", COLUMNS="80").stdout
    assert "✗ error  2 of 7 stages done" in text
    assert _part(text, "Plan") == [
        "     STAGE                     STATE        WAITS FOR                 STEP",
        "─" * 80,
        "✓    reserve                   completed    –                         svc.work/1",
        "├─╮",
        "✓ │  charge                    completed    reserve                   svc.work/2",
        "│ ✗  gift                      failed       reserve                   svc.work/3",
        "├─╯",
        "○    ship                      not_started  charge, gift              svc.work/4",
        "├─╮",
        "○ │  thank-the-cu…-the-parcel  not_started  ship                      svc.work/5",
        "│ ○  count                     not_started  ship                      svc.work/6",
        "├─╯",
        "○    close                     not_started  thank-the-customer-who-…  svc.work/7",
    ]


@pytest.mark.parametrize("columns", ["60", "80", "132"])
@pytest.mark.parametrize("id", ["stopped", "wide"])
def test_no_line_is_too_long(store: Path, stepward: Stepward, id: str, columns: str) -> None:
    text = stepward("show", id, COLUMNS=columns).stdout
    assert max(cell_len(line) for line in text.splitlines()) <= int(columns)
    assert text.replace("\n", "").isprintable()


def test_a_plan_with_too_many_branches_is_a_list(store: Path, stepward: Stepward) -> None:
    lines = _part(stepward("show", "wide").stdout, "Plan")
    assert lines[0].split() == ["STAGE", "STATE", "WAITS", "FOR", "STEP"]
    assert lines[3].split() == ["s0", "✓", "completed", "first", "svc.work/2"]
    assert len(lines) == 2 + 1 + MOST_LANES + 1


def test_show_as_json_contains_the_plan(store: Path, stepward: Stepward) -> None:
    shown = as_json(stepward, "show", "stopped")
    assert shown["progress"] == {"done": 2, "total": 7}
    assert [stage["state"] for stage in shown["plan"]][:4] == ["completed", "completed", "failed", "not_started"]
    assert shown["plan"][3] == {
        "stage": "ship",
        "key": "svc.work/4",
        "name": "svc.work",
        "kind": "operation",
        "agent": "svc",
        "complete_seconds": 30.0,
        "has_undo": False,
        "irreversible": False,
        "waits_for": ["charge", "gift"],
        "state": "not_started",
    }
    assert shown["steps"][-1]["input"] is None


def test_workflow_code_has_no_plan(store: Path, stepward: Stepward) -> None:
    shown = as_json(stepward, "show", "code")
    assert (shown["plan"], shown["progress"]) == (None, {"done": 1, "total": None})
    text = stepward("show", "code").stdout
    assert "1 of 1 steps done" in text
    assert "\nPlan\n" not in text


def test_another_plan_under_the_same_version_is_drift() -> None:
    changed = Pipeline("fulfil", {"reserve": Stage(work, Given("order"))}, given={"order": str})
    (problem,) = from_registered(Registry([changed], []).records(), Registry([fulfil], []).records())
    assert "workflow fulfil@1: expected what the store has registered, found another plan in this code" in problem


def test_steps_lists_what_has_not_started(store: Path, stepward: Stepward) -> None:
    lines = stepward("steps", "stopped").stdout.splitlines()
    assert [line.split()[:3] for line in lines[-4:]] == [[f"svc.work/{n}", "○", "not_started"] for n in range(4, 8)]


@pytest.mark.parametrize(
    ("waits_for", "lines"),
    [
        ({"a": "", "b": "a", "c": "b"}, ["a", "b", "c"]),
        ({"a": "", "b": "", "c": ""}, ["a", "  b", "c"]),
        ({"a": "", "b": "a", "c": "ab"}, ["a", "b", "c"]),
        ({"a": "", "b": "a", "c": "", "d": "ac"}, ["a", "├─╮", "b │", "  │ c", "  ├─╯", "  d"]),
        (
            {"a": "", "b": "a", "c": "a", "d": "a", "e": "bd", "f": "ce"},
            ["a", "├─┬─╮", "b │ │", "│ c │", "│ │ d", "├─│─╯", "e │", "╰─┤", "  f"],
        ),
        (
            {"a": "", "b": "", "c": "ab", "d": "ab", "e": "cd"},
            ["a", "├─╮", "│ │ b", "├─┼─╯", "c │", "│ d", "├─╯", "e"],
        ),
        (
            {"a": "", "b": "a", "c": "a", "d": "b", "e": "bc", "f": "d", "g": "ef"},
            ["a", "├─╮", "b │", "├─│─╮", "│ c │", "│ ╰─┤", "d   │", "│   e", "f   │", "╰───┤", "    g"],
        ),
    ],
)
def test_graphs(waits_for: Mapping[str, Sequence[str]], lines: list[str]) -> None:
    found = drawn(waits_for)
    assert found is not None
    assert [f"{line.before}{line.stage or ''}{line.after}" for line in found] == lines


def test_as_many_lanes_as_can_be_followed() -> None:
    leaves = {f"s{number}": ["a"] for number in range(MOST_LANES)}
    assert drawn({"a": [], **leaves}) is not None
    assert drawn({"a": [], **leaves, "one more": ["a"]}) is None


def _part(text: str, title: str) -> list[str]:
    return text.split(f"\n{title}\n")[1].split("\n\n", maxsplit=1)[0].splitlines()
