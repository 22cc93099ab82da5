"""Requests are in a queue in memory as soon as a turn lets them out, behind what the publisher has for their Agent."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from stepward.clock import Environment
from stepward.model.messages.requests import Request
from stepward.model.records import Step, Task
from stepward.model.states import StepKind, StepState
from stepward.scheduler.dispatch.dispatcher import Dispatcher, RequestFates
from stepward.scheduler.tasks.active_task import ActiveTask
from stepward.scheduler.tasks.task_cache import TaskTimers
from stepward.transport.memory.memory_transport import MemoryTransport

NOW = 10.0
STEP = Step(
    task="t",
    run=1,
    key="svc.do/1",
    number=1,
    name="svc.do",
    kind=StepKind.OPERATION,
    state=StepState.RUNNING,
    agent="svc",
    attempt=1,
    complete_by=NOW + 5,
)


class Publishing:
    """Stands for the publisher."""

    def __init__(self) -> None:
        self.broken: BaseException | None = None
        self.busy: set[str] = set()
        self.asked: list[str] = []

    def put(self, _: str, requests: Sequence[Request]) -> None:
        self.asked += [request.key for request in requests]


@pytest.fixture
def transport() -> MemoryTransport:
    return MemoryTransport(lambda: NOW)


@pytest.fixture
def publishing() -> Publishing:
    return Publishing()


@pytest.fixture
def timers() -> TaskTimers:
    return TaskTimers()


def send(transport: MemoryTransport, publisher: Any, timers: TaskTimers) -> list[str]:
    """Let out the step of a task; the failpoints that were passed."""
    points: list[str] = []
    active = ActiveTask(Task(uid="t", id="a", workflow="w", version="1"))
    active_tasks: Any = SimpleNamespace(tasks={"t": active}, timers=timers)
    environment, store = Environment(failpoint=points.append), SimpleNamespace(now=lambda: NOW)
    context: Any = SimpleNamespace(transport=transport, environment=environment, reply_to="replies.one", store=store)
    no_local_steps: Any = None
    fates = RequestFates(active_tasks, lambda: NOW)
    Dispatcher(context, publisher, no_local_steps, fates, active_tasks).send([(active, STEP)], (), {})
    return points


async def test_a_request_is_in_the_queue_and_watched_at_once(
    transport: MemoryTransport, publishing: Publishing, timers: TaskTimers
) -> None:
    points = send(transport, publishing, timers)
    (delivery,) = await transport.take("agents.svc", 9, 1)
    assert (delivery.message.key, publishing.asked) == (STEP.key, [])
    assert points == ["requests.publish.before", "requests.publish.after"]
    assert timers.next() is not None


async def test_a_request_comes_behind_what_the_publisher_has_for_its_agent(
    transport: MemoryTransport, publishing: Publishing, timers: TaskTimers
) -> None:
    publishing.busy = {"svc"}
    assert send(transport, publishing, timers) == []
    assert (publishing.asked, transport.queues, timers.next()) == ([STEP.key], {}, None)


async def test_a_request_for_a_closed_queue_is_the_publishers(
    transport: MemoryTransport, publishing: Publishing, timers: TaskTimers
) -> None:
    await transport.close()
    assert send(transport, publishing, timers) == ["requests.publish.before"]
    assert (publishing.asked, timers.next()) == ([STEP.key], None)


async def test_a_bug_of_the_publisher_is_raised_before_anything_leaves(
    transport: MemoryTransport, publishing: Publishing, timers: TaskTimers
) -> None:
    publishing.broken = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        send(transport, publishing, timers)
    assert transport.queues == {}
