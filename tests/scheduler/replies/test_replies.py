"""Replies while no commit comes through: each is processed once, and no more are held than there is room for."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from stepward.clock import Environment
from stepward.events import Observers
from stepward.model.failures import FailureConverter
from stepward.model.messages.requests import Outcome, Reply, reply_queue
from stepward.scheduler.agent_replies.replies import TAKE, TAKEN_BYTES, Replies, ReplyReceiver, WaitingReply
from stepward.scheduler.agent_replies.reply_settlement import (
    MOST_UNSETTLED,
    MOST_UNSETTLED_BYTES,
    ReplySettlement,
    attempt_of,
)
from stepward.scheduler.context import SchedulerContext
from stepward.scheduler.turn import Wakeup
from stepward.scheduler.turn_budget import MOST, TurnBudget
from stepward.settings import Settings
from stepward.store.contract import SchedulerStore
from stepward.transport.memory.memory_transport import MemoryTransport
from stepward.workflow.registry import Registry
from tests.scheduler.world import VirtualClock

INSTANCE = "scheduler-1"
QUEUE = reply_queue(INSTANCE)
LEASE = 10.0
LARGE = 512 * 1024


def replied(number: int) -> Reply:
    return Reply(task=f"uid-{number}", run=1, key="svc.do/1", attempt=1, outcome=Outcome.COMPLETED, output=b"1")


class Desk:
    """A mail and the queue that it is read from, as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        self.transport = MemoryTransport(asyncio.get_running_loop().time)
        settings = Settings.load({"lease": LEASE}, {}, folder)
        environment = Environment(VirtualClock(), random.Random(1))
        context = SchedulerContext(
            INSTANCE,
            store=cast("SchedulerStore", None),
            transport=self.transport,
            registry=Registry([], []),
            settings=settings,
            environment=environment,
            observers=Observers(),
            failures=FailureConverter(),
        )
        wakeup = Wakeup()
        self.replies = Replies(wakeup.stir)
        self.budget = TurnBudget(VirtualClock())
        self.settlement = ReplySettlement(context, self.replies.kept)
        self.receiver = ReplyReceiver(context, wakeup.stir, self.replies, self.settlement, lambda: None, lambda _: None)

    async def __aenter__(self) -> Desk:
        self._pump = asyncio.create_task(self.receiver.pump())
        return self

    async def __aexit__(self, *exception: Any) -> None:
        self._pump.cancel()
        with suppress(asyncio.CancelledError):
            await self._pump

    def uids(self) -> list[str]:
        return [each.reply.task for each in self.replies.take(self.budget)]


async def test_a_reply_repeated_before_its_commit_is_processed_once(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [replied(1)])
        await asyncio.sleep(20 * LEASE)
        assert desk.uids() == ["uid-1"]
        await desk.settlement.settle(desk.settlement.received())
        await asyncio.sleep(20 * LEASE)
        assert desk.uids() == []


async def test_a_reply_repeated_after_its_commit_is_processed_again(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        for _ in range(2):
            await desk.transport.publish(QUEUE, [replied(1)])
            await asyncio.sleep(1)
            assert desk.uids() == ["uid-1"]
            await desk.settlement.settle(desk.settlement.received())


async def test_no_more_replies_are_taken_than_there_is_room_for_until_a_turn(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [replied(number) for number in range(MOST_UNSETTLED + TAKE)])
        await asyncio.sleep(1)
        assert len(desk.replies.waiting) == MOST_UNSETTLED
        received = desk.settlement.received()
        await asyncio.sleep(1)
        assert len(desk.replies.waiting) == MOST_UNSETTLED + TAKE
        await desk.settlement.settle(received)


async def test_no_more_bytes_of_replies_are_taken_than_there_is_room_for_until_a_turn(tmp_path: Path) -> None:
    def held() -> int:
        return sum(len(waiting.reply.output or b"") for waiting in desk.replies.waiting)

    large = b'"%s"' % (b"x" * (LARGE - 2))
    async with Desk(tmp_path) as desk:
        sent = [replace(replied(number), output=large) for number in range(2 * MOST_UNSETTLED_BYTES // LARGE)]
        for part in (sent[:1], sent[1:]):
            await desk.transport.publish(QUEUE, part)
            await asyncio.sleep(1)
        assert MOST_UNSETTLED_BYTES <= held() <= MOST_UNSETTLED_BYTES + TAKEN_BYTES
        received = desk.settlement.received()
        await asyncio.sleep(1)
        assert len(desk.replies.waiting) == len(sent)
        await desk.settlement.settle(received)


@pytest.mark.parametrize("other", [{"attempt": 2}, {"run": 2}, {"key": "svc.do/2"}, {"outcome": Outcome.GAVE_UP}])
async def test_another_answer_is_another(other: dict[str, Any], tmp_path: Path) -> None:
    said: dict[str, Any] = {"task": "uid-1", "run": 1, "key": "svc.do/1", "attempt": 1, "outcome": Outcome.COMPLETED}
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [Reply(**said), Reply(**{**said, **other})])
        await asyncio.sleep(1)
        assert desk.uids() == ["uid-1"] * 2


async def test_a_reply_whose_task_is_being_committed_still_waits() -> None:
    """A step that runs in the Scheduler's process is not called again though its task is read again meanwhile."""
    replies, budget = Replies(lambda: None), TurnBudget(VirtualClock())
    local = replied(1)
    replies.add(local, None)
    replies.waiting.append(WaitingReply(replied(2), is_queued=True))
    assert [each.reply.task for each in replies.take_but({"uid-1"}, budget)] == ["uid-2"]
    assert replies.is_kept(attempt_of(local))
    assert [each.reply.task for each in replies.take(budget)] == ["uid-1"]
    assert not replies.is_kept(attempt_of(local))


async def test_replies_from_the_queue_are_settled_though_replies_of_local_steps_never_end(tmp_path: Path) -> None:
    async with Desk(tmp_path) as desk:
        await desk.transport.publish(QUEUE, [replied(1)])
        await asyncio.sleep(1)
        for number in range(2, MOST + 2):
            desk.replies.add(replied(number), None)
        assert desk.replies.from_queue == 1
        assert len(desk.uids()) == MOST
        assert len(desk.replies.waiting) == 1
        assert desk.replies.from_queue == 0
