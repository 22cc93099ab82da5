"""What an Agent instance holds: room, leases, doubles, revocations, draining."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from stepward.agent.declaration import Agent
from stepward.errors import TransportError
from stepward.model.current_step import current_step
from stepward.model.messages.requests import Outcome, request_queue
from stepward.runtime.cancelling import AT_ONCE
from stepward.transport.contract import AgentMessage, Delivery, Revoked
from stepward.transport.memory.memory_transport import MemoryTransport
from tests.agent.conftest import Start
from tests.agent.world import REPLIES
from tests.virtual import START, settle

QUEUE = request_queue("payments")


class SlowReplies(MemoryTransport):
    """Publishes nothing to the first Scheduler before ``go_on``."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(now)
        self.publishing, self.go_on = asyncio.Event(), asyncio.Event()

    async def publish(self, queue: str, messages: Sequence[AgentMessage]) -> None:
        if queue == REPLIES:
            self.publishing.set()
            await self.go_on.wait()
        await super().publish(queue, messages)


class Slow:
    """An Agent whose operation lasts ``seconds``, and what became of its calls."""

    def __init__(self, seconds: float = 5, concurrency: int = 64) -> None:
        self.agent = Agent("payments", concurrency=concurrency)
        self.started: list[int] = []
        self.cancelled = 0
        self.closed = 0
        self._seconds = seconds
        self.agent.operation(name="charge")(self._charge)
        self.agent.close = self._close  # type: ignore[method-assign]

    async def _charge(self) -> int:
        self.started.append(current_step().attempt)
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return current_step().attempt

    async def _close(self) -> None:
        self.closed += 1


async def test_no_more_is_taken_than_there_is_room(start: Start) -> None:
    slow = Slow(concurrency=2)
    world = start(slow.agent)
    for number in range(5):
        await world.ask("payments.charge", task=f"uid-{number}")
    await settle()
    assert (len(slow.started), world.runner.in_flight, world.runner.capacity) == (2, 2, 2)
    other = await world.transport.take(QUEUE, 10, 0.1)
    assert len(other) == 3
    await world.replies(5)
    assert len(slow.started) == 5


async def test_leases_are_kept_while_a_call_runs(start: Start) -> None:
    slow = Slow(seconds=100)
    world = start(slow.agent, request_lease=3)
    await world.ask("payments.charge", complete_by=START + 200)
    await settle()
    assert await world.is_silent(90, QUEUE)
    assert (await world.replies())[0].outcome is Outcome.COMPLETED
    assert slow.started == [1]


async def test_a_lease_that_cannot_be_kept_ends_the_call(start: Start) -> None:
    class NoExtend(MemoryTransport):
        async def extend(self, queue: str, deliveries: Any, lease: float) -> Sequence[Delivery]:
            raise TransportError("down")

    slow = Slow(seconds=100)
    world = start(slow.agent, transport=NoExtend(asyncio.get_running_loop().time), request_lease=3)
    await world.ask("payments.charge", complete_by=START + 200)
    await settle()
    assert world.runner.in_flight == 1
    await asyncio.sleep(2.9)
    assert slow.cancelled == 0
    await asyncio.sleep(0.2)
    assert slow.cancelled == 1
    assert world.told("agent.overran")[0]["deadline"] == "lease"


async def test_an_ended_run_listens_to_no_revocations(start: Start) -> None:
    stopped: list[str] = []

    class Watching(MemoryTransport):
        def on_revoke(self, queue: str, listener: Revoked) -> Callable[[], None]:
            return lambda: stopped.append(queue)

    world = start(Slow().agent, transport=Watching(asyncio.get_running_loop().time))
    await settle()
    await world.close()
    assert stopped == [QUEUE]


