"""The rule for requests after a deferral: the owner of the task must not ask again, an earlier owner cannot know."""

from __future__ import annotations

import random

import pytest

from simulation.application.approvals import AGENT
from simulation.environment.faults import Rates
from simulation.environment.loop import SimulationLoop
from simulation.environment.messages import Network
from simulation.invariants.history import Change, Mirror
from simulation.invariants.rules import Rules
from simulation.invariants.watched_rows import StepRow, TaskRow
from simulation.trace import Trace
from stepward.model.messages.requests import Request, idempotency_key, reply_queue

KEY = f"{AGENT}.ask/1"
TASK = TaskRow._make([None] * len(TaskRow._fields))._replace(uid="t", id="task", state="waiting", locked_by="owner")
STEP = StepRow._make([None] * len(StepRow._fields))._replace(
    task="t", run=1, key=KEY, state="running", attempt=1, generation=0, deferred_at=5.0
)


def asked(by: str) -> Request:
    return Request(
        task="t",
        task_id="task",
        run=1,
        key=KEY,
        attempt=1,
        agent=AGENT,
        operation=KEY.partition("/")[0],
        undo=False,
        input=b"[]",
        complete_by=9.0,
        idempotency_key=idempotency_key("t", 1, KEY, 0),
        undoes=None,
        reply_to=reply_queue(by),
        priority=5,
    )


@pytest.mark.parametrize(
    ("by", "locked_by", "is_broken"), [("owner", "owner", True), ("earlier", "owner", False), ("earlier", None, False)]
)
def test_only_the_owner_of_a_task_may_not_ask_again_what_is_deferred(
    by: str, locked_by: str | None, is_broken: bool
) -> None:
    mirror, trace = Mirror(), Trace(lambda: 6.0, lambda: None)
    mirror.tasks["t"] = TASK._replace(locked_by=locked_by)
    mirror.apply(Change("step", None, STEP))
    loop = SimulationLoop(random.Random(1))
    request = asked(by)
    network = Network(loop, Rates, random.Random(1), trace, Rules(mirror, trace, lambda: 6.0), mirror)
    network._check(request)
    loop.close()
    assert bool(trace.violations) is is_broken
