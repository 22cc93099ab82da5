"""What an Agent sends that cannot be recorded: a failed attempt in doubt, an alert, and the Supervisor's ladder."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stepward import Backoff, Supervision, TaskFailed, TaskUndone, workflow
from stepward.model.messages.requests import Outcome, Reply, reply_queue
from stepward.model.states import TaskState
from stepward.running import Running
from stepward.scheduler.agent_replies.reply_check import checked
from stepward.transport.contract import AgentMessage
from tests.scheduler.world import Service, World, details, hang, in_state, take, until

pytestmark = pytest.mark.usefixtures("verbs_alone")

LIMIT = 2048
DEEP = b"[" * 150 + b"]" * 150
FOREIGN: list[tuple[str, dict[str, Any]]] = [
    ("a result that is no JSON", {"output": b"\x00\xff{"}),
    ("a result that is no UTF-8", {"output": b'"\xff"'}),
    ("a result over the limit", {"output": b'"' + b"x" * LIMIT + b'"'}),
    ("a result nested too deeply", {"output": DEEP}),
    ("a result of another type", {"output": b"[1]"}),
    ("an error that is no object", {"outcome": Outcome.FAILED, "error": b'"no"'}),
    ("an error without a message", {"outcome": Outcome.FAILED, "error": b'{"type":"No"}'}),
    ("an error whose message is no text", {"outcome": Outcome.GAVE_UP, "error": b'{"message":7}'}),
    ("an error that is no JSON", {"outcome": Outcome.FAILED, "error": b"\xff"}),
    (
        "an error nested too deeply",
        {"outcome": Outcome.FAILED, "error": b'{"message":"no","data":{"a":' + DEEP + b"}}"},
    ),
]


class Foreign:
    """Stands between the Agent and its Scheduler, and sends in place of each answer to ``do`` what it was given."""

    def __init__(self, running: Running, **fields: Any) -> None:
        self._publish = running.transport.publish
        self._given: dict[str, Any] = {"outcome": Outcome.COMPLETED, **fields}
        running.transport.publish = self.publish  # type: ignore[method-assign]

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        await self._publish(queue, [self._garbled(each) for each in messages])

    def _garbled(self, message: AgentMessage) -> AgentMessage:
        if not isinstance(message, Reply) or message.key.endswith("~undo"):
            return message
        place: dict[str, Any] = {
            "task": message.task,
            "run": message.run,
            "key": message.key,
            "attempt": message.attempt,
        }
        return Reply(**place, **self._given)


@pytest.mark.parametrize("fields", [fields for _, fields in FOREIGN], ids=[name for name, _ in FOREIGN])
async def test_it_is_repeated_alerted_and_undone_as_possibly_executed(
    world: World, service: Service, fields: dict[str, Any]
) -> None:
    @workflow(supervision=Supervision(threshold=1, backoff=Backoff("1s"), then="undo"))
    async def order() -> str:
        return await service.do("a")

    app = world.app([order], [service.agent], payload_bytes=LIMIT)
    Foreign(await world.run(app), **fields)
    client = await world.client(app)
    handle = await client.submit(order)
    with pytest.raises(TaskUndone, match="cannot be recorded") as caught:
        await handle.result(timeout=60)
    assert caught.value.cause["type"] == "UnreadableReply"
    assert caught.value.cause["maybe_done"] is True
    assert (service.log, service.given) == (["do a", "do a", "undo a"], [None])
    alerts = [alert for alert in await client.alerts() if alert.kind == "unreadable_reply"]
    assert [(alert.step, details(alert)["attempt"]) for alert in alerts] == [("svc.do/1", 2), ("svc.do/1", 1)]
    assert "svc" in alerts[0].message
    assert [event["type"] for event in world.told("step.gave_up")] == ["UnreadableReply"] * 2


async def test_a_result_that_is_missing_is_null(world: World, service: Service) -> None:
    @workflow
    async def order() -> Any:
        return await nothing()

    @service.agent.operation()
    async def nothing() -> None: ...

    app = world.app([order], [service.agent])
    Foreign(await world.run(app))
    handle = await (await world.client(app)).submit(order)
    assert await handle.result(timeout=10) is None


async def test_what_an_agent_adds_to_its_error_names_no_other_step(world: World, service: Service) -> None:
    @workflow
    async def order() -> str:
        return await service.do("a")

    app = world.app([order], [service.agent])
    error = b'{"message":"no","step":"svc.other/1","cause":{"step":"x"},"maybe_done":false,"attempt":9}'
    Foreign(await world.run(app), outcome=Outcome.FAILED, error=error, maybe_done=True)
    handle = await (await world.client(app)).submit(order)
    with pytest.raises(TaskFailed, match="no") as caught:
        await handle.result(timeout=10)
    assert (caught.value.cause["step"], caught.value.cause["maybe_done"]) == ("svc.do/1", True)
    (step,) = await handle.steps()
    assert step.error == {"message": "no", "type": "Error", "data": {}, "maybe_done": True, "attempt": 1}


def test_an_error_is_bounded() -> None:
    error = b'{"message":"%b","type":"%b","traceback":"%b"}' % (b"m" * 20_000, b"t" * 500, b"x" * 60_000)
    found = checked(Reply(task="t", run=1, key="k/1", attempt=1, outcome=Outcome.FAILED, error=error), 100_000, {})
    assert found.error is not None
    assert len(found.error) < 50_000
    assert found.outcome is Outcome.FAILED


async def test_a_reply_that_another_program_left_in_the_inbox_is_checked_too(world: World, service: Service) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await in_state(handle, TaskState.PROCESSING)
    task = await running.store.client.task(handle.id)
    assert task is not None
    reply = Reply(task=task.uid, run=1, key="svc.do/1", attempt=1, outcome=Outcome.COMPLETED, output=b"\xff")
    await running.store.scheduler.settle_misrouted([reply])
    running.hints.hint()
    with pytest.raises(TaskFailed, match="cannot be recorded"):
        await handle.result(timeout=5)


async def test_a_late_answer_of_another_type_is_not_given_to_the_undo_of_what_was_given_up(
    world: World, service: Service
) -> None:
    @workflow
    async def order() -> str:
        try:
            async with asyncio.timeout(1):
                return await service.do("a")
        except TimeoutError:
            return "given up"

    service.plan("do a", take(3))
    app = world.app([order], [service.agent])
    running = await world.run(app)
    Foreign(running, output=b"[1]")
    # An Agent that hears of no revocation goes on to its end.
    running.transport.revoke = lambda *given: asyncio.sleep(0)  # type: ignore[method-assign]
    handle = await (await world.client(app)).submit(order)
    assert await handle.result(timeout=60) == "given up"
    assert service.given == [None]
    assert [alert.kind for alert in await (await world.client(app)).alerts()] == ["unreadable_reply"]


async def test_a_reply_of_another_type_to_a_task_that_is_not_held_is_not_recorded(
    world: World, service: Service
) -> None:
    @workflow(supervision=Supervision(threshold=0))
    async def order() -> str:
        return await service.do("a")

    service.plan("do a", hang())
    app = world.app([order], [service.agent])
    running = await world.run(app)
    handle = await (await world.client(app)).submit(order)
    await in_state(handle, TaskState.PROCESSING)
    strays: list[Reply] = []
    scheduler = running.host.scheduler
    assert scheduler is not None
    running.store.scheduler.settle_misrouted = note_in(strays)  # type: ignore[method-assign]
    other = Reply(task="other", run=1, key="svc.do/1", attempt=1, outcome=Outcome.COMPLETED, output=b"[1]")
    undo = msgspec.structs.replace(other, key="svc.do/1~undo")
    await running.transport.publish(reply_queue(scheduler.instance), [other, undo])
    await until(lambda: asyncio.sleep(0, len(strays) == 2))
    assert [(reply.outcome, reply.output) for reply in strays] == [(Outcome.GAVE_UP, None), (Outcome.COMPLETED, b"[1]")]


def note_in(strays: list[Reply]) -> Any:
    async def stray(replies: Sequence[Reply]) -> None:
        strays.extend(replies)

    return stray


def test_a_result_of_an_unknown_operation_that_is_no_json_is_said_to_be_none() -> None:
    reply = Reply(task="t", run=1, key="k/1", attempt=1, outcome=Outcome.COMPLETED, output=b"{bad")
    found = checked(reply, 100_000, {})
    assert (found.outcome, found.maybe_done) == (Outcome.GAVE_UP, True)
    assert b"k/1: what its Agent sent cannot be recorded: result: expected JSON, found" in (found.error or b"")