async def test_a_double_of_a_running_request_is_not_run(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await world.ask("payments.charge")
    await settle()
    await world.ask("payments.charge", reply_to="replies.new-owner")
    assert (await world.replies(queue="replies.new-owner"))[0].outcome is Outcome.COMPLETED
    assert slow.started == [1]
    assert await world.is_silent(100)
    assert await world.is_silent(100, QUEUE)


async def test_a_request_that_comes_again_while_its_reply_is_published_is_answered_again(start: Start) -> None:
    agent = Agent("payments")
    transport = SlowReplies(asyncio.get_running_loop().time)

    @agent.operation()
    async def charge() -> str:
        return "charged"

    world = start(agent, transport=transport)
    await world.ask("payments.charge")
    await transport.publishing.wait()
    await world.ask("payments.charge", reply_to="replies.scheduler-2")
    await settle()
    transport.go_on.set()
    for queue in (REPLIES, "replies.scheduler-2"):
        assert [reply.output for reply in await world.replies(queue=queue)] == [b'"charged"']
    await settle()
    assert world.runner.in_flight == 0


async def test_a_newer_attempt_takes_the_place_of_an_older(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await world.ask("payments.charge", attempt=1)
    await settle()
    await world.ask("payments.charge", attempt=2)
    await settle()
    await world.ask("payments.charge", attempt=2)
    assert [reply.attempt for reply in await world.replies()] == [2]
    assert (slow.started, slow.cancelled) == ([1, 2], 1)
    assert await world.is_silent(100)


async def test_an_older_attempt_is_not_run_beside_a_newer(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await world.ask("payments.charge", attempt=2)
    await settle()
    await world.ask("payments.charge", attempt=1)
    assert [reply.attempt for reply in await world.replies()] == [2]
    assert slow.started == [2]
    assert await world.is_silent(100, QUEUE)


async def test_a_revoked_call_is_cancelled_and_replies_when_it_has_stopped(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await world.ask("payments.charge")
    await settle()
    await world.transport.revoke(QUEUE, "uid-1", 1, "payments.charge/1")
    await settle()
    assert (slow.cancelled, world.runner.in_flight) == (1, 0)
    (reply,) = await world.replies()
    assert (reply.outcome, reply.maybe_done, reply.calls) == (Outcome.GAVE_UP, True, 1)
    assert await world.is_silent(100)
    assert await world.is_silent(100, QUEUE)


async def test_a_revoked_call_that_does_not_stop_sends_no_reply(start: Start) -> None:
    agent = Agent("payments")

    @agent.operation()
    async def charge() -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    world = start(agent)
    await world.ask("payments.charge")
    await settle()
    await world.transport.revoke(QUEUE, "uid-1", 1, "payments.charge/1")
    assert await world.is_silent(100)
    assert world.runner.stuck == 1


async def test_a_revoked_function_in_a_thread_replies_when_it_has_returned(start: Start) -> None:
    agent = Agent("payments")
    begun, may_end = threading.Event(), threading.Event()

    @agent.operation()
    def charge() -> None:
        begun.set()
        may_end.wait()

    world = start(agent)
    await world.ask("payments.charge", complete_by=START + 1e9)
    await asyncio.get_running_loop().run_in_executor(None, begun.wait)
    await world.transport.revoke(QUEUE, "uid-1", 1, "payments.charge/1")
    assert await world.is_silent(1)
    may_end.set()
    (reply,) = await world.replies()
    assert (reply.outcome, reply.maybe_done) == (Outcome.GAVE_UP, True)


async def test_a_call_revoked_before_it_began_never_begins(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await settle()
    (delivery,) = await _take_one(world)
    world.runner._calls.receive([delivery])
    world.runner.revoke("uid-1", 1, "payments.charge/1")
    await settle()
    assert (slow.started, world.runner.in_flight) == ([], 0)
    (reply,) = await world.replies()
    assert (reply.outcome, reply.maybe_done, reply.calls) == (Outcome.GAVE_UP, False, 0)


async def _take_one(world: Any) -> Any:
    await world.transport.publish("agents.elsewhere", [world.request("payments.charge")])
    return await world.transport.take("agents.elsewhere", 1, 30)


async def test_revoking_other_steps_changes_nothing(start: Start) -> None:
    slow = Slow()
    world = start(slow.agent)
    await world.ask("payments.charge")
    await settle()
    for task, run, key in (("uid-2", 1, "payments.charge/1"), ("uid-1", 2, "payments.charge/1"), ("uid-1", 1, "x")):
        world.runner.revoke(task, run, key)
    assert (await world.replies())[0].outcome is Outcome.COMPLETED


async def test_draining_finishes_what_runs_and_takes_nothing_new(start: Start) -> None:
    slow = Slow(seconds=5)
    world = start(slow.agent)
    await world.ask("payments.charge")
    await settle()
    draining = asyncio.create_task(world.runner.drain(grace=60))
    await settle()
    await world.ask("payments.charge", task="uid-2", complete_by=START + 500)
    await draining
    assert world.now() - START == pytest.approx(5, abs=0.1)
    assert [reply.task for reply in await world.replies()] == ["uid-1"]
    assert (world.runner.in_flight, slow.closed) == (0, 1)
    await world.running
    await world.runner.run()
    assert len(await world.transport.take(QUEUE, 10, 30)) == 1


async def test_past_its_grace_draining_cancels_in_silence_and_leaves_the_request(start: Start) -> None:
    slow = Slow(seconds=50)
    world = start(slow.agent)
    await world.ask("payments.charge", complete_by=START + 500)
    await settle()
    await world.runner.drain(grace=3)
    assert (slow.cancelled, world.runner.in_flight) == (1, 0)
    assert world.now() - START == pytest.approx(3, abs=0.1)
    assert await world.is_silent(20)
    async with asyncio.timeout(60):
        assert len(await world.transport.take(QUEUE, 10, 30)) == 1


async def test_draining_cancels_many_calls_over_passes_of_the_event_loop(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, loop = Slow(seconds=50, concurrency=4 * AT_ONCE), asyncio.get_running_loop()
    run_once, cancelled_in_pass = loop._run_once, []  # type: ignore[attr-defined]

    def counted() -> None:
        before = slow.cancelled
        run_once()
        cancelled_in_pass.append(slow.cancelled - before)

    world = start(slow.agent)
    for number in range(3 * AT_ONCE):
        await world.ask("payments.charge", task=f"uid-{number}", complete_by=START + 500)
    await settle()
    assert len(slow.started) == 3 * AT_ONCE
    monkeypatch.setattr(loop, "_run_once", counted)
    await world.runner.drain(grace=3)
    assert (slow.cancelled, world.runner.in_flight) == (3 * AT_ONCE, 0)
    assert max(cancelled_in_pass) <= AT_ONCE
    assert world.now() - START == pytest.approx(3, abs=0.1)


async def test_all_calls_are_cancelled_where_the_drain_itself_is_given_up(start: Start) -> None:
    slow = Slow(seconds=50, concurrency=4 * AT_ONCE)
    world = start(slow.agent)
    for number in range(3 * AT_ONCE):
        await world.ask("payments.charge", task=f"uid-{number}", complete_by=START + 500)
    await settle()
    draining = asyncio.create_task(world.runner.drain(grace=0))
    while not slow.cancelled:  # noqa: ASYNC110  one pass of the loop at a time
        await asyncio.sleep(0)
    assert slow.cancelled < 3 * AT_ONCE
    draining.cancel()
    await settle()
    assert slow.cancelled == 3 * AT_ONCE


async def test_a_cancelled_run_is_drained_after_it(start: Start) -> None:
    slow = Slow(seconds=5)
    world = start(slow.agent)
    await world.ask("payments.charge")
    await settle()
    world.running.cancel()
    await asyncio.wait([world.running])
    assert world.running.cancelled()
    await world.runner.drain(grace=60)
    assert (await world.replies())[0].outcome is Outcome.COMPLETED


async def test_a_call_that_swallows_every_cancellation_holds_up_no_end_of_the_loop(start: Start) -> None:
    agent = Agent("payments")
    begun: list[asyncio.Task[Any] | None] = []

    @agent.operation()
    async def charge() -> None:
        begun.append(asyncio.current_task())
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    world = start(agent)
    await world.ask("payments.charge")
    await settle()
    await world.close()
    (stuck,) = world.told("agent.call_stuck")
    assert (stuck["operation"], stuck["task"]) == ("payments.charge", "order-1")
    assert begun[0] not in asyncio.all_tasks()
