"""What a step, a submission and an undo cost is recorded here, and may not rise."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stepward.model.messages.requests import reply_queue
from stepward.model.records import Step
from stepward.scheduler.admission.windows import Windows
from stepward.store.sqlite.engine.connection import Connection
from stepward.store.sqlite.hot import scheduler
from tests.life import costs
from tests.life.costs import Costs, Meter, Work
from tests.scheduler.world import World

RECORDED: dict[Work, Costs] = {
    costs.steps_together: Costs(calls=109.2, statements=0.102, commits=0.018),
    costs.steps_alone: Costs(calls=263.0, statements=6.5, commits=1.1),
    costs.submissions_together: Costs(calls=8.1, statements=0.004, commits=0.001),
    costs.submissions_alone: Costs(calls=75.4, statements=3.0, commits=1.0),
    costs.undos: Costs(calls=289.8, statements=0.637, commits=0.036),
}
"""Most that a piece of each kind of work may cost, to be lowered as it costs less; alike on Python 3.11 to 3.13."""
BY_PYTHON = 1.03 if sys.version_info >= (3, 14) else 1.0
"""How many calls more there are on a newer Python, whose asyncio asks a workflow's loop more."""
SLACK = 0.99
"""A figure of calls that is less than this much of the recorded one is to be recorded."""
KINDS = pytest.mark.parametrize("work", RECORDED, ids=lambda work: work.__name__)


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    return Meter(monkeypatch)


def risen(counted: Costs, recorded: Costs) -> list[str]:
    """Which of the figures are above what is recorded."""
    pairs = zip(Costs._fields, counted, recorded, strict=True)
    return [f"{name}: expected at most {most:g}, found {found:g}" for name, found, most in pairs if found > most]


@KINDS
async def test_no_work_costs_more_calls_statements_or_commits_than_recorded(
    world: World, meter: Meter, work: Work
) -> None:
    counted, pieces = await work(world, meter)
    most = RECORDED[work]._replace(calls=RECORDED[work].calls * BY_PYTHON)
    assert risen(counted, most) == [], f"a piece of {work.__name__} called\n{meter.most(pieces)}"
    assert counted.calls > SLACK * RECORDED[work].calls, f"record what it costs now: {counted}"


async def test_one_more_call_in_each_step_is_found(world: World, meter: Meter, monkeypatch: pytest.MonkeyPatch) -> None:
    free = Windows.free

    def freed(windows: Windows, step: Step) -> None:
        reply_queue("planted")
        free(windows, step)

    before, _ = await costs.steps_together(world, meter)
    monkeypatch.setattr(Windows, "free", freed)
    after, _ = await costs.steps_together(world, meter)
    (line,) = risen(after, before)
    assert line.startswith("calls:")


async def test_one_more_statement_in_each_commit_is_found(
    world: World, meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove = scheduler._prove

    def proved(connection: Connection, *args: Any) -> None:
        connection.row("select 1")
        prove(connection, *args)

    monkeypatch.setattr(scheduler, "_prove", proved)
    for work in (costs.steps_together, costs.steps_alone):
        counted, _ = await work(world, meter)
        assert any(line.startswith("statements:") for line in risen(counted, RECORDED[work]))
