"""What an Agent answers, and what it never answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from stepward.agent.declaration import Agent
from stepward.errors import TransportError, Unrecoverable
from stepward.model.messages.requests import CheckedReply, Outcome, Reply, request_queue
from stepward.policies import Retry
from stepward.transport.contract import AgentMessage, Delivery
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.agent.world import REPLIES
from tests.virtual import START, settle


def error_of(reply: Reply) -> dict[str, Any]:
    assert reply.error is not None
    error: dict[str, Any] = msgspec.json.decode(reply.error)
    return error


async def test_a_result_is_the_reply(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(order: str, *, cents: int = 7) -> dict[str, Any]:
        return {"order": order, "cents": cents}

    reply = await start(agent).call("payments.charge", "o1", run=2, attempt=4)
    assert reply == CheckedReply(
        task="uid-1",
        run=2,
        key="payments.charge/1",
        attempt=4,
        outcome=Outcome.COMPLETED,
        output=b'{"cents":7,"order":"o1"}',
        agent="payments",
    )


async def test_plain_functions_run_inline_without_threads(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    def charge(order: str) -> str:
        return order

    assert (await start(agent, threads=False).call("payments.charge", "o1")).output == b'"o1"'


async def test_an_unknown_operation_fails(start: Start) -> None:
    agent = Agent("payments")
    agent.operation(name="charge")(lambda: None)
    reply = await start(agent).call("payments.refuel")
    assert (reply.outcome, reply.maybe_done, reply.calls) == (Outcome.FAILED, False, 0)
    assert error_of(reply)["type"] == "UnknownOperation"
    assert "payments.charge" in error_of(reply)["message"]


async def test_an_unknown_undo_fails(start: Start) -> None:
    agent = Agent("payments")
    agent.operation(name="charge")(lambda: None)
    reply = await start(agent).call("payments.charge", None, undo=True)
    assert error_of(reply)["type"] == "UnknownOperation"
    assert "an undo of 'payments.charge'" in error_of(reply)["message"]


@pytest.mark.parametrize("input", [b"[]", b'["x"]', b"[1,2]", b"{", b"\xff", b"null"])
async def test_arguments_that_do_not_fit_fail(start: Start, input: bytes) -> None:
    agent = Agent("payments")
    called: list[int] = []

    @agent.operation()
    async def charge(cents: int) -> None:
        called.append(cents)

    reply = await start(agent).call("payments.charge", input=input)
    assert (reply.outcome, reply.maybe_done, called) == (Outcome.FAILED, False, [])
    assert error_of(reply)["type"] == "InvalidArguments"


@pytest.mark.parametrize("maybe_done", [False, True])
async def test_unrecoverable_fails_at_once_with_its_data(start: Start, maybe_done: bool) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        raise Unrecoverable("card declined", maybe_done=maybe_done, code=51)

    reply = await start(agent).call("payments.charge")
    assert (reply.outcome, reply.maybe_done, reply.calls) == (Outcome.FAILED, maybe_done, 1)
    error = error_of(reply)
    assert (error["message"], error["type"], error["data"]) == ("card declined", "Unrecoverable", {"code": 51})
    assert error["at"].startswith("test_replies.py:")
    assert error["at"].endswith(" in charge")
    assert error["traceback"].splitlines()[-1] == "stepward.errors.Unrecoverable: card declined"


async def test_data_and_text_that_json_cannot_hold_become_text(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        raise Unrecoverable("declined \ud800", code=object())

    error = error_of(await start(agent).call("payments.charge"))
    assert error["message"] == "declined \\ud800"
    assert "object at" in error["data"]["unreadable"]


@pytest.mark.parametrize(
    ("result", "type_name"),
    [
        (object(), "InvalidPayload"),
        ("x" * 200, "PayloadTooLarge"),
        (float("nan"), "InvalidPayload"),
        (msgspec.Raw(b"{no JSON"), "InvalidPayload"),
    ],
)
async def test_a_result_that_cannot_be_kept_fails_though_the_effect_happened(
    start: Start, result: Any, type_name: str
) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> Any:
        return result

    reply = await start(agent, payload_bytes=100).call("payments.charge")
    assert (reply.outcome, reply.maybe_done) == (Outcome.FAILED, True)
    assert error_of(reply)["type"] == type_name
    assert "result of payments.charge" in error_of(reply)["message"]


async def test_an_operation_that_cancels_itself_gives_up(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        raise asyncio.CancelledError

    reply = await start(agent).call("payments.charge")
    assert (reply.outcome, reply.maybe_done, reply.calls) == (Outcome.GAVE_UP, True, 1)


class Silent(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (Silent(), "Silent"),
        (TimeoutError(), "TimeoutError"),
        (SystemExit(3), "3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseExceptionGroup("all", [SystemExit(3)]), "all: SystemExit: 3"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("in_thread", [False, True])
async def test_whatever_an_operation_raises_it_gives_its_slot_back(
    start: Start, error: BaseException, message: str, in_thread: bool
) -> None:
    agent = Agent("payments", concurrency=1, retry=Retry(attempts=1))

    @agent.operation()
    async def charge() -> None:
        raise error.with_traceback(None)

    @agent.operation()
    def block() -> None:
        raise error.with_traceback(None)

    world = start(agent)
    reply = await world.call("payments.block" if in_thread else "payments.charge", complete_by=START + 1e9)
    assert (reply.outcome, reply.maybe_done) == (Outcome.GAVE_UP, True)
    assert (error_of(reply)["message"], error_of(reply)["type"]) == (message, type(error).__name__)
    if not isinstance(error, Exception):
        assert error_of(reply)["at"].endswith("in block" if in_thread else "in charge")
        assert type(error).__name__ in error_of(reply)["traceback"]
    assert world.runner.in_flight == 0


class Cursed(Exception):
    @property
    def retry_after(self) -> float:
        raise SystemExit(3)


async def test_an_error_whose_attributes_raise_gives_the_slot_back_in_doubt(start: Start) -> None:
    agent = Agent("payments", concurrency=1, retry=Retry(attempts=2))

    @agent.operation()
    async def charge() -> None:
        raise Cursed

    world = start(agent)
    reply = await world.call("payments.charge")
    assert (reply.outcome, reply.maybe_done) == (Outcome.GAVE_UP, True)
    assert world.runner.in_flight == 0


async def test_negative_replies_are_logged(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        raise Unrecoverable("no")

    world = start(agent)
    await world.call("payments.charge")
    (told,) = world.told("agent.failed")
    assert (told["agent"], told["task"], told["step"]) == ("payments", "order-1", "payments.charge/1")


async def test_replies_that_end_together_leave_together(start: Start) -> None:
    batches: list[int] = []

    class Counting(MemoryTransport):
        async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
            if queue == REPLIES:
                batches.append(len(messages))
            await super().publish(queue, messages)

    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None: ...

    world = start(agent, transport=Counting(asyncio.get_running_loop().time))
    requests = [world.request("payments.charge", task=f"uid-{n}") for n in range(10)]
    await world.transport.publish(request_queue("payments"), requests)
    await world.replies(10)
    assert batches == [10]


async def test_a_request_is_settled_only_after_its_reply_left(start: Start) -> None:
    order: list[str] = []

    class Watching(MemoryTransport):
        async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
            order.append(f"publish {queue}")
            await super().publish(queue, messages)

        async def settle(self, queue: str, deliveries: Any) -> None:
            order.append(f"settle {queue}")
            await super().settle(queue, deliveries)

    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        order.append("effect")

    world = start(agent, transport=Watching(asyncio.get_running_loop().time), failpoint=order.append)
    await world.call("payments.charge")
    assert order[1:7] == [
        "agent.call.before",
        "effect",
        "agent.call.after",
        f"publish {REPLIES}",
        "agent.reply.after",
        "settle agents.payments",
    ]


async def test_a_reply_that_cannot_leave_is_kept_until_it_can(start: Start) -> None:
    class Flaky(MemoryTransport):
        failures = 3

        async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
            if queue == REPLIES and self.failures:
                self.failures -= 1
                raise TransportError("down")
            await super().publish(queue, messages)

        async def settle(self, queue: str, deliveries: Sequence[Delivery]) -> None:
            # Until its reply is out, the request is all that is known of it.
            assert queue == REPLIES or not self.failures
            settled.append(queue)
            await super().settle(queue, deliveries)

    agent = Agent("payments")
    settled: list[str] = []
    called: list[int] = []

    @agent.operation()
    async def charge() -> None:
        called.append(1)

    world = start(agent, transport=Flaky(asyncio.get_running_loop().time))
    reply = await world.call("payments.charge")
    assert (reply.outcome, called) == (Outcome.COMPLETED, [1])
    assert [told["verb"] for told in world.told("agent.transport_failed")] == ["publish"] * 3
    assert await world.is_silent(60)
    assert called == [1]
    assert sorted(settled) == ["agents.payments", REPLIES]


async def test_a_reply_past_its_complete_by_is_dropped_and_its_slot_given_back(start: Start) -> None:
    class Down(MemoryTransport):
        async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
            if queue == REPLIES:
                raise TransportError("down")
            await super().publish(queue, messages)

    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None: ...

    world = start(agent, transport=Down(asyncio.get_running_loop().time))
    await world.ask("payments.charge", complete_by=START + 5)
    await asyncio.sleep(4)
    assert world.runner.in_flight == 1
    await asyncio.sleep(3)
    assert world.runner.in_flight == 0


async def test_a_reply_to_a_closed_queue_in_memory_is_kept_until_its_complete_by(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        await world.transport.close()

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 5)
    await asyncio.sleep(4)
    assert "publish" in [told["verb"] for told in world.told("agent.transport_failed")]
    assert world.runner.in_flight == 1
    await asyncio.sleep(3)
    assert world.runner.in_flight == 0


async def test_a_queue_that_cannot_be_reached_is_asked_again(start: Start) -> None:
    class Flaky(MemoryTransport):
        failures = 2

        async def take(self, queue: str, limit: int, lease: float) -> Any:
            if queue == request_queue("payments") and self.failures:
                self.failures -= 1
                raise TransportError("down")
            return await super().take(queue, limit, lease)

    agent = Agent("payments")
    agent.operation(name="charge")(lambda: None)
    world = start(agent, transport=Flaky(asyncio.get_running_loop().time), threads=False)
    assert (await world.call("payments.charge")).outcome is Outcome.COMPLETED
    assert [told["verb"] for told in world.told("agent.transport_failed")] == ["take", "take"]


async def test_a_reply_in_the_request_queue_is_settled_and_logged(start: Start) -> None:
    world = start(Agent("payments"))
    stray = Reply(task="uid-9", run=1, key="k", attempt=1, outcome=Outcome.COMPLETED)
    await world.transport.publish(request_queue("payments"), [stray])
    await settle()
    assert await world.is_silent(40, request_queue("payments"))
    assert [told["task_uid"] for told in world.told("agent.not_a_request")] == ["uid-9"]


async def test_replies_go_to_the_scheduler_that_asked(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge(number: int) -> int:
        return number

    world = start(agent)
    for number in range(4):
        await world.ask("payments.charge", number, task=f"uid-{number}", reply_to=f"replies.{number % 2}")
    assert [reply.output for reply in await world.replies(2, "replies.0")] == [b"0", b"2"]
    assert [reply.output for reply in await world.replies(2, "replies.1")] == [b"1", b"3"]
